"""Computes how similar two data series of one kind are, as metric6b.py of CHART-Synthetic does.

Its paper, metric6b.tex, divides the distance of two labeled values by their variance, those of box plots by the true
value, and the error on a line by |v + eps|; docs/explanation/benchmarks/chart.md says why the script is followed.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from ..common.assignment import best_sum, numpy_sum
from ..statistics.ratios import f_measure, plain_sum

# Below this share of unexplained variance 1 - r^2 has lost too many digits.
MIN_UNEXPLAINED_VARIANCE = 1e-6

Point = tuple[float, float]
"""The x and the y of a point."""


class Function(NamedTuple):
    """A function by its points, sorted by x.

    weights: for each point half the distance from the previous to the next point; total: their sum.
    """

    x: Sequence[float]
    y: Sequence[float]
    weights: Sequence[float]
    total: float

    @classmethod
    def of(cls, points: Sequence[Point]) -> Function:
        """Returns the function through the points; points with the same x keep their order."""
        placed = sorted(points, key=itemgetter(0))
        x, y = [each for each, _ in placed], [each for _, each in placed]
        weights = [(behind - before) / 2 for before, behind in zip([*x[:1], *x], [*x[1:], *x[-1:]], strict=False)]
        return cls(x, y, weights, numpy_sum(weights))


def function_similarity(truth: Function, prediction: Function, released: bool = False) -> float:
    """Returns the F of two functions; two without points have 1, one without points has 0.

        recall(P, G) = sum of w_i (1 - min(1, |v_i - I(P, u_i)| / (|v_i| + eps))) / sum of w_i

    over the points (u_i, v_i) of G, with I the linear interpolation, flat outside, w_i half the way to the
    neighbors on both sides, and eps a hundredth of the range of y in the ground truth; precision swaps the two.
    If the weights sum to 0, as for one point, they are equal.

    Published, if P has several points at u_i, I is the first of them for the first point of G at u_i, the second
    for the second, and the last for all further ones; if |v_i| + eps is 0, an exact value has no error. Released
    (metric6b.py), I is the last of them, so that a step scores less than 1 with itself, and every value has the
    error 1 if |v_i| + eps is 0, so that a line of zeros scores 0 with itself; pairs with a function whose weights
    sum to 0, on which the script stops, score as published.
    """
    if not truth.x or not prediction.x:
        return float(len(truth.x) == len(prediction.x))
    released = released and truth.total != 0 and prediction.total != 0
    epsilon = (max(truth.y) - min(truth.y)) / 100
    precision = _recall(truth, prediction, epsilon, released)
    recall = _recall(prediction, truth, epsilon, released)
    return f_measure(precision, recall) or 0.0


def _recall(predicted: Function, true: Function, epsilon: float, released: bool) -> float:
    """Returns the share of the function `true` that `predicted` covers; `np.interp` computes the same values."""
    x, y = predicted.x, predicted.y
    last = len(x) - 1
    left, same, before = -1, 0, None
    scores = []
    for u, v in zip(true.x, true.y, strict=True):
        same, before = same + 1 if u == before else 0, u
        while left < last and x[left + 1] <= u:
            left += 1
        if left < 0:
            value = y[0]
        elif x[left] == u:
            value = y[left] if released else y[min(left, bisect_left(x, u) + same)]
        elif left == last:
            value = y[last]
        else:
            value = (y[left + 1] - y[left]) / (x[left + 1] - x[left]) * (u - x[left]) + y[left]
        gap, scale = abs(v - value), abs(v) + epsilon
        if gap == 0 and not released:
            scores.append(1.0)
        else:
            scores.append(1 - gap / scale if gap < scale else 0.0)
    if true.total > 0:
        return numpy_sum([score * weight for score, weight in zip(scores, true.weights, strict=True)]) / true.total
    return numpy_sum(scores) / len(scores)


class PointSet(NamedTuple):
    """True points, with the change to axes where the Mahalanobis distance under their covariance is the Euclidean one.

    whiten: None if the covariance (ddof 1) has no inverse: there are too few points, or they lie on a line as far as
    their own rounding tells. whitened: the points in these axes.
    """

    points: Sequence[Point]
    whiten: Callable[[Sequence[Point]], list[Point]] | None
    whitened: Sequence[Point]

    @classmethod
    def of(cls, points: Sequence[Point]) -> PointSet:
        """Returns this of one point or more."""
        (center_x, spread_x), (center_y, spread_y) = (
            # Added one after the other, as NumPy adds up the rows of a table.
            _mean_and_spread(axis, plain_sum)
            for axis in zip(*points, strict=True)
        )
        if not spread_x or not spread_y:
            return cls(points, None, ())

        def standardized(others: Sequence[Point]) -> list[Point]:
            return [((x - center_x) / spread_x, (y - center_y) / spread_y) for x, y in others]

        def whiten(others: Sequence[Point]) -> list[Point]:
            return [(x, (y - correlation * x) / scale) for x, y in standardized(others)]

        standard = standardized(points)
        correlation = numpy_sum([x * y for x, y in standard]) / (len(points) - 1)
        scale = sqrt(_independence(points, standard, (spread_x, spread_y), correlation))
        return cls(points, whiten, whiten(points)) if scale > 0 else cls(points, None, ())


def _mean_and_spread(values: Sequence[float], add: Callable[[Sequence[float]], float]) -> Point:
    """Returns mean and standard deviation (ddof 1) of one value or more; the latter is 0 if all are equal."""
    mean = add(values) / len(values)
    if min(values) == max(values):
        return mean, 0.0
    return mean, sqrt(add([(value - mean) * (value - mean) for value in values]) / (len(values) - 1))


def _independence(points: Sequence[Point], standard: Sequence[Point], spread: Point, correlation: float) -> float:
    """Returns the share of the variance of y that x does not explain, 1 - r^2; 0 for points on a line.

    Close to 0, it is the variance of the residuals, or 0 if none of them exceeds the rounding of its coordinates.
    """
    unexplained_variance = 1 - correlation**2
    if unexplained_variance > MIN_UNEXPLAINED_VARIANCE:
        return unexplained_variance
    residuals = [y - correlation * x for x, y in standard]
    rounding = [
        sys.float_info.epsilon * ((abs(x) / spread[0] + abs(u)) + (abs(y) / spread[1] + abs(v)))
        for (x, y), (u, v) in zip(points, standard, strict=True)
    ]
    if all(abs(residual) <= 2 * limit for residual, limit in zip(residuals, rounding, strict=True)):
        return 0.0
    return numpy_sum([residual * residual for residual in residuals]) / (len(points) - 1)


def point_similarity(truth: PointSet, prediction: Sequence[Point], gamma: float, released: bool) -> float:
    """Returns the largest sum of 1 - min(1, d / gamma) over pairs of points, each used once.

    d is the Mahalanobis distance under the covariance of the ground truth (ddof 1). Where that has no inverse, the
    score is 1 for equal points, else 0. Released (metric6b.py), the covariance is inverted as it is; published where
    that stops the script.
    """
    if released and (scores := _released_scores(truth.points, prediction, gamma)):
        return best_sum(scores)
    if truth.whiten is None:
        return best_sum([[float(point == other) for other in prediction] for point in truth.points])
    whitened = truth.whiten(prediction)
    return best_sum(
        [
            [
                1 - distance if (distance := sqrt((x - u) * (x - u) + (y - v) * (y - v)) / gamma) < 1 else 0.0
                for u, v in whitened
            ]
            for x, y in truth.whitened
        ]
    )


def _released_scores(points: Sequence[Point], prediction: Sequence[Point], gamma: float) -> list[list[float]]:
    """Returns the scores of all pairs of points, or an empty list if the script stops."""
    from scipy.spatial.distance import cdist

    if len(points) < 2:
        return []
    with np.errstate(all="ignore"):
        try:
            inverse = np.linalg.inv(np.cov(np.array(points).T))
        except np.linalg.LinAlgError:
            return []
        distances = cdist(np.array(prediction), np.array(points), metric="mahalanobis", VI=inverse.T).T / gamma
    scores: list[list[float]] = np.where(distances < 1, 1 - distances, 0.0).tolist()
    return [] if np.isnan(distances).any() else scores


LabeledValues = Sequence[tuple[str, float]]
"""Values with their labels; NaN for one that is not a number."""


def label_similarity(
    truth: tuple[LabeledValues, float],
    prediction: LabeledValues,
    label_scores: Mapping[str, Mapping[str, float]],
    gamma: float,
) -> float:
    """Returns the largest sum of (1 - L^alpha) (1 - min(1, |dy| / sd / gamma)) over pairs of values, each used once.

    truth: the values, and sd, their standard deviation (ddof 1); where that is 0, equal values score 1, others 0.
    label_scores: 1 - L^alpha of the labels of both sides.
    """
    values, spread = truth
    scores = []
    for label, value in values:
        of_labels = label_scores[label]
        if spread:
            row = [
                of_labels[other] * (1 - distance) if (distance := abs(value - y) / spread / gamma) < 1 else 0.0
                for other, y in prediction
            ]
        else:
            row = [of_labels[other] * (value == y) for other, y in prediction]
        scores.append(row)
    return best_sum(scores)


def with_spread(values: LabeledValues) -> tuple[LabeledValues, float]:
    """Returns one value or more with their standard deviation, as `label_similarity` takes them."""
    return values, _mean_and_spread([value for _, value in values], numpy_sum)[1]
