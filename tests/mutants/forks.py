"""`python -B -m tests.mutants.forks SOCKET SECONDS ARGUMENT ...` runs pytest anew in a fork whenever SOCKET is asked.

What every run imports has been imported before the fork, except the project itself, which is what changes. The answer
is one byte, the exit code of pytest; none comes from a run that takes more than SECONDS of processor time or too much
memory, which counts as a failed one.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
from collections.abc import Sequence

import hypothesis.strategies  # noqa: F401
import msgspec  # noqa: F401
import numpy as np  # noqa: F401
import pytest

MAX_BYTES = 4 << 30


def serve(path: str, seconds: int, arguments: Sequence[str]) -> None:
    """Answers until it is ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                connection.sendall(bytes([_run(seconds, arguments)]))
                os._exit(0)
            connection.close()


def _run(seconds: int, arguments: Sequence[str]) -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    try:
        return int(pytest.main(["-W", "ignore::pytest.PytestAssertRewriteWarning", *arguments]))
    except BaseException:  # noqa: BLE001 - whatever a change does to the run, the run has failed
        return int(pytest.ExitCode.INTERNAL_ERROR)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
