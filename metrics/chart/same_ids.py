"""Which entries of the ground truth and of the prediction of a chart have the same id: ticks, or legend pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from metrics.chart.records import Identifier
from metrics.chart.sample import Memo


class HasId(Protocol):
    """What a text block is linked to."""

    @property
    def id(self) -> Identifier:
        """The id of the text block."""


EntryT = TypeVar("EntryT", bound=HasId)


def entries_of_same_ids(
    truths: Sequence[HasId], predictions: Sequence[EntryT], identifiers: Memo[Identifier, str | None]
) -> tuple[list[str | None], Sequence[EntryT | None], list[str | None]]:
    """Returns the ids of the true entries, the predicted entry for each of them, and the ids of those that are left.

    Entries of the same id are matched in their order; one without an id is not matched. What is left is by id, in the
    order of the last entry of each, the last one first, and behind it what has no id.
    """
    names = [identifiers[entry.id] for entry in truths]
    others = [identifiers[entry.id] for entry in predictions]
    if names == others and None not in identifiers:  # The ids that were looked up: quicker than a look at these.
        return names, predictions, []
    waiting = dict(zip(reversed(others), reversed(predictions), strict=True))
    if len(waiting) == len(others) and None not in waiting:
        return names, [waiting.pop(name, None) for name in names], list(waiting)
    return names, *_entries_of_repeated_ids(names, others, predictions)


def _entries_of_repeated_ids(
    names: Sequence[str | None], others: Sequence[str | None], predictions: Sequence[EntryT]
) -> tuple[list[EntryT | None], list[str | None]]:
    waiting: dict[str | None, list[EntryT]] = {}
    for name, entry in zip(reversed(others), reversed(predictions), strict=True):
        waiting.setdefault(name, []).append(entry)
    nameless = waiting.pop(None, [])
    matches: list[EntryT | None] = []
    for name in names:
        queue = waiting.get(name)
        matches.append(queue.pop() if queue else None)
    left: list[str | None] = [name for name, queue in waiting.items() for _ in queue]
    return matches, left + [None] * len(nameless)
