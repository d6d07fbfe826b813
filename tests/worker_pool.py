"""A pool of workers, as it runs beside each TaskManager of a cluster: it starts them when a runner asks for them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.machines import Machine
from tests.servers import await_servers, end_servers, free_ports, listens, start_server

START_SECONDS = 60
PORT = 50_000
"""The port of a pool on a machine of its own, as each machine of a cluster has to have it at the same one."""


@contextlib.contextmanager
def worker_pool(
    python: Path,
    folder: Path,
    more: Mapping[str, str] | None = None,
    executable: Path | None = None,
    machine: Machine | None = None,
) -> Iterator[list[str]]:
    """Runs a pool in the environment of `python`, in `folder`; gives the pipeline options that use it.

    more: variables of the environment. executable: what starts a worker by the contract of Beam's containers, as the
    pool in an image has it; without one, the pool starts workers itself. machine: where it runs, by default here.
    """
    (port,) = [PORT] if machine else free_ports(1)
    prefix, host = (machine.prefix, machine.address) if machine else ([], "localhost")
    command = [*prefix, str(python), "-m", "apache_beam.runners.worker.worker_pool_main", f"--service_port={port}"]
    if executable:
        command.append(f"--container_executable={executable}")
    pool = start_server("pool", command, folder, folder, {**bare_environment(python), **(more or {})})
    try:
        await_servers("the pool", lambda: listens(port, host), [pool], START_SECONDS)
        yield ["--environment_type=EXTERNAL", f"--environment_config=localhost:{port}"]
    finally:
        end_servers([pool])


def started_workers(folder: Path) -> int:
    """Returns how many workers the pool in `folder` has started."""
    return (folder / "pool.log").read_text().count("Starting worker with command")


def bare_environment(python: Path) -> dict[str, str]:
    """Returns the environment variables of a process that knows nothing of the checkout, and finds `python` first.

    The pool of workers starts each with the `python` of the path.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "VIRTUAL"))}
    return {**kept, "PATH": f"{python.parent}{os.pathsep}{kept['PATH']}"}
