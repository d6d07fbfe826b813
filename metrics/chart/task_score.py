"""What one task of one chart comes to, and how much its details keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from ..common.text import truncated
from .records import TaskName

# More matches or errors than this are not listed in the details of a sample, and longer texts are cut.
MAX_DETAILS = 500
MAX_DETAIL_LENGTH = 200

ItemT = TypeVar("ItemT")


class TaskScore(msgspec.Struct, frozen=True, gc=False):
    """The score of one task of one chart.

    statistics, metrics, details, coverage: its part of a `SampleScore`. share: what enters the mean over tasks, 0 to 1;
    None if there was nothing to measure. attempted: whether the prediction has an output for the task.
    """

    statistics: Mapping[str, float]
    metrics: Mapping[str, float | None]
    share: float | None
    details: Any
    attempted: bool
    coverage: Mapping[str, int] | None = None


def mean_score(task: TaskName, score: float, details: Any, attempted: bool) -> TaskScore:
    """Returns the score of a task whose metric is the mean over charts; 0 if it is not attempted."""
    name, score = f"{task}.score", score if attempted else 0.0
    return TaskScore({f"{task}.charts": 1, name: score}, {name: score}, score, details, attempted)


def listed(details: Sequence[ItemT]) -> Sequence[ItemT]:
    """Returns the first details, as many as are kept."""
    return details[:MAX_DETAILS]


def not_listed(**kinds: Sequence[Any]) -> dict[str, Any]:
    """Returns, for details, how many of each kind are not listed; nothing if all are."""
    more = {kind: len(some) - MAX_DETAILS for kind, some in kinds.items() if len(some) > MAX_DETAILS}
    return {"left_out": more} if more else {}


def whole_count(kind: str, details: Any) -> int:
    """Returns how many of a kind there are, with those that details do not list."""
    return len(details[kind]) + int(details.get("left_out", {}).get(kind, 0))


def shortened(text: str) -> str:
    """Returns `text` truncated to the length that details keep."""
    return truncated(text, MAX_DETAIL_LENGTH)
