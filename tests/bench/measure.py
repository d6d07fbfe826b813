"""Processor time and peak memory of a piece of work."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """Processor seconds of a process and its children, and the peak of its memory in MiB.

    wall_seconds: on the clock.
    """

    seconds: float
    mebibytes: float
    wall_seconds: float

    def microseconds(self, count: int) -> float:
        """Processor microseconds for each of `count` pieces of work."""
        return self.seconds / count * 1e6


def processor_seconds() -> float:
    """Returns the processor time of this process and of the children that have ended."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def cost_of(work: Callable[[], object]) -> Cost:
    """Does the work here, and returns what it cost; the memory is this process's peak so far."""
    before, started = processor_seconds(), time.monotonic()
    work()
    seconds, wall = processor_seconds() - before, time.monotonic() - started
    return Cost(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, wall)
