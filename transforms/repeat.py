"""Does something again and again beside other work."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def repeated(interval_s: float, action: Callable[[float], None]) -> Iterator[None]:
    """Calls `action` with the seconds since the start, each `interval_s`, for as long as this block lasts."""
    stop, started = threading.Event(), time.monotonic()

    def repeat() -> None:
        while not stop.wait(interval_s):
            action(time.monotonic() - started)

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
