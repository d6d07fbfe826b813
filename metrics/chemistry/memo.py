"""Work that is done once where a batch of samples asks for the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from ..common.budget import Budget

T = TypeVar("T")


class Memo:
    """Results by what they were computed from, with the steps that they took.

    A result costs the budget of each sample the same, whether it is computed or known, so that a sample's verdict does
    not depend on the samples before it. Once texts of `MAX_CHARACTERS` are known, all are forgotten.
    """

    MAX_CHARACTERS = 300_000

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[object, int]] = {}
        self._characters = 0

    def once(self, key: Hashable, characters: int, budget: Budget, compute: Callable[[], T]) -> T:
        """Returns what `compute` returns for `key`, which stands for texts with so many `characters`.

        Where the budget is less than the steps of a known result, it is computed anew, to fail at the same step.
        """
        known = self._known.get(key)
        if known is not None and known[1] <= budget.left:
            budget.spend(known[1])
            return known[0]  # type: ignore[return-value]
        before = budget.steps
        result = compute()
        if self._characters > self.MAX_CHARACTERS:
            self._known.clear()
            self._characters = 0
        self._known[key] = result, budget.steps - before
        self._characters += characters
        return result
