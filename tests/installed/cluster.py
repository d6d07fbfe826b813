"""A job server and a pool of workers, as processes: all that a portable runner needs, without a cluster."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

START_SECONDS = 60


@contextlib.contextmanager
def portable_cluster(python: Path, folder: Path) -> Iterator[list[str]]:
    """Runs both in the environment of `python`, in `folder`; gives the pipeline options that run a pipeline there."""
    jobs, workers = _free_ports(2)
    modules = [
        [
            "apache_beam.runners.portability.local_job_service_main",
            f"--port={jobs}",
            f"--staging_dir={folder / 'jobs'}",
        ],
        ["apache_beam.runners.worker.worker_pool_main", f"--service_port={workers}"],
    ]
    with contextlib.ExitStack() as stack:
        started = []
        for number, module in enumerate(modules):
            log = stack.enter_context(open(folder / f"server-{number}.log", "wb"))
            started.append(_start(python, module, folder, log.fileno()))
            stack.callback(_end, started[-1])
        deadline = time.monotonic() + START_SECONDS
        for port in (jobs, workers):
            while not _listens(port):
                if time.monotonic() > deadline or any(process.poll() is not None for process in started):
                    raise RuntimeError(f"the servers did not come up; see {folder}/server-*.log")
                time.sleep(0.1)
        yield [
            "--runner=PortableRunner",
            f"--job_endpoint=localhost:{jobs}",
            "--environment_type=EXTERNAL",
            f"--environment_config=localhost:{workers}",
        ]


def bare_environment(python: Path) -> dict[str, str]:
    """Returns the environment variables of a process that knows nothing of the checkout, and finds `python` first.

    The pool of workers starts each with the `python` of the path.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "VIRTUAL"))}
    return {**kept, "PATH": f"{python.parent}{os.pathsep}{kept['PATH']}"}


def _start(python: Path, module: list[str], folder: Path, log: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(python), "-m", *module],
        cwd=folder,
        env=bare_environment(python),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and the workers that it started."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("localhost", 0))
        return [each.getsockname()[1] for each in sockets]


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("localhost", port), timeout=1):
        return True
    return False
