"""Tasks 6b and 7: data extraction.

Series of ground truth and prediction are paired to the largest sum of

    max(s / beta, (1 - L^alpha) s)

with s the similarity of the two series and L the edit distance of their names over the longer name (at least 1); the
score is that sum over max(ground truths, predictions). If every true name is empty, names do not count (published;
the released metric6b.py compares them anyway). The kind of the chart determines how series are compared: box plots by
their five numbers, bars by label and value, scatter plots as point sets, line charts as functions, and lines and
scatter plots also by label and value if an x of the ground truth is not a number.

A ground truth whose series do not have the layout of its chart class is rejected; a predicted series with a different
layout is wrong. A predicted value that is not a number matches nothing; on a line it is omitted.

Released: an all-zero line scores 0, and scatter points take the covariance as it is inverted. The script stops on bar
charts whose labels are all numbers and on degenerate series; such charts are scored as published.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from math import isnan
from typing import Any, Literal

import msgspec
from msgspec.structs import astuple

from ..benchmark import RejectedRecord
from ..common.assignment import best_pairs_below, numpy_sum
from ..common.budget import Budget
from .classes import ElementKind, element_kind
from .limits import STEPS_PER_PAIR_OF_RELEASED_POINTS, STEPS_PER_PAIR_OF_SERIES, function_steps, table_steps, text_steps
from .names import compared_labels, compared_text, label, numbers, text_scores
from .records import BOX_PLOT_LINES, BoxPlot, ChartOptions, DataSeries, Scalar, TaskName
from .similarity import Function, PointSet, function_similarity, label_similarity, point_similarity, with_spread
from .task_score import TaskScore, listed, mean_score, shortened

ROUNDING = 1 + 1e-9
"""A similarity is at most 1, up to rounding."""

SeriesKind = Literal["labelled", "points", "function"]
"""How the data series of a chart are compared."""


class Series(msgspec.Struct, frozen=True, gc=False):
    """A data series prepared for comparison.

    name: as names are compared. values: (x, y) of each point; x is a label of labeled values. Points that cannot be
    compared are omitted; labeled values have NaN for what is not a number. size: the number of points including those.
    numeric: whether all y are numbers. well_formed: whether the data have the layout of the chart class; if not, there
    are no points.
    """

    name: str
    values: Sequence[tuple[Any, float]]
    size: int
    numeric: bool
    well_formed: bool

    @classmethod
    def of(cls, series: DataSeries, kind: SeriesKind, is_summary: bool, options: ChartOptions) -> Series:
        """Returns a series of a chart of this kind; is_summary: whether it is a box plot."""
        data = series.data
        xs: Sequence[Scalar] = ()
        ys: Sequence[Scalar] = ()
        if isinstance(data, list) and not is_summary:
            xs, ys = [point.x for point in data], [point.y for point in data]
        elif isinstance(data, BoxPlot) and is_summary:
            xs, ys = BOX_PLOT_LINES, astuple(data)
            if None in ys:
                xs = [name for name, value in zip(xs, ys, strict=True) if value is not None]
                ys = [value for value in ys if value is not None]
        well_formed = bool(xs) if is_summary else isinstance(data, list)
        y = numbers(ys)
        numeric = not isnan(sum(y))
        values: list[tuple[Any, float]]
        if kind == "labelled":
            values = list(zip(compared_labels(xs, options.protocol), y, strict=True))
        else:
            values = [each for each in zip(numbers(xs), y, strict=True) if not isnan(each[0]) and not isnan(each[1])]
        name = compared_text(label(series.name), options.protocol)
        return cls(name, values, len(xs), numeric, well_formed)


def score_series(
    task: TaskName,
    truth: Sequence[DataSeries],
    prediction: Sequence[DataSeries] | None,
    chart_class: str,
    budget: Budget,
    options: ChartOptions,
) -> TaskScore | None:
    """Returns the score of task 6b or 7 of one chart; no prediction (None) scores 0, no series on both sides 1.

    None for a chart of a class that has no data. Raises RejectedRecord for a ground truth without a class, with a
    series that does not have the layout of the class, with a y that is not a number, or with no x at all, and if the
    work is too much.
    """
    elements = element_kind(task, chart_class)
    if elements is None:
        return None
    is_summary = elements == "box"
    kind = _kind(truth, elements)
    truths = [Series.of(each, kind, is_summary, options) for each in truth]
    predictions = [Series.of(each, kind, is_summary, options) for each in prediction or ()]
    _require_layout(truths, chart_class, is_summary)
    # Without any x all labels would be equal, so that an unknown name of this field would make predictions right.
    points = [point for each in truth if isinstance(each.data, list) for point in each.data]
    if points and all(point.x is None for point in points):
        raise RejectedRecord("ground_truth", 'task6: no point of the data series has an `x`; an empty label is ""')
    are_named = options.protocol == "released" or any(each.name for each in truths)
    similarity = _similarity(kind, truths, predictions, budget, options)
    names, others = [each.name for each in truths], [other.name for other in predictions]
    of_names = {name: dict.fromkeys(others, 1.0) for name in names}
    if are_named:
        budget.spend(text_steps(names, others))
        of_names = text_scores(names, others, options.alpha)
    compared: dict[tuple[int, int], tuple[float, float]] = {}

    def score(row: int, column: int) -> float:
        if (row, column) not in compared:
            s = similarity(row, column)
            compared[row, column] = s, max(s / options.beta, of_names[names[row]][others[column]] * s)
        return compared[row, column][1]

    least = 1 / options.beta
    bounds = [[max(least, of_names[name][other]) * ROUNDING for other in others] for name in names]
    pairs = best_pairs_below(bounds, score)
    scores = [score(row, column) for row, column in pairs]
    larger = max(len(truths), len(predictions))
    details = {
        "kind": kind,
        "pairs": [
            {
                "truth": shortened(names[row]),
                "predicted": shortened(others[column]),
                "similarity": compared[row, column][0],
                "score": compared[row, column][1],
                "positions": (row, column),
            }
            for row, column in listed(pairs)
        ],
        "missed": _unmatched(names, {row for row, _ in pairs}),
        "extra": _unmatched(others, {column for _, column in pairs}),
    }
    total = min(1.0, numpy_sum(scores) / larger) if larger else 1.0
    return mean_score(task, total, details, prediction is not None)


def _require_layout(truths: Sequence[Series], chart_class: str, is_summary: bool) -> None:
    """Raises RejectedRecord unless the data match the chart class: points, or numbers of box plots, with numeric y."""
    for read in truths:
        if not read.well_formed:
            expected = f"an object with any of {', '.join(BOX_PLOT_LINES)}"
            expected = expected if is_summary else "a list of points with x and y"
            message = f"data of the data series {shortened(read.name)!r} of a {chart_class} chart must be {expected}"
            raise RejectedRecord("ground_truth", f"task6: the {message}")
    for read in truths:
        if not read.numeric:
            message = f"task6: a y of the data series {shortened(read.name)!r} is not a number within +-1e100"
            raise RejectedRecord("ground_truth", message)


def _kind(truth: Sequence[DataSeries], elements: ElementKind) -> SeriesKind:
    """Returns how series are compared: by the class of the chart, and whether all x of the ground truth are numbers."""
    if elements in ("box", "bar"):
        return "labelled"
    xs = [point.x for each in truth if isinstance(each.data, list) for point in each.data]
    if isnan(sum(numbers(xs))):
        return "labelled"
    return "points" if elements == "scatter" else "function"


def _similarity(
    kind: SeriesKind, truths: Sequence[Series], predictions: Sequence[Series], budget: Budget, options: ChartOptions
) -> Callable[[int, int], float]:
    """Returns a function for the similarity of a true and a predicted series, by their indexes.

    Spends the steps of comparing all of them, and of their assignment.
    """
    released = options.protocol == "released"
    sizes, other_sizes = ([each.size for each in side] for side in (truths, predictions))
    first: list[Any]
    second: list[Any] = [other.values for other in predictions]
    compare: Callable[..., float]
    if kind == "function":
        budget.spend(function_steps(sizes, other_sizes))
        first, second = [Function.of(each.values) for each in truths], [Function.of(other) for other in second]
        compare = partial(function_similarity, released=released)
    elif kind == "points":
        pair_steps = STEPS_PER_PAIR_OF_RELEASED_POINTS if released else STEPS_PER_PAIR_OF_SERIES
        budget.spend(table_steps(sizes, other_sizes, pair_steps))
        first = [PointSet.of(each.values) if each.values else None for each in truths]
        compare = partial(point_similarity, gamma=options.gamma, released=released)
    else:
        labels, other_labels = (
            dict.fromkeys([x for each in side for x, _ in each.values]) for side in (truths, predictions)
        )
        budget.spend(table_steps(sizes, other_sizes, STEPS_PER_PAIR_OF_SERIES) + text_steps(labels, other_labels))
        first = [with_spread(each.values) if each.values else None for each in truths]
        compare = partial(
            label_similarity, label_scores=text_scores(labels, other_labels, options.alpha), gamma=options.gamma
        )

    def similarity(row: int, column: int) -> float:
        truth, prediction = truths[row], predictions[column]
        if not truth.values or not prediction.values:
            return float(prediction.well_formed and truth.size == prediction.size == 0)
        total = compare(first[row], second[column])
        return total if kind == "function" else min(1.0, total / max(truth.size, prediction.size))

    return similarity


def _unmatched(names: Sequence[str], matched: Collection[int]) -> Sequence[str]:
    return listed([shortened(name) for place, name in enumerate(names) if place not in matched])
