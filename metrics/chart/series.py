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
from itertools import chain

import msgspec
import numpy as np
from msgspec.structs import astuple

from ..benchmark import RejectedRecord
from ..common.arrays import indexes
from ..common.segments import Indexes, segment_sums
from ..common.tables import Matches, best_matches
from .batch import Batch, parts_of
from .details import listed, shortened
from .names import label, numbers
from .options import ChartOptions, TaskName
from .records import BoxSummary, DataSeries, Scalar, is_empty
from .sample import ChartSample, ElementKind, require_class
from .series_columns import NO_SUMMARY, SUMMARY, SeriesKind
from .series_scores import PairedSeries, series_scores, series_steps


class SeriesChart(msgspec.Struct, frozen=True, gc=False):
    """One chart with the series of both sides, and whether there is a prediction."""

    sample: ChartSample
    truths: Sequence[DataSeries]
    predictions: Sequence[DataSeries]
    attempted: bool

    @property
    def cells(self) -> int:
        """The pairs of points, and of series."""
        return _size(self.truths) * _size(self.predictions)


def _size(series: Sequence[DataSeries]) -> int:
    """Returns how many series there are, and points in them."""
    return sum([1 + len(each.data) if isinstance(each.data, list) else 1 + len(SUMMARY) for each in series])


def score_series(task: TaskName, batch: Batch, options: ChartOptions) -> None:
    """Scores task 6b or 7 of the charts that have it; no prediction scores 0, no series on both sides 1.

    Rejects a ground truth where a series has not the layout of the chart class, or a y in it is not a number.
    Released, charts without a prediction are left out.
    """
    charts: list[SeriesChart] = []
    predicted = batch.predictions.extracted if task == "task7" else batch.predictions.data
    for sample, truth, prediction in batch.rows(batch.truths.data, predicted):
        if truth is None or truth.data_series is None or not sample.is_open:
            continue
        try:
            require_class(task, sample.chart_class)
            if not sample.chart_class.has_data:
                continue
            _require_layout(truth.data_series, sample)
        except RejectedRecord as rejected:
            sample.reject(rejected)
            continue
        given = None if prediction is None else prediction.data_series
        charts.append(SeriesChart(sample, truth.data_series, given or (), given is not None))
    for kind, of_kind in _by_kind(charts).items():
        for part in parts_of(of_kind):
            _score_charts(task, kind, part, options)


def _require_layout(truth: Sequence[DataSeries], sample: ChartSample) -> None:
    """Raises RejectedRecord unless the data are what the chart has: points, or numbers of box plots."""
    if sample.chart_class.elements is ElementKind.BOX_PLOTS:
        wanted = "an object of " + ", ".join(SUMMARY)
        bad = [each for each in truth if not isinstance(each.data, BoxSummary) or astuple(each.data) == NO_SUMMARY]
    else:
        wanted = "a list of points with x and y"
        bad = [each for each in truth if not isinstance(each.data, list)]
    if not bad:
        return
    found = "an object"
    if isinstance(bad[0].data, list):
        found = "a list of points"
    elif bad[0].data is None:
        found = "absent"
    elif is_empty(bad[0].data):
        found = "an object with none of " + ", ".join(SUMMARY)
    name = shortened(label(bad[0].name))
    raise RejectedRecord(
        "ground_truth",
        f"task6: the data of the data series {name!r} of a {sample.chart_class.name} chart must be {wanted}, "
        f"not {found}",
    )


def _by_kind(charts: Sequence[SeriesChart]) -> dict[SeriesKind, list[SeriesChart]]:
    """Returns the charts by how their series are compared: by their class and the ground truth's x."""
    found: dict[SeriesKind, list[SeriesChart]] = {}
    plotted: list[SeriesChart] = []
    for chart in charts:
        elements = chart.sample.chart_class.elements
        if elements is ElementKind.BOX_PLOTS:
            found.setdefault(SeriesKind.BOX_PLOT, []).append(chart)
        elif elements is ElementKind.BARS:
            found.setdefault(SeriesKind.LABELLED, []).append(chart)
        else:
            plotted.append(chart)
    for chart, has_numbers in zip(plotted, _have_numbers(plotted), strict=True):
        kind = SeriesKind.LABELLED
        if has_numbers:
            scattered = chart.sample.chart_class.elements is ElementKind.SCATTER_POINTS
            kind = SeriesKind.POINTS if scattered else SeriesKind.FUNCTION
        found.setdefault(kind, []).append(chart)
    return found


