"""The messages of a command on standard error, its exit codes, and its handling of Ctrl-C and SIGTERM."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import NoReturn

from ...transforms.records import printable
from ..runners.lifetime import terminate_workers

DONE, FAILED, WRONG_USAGE, CRASHED, INCONCLUSIVE, INTERRUPTED = 0, 1, 2, 3, 4, 130


def show_log(verbose: bool) -> None:
    """Keeps Beam's log off the console unless `verbose` is set."""
    logging.basicConfig(level=logging.INFO if verbose else logging.CRITICAL, force=True)


def say(message: str) -> None:
    """Writes one line."""
    print(f"beamscore: {message}", file=sys.stderr, flush=True)


def warn(warnings: Iterable[str]) -> None:
    """Writes warnings, a line each."""
    for warning in warnings:
        say(f"warning: {printable(warning)}")


def stop_output() -> None:
    """Discards further output: its reader, such as `head`, has closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def signals() -> Iterator[threading.Event]:
    """Makes Ctrl-C and SIGTERM raise KeyboardInterrupt within this block; yields whether one came.

    A runner may wrap the error in one of its own.
    """
    interrupted = threading.Event()

    def interrupt(number: int, frame: object) -> NoReturn:
        interrupted.set()
        terminate_workers()
        # The threads that talk to the workers are about to fail.
        threading.excepthook = lambda _: None
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        threading.excepthook = threading.__excepthook__


def exit_code(code: int, page: str, problem: str | None, instead: str) -> int:
    """Returns `code`; if the page has a problem, reports it and returns CRASHED in place of 0."""
    if problem is None:
        return code
    say(printable(f"{page} could not be made: {problem}; {instead} has the result"))
    return code or CRASHED
