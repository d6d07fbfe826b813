"""A limit on the work of one sample, counted in steps, so that the result is the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..benchmark import RejectedRecord, Side

_LARGER = 2


class OutOfBudget(RejectedRecord):
    """A sample needs more work than `max_steps` allows; the message states the count and the option to raise."""


class Budget:
    """Counts the steps of one sample; every benchmark makes one for each sample, with its option `max_steps`.

    A step is an elementary piece of work, such as one pair of elements compared or one character read; a benchmark
    counts steps before it does the work; a step costs at most about a microsecond. Steps depend on the
    input alone, never on the clock.
    """

    __slots__ = ("_max_steps", "_read", "steps")

    def __init__(self, max_steps: int) -> None:
        self._max_steps = max_steps
        self._read: dict[Side, int] = {}
        self.steps = 0
        """The steps counted so far."""

    @property
    def left(self) -> int:
        """The steps that may still be spent."""
        return self._max_steps - self.steps

    def spend(self, steps: int) -> None:
        """Counts `steps`; raises OutOfBudget if the total exceeds `max_steps`.

        Its side is "prediction" if reading the prediction took more than twice as many steps as reading the ground
        truth, which its size must not remove from the score; else "sample".
        """
        self.steps += steps
        if self.steps > self._max_steps:
            truth, prediction = self._read.get("ground_truth"), self._read.get("prediction", 0)
            side: Side = "sample" if truth is None or prediction <= _LARGER * truth else "prediction"
            raise OutOfBudget(
                side,
                f"scoring takes more work than max_steps={self._max_steps} allows (at least {self.steps} steps): raise "
                "max_steps, or leave the sample out",
            )

    @contextmanager
    def reading(self, side: Side) -> Iterator[None]:
        """Returns a context manager that attributes the steps spent in it to the reading of `side`.

        If the steps run out in it, the side of OutOfBudget is the one whose reading took more than half of `max_steps`,
        so that an expensive prediction does not remove its ground truth from the score. If neither or both took more
        than half, it is that of `spend`.
        """
        before = self.steps
        try:
            yield
        except OutOfBudget as exceeded:
            self._read[side] = self._read.get(side, 0) + self.steps - before
            large = [each for each, steps in self._read.items() if 2 * steps > self._max_steps]
            if len(large) == 1:
                # A new error would keep the frames of the old one in a reference cycle on Python 3.13.
                exceeded.side, name = large[0], large[0].replace("_", " ")
                exceeded.message += f"; {self._read[large[0]]} of the steps are to read the {name}"
            raise
        self._read[side] = self._read.get(side, 0) + self.steps - before
