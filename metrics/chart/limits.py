"""How large a record may be: what is scored must be scored in bounded time and memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from itertools import chain
from typing import Any, cast

from ..benchmark import Pair, RejectedRecord, Side
from .columns import Columns
from .elements import scatter_points
from .names import label
from .options import ChartOptions
from .records import (
    Axes,
    ChartData,
    ChartPrediction,
    ChartTruth,
    PredictedTextRoles,
    Scalar,
    VisualElements,
    output_of,
)
from .series import characters

# A number between these limits as text is at most so long.
MAX_SHORT_NUMBER = 10**20
MAX_NUMBER_LENGTH = 24


def rejections(
    pairs: Sequence[Pair[ChartTruth, ChartPrediction]], truths: Columns, predictions: Columns, options: ChartOptions
) -> dict[int, RejectedRecord]:
    """Returns the rejection of each pair, by its place, with a record that has more than the options allow.

    truths, predictions: the columns of the two sides.
    """
    if _fit(truths, options) and _fit(predictions, options) and _roles_fit(predictions, options):
        return {}
    found: dict[int, RejectedRecord] = {}
    for number, pair in enumerate(pairs):
        try:
            check_sizes(pair.truth, pair.prediction, options)
        except RejectedRecord as rejected:
            found[number] = rejected
    return found


def check_sizes(truth: ChartTruth, prediction: ChartPrediction | None, options: ChartOptions) -> None:
    """Raises RejectedRecord where a task of a record has more than the options allow."""
    _check_size("ground_truth", truth, options)
    if prediction is not None:
        _check_size("prediction", prediction, options)


def _fit(columns: Columns, options: ChartOptions) -> bool:
    """Tells quickly that all records of a side are within the limits; one near a limit may be refused."""
    roles = [output.text_roles for output in columns.text_roles if output is not None]
    x_axes = [each.x_axis for each in columns.axes if each is not None]
    y_axes = [each.y_axis for each in columns.axes if each is not None]
    for lists in (columns.text_blocks, roles, x_axes, y_axes, columns.legend_pairs):
        if _longest(lists) > options.max_text_blocks:
            return False
    data = [each for each in chain(columns.data, columns.extracted) if each is not None]
    return (_elements_fit(data, options) and _series_fit(data, options)) or all(
        _elements_fit([each], options) and _series_fit([each], options) for each in data
    )


def _roles_fit(predictions: Columns, options: ChartOptions) -> bool:
    """Tells whether what stands in the place of text roles is within the limit."""
    given = [output.text_blocks for output in predictions.text_roles if isinstance(output, PredictedTextRoles)]
    return max(map(_length, given), default=0) <= options.max_text_blocks


def _longest(lists: Iterable[Sized | None]) -> int:
    return max(map(len, filter(None, lists)), default=0)


def _elements_fit(data: Sequence[ChartData], options: ChartOptions) -> bool:
    """Tells quickly that the visual elements of each are within the limits; near a limit only of one alone."""
    drawn = [each.visual_elements for each in data if each.visual_elements is not None]
    if not drawn:
        return True
    lines = [each.lines for each in drawn if each.lines]
    groups = [each.scatter_points for each in drawn if each.scatter_points]
    entries = [[entry for entry in group if isinstance(entry, list)] for group in groups]
    return (
        _longest(lines) <= options.max_series
        and _longest([each.bars for each in drawn]) <= options.max_points
        and _longest([each.boxplots for each in drawn]) <= options.max_points
        and _parts_fit(lines, options.max_points)
        and _longest(groups) + max([sum(map(len, lists)) for lists in entries], default=0) <= options.max_points
    )


def _series_fit(data: Sequence[ChartData], options: ChartOptions) -> bool:
    """Tells quickly that the data series of each are within the limits; near a limit only of one alone."""
    lists = [each.data_series for each in data if each.data_series]
    if not lists:
        return True
    points = [[series.data for series in each if isinstance(series.data, list)] for each in lists]
    names = [series.name for each in lists for series in each]
    if _longest(lists) > options.max_series or not _parts_fit(points, options.max_points):
        return False
    longest = max([_text_length([point.x for point in chain.from_iterable(each)]) for each in points])
    return _text_length(names) + longest <= options.max_characters


def _parts_fit(lists: Sequence[Sequence[Sized]], limit: int) -> bool:
    """Tells quickly that the lengths of the parts of each of these add up to `limit` at most."""
    longest = max([_longest(parts) for parts in lists], default=0)
    return _longest(lists) * longest <= limit or max([sum(map(len, parts)) for parts in lists]) <= limit


def _text_length(values: Sequence[Scalar]) -> int:
    """Returns at least how many characters the values have as labels, and little more where they are numbers."""
    types = set(map(type, values))
    if types <= {str}:
        return len("".join(cast("Sequence[str]", values)))
    if types <= {int, float}:
        held = cast("Sequence[float]", values)
        if min(held) > -MAX_SHORT_NUMBER and max(held) < MAX_SHORT_NUMBER:
            return MAX_NUMBER_LENGTH * len(values)
    return sum([len(label(value)) for value in values])


def _check_size(side: Side, record: ChartTruth | ChartPrediction, options: ChartOptions) -> None:
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
