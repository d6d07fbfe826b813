"""What a fault of the machine does to a bundle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..metrics.benchmark import MissingTool
from ..metrics.common.errors import ENVIRONMENT_FAULTS
from .records import InputProblem

OF_THE_MACHINE = "failed because of this machine, not of a record"


@contextmanager
def faults_end_the_bundle(what: str, excuse: Callable[[BaseException], bool] = lambda _: False) -> Iterator[None]:
    """Raises InputProblem for a fault of the machine within, so that the runner tries again or the run ends in a line.

    what: what is done within, such as `scoring`. excuse: tells which errors are none of the machine; these pass as they
    are.
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
            f"{what} {OF_THE_MACHINE}: {type(error).__name__}{message}; mend that and run again"
        ) from error
