"""A limit on the work of one sample, counted in steps so that a sample has the same verdict on every machine."""

from __future__ import annotations

from metrics.benchmark import RejectedRecord


class OutOfBudget(RejectedRecord):
    """A sample that takes more work than `max_steps` allows; the message says what was counted and what to raise."""


class Budget:
    """Counts the steps of one sample; every benchmark makes one for each sample, with its option `max_steps`.

    A step is an elementary piece of work, such as one pair of elements compared or one character read; a benchmark
    charges its steps before it does the work, so that a step costs at most about a microsecond. Steps depend on the
    input alone, never on the clock.
    """

    def __init__(self, max_steps: int) -> None:
        self._max_steps = max_steps
        self.steps = 0
        """The steps counted so far."""

    def spend(self, steps: int) -> None:
        """Counts `steps`; raises OutOfBudget once there are more than `max_steps`."""
        self.steps += steps
        if self.steps > self._max_steps:
            raise OutOfBudget(
                "sample",
                f"scoring takes more work than max_steps={self._max_steps} allows (at least {self.steps} steps): raise "
                "max_steps, or leave the sample out",
            )
