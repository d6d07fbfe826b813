"""Faults of the machine, which end a bundle; faults of the temporary folder, as messages that say how to fix them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..metrics.benchmark import ENVIRONMENT_FAULTS, MissingTool
from .records import InputProblem

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
