"""What one task of one chart scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metrics.common.text import truncated

# More matches or errors than this are not listed in the details of a sample, and longer texts are cut.
MAX_DETAILS = 500
MAX_DETAIL_LENGTH = 200


@dataclass(frozen=True, slots=True)
class TaskScore:
    """The score of one task of one chart.

    statistics: numbers that add up over charts.
    metrics: per-sample metrics.
    score: the task's share of the overall score of the chart, 0 to 1; None where there was nothing to measure.
    details: what matched what.
    """

    statistics: Mapping[str, float]
    metrics: Mapping[str, float | None]
    score: float | None
    details: Any


def mean_score(task: str, score: float, details: Any) -> TaskScore:
    """Returns the score of a task whose metric is the mean over charts."""
    return TaskScore({f"{task}.charts": 1, f"{task}.score": score}, {f"{task}.score": score}, score, details)


def listed(details: list[Any]) -> list[Any]:
    """Returns the first details, as many as are kept."""
    return details[:MAX_DETAILS]


def shortened(text: str) -> str:
    """Returns `text` truncated to the length that details keep."""
    return truncated(text, MAX_DETAIL_LENGTH)
