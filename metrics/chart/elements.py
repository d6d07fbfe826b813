"""Task 6a: the elements drawn in the plot area, in pixels.

A pair of elements scores max(0, 1 - D / T), with D the Manhattan distance and T 5 % of the shorter image side:

    bars      the sum of |dx0|, |dy0|, |dx1| and |dy1|
    box plots the distance of the predicted point to the true line; five classes, each matched within itself
    scatter   the distance of the points
    lines     no distance: the similarity of the two functions (see similarity.py)

Pairs are chosen to the largest sum, and score = sum / max(ground truths, predictions), over all five classes of a box
plot at once. The released metric6a.py scores a perfect prediction 0, so `released` has nothing to reproduce and gives
what `published` gives.

The kind of the chart says which elements count. A ground truth that holds elements of other kinds alone is rejected; a
prediction with such elements has none that count.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import msgspec
import numpy as np

from ..benchmark import RejectedRecord
from ..common.budget import Budget
from ..common.segments import segment_sums
from ..common.tables import best_matches
from .axes import without_image
from .batch import Batch, parts_of
from .details import listed
from .element_scores import Element, ElementChart, element_scores
from .options import ChartOptions
from .records import ChartData, Point, VisualElements
from .sample import ChartSample, ElementKind, require_class
from .series_columns import SUMMARY
from .work import PAIR_OF_SERIES, assignment_steps, pair_steps

# The classes of the elements that a chart is drawn with, as the details name them.
CLASSES: dict[ElementKind, Sequence[str]] = {
    ElementKind.BOX_PLOTS: SUMMARY,
    ElementKind.SCATTER_POINTS: ("points",),
    ElementKind.LINES: ("lines",),
    ElementKind.BARS: ("bars",),
}
BOX_PLOT_LINES = [attrgetter(name) for name in SUMMARY]


class GroupDetails(msgspec.Struct, frozen=True, gc=False):
    """How many elements of a class there are on both sides, and the pairs (truth, prediction, score)."""

    truths: int
    predictions: int
    pairs: Sequence[tuple[float, float, float]]


def score_elements(batch: Batch, options: ChartOptions) -> None:
    """Scores task 6a of the charts that have it."""
    charts: dict[ElementKind, list[ElementChart]] = {}
    for sample, truth, prediction in batch.rows(batch.truths.data, batch.predictions.data):
        elements = None if truth is None or not sample.is_open else elements_of(truth)
        if elements is None:
            continue
        try:
            require_class("task6a", sample.chart_class)
            if sample.chart_class.has_data:
                given = None if prediction is None else elements_of(prediction)
                chart = _read_chart(sample, elements, given, options)
                charts.setdefault(sample.chart_class.elements, []).append(chart)
        except RejectedRecord as rejected:
            sample.reject(rejected)
    for kind, of_kind in charts.items():
        for part in parts_of(of_kind):
            _score_charts(kind, part)


def elements_of(data: ChartData) -> VisualElements | None:
    """Returns the visual elements of an output; None where it has none, or only groups that are absent."""
    elements = data.visual_elements
    if elements is None or (
        elements.bars is None
        and elements.boxplots is None
        and elements.lines is None
        and elements.scatter_points is None
    ):
        return None
    return elements


def _read_chart(
    sample: ChartSample, truth: VisualElements, prediction: VisualElements | None, options: ChartOptions
) -> ElementChart:
    """Returns a chart with the elements that its class is drawn with, whose work is spent.

    Raises RejectedRecord where the image has no size, the ground truth has elements, but none that its chart class is
    drawn with, or the work is too much.
    """
    image, kind, budget = sample.truth.image, sample.chart_class.elements, sample.budget
    if image is None:
        raise without_image("task6a")
    given = NO_ELEMENTS if prediction is None else prediction
    truths, predictions = _groups(truth, kind), _groups(given, kind)
    _spend_on_pairs(kind, truth, given, budget)
    if not any(truths) and _has_elements(truth):
        name = sample.chart_class.name
        raise RejectedRecord("ground_truth", f"task6: the visual elements are not those of a {name} chart")
    for of_truth, of_prediction in zip(truths, predictions, strict=True):
        budget.spend(assignment_steps(len(of_truth), len(of_prediction)))
    threshold = options.element_distance * min(image.width, image.height)
    return ElementChart(sample, truths, predictions, threshold, prediction is not None, not _has_elements(given))


NO_ELEMENTS = VisualElements()


def _has_elements(elements: VisualElements) -> bool:
    return bool(elements.bars or elements.boxplots or elements.lines or scatter_points(elements))


def _groups(elements: VisualElements, kind: ElementKind) -> Sequence[Sequence[Element]]:
    """Returns the elements of each class of `CLASSES`."""
    if kind is ElementKind.BOX_PLOTS:
        plots = elements.boxplots or ()
        return [[line for line in map(line_of, plots) if line is not None] for line_of in BOX_PLOT_LINES]
    if kind is ElementKind.SCATTER_POINTS:
        return [scatter_points(elements)]
    if kind is ElementKind.LINES:
        return [elements.lines or ()]
    return [elements.bars or ()]


def scatter_points(elements: VisualElements) -> Sequence[Point]:
    """Returns the scatter points, which some files group by series, as one list."""
    points: list[Point] = []
    for entry in elements.scatter_points or ():
        if isinstance(entry, list):
            points += entry
        else:
            points.append(entry)
    return points


def _spend_on_pairs(kind: ElementKind, truth: VisualElements, prediction: VisualElements, budget: Budget) -> None:
    if kind is ElementKind.BOX_PLOTS:
        budget.spend(pair_steps(len(truth.boxplots or ()), len(prediction.boxplots or ()), len(SUMMARY)))
    elif kind is ElementKind.LINES:
        lines, others = truth.lines or (), prediction.lines or ()
        budget.spend(PAIR_OF_SERIES * len(lines) * len(others))
        budget.spend(pair_steps(len(lines), sum(map(len, others))))
        budget.spend(pair_steps(sum(map(len, lines)), len(others)))
    else:
        [truths], [predictions] = _groups(truth, kind), _groups(prediction, kind)
        budget.spend(pair_steps(len(truths), len(predictions)))


def _score_charts(kind: ElementKind, charts: Sequence[ElementChart]) -> None:
    """Scores charts of one kind; no prediction scores 0, no elements on both sides 1."""
    scores, tables = element_scores(kind, charts)
    matches = best_matches(scores, tables)
    found = scores[matches.places]
    sums = iter(segment_sums(found, matches.counts).tolist())
    rows, columns = matches.rows.astype(np.float64).tolist(), matches.columns.astype(np.float64).tolist()
    pairs = list(zip(rows, columns, found.tolist(), strict=True))
    start = 0
    for chart in charts:
        details: dict[str, GroupDetails] = {}
        total, true_count, predicted_count = 0.0, 0, 0
        for name, truths, predictions in zip(CLASSES[kind], chart.truths, chart.predictions, strict=True):
            height, width = len(truths), len(predictions)
            stop = start + min(height, width)
            details[name] = GroupDetails(height, width, listed(pairs[start:stop]))
            start = stop
            total, true_count, predicted_count = total + next(sums), true_count + height, predicted_count + width
        larger = max(true_count, predicted_count)
        score = min(1.0, total / larger) if larger else float(chart.nothing_predicted)
        chart.sample.add_mean("task6a", score if chart.attempted else 0.0, details, chart.attempted)
