"""Changes of this process that last as long as a run in it, and no longer; how far its work has come; its faults.

A process that is somebody else's, such as a notebook, is as it was after a run. A worker process of ours makes its
changes for good, by entering them and never leaving.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..metrics.benchmark import ENVIRONMENT_FAULTS, MissingTool
from .records import InputProblem


class Shared:
    """A change that runs share: the first to enter makes it, and the last to leave undoes it.

    Runs in several threads may overlap in any way; if each restored the earlier state, the change could remain.
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
def _quiet_logging() -> Iterator[None]:
    handler, of_hints = logging.NullHandler(), logging.getLogger("apache_beam.typehints.native_type_compatibility")
    level = of_hints.level
    logging.getLogger().addHandler(handler)
    of_hints.setLevel(logging.WARNING)
    try:
        yield
    finally:
        of_hints.setLevel(level)
        logging.getLogger().removeHandler(handler)


quiet_root_logger = Shared(_quiet_logging)
"""Beam calls the functions of `logging`, even during its import: if the root logger has no handler, each of them
permanently adds one that prints on the console. It also informs of each of our type hints, hundreds of lines."""


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    # It loads its own library of linear algebra; a limit set earlier would not apply to that.
    import scipy.special  # noqa: F401
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield


one_blas_thread = Shared(_one_blas_thread)
"""Makes linear algebra in this process use one thread.

The matrices here are small, and a runner starts a worker for each core: further threads only spin while they wait,
which doubled the processor time of an evaluation in measurements.
"""


_one_at_a_time = threading.Lock()


@contextmanager
def warnings_ignored(message: str = "", module: str = "") -> Iterator[None]:
    """Ignores warnings within whose text, and the module that they are of, match these regular expressions.

    The filters are of the whole process, so one thread at a time changes them.
    """
    with _one_at_a_time, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message, module=module)
        yield


@contextmanager
def gc_paused() -> Iterator[None]:
    """Turns the cyclic garbage collector off within.

    While the many objects of a batch are created, it would scan all of them again and again, a sixth of
    the time of a run in measurements. None of them is garbage before the batch is done.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def repeated(interval_s: float, action: Callable[[float], None]) -> Iterator[None]:
    """Calls `action` with the seconds since the start, every `interval_s`, while this block runs."""
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


PROGRESS_FOLDER = "BEAMSCORE_PROGRESS"
"""The environment variable that names the folder in which the workers of one machine report their progress."""

NOTE_INTERVAL_S = 0.25


@dataclass
class Progress:
    """The progress of the workers of this machine, for a progress line.

    Only a hint for people: a retried bundle counts twice.
    """

    records_read: int = 0
    truths_read: int = 0
    samples_scored: int = 0
    _next_note: float = 0.0

    def note(self, always: bool = False) -> None:
        """Writes the counts of this process for other processes, if PROGRESS_FOLDER is set.

        always: even if the interval has not passed, as at the end of a bundle: no other count may follow.
        """
        now = time.monotonic()
        if now < self._next_note and not always:
            return
        self._next_note = now + NOTE_INTERVAL_S
        folder = os.environ.get(PROGRESS_FOLDER)
        if folder:
            counts = f"{self.records_read} {self.truths_read} {self.samples_scored}\n"
            with contextlib.suppress(OSError):
                Path(folder, str(os.getpid())).write_text(counts)

    def with_others(self) -> Progress:
        """Returns the counts of this process and of all others that wrote theirs."""
        counts = [[self.records_read, self.truths_read, self.samples_scored]]
        folder = os.environ.get(PROGRESS_FOLDER)
        for path in Path(folder).iterdir() if folder else ():
            others = path.read_text().split() if path.name != str(os.getpid()) else []
            if len(others) == 3:
                counts.append([int(each) for each in others])
        return Progress(*map(sum, zip(*counts, strict=True)))


PROGRESS = Progress()


OF_THE_MACHINE = "failed because of this machine, not of a record"


@contextmanager
def faults_end_the_bundle(what: str, excuse: Callable[[BaseException], bool] = lambda _: False) -> Iterator[None]:
    """Raises InputProblem for a fault of the machine within, so that the runner tries again or the run ends in a line.

    what: the action within, such as `scoring`. excuse: returns whether an error is not of the machine; such errors pass
    unchanged.
    """
    try:
        yield
    except MissingTool as error:
        raise InputProblem(str(error)) from error
    except ENVIRONMENT_FAULTS as error:
        if excuse(error):
            raise
        message = f": {error}" if str(error) else ""
        raise InputProblem(
            f"{what} {OF_THE_MACHINE}: {type(error).__name__}{message}; fix that and run again"
        ) from error


def temporary_problem(folder: str, error: Exception) -> InputProblem:
    """Returns the problem with a folder for temporary files that a filesystem, or a library that uses it, reported."""
    return InputProblem(
        f"{folder}: temporary files cannot be written and read there: {getattr(error, 'strerror', None) or error}; "
        "fix that, or set the environment variable TMPDIR to a folder on another disk"
    )


def temporary_folder() -> str:
    """Returns the folder for temporary files; raises InputProblem if none can be written."""
    try:
        return tempfile.gettempdir()
    except OSError as error:
        raise InputProblem(
            f"there is no folder for temporary files: {error.strerror or error}; "
            "set the environment variable TMPDIR to a folder that can be written"
        ) from error
