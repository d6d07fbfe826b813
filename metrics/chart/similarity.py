"""How alike two data series of one kind are, 0 to 1, as the benchmark's metric6b paper defines it.

Two empty series score 1, an empty one and another 0. Source: metric6b.tex of CHART-Synthetic, sections 1.1 to 1.3.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from metrics.chart.work import assignment_steps
from metrics.common.assignment import best_assignment
from metrics.common.budget import Budget
from metrics.common.geometry import Array
from metrics.statistics.ratios import f_measure

# Below this share of unexplained variance 1 - r^2 has lost too many digits.
SMALL_INDEPENDENCE = 1e-6


def matched_share(scores: Array, truth_count: int, prediction_count: int, budget: Budget) -> float:
    """Returns the score sum of the best one-to-one assignment over the larger count.

    scores: `[N, M]`, 0 to 1; the counts are at least N, M and 1, and more where something cannot match at all.
    That is 1 - cost / max(N, M) of the paper, whose padding costs 1.
    """
    budget.spend(assignment_steps(*scores.shape))
    rows, columns = best_assignment(scores)
    return min(1.0, float(scores[rows, columns].sum()) / max(truth_count, prediction_count))


def continuous_similarity(truth: Array, prediction: Array, released: bool = False) -> float:
    """Returns the F of two functions given by points `[N, 2]` and `[M, 2]`, each sorted by x.

        recall(P, G) = sum of w_i (1 - min(1, |v_i - I(P, u_i)| / (|v_i| + eps))) / sum of w_i

    over the points (u_i, v_i) of G, with I the linear interpolation, flat outside, w_i half the way to the
    neighbours on both sides, and eps a hundredth of the range of y in the ground truth; precision swaps the two.
    Where the weights sum to 0, as for one point, they are equal. Where |v_i| + eps is 0, an exact value has no error;
    released, every value has the error 1 there, so that a line of zeros scores 0 with itself.
    """
    if not len(truth) or not len(prediction):
        return float(len(truth) == len(prediction))
    epsilon = float(np.ptp(truth[:, 1])) / 100
    precision = _recall(truth, prediction, epsilon, released)
    recall = _recall(prediction, truth, epsilon, released)
    return f_measure(precision, recall) or 0.0


def _recall(found: Array, wanted: Array, epsilon: float, released: bool) -> float:
    x, y = wanted[:, 0], wanted[:, 1]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        gaps = np.abs(y - np.interp(x, found[:, 0], found[:, 1]))
        errors = gaps / (np.abs(y) + epsilon)
    if not released:
        errors[gaps == 0] = 0.0
    scores = np.where(errors < 1, 1 - errors, 0.0)
    edges = np.concatenate((x[:1], x, x[-1:]))
    weights = (edges[2:] - edges[:-2]) / 2
    total = weights.sum()
    return float((scores * weights).sum() / total) if total > 0 else float(scores.mean())


def point_set_scores(truth: Array, prediction: Array, gamma: float) -> Array:
    """Returns 1 - min(1, d / gamma) for each point of `[N, 2]` and `[M, 2]`, `[N, M]`; N is at least 1.

    d is the Mahalanobis distance under the covariance of the ground truth (ddof 1). Where that has no inverse, since
    there are too few points or they lie on a line as far as their own rounding tells, the score is 1 for equal
    points, else 0.
    """
    centre = truth.mean(axis=0)
    deviations = truth - centre
    spread = np.sqrt((deviations**2).sum(axis=0) / max(1, len(truth) - 1))
    varied = bool((np.ptp(truth, axis=0) > 0).all()) and bool((spread > 0).all())
    correlation = float((deviations / spread).prod(axis=1).sum() / (len(truth) - 1)) if varied else 1.0
    independence = _independence(truth, deviations / spread, spread, correlation) if varied else 0.0
    if independence <= 0:
        equal = (truth[:, None, :] == prediction[None, :, :]).all(axis=2)
        return np.asarray(equal, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        true_points = _whitened(deviations / spread, correlation, independence)
        predicted_points = _whitened((prediction - centre) / spread, correlation, independence)
        distances = cdist(true_points, predicted_points) / gamma
    return np.where(distances < 1, 1 - distances, 0.0)


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


def _whitened(points: Array, correlation: float, independence: float) -> Array:
    """Returns standardised points in axes where the Mahalanobis distance is the Euclidean one."""
    independent = (points[:, 1] - correlation * points[:, 0]) / np.sqrt(independence)
    return np.column_stack((points[:, 0], independent))


def value_spread(values: Array) -> float:
    """Returns the standard deviation (ddof 1) of `[N]`; 0 where the values are equal, or fewer than two."""
    return float(values.std(ddof=1)) if len(values) > 1 and values.min() < values.max() else 0.0


def value_scores(truth: Array, prediction: Array, spread: float, gamma: float) -> Array:
    """Returns 1 - min(1, |dy| / spread / gamma) for each value of `[N]` and `[M]`, `[N, M]`; NaN scores 0.

    spread is that of the ground truth. Where it is 0, equal values score 1, others 0.
    """
    gaps = np.abs(truth[:, None] - prediction[None, :])
    if spread <= 0:
        return np.asarray(gaps == 0, dtype=np.float64)
    with np.errstate(over="ignore"):
        distances = gaps / spread / gamma
    return np.where(distances < 1, 1 - distances, 0.0)
