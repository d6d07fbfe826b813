"""How large a record may be: what is scored must be scored in bounded time and memory."""

from __future__ import annotations

from typing import Any

from metrics.benchmark import RejectedRecord, Side
from metrics.chart.elements import scatter_points
from metrics.chart.options import ChartOptions
from metrics.chart.records import (
    Axes,
    ChartData,
    ChartPrediction,
    ChartTruth,
    PredictedTextRoles,
    VisualElements,
    output_of,
)
from metrics.chart.series import characters


def check_size(side: Side, record: ChartTruth | ChartPrediction, options: ChartOptions) -> None:
    """Raises RejectedRecord where a task of the record has more than the options allow."""
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
