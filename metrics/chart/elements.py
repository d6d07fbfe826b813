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
from typing import NamedTuple

import msgspec
import numpy as np

from metrics.benchmark import RejectedRecord
from metrics.chart.axes import without_image
from metrics.chart.batch import Batch
from metrics.chart.details import listed
from metrics.chart.options import ChartOptions
from metrics.chart.records import BoxPlot, BoxPlotElement, ChartData, Point, VisualElements, is_empty
from metrics.chart.sample import ChartSample, require_class
from metrics.chart.series import SUMMARY
from metrics.chart.similarity import Points, function_similarities
from metrics.chart.work import PAIR_OF_SERIES, assignment_steps, pair_steps
from metrics.common.assignment import best_pairs
from metrics.common.budget import Budget
from metrics.common.geometry import Array
from metrics.common.segments import numpy_sum

# Up to so many pairs of elements are compared one by one, without arrays.
MAX_FEW = 64


Scores = Sequence[Sequence[float]] | Array
"""Lists for a few pairs; of many an array takes a quarter of their memory."""


class Group(NamedTuple):
    """A class of elements: how many there are on both sides, and the scores of their pairs, `[N, M]`."""

    name: str
    truths: int
    predictions: int
    scores: Scores


class GroupDetails(msgspec.Struct, frozen=True, gc=False):
    """How many elements of a class there are on both sides, and the pairs (truth, prediction, score)."""

    truths: int
    predictions: int
    pairs: Sequence[tuple[float, float, float]]


def score_elements(batch: Batch, options: ChartOptions) -> None:
    """Scores task 6a of the charts that have it."""
    for sample, truth, prediction in zip(batch.samples, batch.truths.data, batch.predictions.data, strict=True):
        elements = None if truth is None or not sample.is_open else elements_of(truth)
        if elements is None:
            continue
        try:
            require_class("task6a", sample.chart_class)
            if sample.chart_class.has_data:
                _score_elements(sample, elements, None if prediction is None else elements_of(prediction), options)
        except RejectedRecord as rejected:
            sample.reject(rejected)


def elements_of(data: ChartData) -> VisualElements | None:
    """Returns the visual elements of an output; None where it has none, or only groups that are absent."""
    elements = data.visual_elements
    return None if elements is None or is_empty(elements) else elements


def _score_elements(
    sample: ChartSample, truth: VisualElements, prediction: VisualElements | None, options: ChartOptions
) -> None:
    """Scores task 6a of one chart; no prediction scores 0, no elements on both sides 1.

    Raises RejectedRecord where the image has no size, or the ground truth has elements, but none that its chart class
    is drawn with.
    """
    image, chart_class, budget = sample.truth.image, sample.chart_class.name, sample.budget
    if image is None:
        raise without_image("task6a")
    threshold = options.element_distance * min(image.width, image.height)
    groups = _groups(truth, prediction or VisualElements(), chart_class, threshold, budget)
    true_count = sum([group.truths for group in groups])
    if not true_count and _has_elements(truth):
        raise RejectedRecord("ground_truth", f"task6: the visual elements are not those of a {chart_class} chart")
    total = 0.0
    larger = max(true_count, sum([group.predictions for group in groups]))
    details: dict[str, GroupDetails] = {}
    for name, truths, predictions, scores in groups:
        budget.spend(assignment_steps(truths, predictions))
        found = [(row, column, float(scores[row][column])) for row, column in best_pairs(scores)]
        total += numpy_sum([score for _, _, score in found])
        pairs = [(float(row), float(column), score) for row, column, score in listed(found)]
        details[name] = GroupDetails(truths, predictions, pairs)
    nothing = prediction is None or not _has_elements(prediction)
    score = min(1.0, total / larger) if larger else float(nothing)
    sample.add_mean("task6a", 0.0 if prediction is None else score, details, prediction is not None)


def _has_elements(elements: VisualElements) -> bool:
    return bool(elements.bars or elements.boxplots or elements.lines or scatter_points(elements))


def _groups(
    truth: VisualElements, prediction: VisualElements, chart_class: str, threshold: float, budget: Budget
) -> list[Group]:
    """Returns the classes of elements that the chart has."""
    if "box" in chart_class:
        budget.spend(pair_steps(len(truth.boxplots or ()), len(prediction.boxplots or ()), len(SUMMARY)))
        return [_box_plot_lines(truth, prediction, name, threshold) for name in SUMMARY]
    if "scatter" in chart_class:
        points, predicted_points = _places(scatter_points(truth)), _places(scatter_points(prediction))
        budget.spend(pair_steps(len(points), len(predicted_points)))
        return [_group("points", points, predicted_points, threshold)]
    if "line" in chart_class:
        lines, predicted_lines = truth.lines or [], prediction.lines or []
        budget.spend(PAIR_OF_SERIES * len(lines) * len(predicted_lines))
        budget.spend(pair_steps(len(lines), sum(map(len, predicted_lines))))
        budget.spend(pair_steps(sum(map(len, lines)), len(predicted_lines)))
        scores = _line_scores(lines, predicted_lines).tolist() if lines and predicted_lines else []
        return [Group("lines", len(lines), len(predicted_lines), scores)]
    bars, predicted_bars = ([bar.corners() for bar in side.bars or ()] for side in (truth, prediction))
    budget.spend(pair_steps(len(bars), len(predicted_bars)))
    return [_group("bars", bars, predicted_bars, threshold)]


