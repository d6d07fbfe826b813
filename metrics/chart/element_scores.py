"""The scores of the pairs of elements of many charts at once; what they mean stands in elements.py."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from ..common.arrays import floats, indexes
from ..common.segments import Array, Indexes, starts_of
from ..common.tables import Tables
from .records import BoxPlotElement, Point
from .sample import ChartSample, ElementKind
from .similarity import Points, function_similarities

Element = Any
"""A bar is a Box, a line of a box plot a BoxPlotElement, a scatter point a Point, and a line a list of Points."""


class ElementChart(msgspec.Struct, frozen=True, gc=False):
    """One chart with its elements on both sides, a list for each class of elements.

    threshold: the distance that scores 0, in pixels. attempted: whether there is a prediction. nothing_predicted:
    whether that has no elements, of other kinds of charts neither.
    """

    sample: ChartSample
    truths: Sequence[Sequence[Element]]
    predictions: Sequence[Sequence[Element]]
    threshold: float
    attempted: bool
    nothing_predicted: bool

    @property
    def cells(self) -> int:
        """The pairs of elements; of lines, of their points with the lines of the other side."""
        if self.sample.chart_class.elements is ElementKind.LINES:
            [truths], [predictions] = self.truths, self.predictions
            points, others = sum(map(len, truths)), sum(map(len, predictions))
            return points * len(predictions) + others * len(truths)
        return sum([len(some) * len(others) for some, others in zip(self.truths, self.predictions, strict=True)])


def element_scores(kind: ElementKind, charts: Sequence[ElementChart]) -> tuple[Array, Tables]:
    """Returns the scores of the pairs of each class of elements, one table after the other; charts of one kind."""
    truths = [group for chart in charts for group in chart.truths]
    predictions = [group for chart in charts for group in chart.predictions]
    heights, widths = indexes(list(map(len, truths))), indexes(list(map(len, predictions)))
    tables = Tables.of(heights, widths)
    numbers, rows, columns = tables.cells()
    rows, columns = rows + starts_of(heights)[numbers], columns + starts_of(widths)[numbers]
    first, second = list(chain.from_iterable(truths)), list(chain.from_iterable(predictions))
    if kind is ElementKind.LINES:
        return _line_scores(first, second, rows, columns), tables
    distances = _distances(kind, first, second, rows, columns)
    thresholds = floats([chart.threshold for chart in charts for _ in chart.truths])[numbers]
    scores = np.zeros(len(distances))
    np.subtract(1.0, distances / thresholds, out=scores, where=distances < thresholds)
    return scores, tables


def _distances(
    kind: ElementKind, first: Sequence[Element], second: Sequence[Element], rows: Indexes, columns: Indexes
) -> Array:
    """Returns the Manhattan distance of each pair of elements; a true line of a box plot has an extent."""
    halves = _half_extents(first) if kind is ElementKind.BOX_PLOTS else None
    distances = np.zeros(len(rows))
    for axis, (places, others) in enumerate(zip(_places(kind, first), _places(kind, second), strict=True)):
        gaps = np.abs(places[rows] - others[columns])
        distances += gaps if halves is None else np.maximum(gaps - halves[axis][rows], 0.0)
    return distances


def _places(kind: ElementKind, elements: Sequence[Element]) -> list[Array]:
    """Returns where elements are: bars by two corners, all others by a point, an array for each coordinate."""
    if kind is not ElementKind.BARS:
        return [floats([element.x for element in elements]), floats([element.y for element in elements])]
    left, top = floats([box.x0 for box in elements]), floats([box.y0 for box in elements])
    width, height = floats([box.width for box in elements]), floats([box.height for box in elements])
    return [left, top, left + width, top + height]


def _half_extents(lines: Sequence[BoxPlotElement]) -> list[Array]:
    """Returns how far lines reach from their points; the corner of a `_bb` is of the box, not of the line."""
    boxes = [line.bb for line in lines]
    sides = (
        floats([0.0 if box is None else box.width for box in boxes]),
        floats([0.0 if box is None else box.height for box in boxes]),
    )
    return [np.maximum(side, 0.0) / 2 for side in sides]


def _line_scores(
    truths: Sequence[Sequence[Point]], predictions: Sequence[Sequence[Point]], rows: Indexes, columns: Indexes
) -> Array:
    """Returns the similarity of each pair of lines; two without points have 1."""
    true_lines, predicted_lines = _lines(truths), _lines(predictions)
    heights, widths = true_lines.counts[rows], predicted_lines.counts[columns]
    scores = (heights == widths).astype(np.float64)
    drawn = np.flatnonzero((heights > 0) & (widths > 0))
    scores[(heights > 0) | (widths > 0)] = 0.0
    scores[drawn] = function_similarities(true_lines, predicted_lines, rows[drawn], columns[drawn])
    return np.asarray(scores, dtype=np.float64)


def _lines(lines: Sequence[Sequence[Point]]) -> Points:
    """Returns the points of the lines, each line sorted by x."""
    counts = indexes(list(map(len, lines)))
    points = list(chain.from_iterable(lines))
    x, y = floats([point.x for point in points]), floats([point.y for point in points])
    order = np.lexsort((x, np.repeat(np.arange(len(lines)), counts)))
    return Points(x[order], y[order], counts)
