"""Servers of a test, as processes that end with it."""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(slots=True)
class Server:
    """A process with a log, and a group of its own for whatever it starts."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    @property
    def runs(self) -> bool:
        return self.process.poll() is None


def group_is_empty(group: int) -> bool:
    """Returns whether the processes of a group have ended; those that nobody has waited for yet have, too."""
    listed = subprocess.check_output(["ps", "-A", "-o", "pgid=,stat="], text=True)
    return not any(int(pgid) == group and stat[0] != "Z" for pgid, stat in map(str.split, listed.splitlines()))


def start_server(
    name: str, command: Sequence[str | Path], logs: Path, folder: Path, environment: Mapping[str, str] | None = None
) -> Server:
    """Starts a server with the log `logs`/NAME.log; a program ends it with this thread, as gRPC survives no fork."""
    log = logs / f"{name}.log"
    with_parent = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [*with_parent, *command], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            cwd=folder, env=environment, start_new_session=True,
        )  # fmt: skip
    return Server(name, process, log)


def end_servers(servers: Sequence[Server]) -> None:
    """Ends servers, the last first; those that do not end by themselves within 10 s are killed."""
    for server in reversed(servers):
        server.signal(signal.SIGTERM)
    deadline = time.monotonic() + 10
    for server in servers:
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.process.wait(max(0.1, deadline - time.monotonic()))
        server.signal(signal.SIGKILL)
        server.process.wait()


def await_servers(what: str, ready: Callable[[], bool], servers: Sequence[Server], seconds: float) -> None:
    """Waits until `ready`, an OSError being no; raises RuntimeError where a server ends, or after so many seconds."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError):
            if ready():
                return
        ended = [server for server in servers if not server.runs]
        if ended or time.monotonic() > deadline:
            problem = f"{ended[0].name} ended while {what} came up" if ended else f"{what} is not up after {seconds} s"
            raise RuntimeError(f"{problem}; see {', '.join(str(server.log) for server in ended or servers)}")
        time.sleep(0.1)


def wait_until(done: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def free_ports(count: int) -> list[int]:
    """Returns free ports below those that Linux gives to whoever does not care, so that nobody takes them meanwhile."""
    lowest_given = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    found: set[int] = set()
    while len(found) < count:
        port = random.randrange(10_000, lowest_given)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("", port))
            found.add(port)
    return list(found)


def listens(port: int) -> bool:
    """Tells that something listens; raises OSError where nothing does."""
    with socket.create_connection(("localhost", port), timeout=1):
        return True


def bare_environment(python: Path) -> dict[str, str]:
    """Returns the environment variables of a process that knows nothing of the checkout, and finds `python` first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "VIRTUAL"))}
    return {**kept, "PATH": f"{python.parent}{os.pathsep}{kept['PATH']}"}
