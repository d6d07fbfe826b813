"""Confidence intervals of metrics from their Poisson-bootstrap replicates.

- Logit-t, of a metric v with two bounds, here scaled to [0, 1]: logit(v) +- t(n - 1) * SE / (v (1 - v)), with SE the
  standard deviation of the replicates and n the units that count for the metric.
- Wilson's interval with n, where the replicates do not vary or v is at a bound: the bootstrap sees no spread there.
  Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22, 1927.
- The expanded percentile interval, of a metric that lacks a bound: its tails are Phi(-sqrt(n / (n - 1)) t(n - 1)),
  which makes up for the replicates' being too narrow by sqrt((n - 1) / n) and for the normal distribution in place of
  Student's. Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69, 2015. A quantile
  of R replicates is that of Weibull, p (R + 1): the usual one of NumPy lies too far inside.

docs/statistics.md has the coverage that `make calibrate` measures of each.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtrit

from metrics.benchmark import MetricSpec
from metrics.statistics.measured import AnyBenchmark, Measured, spec_of

FloatArray = npt.NDArray[np.float64]
Interval = tuple[float, float]

METHODS = {"bounded": "logit-t", "at_bound": "wilson", "unbounded": "expanded percentile"}
"""The names of the methods, as summary.json gives them, by what they are for."""

ROUNDING = 1e-12
"""A spread of ratios, or a distance from a bound, that is no more than this comes from rounding."""


def intervals(benchmark: AnyBenchmark, measured: Measured, confidence: float) -> dict[str, Interval | None]:
    """Returns the interval of each metric of a slice.

    None where there are no replicates or fewer than half of them have a value, and where the metric has none.
    """
    return {
        name: interval(
            spec_of(type(benchmark), name), value, measured.replicates[name], measured.units[name], confidence
        )
        for name, value in measured.values.items()
    }


def interval(
    spec: MetricSpec, value: float | None, replicates: FloatArray, units: float, confidence: float
) -> Interval | None:
    """Returns the interval of one metric; see the module for the methods, and `intervals` for None.

    replicates [R]: NaN where the metric has no value. units: how many count for the metric.
    """
    found = measured_replicates(replicates)
    if value is None or found is None:
        return None
    low, high = spec.bounds
    if low is None or high is None:
        return expanded_percentile(value, found, units, confidence, spec.bounds)
    scale = high - low
    share, error = (value - low) / scale, float(np.std(found)) / scale
    if ROUNDING < share < 1 - ROUNDING and error > ROUNDING:
        inner = logit_t(share, error, units, confidence)
    else:
        inner = wilson(min(max(share, 0.0), 1.0), units, confidence)
    return low + scale * inner[0], low + scale * inner[1]


def measured_replicates(replicates: FloatArray) -> FloatArray | None:
    """Returns the replicates that have a value; None where they are fewer than half, or there are none."""
    found = replicates[~np.isnan(replicates)]
    return found if len(found) and 2 * len(found) >= len(replicates) else None


def t_quantile(units: float, confidence: float) -> float:
    """Returns the upper (1 - confidence) / 2 quantile of Student's t with units - 1 degrees of freedom.

    Infinity for one unit or less, which says nothing of the spread.
    """
    return float(stdtrit(units - 1, (1 + confidence) / 2)) if units > 1 else math.inf


def logit_t(share: float, error: float, units: float, confidence: float) -> Interval:
    """Returns the logit-t interval of a share within (0, 1) with the standard error `error` > 0."""
    centre = math.log(share) - math.log1p(-share)
    half = t_quantile(units, confidence) * error / (share * (1 - share))
    return _logistic(centre - half), _logistic(centre + half)


def wilson(share: float, units: float, confidence: float) -> Interval:
    """Returns Wilson's score interval of a share of `units` units; of none, [0, 1]."""
    squared = float(ndtri((1 + confidence) / 2)) ** 2
    centre = (units * share + squared / 2) / (units + squared)
    half = math.sqrt(squared * (units * share * (1 - share) + squared / 4)) / (units + squared)
    # At a bound the interval ends there, to the last bit.
    return (0.0 if share == 0 else centre - half), (1.0 if share == 1 else centre + half)


def expanded_percentile(
    value: float, replicates: FloatArray, units: float, confidence: float, bounds: tuple[float | None, float | None]
) -> Interval | None:
    """Returns the expanded percentile interval; None for one unit or less.

    Where the value is at its only bound, all that counted was without an error, and no replicate differs. Then it is
    Wilson's interval of a share at its bound, as long as an error costs a unit at most 1.
    """
    if np.ptp(replicates) <= ROUNDING * abs(value):
        return _at_single_bound(value, units, confidence, bounds)
    if units <= 1:
        return None
    tail = float(ndtr(-math.sqrt(units / (units - 1)) * t_quantile(units, confidence)))
    low, high = np.quantile(replicates, [tail, 1 - tail], method="weibull")
    return float(low), float(high)


def _at_single_bound(
    value: float, units: float, confidence: float, bounds: tuple[float | None, float | None]
) -> Interval | None:
    if value == bounds[1]:
        return value - 1 + wilson(1.0, units, confidence)[0], value
    if value == bounds[0]:
        return value, value + wilson(0.0, units, confidence)[1]
    return None


def _logistic(x: float) -> float:
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    return math.exp(x) / (1 + math.exp(x)) if x > -700 else 0.0
