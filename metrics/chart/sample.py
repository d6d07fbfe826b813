"""One chart of a batch while it is scored, and what a batch computes once for equal values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import msgspec

from metrics.benchmark import RejectedRecord
from metrics.chart.records import ChartClass, ChartPrediction, ChartTruth, Task
from metrics.chart.task_score import TaskScore
from metrics.common.budget import Budget

# The classes of charts that tasks 6a, 6b and 7 have a measure for, by a word of their name.
DATA_CLASSES = ("bar", "box", "line", "scatter")
# Charts with a word of these in their class have task 1 alone.
CLASSES_WITHOUT_TASKS = ("pie", "donut")

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


class ClassOfChart(msgspec.Struct, frozen=True):
    """What the name of a chart class says.

    name: as classes are compared; empty where there is none.
    has_tasks: whether the chart has more than task 1. has_data: whether tasks 6a, 6b and 7 have a measure for it.
    is_bar: whether it may be ambiguous between grouped and stacked.
    """

    name: str
    has_tasks: bool
    has_data: bool
    is_bar: bool

    @classmethod
    def of(cls, given: str | None) -> ClassOfChart:
        """Returns what a class is, by its name in a record."""
        name = normalised_class(given or "")
        words = name.split()
        has_tasks = not any(word in CLASSES_WITHOUT_TASKS for word in words)
        return cls(name, has_tasks, any(word in name for word in DATA_CLASSES), "bar" in words)


class ChartSample(msgspec.Struct):
    """One chart of a batch: its records, its class and budget, its scores so far, and the rejection that ends them."""

    truth: ChartTruth
    prediction: ChartPrediction | None
    chart_class: ClassOfChart
    budget: Budget
    scores: dict[str, TaskScore]
    rejected: RejectedRecord | None = None


TaskResults = Iterable[tuple[ChartSample, TaskScore | RejectedRecord]]
"""What one task makes of a batch, in its order; charts that do not have the task are left out."""


def normalised_class(name: str) -> str:
    """Returns the name of a class as classes are compared: lower-cased and stripped."""
    return name.lower().strip()


def given_class(task: Task[ChartClass | str] | None) -> str | None:
    """Returns the class that an output of task 1 names, which some write as bare text; None where it names none."""
    if task is None:
        return None
    output = task.output
    return output.chart_type if isinstance(output, ChartClass) else output


def without_class(task: str, chart_class: ClassOfChart) -> RejectedRecord | None:
    """Returns the rejection of a ground truth without a class, which says how the data of `task` compare."""
    if chart_class.name:
        return None
    return RejectedRecord("ground_truth", f"{task} needs task1.output.chart_type, which says how data compare")
