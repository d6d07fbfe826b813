"""Tasks 6b and 7: data extraction.

Series of ground truth and prediction are paired to the largest sum of

    max(s / beta, (1 - L^alpha) s)

with s the similarity of the two series and L the edit distance of their names over the longer name (at least 1); the
score is that sum over max(ground truths, predictions). Where every true name is empty, names do not count (published;
the released metric6b.py compares them all the same). The kind of the chart says how series are compared: box plots by
their five numbers, bars by label and value, scatter plots as point sets, line charts as functions, and lines and
scatter plots by label and value as well where an x of the ground truth is not a number.

A ground truth whose series have another layout than its chart class is rejected; a predicted series of another layout
is wrong. A predicted value that is no number matches nothing; on a line it is left out.

Released: an all-zero line scores 0, and scatter points take the covariance as it is inverted. The script stops on bar
charts whose labels are all numbers and on degenerate series; such charts are scored as published.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import msgspec
from msgspec.structs import astuple

from metrics.benchmark import RejectedRecord
from metrics.chart.batch import Batch
from metrics.chart.details import listed, shortened
from metrics.chart.names import MAX_VALUE, label, number
from metrics.chart.options import ChartOptions, TaskName
from metrics.chart.records import BoxSummary, DataSeries, Scalar, is_empty
from metrics.chart.sample import ChartSample, require_class
from metrics.chart.series_scores import Series, SeriesChart, SeriesKind, Table, paired_scores
from metrics.common.assignment import best_pairs
from metrics.common.segments import numpy_sum

SUMMARY = BoxSummary.__struct_fields__
NO_SUMMARY = astuple(BoxSummary())
# Charts are scored together up to so many pairs of points, which bounds the memory.
MAX_CELLS = 1 << 18


def score_series(task: TaskName, batch: Batch, options: ChartOptions) -> None:
    """Scores task 6b or 7 of the charts that have it; no prediction scores 0, no series on both sides 1.

    Rejects a ground truth where a series has not the layout of the chart class, or a y in it is not a number.
    Released, charts without a prediction are left out.
    """
    charts: list[SeriesChart] = []
    cells = 0
    predicted = batch.predictions.extracted if task == "task7" else batch.predictions.data
    for sample, truth, prediction in zip(batch.samples, batch.truths.data, predicted, strict=True):
        if truth is None or truth.data_series is None or not sample.is_open:
            continue
        try:
            require_class(task, sample.chart_class)
            if not sample.chart_class.has_data:
                continue
            chart = _read_chart(sample, truth.data_series, None if prediction is None else prediction.data_series)
        except RejectedRecord as rejected:
            sample.reject(rejected)
            continue
        count = chart.cells
        if charts and cells + count > MAX_CELLS:
            _score_charts(task, charts, options)
            charts, cells = [], 0
        charts.append(chart)
        cells += count
    _score_charts(task, charts, options)


def _read_chart(sample: ChartSample, truth: Sequence[DataSeries], given: Sequence[DataSeries] | None) -> SeriesChart:
    """Returns a chart with its series made ready to compare."""
    chart_class = sample.chart_class.name
    for series in truth:
        _require_layout(series, chart_class)
    kind = series_kind(truth, chart_class)
    truths = [_series(series, kind, chart_class) for series in truth]
    for made in truths:
        _require_numbers(made)
    return SeriesChart(
        sample, kind, truths, [_series(each, kind, chart_class) for each in given or ()], given is not None
    )


def series_kind(truth: Sequence[DataSeries], chart_class: str) -> SeriesKind:
    """Returns how the series of a chart are compared, by its class and the ground truth's x."""
    if "scatter" not in chart_class and "line" not in chart_class:
        return SeriesKind.LABELLED
    for series in truth:
        if isinstance(series.data, list) and not _are_numbers(_floats([point.x for point in series.data])):
            return SeriesKind.LABELLED
    return SeriesKind.POINTS if "scatter" in chart_class else SeriesKind.FUNCTION


def _has_layout(series: DataSeries, chart_class: str) -> bool:
    """Tells whether the data are what the chart class has: points, or at least one of the numbers of a box plot."""
    if "box" in chart_class:
        return isinstance(series.data, BoxSummary) and astuple(series.data) != NO_SUMMARY
    return isinstance(series.data, list)


