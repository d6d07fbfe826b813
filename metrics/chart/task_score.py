"""What one task of one chart scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from metrics.common.text import truncated

# More matches or errors than this are not listed in the details of a sample, and longer texts are cut.
MAX_DETAILS = 500
MAX_DETAIL_LENGTH = 200

ItemT = TypeVar("ItemT")


class TaskScore(msgspec.Struct, frozen=True):
    """The score of one task of one chart.

    statistics: numbers that add up over charts.
    metrics: per-sample metrics.
    score: the task's share of the overall score of the chart, 0 to 1; None where there was nothing to measure.
    details: what matched what.
    attempted: whether the prediction has an output for the task.
    """

    statistics: Mapping[str, float]
    metrics: Mapping[str, float | None]
    score: float | None
    details: Any
    attempted: bool


def mean_score(task: str, score: float, details: Any, attempted: bool) -> TaskScore:
    """Returns the score of a task whose metric is the mean over charts."""
    return TaskScore({f"{task}.charts": 1, f"{task}.score": score}, {f"{task}.score": score}, score, details, attempted)


def listed(details: Sequence[ItemT]) -> Sequence[ItemT]:
    """Returns the first details, as many as are kept."""
    return details if len(details) <= MAX_DETAILS else details[:MAX_DETAILS]


def shortened(text: str) -> str:
    """Returns `text` truncated to the length that details keep."""
    return truncated(text, MAX_DETAIL_LENGTH)
