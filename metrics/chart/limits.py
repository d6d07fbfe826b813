"""How large a record may be: what is scored must be scored in bounded time and memory."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

from metrics.benchmark import RejectedRecord, Side
from metrics.chart.elements import scatter_points
from metrics.chart.names import label
from metrics.chart.options import ChartOptions
from metrics.chart.records import (
    Axes,
    ChartData,
    ChartPrediction,
    ChartTruth,
    PredictedTextRoles,
    Scalar,
    VisualElements,
    output_of,
)
from metrics.chart.series import characters

# A float as text is at most so long.
MAX_FLOAT_LENGTH = 24


def check_size(side: Side, record: ChartTruth | ChartPrediction, options: ChartOptions) -> None:
    """Raises RejectedRecord where a task of the record has more than the options allow."""
    if not _fits(record, options):
        _check_exactly(side, record, options)


def _fits(record: ChartTruth | ChartPrediction, options: ChartOptions) -> bool:
    """Tells quickly that a record is within the limits; one near a limit may be refused."""
    limit = options.max_text_blocks
    if (text := record.task2) is not None and (blocks := text.output) is not None and _more(blocks.text_blocks, limit):
        return False
    if (roles := record.task3) is not None and (held := roles.output) is not None:
        if _more(held.text_roles, limit):
            return False
        if isinstance(held, PredictedTextRoles) and _length(held.text_blocks) > limit:
            return False
    if (analysis := record.task4) is not None and (output := analysis.output) is not None:
        axes = output.axes
        if axes is not None and (_more(axes.x_axis, limit) or _more(axes.y_axis, limit)):
            return False
    if (
        (pairs := record.task5) is not None
        and (legend := pairs.output) is not None
        and _more(legend.legend_pairs, limit)
    ):
        return False
    if (data := record.task6) is not None and data.output is not None and not _data_fits(data.output, options):
        return False
    if isinstance(record, ChartPrediction) and (data := record.task7) is not None and data.output is not None:
        return _data_fits(data.output, options)
    return True


def _more(items: Sized | None, limit: int) -> bool:
    return items is not None and len(items) > limit


def _data_fits(data: ChartData, options: ChartOptions) -> bool:
    limit = options.max_points
    elements = data.visual_elements
    if elements is not None:
        if _more(elements.bars, limit) or _more(elements.boxplots, limit):
            return False
        if elements.lines and (len(elements.lines) > options.max_series or sum(map(len, elements.lines)) > limit):
            return False
        if elements.scatter_points:
            points = sum([len(entry) if isinstance(entry, list) else 1 for entry in elements.scatter_points])
            if points > limit:
                return False
    series = data.data_series
    if not series:
        return True
    count = length = 0
    for one in series:
        length += _text_length((one.name,))
        if isinstance(one.data, list):
            count += len(one.data)
            length += _text_length([point.x for point in one.data])
    return len(series) <= options.max_series and count <= limit and length <= options.max_characters


def _text_length(values: Sequence[Scalar]) -> int:
    """Returns at least how many characters the values have as labels, and little more where there are numbers."""
    try:
        return len("".join(values))  # type: ignore[arg-type]
    except TypeError:
        return sum([MAX_FLOAT_LENGTH if isinstance(value, float) else len(label(value)) for value in values])


def _check_exactly(side: Side, record: ChartTruth | ChartPrediction, options: ChartOptions) -> None:
    text, legend = output_of(record.task2), output_of(record.task5)
    roles = record.task3.output if record.task3 else None
    analysis = output_of(record.task4)
    axes = (analysis.axes if analysis else None) or Axes()
    counts = {
        "task2 text_blocks": len((text.text_blocks if text else None) or ()),
        "task3 text_roles": len((roles.text_roles if roles else None) or ()),
        "task3 text_blocks": _length(roles.text_blocks) if isinstance(roles, PredictedTextRoles) else 0,
        "task4 x-axis ticks": len(axes.x_axis or ()),
        "task4 y-axis ticks": len(axes.y_axis or ()),
        "task5 legend_pairs": len((legend.legend_pairs if legend else None) or ()),
    }
    for what, count in counts.items():
        _check(side, what, count, options.max_text_blocks, "max_text_blocks")
    _check_data(side, "task6", output_of(record.task6), options)
    if isinstance(record, ChartPrediction):
        _check_data(side, "task7", output_of(record.task7), options)


def _check_data(side: Side, task: str, data: ChartData | None, options: ChartOptions) -> None:
    if data is None:
        return
    elements = data.visual_elements or VisualElements()
    series = data.data_series or ()
    lines = elements.lines or ()
    _check(side, f"{task} data series", len(series), options.max_series, "max_series")
    _check(side, f"{task} lines", len(lines), options.max_series, "max_series")
    points = {
        "bars": len(elements.bars or ()),
        "boxplots": len(elements.boxplots or ()),
        "points of lines": sum(len(line) for line in lines),
        "scatter points": len(scatter_points(elements)),
        "points of data series": sum(len(one.data) for one in series if isinstance(one.data, list)),
    }
    for what, count in points.items():
        _check(side, f"{task} {what}", count, options.max_points, "max_points")
    _check(
        side,
        f"{task} characters of series names and labels",
        characters(series),
        options.max_characters,
        "max_characters",
    )


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0


def _check(side: Side, what: str, count: int, limit: int, option: str) -> None:
    if count > limit:
        raise RejectedRecord(side, f"{what}: {count} are more than {option} allows ({limit})")