def _require_layout(series: DataSeries, chart_class: str) -> None:
    if _has_layout(series, chart_class):
        return
    wanted = "an object of " + ", ".join(SUMMARY) if "box" in chart_class else "a list of points with x and y"
    found = "an object"
    if isinstance(series.data, list):
        found = "a list of points"
    elif series.data is None:
        found = "absent"
    elif is_empty(series.data):
        found = "an object with none of " + ", ".join(SUMMARY)
    name = shortened(label(series.name))
    raise RejectedRecord(
        "ground_truth",
        f"task6: the data of the data series {name!r} of a {chart_class} chart must be {wanted}, not {found}",
    )


def _series(series: DataSeries, kind: SeriesKind, chart_class: str) -> Series:
    """Returns a series made ready."""
    name, data = series.name, series.data
    if not isinstance(name, str):
        name = label(name)
    if not _has_layout(series, chart_class):
        return Series(name, (), (), (), 0, well_formed=False)
    if isinstance(data, BoxSummary):
        parts = [(part, value) for part, value in zip(SUMMARY, astuple(data), strict=True) if value is not None]
        return Series(name, [part for part, _ in parts], (), _floats([value for _, value in parts]), len(parts))
    points = data or ()
    xs, ys = [point.x for point in points], _floats([point.y for point in points])
    if kind is SeriesKind.LABELLED:
        return Series(name, [x if isinstance(x, str) else label(x) for x in xs], (), ys, len(ys))
    places = _floats(xs)
    if not (_are_numbers(places) and _are_numbers(ys)):
        kept = [(x, y) for x, y in zip(places, ys, strict=True) if x == x and y == y]
        places, ys = [x for x, _ in kept], [y for _, y in kept]
    if kind is SeriesKind.FUNCTION:
        order = sorted(range(len(places)), key=places.__getitem__)
        places, ys = [places[place] for place in order], [ys[place] for place in order]
    return Series(name, (), places, ys, len(points))


def _floats(values: Sequence[Scalar]) -> list[float]:
    """Returns the numbers that values are or hold as text; NaN where there is none within +-1e100."""
    try:
        held = list(map(float, values))  # type: ignore[arg-type]
        if sum(map(abs, held)) <= MAX_VALUE:
            return held
    except (TypeError, ValueError, OverflowError):
        pass
    numbers = [number(value) for value in values]
    return [nan if each is None else each for each in numbers]


def _are_numbers(values: Sequence[float]) -> bool:
    total = sum(values)
    return total == total


def _require_numbers(series: Series) -> None:
    if len(series.ys) < series.count or not _are_numbers(series.ys):
        raise RejectedRecord(
            "ground_truth",
            f"task6: a y of the data series {shortened(series.name)!r} is not a number within +-1e100",
        )


def _score_charts(task: TaskName, charts: Sequence[SeriesChart], options: ChartOptions) -> None:
    for chart, table in paired_scores(charts, options):
        if isinstance(table, RejectedRecord):
            chart.sample.reject(table)
        elif options.protocol == "published" or chart.sample.prediction is not None:
            _note_score(task, chart, table)


class SeriesPair(msgspec.Struct, frozen=True, gc=False):
    """Two series that are paired, as the details have them."""

    truth: str
    predicted: str
    similarity: float
    score: float


def _note_score(task: TaskName, chart: SeriesChart, table: Table) -> None:
    """Notes the score of one chart by its pairs of series."""
    truths, predictions = chart.truths, chart.predictions
    matched = best_pairs(table.scores)
    total = numpy_sum([table.scores[row][column] for row, column in matched])
    larger = max(len(truths), len(predictions))
    score = min(1.0, total / larger) if larger else 1.0
    if not chart.attempted:
        score = 0.0
    pairs = [
        SeriesPair(
            shortened(truths[row].name),
            shortened(predictions[column].name),
            table.similarities[row][column],
            table.scores[row][column],
        )
        for row, column in matched
    ]
    details = {
        "kind": chart.kind.value,
        "pairs": listed(pairs),
        "missed": listed(_others(truths, [row for row, _ in matched])),
        "extra": listed(_others(predictions, [column for _, column in matched])),
    }
    chart.sample.add_mean(task, score, details, chart.attempted)


def _others(series: Sequence[Series], matched: Sequence[int]) -> list[str]:
    if len(series) == len(matched):
        return []
    taken = set(matched)
    return [shortened(one.name) for index, one in enumerate(series) if index not in taken]


def characters(series: Sequence[DataSeries]) -> int:
    """Returns how many characters the names and labels of the series have."""
    total = 0
    for one in series:
        total += _length(one.name)
        if isinstance(one.data, list):
            total += sum(_length(point.x) for point in one.data)
    return total


def _length(value: Scalar) -> int:
    return len(label(value))
