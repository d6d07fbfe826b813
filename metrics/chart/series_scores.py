"""The scores of the pairs of data series of many charts at once; what they mean stands in series.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import chain
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from metrics.benchmark import RejectedRecord
from metrics.chart.options import ChartOptions
from metrics.chart.sample import ChartSample
from metrics.chart.similarity import (
    Cells,
    Points,
    PointSets,
    cells_of,
    function_similarities,
    point_scores,
    released_point_set_scores,
    value_scores,
    value_spreads,
)
from metrics.chart.work import PAIR_OF_RELEASED_POINTS, PAIR_OF_SERIES, assignment_steps, edit_distance_steps
from metrics.common.geometry import Array
from metrics.common.segments import Indexes, starts_of, within
from metrics.common.tables import best_assignment_sums
from metrics.common.text import normalised_edit_distances, paired_edit_distances

# Tables of more pairs of texts are compared by themselves.
MAX_PAIRED_TEXTS = 1 << 12


class SeriesKind(Enum):
    """How the data series of a chart are compared."""

    LABELLED = "labelled"
    POINTS = "points"
    FUNCTION = "function"


class Series(msgspec.Struct, frozen=True, gc=False):
    """A data series made ready to compare.

    labels: the x of labelled values, else empty. xs: the x of points, sorted for a function, else empty.
    ys: NaN where a labelled value is no number.
    count: how many points the series has, those that cannot be compared too.
    well_formed: whether its data have the layout of the chart class; if not, it has no points and is like no other.
    """

    name: str
    labels: Sequence[str]
    xs: Sequence[float]
    ys: Sequence[float]
    count: int
    well_formed: bool = True


class SeriesChart(msgspec.Struct, frozen=True, gc=False):
    """One chart with the series of both sides, and whether there is a prediction."""

    sample: ChartSample
    kind: SeriesKind
    truths: Sequence[Series]
    predictions: Sequence[Series]
    attempted: bool

    @property
    def cells(self) -> int:
        """The pairs of points, and of series."""
        truths, predictions = self.truths, self.predictions
        points = sum([len(series.ys) for series in truths]), sum([len(series.ys) for series in predictions])
        return (len(truths) + points[0]) * (len(predictions) + points[1])


class Table(NamedTuple):
    """The similarity and the score of each pair of series of one chart, a list for each true series."""

    similarities: list[list[float]]
    scores: list[list[float]]


def paired_scores(
    charts: Sequence[SeriesChart], options: ChartOptions
) -> Iterator[tuple[SeriesChart, Table | RejectedRecord]]:
    """Yields each chart, in no order, with the table of its pairs of series, or its rejection.

    The work is spent before it is done.
    """
    able: dict[SeriesKind, list[SeriesChart]] = {}
    for chart, steps in zip(charts, _steps(charts, options), strict=True):
        try:
            chart.sample.budget.spend(steps)
        except RejectedRecord as rejected:
            yield chart, rejected
        else:
            able.setdefault(chart.kind, []).append(chart)
    for kind, of_kind in able.items():
        similarities = _similarities(of_kind, kind, options)
        scores = _named(of_kind, similarities, options).tolist()
        yield from zip(of_kind, _tables(of_kind, similarities.tolist(), scores), strict=True)


def _tables(charts: Sequence[SeriesChart], similarities: Sequence[float], scores: Sequence[float]) -> Iterator[Table]:
    """Yields the table of each chart; the values are those of one chart after the other."""
    start = 0
    for chart in charts:
        width = len(chart.predictions)
        end = start + len(chart.truths) * width
        if width:
            rows = [slice(place, place + width) for place in range(start, end, width)]
            yield Table([list(similarities[row]) for row in rows], [list(scores[row]) for row in rows])
        else:
            yield Table([], [])
        start = end


def _steps(charts: Sequence[SeriesChart], options: ChartOptions) -> list[int]:
    """Returns the steps of each chart: its pairs of series, labels and names, and the assignments."""
    layout = _Layout(charts)
    heights, widths = layout.true_counts[layout.rows], layout.predicted_counts[layout.columns]
    steps = np.full(len(heights), PAIR_OF_SERIES)
    both = (heights > 0) & (widths > 0)
    functions = _pairs_of_kind(charts, layout, SeriesKind.FUNCTION)
    tables = 11 + heights * widths // 20 + heights * widths * np.minimum(heights, widths) // 1200
    steps += np.where(both, np.where(functions, heights + widths, tables), 0)
    if options.protocol == "released":
        points = _pairs_of_kind(charts, layout, SeriesKind.POINTS)
        steps += np.where(both & points, PAIR_OF_RELEASED_POINTS, 0)
    sums = np.bincount(np.repeat(np.arange(len(charts)), layout.pairs), weights=steps, minlength=len(charts))
    return [
        int(of_pairs) + _steps_of_texts(chart, options) for chart, of_pairs in zip(charts, sums.tolist(), strict=True)
    ]


def _pairs_of_kind(charts: Sequence[SeriesChart], layout: _Layout, kind: SeriesKind) -> npt.NDArray[np.bool_]:
    """Tells of each pair of series whether its chart is of a kind."""
    return np.repeat(np.array([chart.kind is kind for chart in charts], dtype=np.bool_), layout.pairs)


def _steps_of_texts(chart: SeriesChart, options: ChartOptions) -> int:
    truths, predictions = chart.truths, chart.predictions
    steps = assignment_steps(len(truths), len(predictions))
    if chart.kind is SeriesKind.LABELLED:
        steps += edit_distance_steps(_distinct_labels(truths), _distinct_labels(predictions))
    if _names_count(chart, options):
        steps += edit_distance_steps([one.name for one in truths], [one.name for one in predictions])
    return steps


def _names_count(chart: SeriesChart, options: ChartOptions) -> bool:
    return options.protocol == "released" or any(series.name for series in chart.truths)


def _distinct_labels(series: Sequence[Series]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable([one.labels for one in series])))


class _Layout:
    """Where the series of many charts stand, and which of them are paired: each true one with each predicted one.

    true_counts, predicted_counts: the points of each series. pairs: the pairs of each chart.
    rows, columns: the true and the predicted series of each pair.
    """

    def __init__(self, charts: Sequence[SeriesChart]) -> None:
        self.truths = [series for chart in charts for series in chart.truths]
        self.predictions = [series for chart in charts for series in chart.predictions]
        self.true_counts = np.array([series.count for series in self.truths], dtype=np.intp)
        self.predicted_counts = np.array([series.count for series in self.predictions], dtype=np.intp)
        heights = np.array([len(chart.truths) for chart in charts], dtype=np.intp)
        widths = np.array([len(chart.predictions) for chart in charts], dtype=np.intp)
        self.pairs = heights * widths
        self.true_charts = np.repeat(np.arange(len(charts)), heights)
        widths_of_rows = widths[self.true_charts]
        self.rows = np.repeat(np.arange(len(self.truths)), widths_of_rows)
        self.columns = np.repeat(starts_of(widths)[self.true_charts], widths_of_rows) + within(widths_of_rows)


def _similarities(charts: Sequence[SeriesChart], kind: SeriesKind, options: ChartOptions) -> Array:
    """Returns the similarity of each pair of series, one chart after the other; two without points have 1."""
    layout = _Layout(charts)
    rows, columns = layout.rows, layout.columns
    truths, predictions = _points(layout.truths), _points(layout.predictions)
    well_formed = np.array([series.well_formed for series in layout.predictions], dtype=bool)
    heights, widths = layout.true_counts[rows], layout.predicted_counts[columns]
    similarities = (well_formed[columns] & (heights == widths)).astype(np.float64)
    counted = (heights > 0) & (widths > 0)
    similarities[counted] = 0.0
    compared = np.flatnonzero(counted & (truths.counts[rows] > 0) & (predictions.counts[columns] > 0))
    rows, columns = rows[compared], columns[compared]
    if kind is SeriesKind.FUNCTION:
        released = options.protocol == "released"
        similarities[compared] = function_similarities(truths, predictions, rows, columns, released)
    elif len(compared):
        score = _label_scorer(charts, layout, truths, predictions, rows, options)
        if kind is SeriesKind.POINTS:
            score = _point_scorer(truths, predictions, rows, columns, options)
        larger = np.maximum(heights, widths)[compared]
        for part, cells in cells_of(truths, predictions, rows, columns):
            sums = best_assignment_sums(score(cells), cells.tables)
            similarities[compared[part]] = np.minimum(1.0, sums / larger[part])
    return np.asarray(similarities, dtype=np.float64)


def _points(series: Sequence[Series]) -> Points:
    counts = np.array([len(one.ys) for one in series], dtype=np.intp)
    ys = np.array(list(chain.from_iterable([one.ys for one in series])), dtype=np.float64)
    xs = np.array(list(chain.from_iterable([one.xs for one in series])), dtype=np.float64)
    return Points(xs, ys, counts)


Scorer = Callable[[Cells], Array]


def _point_scorer(
    truths: Points, predictions: Points, rows: Indexes, columns: Indexes, options: ChartOptions
) -> Scorer:
    """Returns what scores cells of point sets; released, as published where the script stops."""
    sets = PointSets.of(truths)

    def score(cells: Cells) -> Array:
        scores = point_scores(sets, truths, predictions, rows[cells.pairs], cells, options.gamma)
        if options.protocol == "released":
            # In order of the pairs, so that the cells of one are found without a look at all the others.
            order = np.argsort(cells.pairs, kind="stable")
            numbers, firsts = np.unique(cells.pairs[order], return_index=True)
            for pair, places in zip(numbers.tolist(), np.split(order, firsts[1:]), strict=True):
                start, other = truths.starts[rows[pair]], predictions.starts[columns[pair]]
                stops = start + truths.counts[rows[pair]], other + predictions.counts[columns[pair]]
                released = released_point_set_scores(
                    np.column_stack((truths.x[start : stops[0]], truths.y[start : stops[0]])),
                    np.column_stack((predictions.x[other : stops[1]], predictions.y[other : stops[1]])),
                    options.gamma,
                )
                if released is not None:
                    scores[places] = released[cells.truths[places] - start, cells.predictions[places] - other]
        return scores

    return score


def _label_scorer(
    charts: Sequence[SeriesChart],
    layout: _Layout,
    truths: Points,
    predictions: Points,
    rows: Indexes,
    options: ChartOptions,
) -> Scorer:
    """Returns what scores cells of labelled values; each pair of distinct labels of a chart is compared once."""
    true_labels, true_places = _indexed([chart.truths for chart in charts])
    predicted_labels, predicted_places = _indexed([chart.predictions for chart in charts])
    distances = _distances(true_labels, predicted_labels)
    scores_of_labels = 1 - distances**options.alpha
    widths = np.array([len(labels) for labels in predicted_labels], dtype=np.intp)
    sizes = widths * np.array([len(labels) for labels in true_labels], dtype=np.intp)
    starts = starts_of(sizes)
    spreads = value_spreads(truths)

    def score(cells: Cells) -> Array:
        series = rows[cells.pairs]
        chart = layout.true_charts[series]
        labels = starts[chart] + true_places[cells.truths] * widths[chart] + predicted_places[cells.predictions]
        values = value_scores(truths.y[cells.truths], predictions.y[cells.predictions], spreads[series], options.gamma)
        return np.asarray(scores_of_labels[labels] * values)

    return score


def _indexed(sides: Sequence[Sequence[Series]]) -> tuple[list[list[str]], Indexes]:
    """Returns the distinct labels of each chart, and for each value of all charts the place of its label in them."""
    distinct: list[list[str]] = []
    places: list[int] = []
    for side in sides:
        positions: dict[str, int] = {}
        for one in side:
            places += [positions.setdefault(text, len(positions)) for text in one.labels]
        distinct.append(list(positions))
    return distinct, np.array(places, dtype=np.intp)


def _distances(first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]) -> Array:
    """Returns the edit distances of each text of `first` and each of `second`, one chart after the other."""
    tables: list[Array] = []
    texts: tuple[list[str], list[str]] = [], []
    for some, others in zip(first, second, strict=True):
        if len(some) * len(others) > MAX_PAIRED_TEXTS:
            tables += [paired_edit_distances(*texts), normalised_edit_distances(some, others).ravel()]
            texts = [], []
        else:
            for text in some:
                texts[0].extend([text] * len(others))
                texts[1].extend(others)
    return np.concatenate([*tables, paired_edit_distances(*texts)])


def _named(charts: Sequence[SeriesChart], similarities: Array, options: ChartOptions) -> Array:
    """Returns the scores, in which the names of the series count, by the similarities of all pairs."""
    counting = [_names_count(chart, options) for chart in charts]
    named = [chart for chart, counts in zip(charts, counting, strict=True) if counts]
    distances = _distances(
        [[one.name for one in chart.truths] for chart in named],
        [[one.name for one in chart.predictions] for chart in named],
    )
    counted = np.repeat(counting, [len(chart.truths) * len(chart.predictions) for chart in charts])
    of_named = similarities[counted]
    scores = similarities.copy()
    scores[counted] = np.maximum(of_named / options.beta, (1 - distances**options.alpha) * of_named)
    return np.asarray(scores, dtype=np.float64)