def scatter_points(elements: VisualElements) -> list[Point]:
    """Returns the scatter points, which some files group by series, as one list."""
    points: list[Point] = []
    for entry in elements.scatter_points or ():
        points.extend(entry if isinstance(entry, list) else (entry,))
    return points


def _box_plot_lines(truth: VisualElements, prediction: VisualElements, name: str, threshold: float) -> Group:
    """Returns one class of box plot lines: the truth has an extent, the prediction is a point."""
    truths, predictions = _parts(truth.boxplots, name), _parts(prediction.boxplots, name)
    halves = [_half_extent(element) for element in truths]
    return _group(name, _places(truths), _places(predictions), threshold, halves)


def _parts(box_plots: Sequence[BoxPlot] | None, name: str) -> list[BoxPlotElement]:
    parts: list[BoxPlotElement | None] = [getattr(box_plot, name) for box_plot in box_plots or ()]
    return [part for part in parts if part is not None]


def _half_extent(element: BoxPlotElement) -> tuple[float, float]:
    """Returns how far the line reaches from its point; the corner of its `_bb` is of the box, not of the line."""
    return (max(element.bb.width, 0.0) / 2, max(element.bb.height, 0.0) / 2) if element.bb else (0.0, 0.0)


def _line_scores(truths: Sequence[Sequence[Point]], predictions: Sequence[Sequence[Point]]) -> Array:
    true_lines, predicted_lines = _lines(truths), _lines(predictions)
    rows, columns = np.divmod(np.arange(len(truths) * len(predictions)), max(1, len(predictions)))
    heights, widths = true_lines.counts[rows], predicted_lines.counts[columns]
    scores = (heights == widths).astype(np.float64)
    drawn = np.flatnonzero((heights > 0) & (widths > 0))
    scores[(heights > 0) | (widths > 0)] = 0.0
    scores[drawn] = function_similarities(true_lines, predicted_lines, rows[drawn], columns[drawn])
    return np.asarray(scores.reshape(len(truths), len(predictions)), dtype=np.float64)


def _lines(lines: Sequence[Sequence[Point]]) -> Points:
    """Returns the points of the lines, each line sorted by x."""
    counts = np.array([len(line) for line in lines], dtype=np.intp)
    points = _array([point for line in lines for point in line])
    points = points[np.lexsort((points[:, 0], np.repeat(np.arange(len(lines)), counts)))]
    return Points(points[:, 0].copy(), points[:, 1].copy(), counts)


def _array(points: Sequence[Point]) -> Array:
    return np.array(_places(points), dtype=np.float64).reshape(-1, 2)


Place = tuple[float, ...]


def _places(points: Sequence[Point | BoxPlotElement]) -> list[Place]:
    return [(point.x, point.y) for point in points]


def _group(
    name: str, first: Sequence[Place], second: Sequence[Place], threshold: float, halves: Sequence[Place] | None = None
) -> Group:
    """Returns the elements of a class at places in `K` dimensions with the scores of all pairs.

    halves: how far each of `first` reaches in each direction; as points, not at all.
    """
    few = not first or not second or (len(first) * len(second) <= MAX_FEW and threshold > 0)
    return Group(name, len(first), len(second), (_few_scores if few else _scores)(first, second, threshold, halves))


def _few_scores(
    first: Sequence[Place], second: Sequence[Place], threshold: float, halves: Sequence[Place] | None
) -> Scores:
    """Returns to the last bit what `_scores` does, in less time for a few pairs."""
    scores: list[list[float]] = []
    for number, place in enumerate(first):
        line: list[float] = []
        half = None if halves is None else halves[number]
        for other in second:
            distance = 0.0
            for axis, (one, another) in enumerate(zip(place, other, strict=True)):
                gap = abs(one - another)
                if half is not None:
                    gap = max(gap - half[axis], 0.0)
                distance += gap
            line.append(1 - distance / threshold if distance < threshold else 0.0)
        scores.append(line)
    return scores


def _scores(
    first: Sequence[Place], second: Sequence[Place], threshold: float, halves: Sequence[Place] | None
) -> Scores:
    """Returns max(0, 1 - D / threshold) of each pair, with D the Manhattan distance."""
    places, others = np.array(first, dtype=np.float64), np.array(second, dtype=np.float64)
    distances = np.zeros((len(first), len(second)))
    for axis in range(places.shape[1]):
        gaps = np.abs(places[:, axis, None] - others[None, :, axis])
        distances += gaps if halves is None else np.maximum(gaps - np.array(halves)[:, axis, None], 0.0)
    scores: Array = np.maximum(0.0, 1 - distances / threshold)
    return scores
