"""The records of one side of a batch by columns: what each task reads of every record, looked up once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .records import (
    Axes,
    ChartClass,
    ChartData,
    ChartPrediction,
    ChartTruth,
    LegendPair,
    Task,
    TextBlock,
    TextRoles,
)

NO_PREDICTION = ChartPrediction()


class Columns(NamedTuple):
    """For each record what it has for a task; None where it has nothing, and no column where no record has anything.

    classes: task 1, the name of the class. text_blocks: task 2. text_roles: task 3, the whole output, since a
    prediction may call the roles otherwise. axes: task 4. legend_pairs: task 5. data: task 6. extracted: task 7 of
    predictions, empty for ground truths.
    """

    classes: Sequence[str | None]
    text_blocks: Sequence[list[TextBlock] | None]
    text_roles: Sequence[TextRoles | None]
    axes: Sequence[Axes | None]
    legend_pairs: Sequence[list[LegendPair] | None]
    data: Sequence[ChartData | None]
    extracted: Sequence[ChartData | None]


def truth_columns(records: Sequence[ChartTruth]) -> Columns:
    """Returns the columns of ground truths."""
    return _columns(records, ())


def prediction_columns(records: Sequence[ChartPrediction | None]) -> Columns:
    """Returns the columns of predictions; one that is missing has nothing."""
    given = [NO_PREDICTION if record is None else record for record in records]
    return _columns(given, _outputs([record.task7 for record in given]))


def _columns(records: Sequence[ChartTruth | ChartPrediction], extracted: Sequence[ChartData | None]) -> Columns:
    classes = _outputs([record.task1 for record in records])
    texts = _outputs([record.task2 for record in records])
    analyses = _outputs([record.task4 for record in records])
    legends = _outputs([record.task5 for record in records])
    return Columns(
        [each.chart_type if isinstance(each, ChartClass) else each for each in classes],
        [None if each is None else each.text_blocks for each in texts],
        _outputs([record.task3 for record in records]),
        [None if each is None else each.axes for each in analyses],
        [None if each is None else each.legend_pairs for each in legends],
        _outputs([record.task6 for record in records]),
        extracted,
    )


def _outputs(tasks: Sequence[Task[Any] | None]) -> Sequence[Any]:
    """Returns the output of each task; nothing where no record has the task."""
    return [None if task is None else task.output for task in tasks] if any(tasks) else ()
