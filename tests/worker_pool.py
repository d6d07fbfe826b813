"""A pool of workers, as it runs beside each TaskManager of a cluster: it starts them when a runner asks for them.

It runs on this machine or on others of a test's own, which are namespaces of its network, on a bridge between them.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.servers import await_servers, end_servers, free_ports, listens, start_server

START_SECONDS = 60
PORT = 50_000
"""The port of a pool on a machine of its own, as each machine of a cluster has to have it at the same one."""
BRIDGE = "beamscore"
HERE = "10.73.0.1"


@dataclass(frozen=True)
class Machine:
    """A machine, which has the files of this one and an address of its own."""

    name: str
    address: str

    @property
    def prefix(self) -> list[str]:
        return ["ip", "netns", "exec", self.name]


@contextlib.contextmanager
def machines(count: int) -> Iterator[list[Machine]]:
    """Makes machines, which reach this one at HERE; those that a run has left that was killed are removed.

    Raises OSError where it is not allowed to make any.
    """
    made = [Machine(f"{BRIDGE}{number}", f"10.73.0.{number + 2}") for number in range(count)]
    for leftover in (f"link del {BRIDGE}", *(f"netns del {machine.name}" for machine in made)):
        with contextlib.suppress(OSError):
            _ip(leftover)
    with contextlib.ExitStack() as stack:
        _ip(f"link add {BRIDGE} type bridge")
        stack.callback(_ip, f"link del {BRIDGE}")
        _ip(f"addr add {HERE}/24 dev {BRIDGE}", f"link set {BRIDGE} up")
        for machine in made:
            name = machine.name
            _ip(f"netns add {name}")
            stack.callback(_ip, f"netns del {name}")
            _ip(f"link add {name} type veth peer name inside netns {name}", f"link set {name} master {BRIDGE} up")
            _ip(f"-n {name} addr add {machine.address}/24 dev inside")
            _ip(f"-n {name} link set inside up", f"-n {name} link set lo up")
        yield made


def _ip(*commands: str) -> None:
    for each in commands:
        done = subprocess.run(["ip", *each.split()], capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"ip {each}: {done.stderr.strip()}")


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
    command += [f"--container_executable={executable}"] if executable else []
    pool = start_server("pool", command, folder, folder, {**bare_environment(python), **(more or {})})
    try:
        await_servers("the pool", lambda: listens(port, host), [pool], START_SECONDS)
        yield ["--environment_type=EXTERNAL", f"--environment_config=localhost:{port}"]
    finally:
        end_servers([pool])


@contextlib.contextmanager
def portable_cluster(python: Path, folder: Path) -> Iterator[list[str]]:
    """Runs both in the environment of `python`, in `folder`; gives the pipeline options that run a pipeline there."""
    (port,) = free_ports(1)
    module = "apache_beam.runners.portability.local_job_service_main"
    command = [str(python), "-m", module, f"--port={port}", f"--staging_dir={folder / 'jobs'}"]
    with worker_pool(python, folder) as workers:
        jobs = start_server("jobserver", command, folder, folder, bare_environment(python))
        try:
            await_servers("the job server", lambda: listens(port), [jobs], START_SECONDS)
            yield ["--runner=PortableRunner", f"--job_endpoint=localhost:{port}", *workers]
        finally:
            end_servers([jobs])


def started_workers(folder: Path) -> int:
    return (folder / "pool.log").read_text().count("Starting worker with command")


def bare_environment(python: Path) -> dict[str, str]:
    """Returns the environment variables of a process that knows nothing of the checkout, and finds `python` first.

    The pool of workers starts each with the `python` of the path.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "VIRTUAL"))}
    return {**kept, "PATH": f"{python.parent}{os.pathsep}{kept['PATH']}"}