def _have_numbers(charts: Sequence[SeriesChart]) -> list[bool]:
    """Tells of each chart whether all x of its ground truth are numbers."""
    xs = [[point.x for series in chart.truths for point in series.data or ()] for chart in charts]  # type: ignore[union-attr]
    owners = np.repeat(np.arange(len(charts)), indexes(list(map(len, xs))))
    unknown = np.isnan(numbers(list(chain.from_iterable(xs))))
    found: list[bool] = (np.bincount(owners[unknown], minlength=len(charts)) == 0).tolist()
    return found


def _score_charts(task: TaskName, kind: SeriesKind, charts: Sequence[SeriesChart], options: ChartOptions) -> None:
    """Scores charts of one kind, and rejects those that cannot be scored."""
    paired = _paired(kind, charts, options)
    rejected = _rejections(charts, paired, options)
    if rejected:
        for number, rejection in rejected.items():
            charts[number].sample.reject(rejection)
        charts = [chart for number, chart in enumerate(charts) if number not in rejected]
        paired = _paired(kind, charts, options)
    similarities, scores = series_scores(paired, options)
    matches = best_matches(scores, paired.tables)
    found = scores[matches.places]
    pairs = _pairs(paired, matches, similarities[matches.places].tolist(), found.tolist())
    shown = "labelled" if kind is SeriesKind.BOX_PLOT else kind.value
    start = 0
    for chart, total, count in zip(
        charts, segment_sums(found, matches.counts).tolist(), matches.counts.tolist(), strict=True
    ):
        part = slice(start, start + count)
        start += count
        if options.protocol == "published" or chart.sample.prediction is not None:
            missed = _others(chart.truths, matches.rows[part]) if len(chart.truths) > count else []
            extra = _others(chart.predictions, matches.columns[part]) if len(chart.predictions) > count else []
            details = {"kind": shown, "pairs": listed(pairs[part]), "missed": listed(missed), "extra": listed(extra)}
            _note_score(task, chart, total, details)


def _paired(kind: SeriesKind, charts: Sequence[SeriesChart], options: ChartOptions) -> PairedSeries:
    return PairedSeries.of(kind, [chart.truths for chart in charts], [chart.predictions for chart in charts], options)


def _rejections(
    charts: Sequence[SeriesChart], paired: PairedSeries, options: ChartOptions
) -> dict[int, RejectedRecord]:
    """Returns the rejections by the places of their charts; the work of all others is spent."""
    found: dict[int, RejectedRecord] = {}
    if not paired.truths.numeric.all():
        owners = np.repeat(np.arange(len(charts)), paired.true_counts)
        for place in np.flatnonzero(~paired.truths.numeric).tolist():
            name = shortened(paired.truths.names[place])
            message = f"task6: a y of the data series {name!r} is not a number within +-1e100"
            found.setdefault(int(owners[place]), RejectedRecord("ground_truth", message))
    for number, steps in enumerate(series_steps(paired, options)):
        if number not in found:
            try:
                charts[number].sample.budget.spend(steps)
            except RejectedRecord as rejected:
                found[number] = rejected
    return found


class SeriesPair(msgspec.Struct, frozen=True, gc=False):
    """Two series that are paired, as the details have them."""

    truth: str
    predicted: str
    similarity: float
    score: float


def _pairs(
    paired: PairedSeries, matches: Matches, similarities: Sequence[float], scores: Sequence[float]
) -> list[SeriesPair]:
    """Returns the pairs of all charts."""
    truths, predictions = paired.truths.names, paired.predictions.names
    names = [shortened(truths[row]) for row in paired.rows[matches.places].tolist()]
    others = [shortened(predictions[column]) for column in paired.columns[matches.places].tolist()]
    return list(map(SeriesPair, names, others, similarities, scores))


def _note_score(task: TaskName, chart: SeriesChart, total: float, details: dict[str, object]) -> None:
    larger = max(len(chart.truths), len(chart.predictions))
    score = min(1.0, total / larger) if larger else 1.0
    chart.sample.add_mean(task, score if chart.attempted else 0.0, details, chart.attempted)


def _others(series: Sequence[DataSeries], matched: Indexes) -> list[str]:
    """Returns the names of the series that are not matched."""
    taken = set(matched.tolist())
    return [shortened(label(one.name)) for index, one in enumerate(series) if index not in taken]


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
