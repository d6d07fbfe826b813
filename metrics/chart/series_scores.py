"""The scores of the pairs of data series of many charts at once; what they mean stands in series.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..common.arrays import indexes
from ..common.geometry import Array
from ..common.segments import Indexes, starts_of
from ..common.tables import Tables, best_assignment_sums
from .options import ChartOptions
from .records import DataSeries
from .series_columns import LABELLED, SeriesColumns, SeriesKind
from .similarity import (
    Cells,
    PointSets,
    cells_of,
    function_similarities,
    point_scores,
    released_point_set_scores,
    value_scores,
    value_spreads,
)
from .text_distances import Texts, distinct_texts, text_distances, text_steps
from .work import PAIR_OF_RELEASED_POINTS, PAIR_OF_SERIES


class PairedSeries(NamedTuple):
    """The data series of both sides of charts of one kind, and their pairs: each true one with each predicted one.

    true_counts, predicted_counts: the series of each chart. tables: the table of pairs of each chart.
    charts, rows, columns: the chart, the true and the predicted series of each pair.
    names: the names of both sides. labels: of both sides the distinct labels of each chart, and the place of the label
    of each value among those of its chart.
    """

    kind: SeriesKind
    truths: SeriesColumns
    predictions: SeriesColumns
    true_counts: Indexes
    predicted_counts: Indexes
    tables: Tables
    charts: Indexes
    rows: Indexes
    columns: Indexes
    names: tuple[Texts, Texts]
    labels: tuple[tuple[Texts, Indexes], tuple[Texts, Indexes]]

    @classmethod
    def of(
        cls,
        kind: SeriesKind,
        truths: Sequence[Sequence[DataSeries]],
        predictions: Sequence[Sequence[DataSeries]],
        options: ChartOptions,
    ) -> PairedSeries:
        """Returns the series of both sides of each chart."""
        heights, widths = indexes(list(map(len, truths))), indexes(list(map(len, predictions)))
        tables = Tables.of(heights, widths)
        charts, rows, columns = tables.cells()
        first = SeriesColumns.of([series for of_chart in truths for series in of_chart], kind, options)
        second = SeriesColumns.of([series for of_chart in predictions for series in of_chart], kind, options)
        return cls(
            kind,
            first,
            second,
            heights,
            widths,
            tables,
            charts,
            rows + starts_of(heights)[charts],
            columns + starts_of(widths)[charts],
            (Texts.of(first.names, heights), Texts.of(second.names, widths)),
            (_distinct_labels(first, heights), _distinct_labels(second, widths)),
        )

    def are_named(self, options: ChartOptions) -> Indexes:
        """Returns 1 for each chart whose names count, else 0."""
        if options.protocol == "released":
            return np.ones(len(self.true_counts), dtype=np.intp)
        named = np.array([name != "" for name in self.truths.names], dtype=np.bool_)
        owners = np.repeat(np.arange(len(self.true_counts)), self.true_counts)
        return (np.bincount(owners[named], minlength=len(self.true_counts)) > 0).astype(np.intp)


def _distinct_labels(series: SeriesColumns, counts: Indexes) -> tuple[Texts, Indexes]:
    """Returns the distinct labels of each chart, and for each value of all charts the place of its label in them."""
    if not series.labels:
        return Texts.of([], np.zeros(len(counts), dtype=np.intp)), indexes([])
    owners = np.repeat(np.arange(len(counts)), counts)
    return distinct_texts(series.labels, np.bincount(owners, series.counts, len(counts)).astype(np.intp))


def series_steps(paired: PairedSeries, options: ChartOptions) -> list[int]:
    """Returns the steps of each chart: its pairs of series, labels and names, and the assignments."""
    heights, widths = paired.truths.counts[paired.rows], paired.predictions.counts[paired.columns]
    both = (heights > 0) & (widths > 0)
    sizes = heights * widths
    tables = 11 + sizes // 20 + sizes * np.minimum(heights, widths) // 1200
    if paired.kind is SeriesKind.FUNCTION:
        tables = heights + widths
    elif paired.kind is SeriesKind.POINTS and options.protocol == "released":
        tables += PAIR_OF_RELEASED_POINTS
    of_pairs = PAIR_OF_SERIES + np.where(both, tables, 0)
    steps = np.bincount(paired.charts, of_pairs, len(paired.true_counts)).astype(np.intp)
    true_counts, predicted_counts = paired.true_counts, paired.predicted_counts
    steps += 10 + true_counts * predicted_counts * np.minimum(true_counts, predicted_counts) // 1200
    steps += paired.are_named(options) * text_steps(*paired.names)
    if paired.kind in LABELLED:
        (labels, _), (others, _) = paired.labels
        steps += text_steps(labels, others)
    found: list[int] = steps.tolist()
    return found


def series_scores(paired: PairedSeries, options: ChartOptions) -> tuple[Array, Array]:
    """Returns the similarity and the score, in which the names count, of each pair of series."""
    similarities = _similarities(paired, options)
    distances = text_distances(*paired.names)
    starts = starts_of(paired.true_counts * paired.predicted_counts)
    rows = paired.rows - starts_of(paired.true_counts)[paired.charts]
    columns = paired.columns - starts_of(paired.predicted_counts)[paired.charts]
    distances = distances[starts[paired.charts] + rows * paired.predicted_counts[paired.charts] + columns]
    scores = np.maximum(similarities / options.beta, (1 - distances**options.alpha) * similarities)
    named = paired.are_named(options)[paired.charts] > 0
    return similarities, np.where(named, scores, similarities)


def _similarities(paired: PairedSeries, options: ChartOptions) -> Array:
    """Returns the similarity of each pair of series; two without points have 1."""
    rows, columns = paired.rows, paired.columns
    truths, predictions = paired.truths.points, paired.predictions.points
    heights, widths = paired.truths.counts[rows], paired.predictions.counts[columns]
    similarities = (paired.predictions.well_formed[columns] & (heights == widths)).astype(np.float64)
    counted = (heights > 0) & (widths > 0)
    similarities[counted] = 0.0
    compared = np.flatnonzero(counted & (truths.counts[rows] > 0) & (predictions.counts[columns] > 0))
    rows, columns = rows[compared], columns[compared]
    if paired.kind is SeriesKind.FUNCTION:
        released = options.protocol == "released"
        similarities[compared] = function_similarities(truths, predictions, rows, columns, released)
    elif len(compared):
        scorer = _point_scorer if paired.kind is SeriesKind.POINTS else _label_scorer
        score = scorer(paired, rows, columns, options)
        larger = np.maximum(heights, widths)[compared]
        for part, cells in cells_of(truths, predictions, rows, columns):
            sums = best_assignment_sums(score(cells), cells.tables)
            similarities[compared[part]] = np.minimum(1.0, sums / larger[part])
    return np.asarray(similarities, dtype=np.float64)


Scorer = Callable[[Cells], Array]


def _point_scorer(paired: PairedSeries, rows: Indexes, columns: Indexes, options: ChartOptions) -> Scorer:
    """Returns what scores cells of point sets; released, as published where the script stops."""
    truths, predictions = paired.truths.points, paired.predictions.points
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


def _label_scorer(paired: PairedSeries, rows: Indexes, columns: Indexes, options: ChartOptions) -> Scorer:
    """Returns what scores cells of labelled values; each pair of distinct labels of a chart is compared once."""
    truths, predictions = paired.truths.points, paired.predictions.points
    (labels, places), (other_labels, other_places) = paired.labels
    distances = text_distances(labels, other_labels)
    scores_of_labels = 1 - distances**options.alpha
    starts = starts_of(labels.counts * other_labels.counts)
    charts = np.repeat(np.arange(len(paired.true_counts)), paired.true_counts)
    spreads = value_spreads(truths)

    def score(cells: Cells) -> Array:
        series = rows[cells.pairs]
        chart = charts[series]
        pairs = starts[chart] + places[cells.truths] * other_labels.counts[chart] + other_places[cells.predictions]
        values = value_scores(truths.y[cells.truths], predictions.y[cells.predictions], spreads[series], options.gamma)
        return np.asarray(scores_of_labels[pairs] * values)

    return score
