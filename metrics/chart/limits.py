"""How large a record may be, and the work of each comparison: all is scored in bounded time and memory.

A step of a sample's budget is at most about a microsecond.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..benchmark import RejectedRecord, Side
from .names import label
from .options import ChartOptions
from .records import (
    ChartData,
    ChartPrediction,
    ChartTruth,
    DataSeries,
    PredictedTextRoles,
    VisualElements,
)

# The fixed cost of comparing two series, lines or point sets, whatever they hold.
PAIR_OF_SERIES = 100
# What two sets of points cost more under the released protocol, which inverts a covariance for each two.
PAIR_OF_RELEASED_POINTS = 300


def pair_steps(rows: int, columns: int, passes: int = 1) -> int:
    """The steps of `passes` tables of numbers `[rows, columns]`; each needs some ten operations of an element."""
    return passes * (1 + rows * columns // 20)


def assignment_steps(rows: int, columns: int) -> int:
    """The steps of the best assignment of `[rows, columns]`, which takes their product times the smaller at worst."""
    return 10 + rows * columns * min(rows, columns) // 1200


def error_rate_steps(truth: str, predicted: str) -> int:
    """The steps of a character error rate; a text of twice the length is wrong without comparing them."""
    if len(predicted) >= 2 * len(truth):
        return 1
    return 1 + _word_operations([truth], [predicted]) // 80


def text_steps(texts: Collection[str], others: Collection[str]) -> int:
    """The steps of the distances of each text to each of the others: two passes over their table, and the edits."""
    return pair_steps(len(texts), len(others), 2) + _word_operations(texts, others) // 80


def _word_operations(first: Collection[str], second: Collection[str]) -> int:
    """64 cells of a column of the table of edits are one operation; either text may be the column."""
    characters, other_characters = len("".join(first)), len("".join(second))
    words = _words(first, characters)
    return max(words * other_characters, _words(second, other_characters) * characters)


def _words(texts: Collection[str], characters: int) -> int:
    """Returns how many words of 64 cells hold a column for each of the texts, of so many characters together."""
    return len(texts) if characters < 64 else sum([1 + len(text) // 64 for text in texts])


def check_sizes(truth: ChartTruth, prediction: ChartPrediction | None, options: ChartOptions) -> None:
    """Raises RejectedRecord where a task of a record has more than the options allow."""
    _check_record("ground_truth", truth, options)
    if prediction is not None:
        _check_record("prediction", prediction, options)
        if prediction.task7 is not None:
            _check_data("prediction", "task7", prediction.task7.output, options)


DATA = (
    ("data series", "max_series"),
    ("lines", "max_series"),
    ("bars", "max_points"),
    ("boxplots", "max_points"),
    ("points of lines", "max_points"),
    ("scatter points", "max_points"),
    ("points of data series", "max_points"),
    ("characters of series names and labels", "max_characters"),
)
LISTS = (
    "task2 text_blocks",
    "task3 text_roles",
    "task3 text_blocks",
    "task4 x-axis ticks",
    "task4 y-axis ticks",
    "task5 legend_pairs",
)


def _check_record(side: Side, record: ChartTruth | ChartPrediction, options: ChartOptions) -> None:
    """Checks tasks 2 to 6."""
    text, roles = record.task2 and record.task2.output, record.task3 and record.task3.output
    analysis, legend = record.task4 and record.task4.output, record.task5 and record.task5.output
    axes = analysis and analysis.axes
    lists = (
        text and text.text_blocks,
        roles and roles.text_roles,
        roles.text_blocks if isinstance(roles, PredictedTextRoles) else None,
        axes and axes.x_axis,
        axes and axes.y_axis,
        legend and legend.legend_pairs,
    )
    counts = [len(entries) if isinstance(entries, list) else 0 for entries in lists]
    if max(counts) > options.max_text_blocks:
        what, count = next(each for each in zip(LISTS, counts, strict=True) if each[1] > options.max_text_blocks)
        raise _too_large(side, what, count, "max_text_blocks", options)
    if record.task6 is not None:
        _check_data(side, "task6", record.task6.output, options)


def _check_data(side: Side, task: str, data: ChartData | None, options: ChartOptions) -> None:
    if data is None:
        return
    elements = data.visual_elements or NO_ELEMENTS
    series, lines = data.data_series or (), elements.lines or ()
    counts = (
        len(series),
        len(lines),
        len(elements.bars or ()),
        len(elements.boxplots or ()),
        sum(map(len, lines)),
        _scatter_points(elements),
        sum([len(one.data) for one in series if isinstance(one.data, list)]),
        characters(series),
    )
    if (
        max(counts[:2]) > options.max_series
        or max(counts[2:7]) > options.max_points
        or counts[7] > options.max_characters
    ):
        for (what, option), count in zip(DATA, counts, strict=True):
            if count > getattr(options, option):
                raise _too_large(side, f"{task} {what}", count, option, options)


NO_ELEMENTS = VisualElements()


def _scatter_points(elements: VisualElements) -> int:
    return sum([len(entry) if isinstance(entry, list) else 1 for entry in elements.scatter_points or ()])


def characters(series: Iterable[DataSeries]) -> int:
    """Returns how many characters the names and labels of the series have."""
    total = 0
    for one in series:
        total += len(label(one.name))
        if isinstance(one.data, list):
            total += sum([len(point.x if isinstance(point.x, str) else label(point.x)) for point in one.data])
    return total


def _too_large(side: Side, what: str, count: int, option: str, options: ChartOptions) -> RejectedRecord:
    limit = getattr(options, option)
    return RejectedRecord(side, f"{what}: {count} are more than {option} allows ({limit})")
