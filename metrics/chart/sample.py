"""One chart of a batch while it is scored, and what a batch computes once for equal values."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, TypeVar

import msgspec

from ..benchmark import RejectedRecord, SampleScore
from ..common.budget import Budget
from .options import ALL_TASKS, TaskName
from .records import ChartPrediction, ChartTruth

# The classes of charts that tasks 6a, 6b and 7 have a measure for, by a word of their name.
DATA_CLASSES = ("bar", "box", "line", "scatter")
# Charts with a word of these in their class have task 1 alone.
CLASSES_WITHOUT_TASKS = ("pie", "donut")

ATTEMPTED: dict[str, str] = {task: f"{task}.attempted" for task in ALL_TASKS}
LEFT_OUT: dict[str, str] = {task: f"{task}.left_out" for task in ALL_TASKS}
CHARTS: dict[str, str] = {task: f"{task}.charts" for task in ALL_TASKS}
SCORES: dict[str, str] = {task: f"{task}.score" for task in ALL_TASKS}

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class Memo(dict[KeyT, ValueT], Generic[KeyT, ValueT]):
    """The values of a pure function, each computed when it is first looked up; equal keys must have equal values."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[KeyT], ValueT]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, key: KeyT) -> ValueT:
        value = self[key] = self._function(key)
        return value


class ElementKind(Enum):
    """What a chart is drawn with; the values are words of the chart classes, but for bars, which the others have."""

    BOX_PLOTS = "box"
    SCATTER_POINTS = "scatter"
    LINES = "line"
    BARS = ""


class ClassOfChart(msgspec.Struct, frozen=True, gc=False):
    """What the name of a chart class says.

    name: as classes are compared; empty where there is none.
    has_tasks: whether the chart has more than task 1. has_data: whether tasks 6a, 6b and 7 have a measure for it.
    is_bar: whether it may be ambiguous between grouped and stacked. elements: what it is drawn with.
    """

    name: str
    has_tasks: bool
    has_data: bool
    is_bar: bool
    elements: ElementKind

    @classmethod
    def of(cls, given: str | None) -> ClassOfChart:
        """Returns what a class is, by its name in a record."""
        name = normalised_class(given or "")
        words = name.split()
        has_tasks = not any(word in CLASSES_WITHOUT_TASKS for word in words)
        has_data = any(word in name for word in DATA_CLASSES)
        elements = next(kind for kind in ElementKind if kind.value in name)
        return cls(name, has_tasks, has_data, "bar" in words, elements)


class ChartSample(msgspec.Struct, gc=False):
    """One chart of a batch: its records, its class, and what the tasks scored so far come to.

    max_steps: the work that may be spent on it. is_open: whether tasks other than task 1 are still to be scored.
    statistics, metrics, details: as in `SampleScore`. share_total, share_count: the sum and the number of the scores
    whose mean is the overall score of the chart.
    has_listed_class: False where task 1 is scored and the true class is not one of the option `classes`.
    rejected: the rejection that ends the scoring. spent: the budget, once there is one.
    """

    truth: ChartTruth
    prediction: ChartPrediction | None
    chart_class: ClassOfChart
    max_steps: int
    is_open: bool
    statistics: dict[str, float] = msgspec.field(default_factory=dict)
    metrics: dict[str, float | None] = msgspec.field(default_factory=dict)
    details: dict[str, Any] = msgspec.field(default_factory=dict)
    share_total: float = 0.0
    share_count: int = 0
    has_listed_class: bool = True
    rejected: RejectedRecord | None = None
    spent: Budget | None = None

    @property
    def budget(self) -> Budget:
        """The budget of the chart."""
        if self.spent is None:
            self.spent = Budget(self.max_steps)
        return self.spent

    def reject(self, rejected: RejectedRecord) -> None:
        """Ends the scoring of the chart."""
        self.rejected = rejected
        self.is_open = False

    def add(self, task: TaskName, score: float | None, details: Any, attempted: bool) -> None:
        """Notes the score of a task whose statistics and metrics are noted.

        score: the task's share of the overall score, 0 to 1; None where there was nothing to measure. details: what
        matched what. attempted: whether the prediction has an output for the task; of one that lacks it alone, the
        score is no share.
        """
        self.details[task] = details
        if self.prediction is None:
            attempted = True
        else:
            self.statistics[ATTEMPTED[task] if attempted else LEFT_OUT[task]] = 1
        if attempted and score is not None:
            self.share_total += score
            self.share_count += 1

    def add_mean(self, task: TaskName, score: float, details: Any, attempted: bool) -> None:
        """Notes the score of a task whose metric is the mean over charts."""
        name, statistics = SCORES[task], self.statistics
        statistics[CHARTS[task]] = 1
        statistics[name] = self.metrics[name] = score
        self.add(task, score, details, attempted)

    def result(self) -> SampleScore | RejectedRecord:
        """Returns what the tasks of the chart come to."""
        if self.rejected is not None:
            return self.rejected
        self.metrics["score"] = self.share_total / self.share_count if self.share_count else None
        if self.has_listed_class:
            return SampleScore(self.statistics, self.metrics, self.details)
        return SampleScore(self.statistics, self.metrics, self.details, {"ground_truth_classes_not_listed": 1})


def normalised_class(name: str) -> str:
    """Returns the name of a class as classes are compared: lower-cased and stripped."""
    return name.lower().strip()


def require_class(task: str, chart_class: ClassOfChart) -> None:
    """Raises RejectedRecord for a ground truth without a class, which says how the data of `task` compare."""
    if not chart_class.name:
        raise RejectedRecord("ground_truth", f"{task} needs task1.output.chart_type, which says how data compare")
