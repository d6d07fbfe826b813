"""Task 6a: the elements drawn in the plot area, in pixels.

A pair of elements scores max(0, 1 - D / T), with D the Manhattan distance and T 5 % of the shorter image side; in the
editions since 2020 max(0, 1 - (D / T)^2), with D the Euclidean distance and T 1 %:

    bars      the distance of (x0, y0, x1, y1): Manhattan |dx0| + |dy0| + |dx1| + |dy1|
    box plots the distance of the predicted point to the true line; five classes, each matched within itself
    scatter   the distance of the points
    lines     no distance: the similarity of the two functions (see similarity.py)

Pairs are chosen to the largest sum, and score = sum / max(ground truths, predictions), over all five classes of a box
plot at once. The released metric6a.py scores a perfect prediction 0, so `released` has nothing to reproduce and is
the same as `published`.

The kind of the chart determines which elements count. A ground truth with only elements of other kinds is rejected; in
a prediction such elements do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import dist, hypot
from operator import add, sub
from typing import Any

from ..benchmark import RejectedRecord
from ..common.assignment import best_pairs, numpy_sum
from ..common.budget import Budget
from .classes import ElementKind, element_kind
from .limits import assignment_steps, function_steps, pair_steps
from .records import BOX_PLOT_LINES, NO_ELEMENTS, BoxPlotElement, ChartOptions, VisualElements
from .similarity import Function, function_similarity
from .task_score import TaskScore, listed, mean_score

Element = tuple[float, ...]
"""The coordinates of an element; for a line of a box plot its point, and how far it extends from there."""


def score_elements(
    truth: VisualElements,
    prediction: VisualElements | None,
    chart_class: str,
    size: tuple[float, float] | None,
    budget: Budget,
    options: ChartOptions,
) -> TaskScore | None:
    """Returns the score of one chart; no prediction (None) scores 0, no elements on both sides 1.

    None for a chart of a class that has no such elements. Raises RejectedRecord for a ground truth without a class or
    the size of the image, or with elements but none of the class, and if the work is too much.
    """
    kind = element_kind("task6a", chart_class)
    if kind is None:
        return None
    if size is None:
        raise RejectedRecord("ground_truth", "task6a needs image.width and image.height")
    given = prediction or NO_ELEMENTS
    truths, predictions = _groups(truth, kind), _groups(given, kind)
    if not any(truths.values()) and _has_elements(truth):
        raise RejectedRecord("ground_truth", f"task6: the visual elements are not those of a {chart_class} chart")
    threshold, squared = options.element_distance * min(size), options.rules.squared_error
    details = {}
    total, true_count, predicted_count = 0.0, 0, 0
    for name, of_truth in truths.items():
        of_prediction = predictions[name]
        budget.spend(_steps(of_truth, of_prediction))
        scores = element_scores(kind, of_truth, of_prediction, threshold, squared)
        pairs = [(row, column, scores[row][column]) for row, column in best_pairs(scores)]
        total += numpy_sum([score for _, _, score in pairs])
        true_count, predicted_count = true_count + len(of_truth), predicted_count + len(of_prediction)
        shown = [(float(row), float(column), score) for row, column, score in listed(pairs)]
        details[name] = {"truths": len(of_truth), "predictions": len(of_prediction), "pairs": shown}
    larger = max(true_count, predicted_count)
    score = min(1.0, total / larger) if larger else float(not _has_elements(given))
    return mean_score("task6a", score, details, prediction is not None)


def _has_elements(elements: VisualElements) -> bool:
    return bool(elements.bars or elements.boxplots or elements.lines or elements.points())


def _groups(elements: VisualElements, kind: ElementKind) -> dict[str, Sequence[Any]]:
    """Returns the elements of each class of a kind, by the names in the details: coordinates or functions."""
    if kind == "box":
        plots = elements.boxplots or ()
        return {
            name: [_reach(line) for plot in plots if (line := getattr(plot, name)) is not None]
            for name in BOX_PLOT_LINES
        }
    if kind == "scatter":
        return {"points": [(point.x, point.y) for point in elements.points()]}
    if kind == "line":
        return {"lines": [Function.of([(p.x, p.y) for p in line]) for line in elements.lines or ()]}
    return {"bars": [bar.corners() for bar in elements.bars or ()]}


def _reach(line: BoxPlotElement) -> Element:
    """Returns the point of a line, and how far it reaches; the corner of a `_bb` is of the box, not of the line."""
    width, height = (0.0, 0.0) if line.bb is None else (line.bb.width, line.bb.height)
    return line.x, line.y, max(width, 0.0) / 2, max(height, 0.0) / 2


def _steps(truths: Sequence[Any], predictions: Sequence[Any]) -> int:
    """Returns the steps of comparing the elements of one class; functions are compared point by point."""
    if truths and isinstance(truths[0], Function):
        return function_steps([len(line.x) for line in truths], [len(line.x) for line in predictions])
    rows, columns = len(truths), len(predictions)
    return pair_steps(rows, columns) + assignment_steps(rows, columns)


def element_scores(
    kind: ElementKind, truths: Sequence[Any], predictions: Sequence[Any], threshold: float, squared: bool
) -> list[list[float]]:
    """Returns the score of each pair of elements of one class, `[truths, predictions]`; squared: of 2020 and later."""
    if kind == "line":
        return [[function_similarity(truth, other) for other in predictions] for truth in truths]
    if kind == "box":
        apart = [[line_distance(truth, other, squared) for other in predictions] for truth in truths]
    else:
        distance = dist if squared else manhattan_distance
        # Most pairs are apart in their first coordinates alone.
        apart = [
            [distance(truth, other) if abs(truth[0] - other[0]) < threshold else threshold for other in predictions]
            for truth in truths
        ]
    power = 2 if squared else 1
    return [[1.0 - (each / threshold) ** power if each < threshold else 0.0 for each in row] for row in apart]


def manhattan_distance(first: Element, second: Element) -> float:
    """Returns how far two points, or the corners of two boxes, are from each other along all axes."""
    distance: float = reduce(add, map(abs, map(sub, first, second)))
    return distance


def line_distance(line: Element, other: Element, squared: bool) -> float:
    """Returns the distance, Euclidean for `squared`, of the point of `other` from a line of a box plot."""
    x, y, half_width, half_height = line
    across, along = max(abs(x - other[0]) - half_width, 0.0), max(abs(y - other[1]) - half_height, 0.0)
    return hypot(across, along) if squared else across + along
