"""A limit on the work of one sample, counted in steps so that the same input always gets the same verdict."""

from __future__ import annotations

import time

STEPS_BETWEEN_CLOCK_READINGS = 10_000


class OutOfBudget(Exception):
    """The sample takes more work than its limit allows; the message says which limit."""


class Budget:
    """Counts the steps of one sample and stops it at `max_steps`, or at `seconds` where that is given.

    A step is one pair of atoms weighed against each other, one pair of neighbours aligned, one bond followed or
    one character read: roughly 10 to 200 ns each. Steps depend on the input alone; seconds depend on the machine,
    so they are only a net below the steps.
    """

    def __init__(self, max_steps: int, seconds: float | None = None) -> None:
        self._max_steps = max_steps
        self._steps = 0
        self._seconds = seconds
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._next_reading = STEPS_BETWEEN_CLOCK_READINGS

    def spend(self, steps: int) -> None:
        """Counts `steps`; raises OutOfBudget once a limit is passed."""
        self._steps += steps
        if self._steps > self._max_steps:
            raise OutOfBudget(
                f"the molecules need more than max_steps={self._max_steps} steps of work; raise max_steps, or leave "
                "the sample out"
            )
        if self._deadline is not None and self._steps >= self._next_reading:
            self._next_reading = self._steps + STEPS_BETWEEN_CLOCK_READINGS
            if time.monotonic() > self._deadline:
                raise OutOfBudget(f"the molecules need more than time_limit_seconds={self._seconds}")
