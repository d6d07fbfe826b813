"""Ctrl-C and SIGTERM, and what an interrupted command says of its output."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import NoReturn

from ..runtime import worker_processes

_came = threading.Event()


class Interrupted(KeyboardInterrupt):
    """An interrupt of a command that knows what its output holds; the message is one line."""


@contextlib.contextmanager
def signals() -> Iterator[None]:
    """Makes Ctrl-C and SIGTERM raise KeyboardInterrupt for as long as this block lasts."""

    def interrupt(number: int, frame: object) -> NoReturn:
        _came.set()
        worker_processes.terminate_workers()
        # The threads that talk to the workers are about to fail.
        threading.excepthook = lambda _: None
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _came.clear()
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        threading.excepthook = threading.__excepthook__
        _came.clear()


def is_interrupt(error: BaseException) -> bool:
    """Tells whether an interrupt ended the command: a runner may wrap it into an error of its own."""
    return isinstance(error, KeyboardInterrupt) or _came.is_set()


@contextlib.contextmanager
def explained(tell: Callable[[], str]) -> Iterator[None]:
    """Raises Interrupted where an interrupt ends this block; `tell` is asked what the output holds then."""
    try:
        yield
    except BaseException as error:
        if is_interrupt(error):
            raise Interrupted(tell()) from error
        raise
