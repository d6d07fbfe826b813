"""Changes of this process that last as long as a run in it, and no longer.

A process that is somebody else's, such as a notebook, is as it was after a run. A worker process of ours makes its
changes for good, by entering them and never leaving.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager


class Shared:
    """A change that runs share: the first that enters makes it, and the last that leaves undoes it.

    Runs in several threads may overlap in any way; each setting back what it found would leave the change behind.
    """

    def __init__(self, change: Callable[[], AbstractContextManager[None]]) -> None:
        self._change = change
        self._made: AbstractContextManager[None] | None = None
        self._users = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._made is None:
                made = self._change()
                made.__enter__()
                self._made = made
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users and self._made is not None:
                made, self._made = self._made, None
                made.__exit__(None, None, None)


@contextmanager
def _null_handler() -> Iterator[None]:
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


quiet_root_logger = Shared(_null_handler)
"""Beam logs by the functions of `logging`, also while it is imported: where the root logger has no handler, each of
them gives it one for good that prints on the console."""
