"""How alike data series of one kind are, 0 to 1, as metric6b.py of CHART-Synthetic computes it; many pairs at once.

Its paper, metric6b.tex, divides the distance of two labelled values by their variance, those of box plots by the true
value, and the error on a line by |v + eps|; docs/benchmarks/chart.md says why the script is followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..common.geometry import Array
from ..common.segments import Indexes, places_behind, segment_sums, starts_of, within
from ..common.tables import Tables

# Below this share of unexplained variance 1 - r^2 has lost too many digits.
SMALL_INDEPENDENCE = 1e-6
# So many pairs of points are compared at once, which bounds the memory.
MAX_CELLS = 1 << 17


class Points(NamedTuple):
    """The points of many series, one series after the other: x and y `[P]`, and how many each series has `[S]`."""

    x: Array
    y: Array
    counts: Indexes

    @property
    def starts(self) -> Indexes:
        """Where the points of each series start, `[S]`."""
        return starts_of(self.counts)


class Cells(NamedTuple):
    """Each point of a true series with each of a predicted one, for some pairs of series.

    pairs: the pair of series of each cell. truths, predictions: the points, by their places among all points.
    tables: the table of cells of each pair.
    """

    pairs: Indexes
    truths: Indexes
    predictions: Indexes
    tables: Tables


def cells_of(truths: Points, predictions: Points, rows: Indexes, columns: Indexes) -> Iterator[tuple[slice, Cells]]:
    """Yields the cells of the pairs of series (rows, columns), some pairs at a time; each series has points."""
    heights, widths = truths.counts[rows], predictions.counts[columns]
    true_starts, predicted_starts = truths.starts[rows], predictions.starts[columns]
    ends = np.cumsum(heights * widths)
    start = 0
    while start < len(rows):
        done = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + MAX_CELLS, side="right")))
        part = slice(start, stop)
        tables = Tables.of(heights[part], widths[part])
        numbers, of_truths, of_predictions = tables.cells()
        pairs = numbers + start
        yield part, Cells(pairs, true_starts[pairs] + of_truths, predicted_starts[pairs] + of_predictions, tables)
        start = stop


def function_similarities(
    truths: Points, predictions: Points, rows: Indexes, columns: Indexes, released: bool = False
) -> Array:
    """Returns the F of the two functions of each pair (rows, columns), given by points sorted by x, one at least.

        recall(P, G) = sum of w_i (1 - min(1, |v_i - I(P, u_i)| / (|v_i| + eps))) / sum of w_i

    over the points (u_i, v_i) of G, with I the linear interpolation, flat outside, w_i half the way to the
    neighbours on both sides, and eps a hundredth of the range of y in the ground truth; precision swaps the two.
    Where the weights sum to 0, as for one point, they are equal.

    Published, where P has several points at u_i, I is the first of them for the first point of G at u_i, the second
    for the second, and the last for all further ones; where |v_i| + eps is 0, an exact value has no error. Released
    (metric6b.py), I is the last of them, so that a step scores less than 1 with itself, and every value has the
    error 1 where |v_i| + eps is 0, so that a line of zeros scores 0 with itself; pairs with a function whose weights
    sum to 0, on which the script stops, score as published.
    """
    if not len(rows):
        return np.zeros(0)
    if released:
        stops = (_weights(truths)[1][rows] == 0) | (_weights(predictions)[1][columns] == 0)
        if stops.any():
            scores = np.zeros(len(rows))
            scores[stops] = function_similarities(truths, predictions, rows[stops], columns[stops])
            scores[~stops] = function_similarities(truths, predictions, rows[~stops], columns[~stops], released)
            return scores
    drawn = truths.counts > 0
    starts = truths.starts[drawn]
    ranges = np.zeros(len(drawn))
    ranges[drawn] = np.maximum.reduceat(truths.y, starts) - np.minimum.reduceat(truths.y, starts)
    epsilons = (ranges / 100)[rows]
    precision = _recalls(truths, predictions, rows, columns, epsilons, released)
    recall = _recalls(predictions, truths, columns, rows, epsilons, released)
    both = (precision > 0) & (recall > 0)
    return np.divide(2 * precision * recall, precision + recall, out=np.zeros(len(rows)), where=both)


def _recalls(
    found: Points, wanted: Points, found_in: Indexes, wanted_in: Indexes, epsilons: Array, released: bool
) -> Array:
    weights, totals = _weights(wanted)
    counts = wanted.counts[wanted_in]
    points = np.repeat(wanted.starts[wanted_in], counts) + within(counts)
    y = wanted.y[points]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        gaps = np.abs(y - _interpolated(found, found_in, wanted, wanted_in, points, released))
        errors = gaps / (np.abs(y) + np.repeat(epsilons, counts))
    if not released:
        errors[gaps == 0] = 0.0
    scores = np.where(errors < 1, 1 - errors, 0.0)
    weighted, total = segment_sums(scores * weights[points], counts), totals[wanted_in]
    means = segment_sums(scores, counts) / counts
    return np.divide(weighted, total, out=means, where=total > 0)


def _weights(points: Points) -> tuple[Array, Array]:
    """Returns half the way from the point before to the point behind, `[P]`, and its sum over each series, `[S]`."""
    drawn = points.counts > 0
    first = points.starts[drawn]
    before, behind = np.roll(points.x, 1), np.roll(points.x, -1)
    last = first + points.counts[drawn] - 1
    before[first], behind[last] = points.x[first], points.x[last]
    weights = (behind - before) / 2
    return weights, segment_sums(weights, points.counts)


def _interpolated(
    found: Points, found_in: Indexes, wanted: Points, wanted_in: Indexes, points: Indexes, released: bool
) -> Array:
    """Returns the y of the found functions at the x of the wanted points, as `np.interp` computes it.

    Published, points of the same x are taken in their order.
    """
    counts = wanted.counts[wanted_in]
    starts, x = np.repeat(found.starts[found_in], counts), wanted.x[points]
    held = np.repeat(found.counts[found_in], counts)
    first, last = starts, starts + held - 1
    lefts = starts - 1 + places_behind(found.x, starts, held, x)
    inside = (lefts >= first) & (lefts < last)
    left = np.clip(lefts, first, last)
    right = np.minimum(left + 1, last)
    slopes = (found.y[right] - found.y[left]) / (found.x[right] - found.x[left])
    values = slopes * (x - found.x[left]) + found.y[left]
    at_point = found.x[left] == x
    taken = left
    if not released:
        places = _places_among_equals(found)[left]
        taken = np.where(at_point, left - places + np.minimum(places, _places_among_equals(wanted)[points]), left)
    return np.asarray(np.where(inside & ~at_point, values, found.y[taken]), dtype=np.float64)


def _places_among_equals(points: Points) -> Indexes:
    """Returns how many points before each one have the same x in the same series, `[P]`."""
    numbers = np.arange(len(points.x))
    is_first = np.ones(len(numbers), dtype=np.bool_)
    is_first[1:] = points.x[1:] != points.x[:-1]
    is_first[points.starts[points.counts > 0]] = True
    return np.asarray(numbers - np.maximum.accumulate(np.where(is_first, numbers, 0)), dtype=np.intp)


class PointSets(NamedTuple):
    """What the Mahalanobis distance needs of each true point set, `[S]`; independence 0 where there is no inverse.

    x, y: the points in axes where the distance is the Euclidean one, `[P]`.
    """

    centre_x: Array
    centre_y: Array
    spread_x: Array
    spread_y: Array
    correlation: Array
    independence: Array
    x: Array
    y: Array

    @classmethod
    def of(cls, points: Points) -> PointSets:
        """Returns this of the point sets."""
        counts = points.counts
        owners = np.repeat(np.arange(len(counts)), counts)
        centre_x, spread_x = _spread(points.x, counts, owners)
        centre_y, spread_y = _spread(points.y, counts, owners)
        varied = (spread_x > 0) & (spread_y > 0)
        spread_x, spread_y = np.where(varied, spread_x, 1.0), np.where(varied, spread_y, 1.0)
        standard_x = (points.x - centre_x[owners]) / spread_x[owners]
        standard_y = (points.y - centre_y[owners]) / spread_y[owners]
        correlation = segment_sums(standard_x * standard_y, counts) / np.maximum(counts - 1, 1)
        correlation[~varied] = 1.0
        # A power of Python's floats, which is not to the last bit their product.
        independence = 1 - np.array([each**2 for each in correlation.tolist()])
        starts = points.starts
        for number in np.flatnonzero(varied & (independence <= SMALL_INDEPENDENCE)).tolist():
            part = slice(starts[number], starts[number] + counts[number])
            independence[number] = _independence(
                np.column_stack((points.x[part], points.y[part])),
                np.column_stack((standard_x[part], standard_y[part])),
                np.array([spread_x[number], spread_y[number]]),
                float(correlation[number]),
            )
        independence = np.maximum(independence, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            whitened_y = (standard_y - correlation[owners] * standard_x) / np.sqrt(independence)[owners]
        return cls(centre_x, centre_y, spread_x, spread_y, correlation, independence, standard_x, whitened_y)


def _spread(values: Array, counts: Indexes, owners: Indexes) -> tuple[Array, Array]:
    """Returns mean and standard deviation (ddof 1) of each stretch; 0 where all are equal, or fewer than two.

    Values are added one after the other, as NumPy adds up the rows of a table.
    """
    means = np.bincount(owners, values, len(counts)) / np.maximum(counts, 1)
    deviations = values - means[owners]
    squares = np.bincount(owners, deviations**2, len(counts))
    return means, np.where(are_varied(values, counts), np.sqrt(squares / np.maximum(counts - 1, 1)), 0.0)


def are_varied(values: Array, counts: Indexes) -> npt.NDArray[np.bool_]:
    """Tells of each stretch of these lengths whether not all of its values are equal, `[S]`."""
    filled = counts > 0
    starts = starts_of(counts)[filled]
    found = np.zeros(len(counts), dtype=np.bool_)
    if len(starts):
        found[filled] = np.minimum.reduceat(values, starts) < np.maximum.reduceat(values, starts)
    return found


def point_scores(
    sets: PointSets, truths: Points, predictions: Points, series: Indexes, cells: Cells, gamma: float
) -> Array:
    """Returns 1 - min(1, d / gamma) of each cell; `series` is the true series of each cell.

    d is the Mahalanobis distance under the covariance of the ground truth (ddof 1). Where that has no inverse, since
    there are too few points or they lie on a line as far as their own rounding tells, the score is 1 for equal
    points, else 0.
    """
    x, y = predictions.x[cells.predictions], predictions.y[cells.predictions]
    correlation, independence = sets.correlation[series], sets.independence[series]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        standard_x = (x - sets.centre_x[series]) / sets.spread_x[series]
        standard_y = (y - sets.centre_y[series]) / sets.spread_y[series]
        whitened_y = (standard_y - correlation * standard_x) / np.sqrt(independence)
        gaps_x, gaps_y = sets.x[cells.truths] - standard_x, sets.y[cells.truths] - whitened_y
        distances = np.sqrt(gaps_x * gaps_x + gaps_y * gaps_y) / gamma
    scores = np.where(distances < 1, 1 - distances, 0.0)
    equal = (truths.x[cells.truths] == x) & (truths.y[cells.truths] == y)
    return np.where(independence > 0, scores, equal)


def _independence(truth: Array, standardised: Array, spread: Array, correlation: float) -> float:
    """Returns the share of the variance of y that x does not explain, 1 - r^2; 0 for points on a line.

    Close to 0 it is the variance of the residuals, each of which must be more than the rounding of its coordinates.
    """
    independence = 1 - correlation**2
    if independence > SMALL_INDEPENDENCE:
        return independence
    residuals = standardised[:, 1] - correlation * standardised[:, 0]
    rounding = np.finfo(np.float64).eps * (np.abs(truth) / spread + np.abs(standardised)).sum(axis=1)
    if (np.abs(residuals) <= 2 * rounding).all():
        return 0.0
    return float((residuals**2).sum() / (len(truth) - 1))


def released_point_set_scores(truth: Array, prediction: Array, gamma: float) -> Array | None:
    """Returns the scores of metric6b.py, which inverts the covariance as it is; None where that stops the script."""
    from scipy.spatial.distance import cdist

    if len(truth) < 2:
        return None
    with np.errstate(all="ignore"):
        try:
            inverse = np.linalg.inv(np.cov(truth.T))
        except np.linalg.LinAlgError:
            return None
        distances = cdist(prediction, truth, metric="mahalanobis", VI=inverse.T).T / gamma
    if np.isnan(distances).any():
        return None
    return np.where(distances < 1, 1 - distances, 0.0)


def value_spreads(values: Points) -> Array:
    """Returns the standard deviation (ddof 1) of y in each series; 0 where the values are equal, or fewer than two."""
    counts = values.counts
    means = segment_sums(values.y, counts) / np.maximum(counts, 1)
    deviations = values.y - np.repeat(means, counts)
    variances = segment_sums(deviations * deviations, counts) / np.maximum(counts - 1, 1)
    return np.where(are_varied(values.y, counts), np.sqrt(variances), 0.0)


def value_scores(truths: Array, predictions: Array, spreads: Array, gamma: float) -> Array:
    """Returns 1 - min(1, |dy| / spread / gamma) of each pair of values `[N]`; NaN scores 0.

    spreads: those of the ground truth. Where one is 0, equal values score 1, others 0.
    """
    gaps = np.abs(truths - predictions)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        distances = gaps / spreads / gamma
    return np.where(spreads > 0, np.where(distances < 1, 1 - distances, 0.0), gaps == 0)
