"""Confidence intervals of metrics from their Poisson-bootstrap replicates.

- Logit-t, of a metric v with two bounds, here scaled to [0, 1]: logit(v) +- t(n - 1) * SE / (v (1 - v)), with SE the
  standard deviation of the replicates and n the units that count for the metric.
- Log-t, of a metric with one bound, at a distance e from it: log(e) +- t(n - 1) * SE / e. Near the bound few units have
  an error, some of them a large one, and quantiles of the replicates miss it.
- Wilson's interval with n, if the replicates do not vary or v is at a bound: the bootstrap sees no spread there.
  Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22, 1927. It does see one of
  a standard deviation that is 0 as metrics are equal by chance, and of what is made of it. Then the interval reaches
  from the bound at least to t(n - 1) times the root mean square of the distances of the replicates from it, as these
  vary less around their own mean.
- The expanded percentile interval, of a metric without bounds: its tails are Phi(-sqrt(n / (n - 1)) t(n - 1)),
  which corrects for replicates that are too narrow by sqrt((n - 1) / n) and for the normal distribution instead of
  Student's. Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69, 2015. Quantiles
  of R replicates are Weibull's, p (R + 1): the default of NumPy lies too far inside. With tails beyond the outermost
  replicates, it reaches at least to v +- t(n - 1) * SE.

docs/explanation/statistics.md has the coverage that `make calibrate` measures of each.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from ..benchmark import AnyBenchmark, MetricSpec
from .measured import Measured, spec_or_undeclared
from .sum_table import FloatArray

Interval = tuple[float, float]

METHODS = {"bounded": "logit-t", "one_bound": "log-t", "at_bound": "wilson", "unbounded": "expanded percentile"}
"""The names of the methods, as in summary.json, by the kind of metric."""

ROUNDING = 1e-12
"""A spread of ratios, or a distance from a bound, of at most this much comes from rounding: 2 P R / (P + R) of
P = R = 0.9 may be 0.8999999999999999, and 0.4 - 0.3 is a little more than 0.1."""

MAX_EXPONENT = 50.0
"""A factor of exp(50) means that nothing is known; much larger ones would overflow."""


def intervals(benchmark: AnyBenchmark, measured: Measured, confidence: float) -> dict[str, Interval | None]:
    """Returns the interval of each metric of a slice; see `interval` for None, and None without a denominator."""
    kind, errors, replicates = type(benchmark), measured.errors, measured.replicates
    specs = {name: spec_or_undeclared(kind, name) for name in measured.values}
    return {
        name: interval(specs[name], value, errors[name], replicates[name], measured.units[name], confidence)
        if specs[name].has_units
        else None
        for name, value in measured.values.items()
    }


def interval(
    spec: MetricSpec, value: float | None, error: float | None, replicates: FloatArray, units: float, confidence: float
) -> Interval | None:
    """Returns the interval of one metric; see the module for the methods.

    error: the `spread` of the replicates [R], which are NaN if the metric has no value. units: how many count for
    the metric. None if the metric has no value or no error; for less than two bounds see `log_t` and
    `expanded_percentile`.
    """
    if value is None or error is None:
        return None
    low, high = spec.bounds
    replicates = replicates[~np.isnan(replicates)]
    if low is not None and high is not None:
        scale, share = high - low, _share_at_bound(value, error, low, high)
        if share is None:
            within = logit_t((value - low) / scale, error / scale, units, confidence)
        else:
            reach = _reach(spec, error, replicates - value, units, confidence) / scale
            least, most = wilson(share, units, confidence)
            within = min(least, max(share - reach, 0.0)), max(most, min(share + reach, 1.0))
        return low + scale * within[0], low + scale * within[1]
    if low is not None:
        above = log_t(spec, value - low, error, replicates - low, units, confidence)
        return above and (low + above[0], low + above[1])
    if high is not None:
        below = log_t(spec, high - value, error, high - replicates, units, confidence)
        return below and (high - below[1], high - below[0])
    return expanded_percentile(value, error, replicates, units, confidence)


def standard_errors(benchmark: AnyBenchmark, measured: Measured) -> dict[str, float | None]:
    """Returns the standard error of each metric of a slice; None if it is unknown, see `standard_error`."""
    kind = type(benchmark)
    return {
        name: standard_error(spec_or_undeclared(kind, name), value, measured.errors[name], measured.units[name])
        for name, value in measured.values.items()
    }


def standard_error(spec: MetricSpec, value: float | None, error: float | None, units: float) -> float | None:
    """Returns the standard error of one metric, in its own unit: `error`, the spread of the replicates.

    At a bound, and if a metric with two bounds has no spread, the bootstrap sees none; then it is half of Wilson's
    95 % interval divided by 1.96, and at least `error` for a spread. None if the metric has no interval,
    and for one unit or less.
    """
    if value is None or error is None or units <= 1:
        return None
    low, high = spec.bounds
    least = error if spec.spread else 0.0
    if low is not None and high is not None:
        share = _share_at_bound(value, error, low, high)
        return error if share is None else max(least, (high - low) * _wilson_error(share, units))
    bound = low if low is not None else high
    if bound is not None and abs(value - bound) <= ROUNDING:
        return max(least, spec.loss * _wilson_error(0.0, units)) if math.isfinite(spec.loss) else None
    return error if error > ROUNDING * abs(value - (bound or 0.0)) else None


def _wilson_error(share: float, units: float) -> float:
    low, high = wilson(share, units, 0.95)
    return (high - low) / (2 * float(ndtri(0.975)))


def _share_at_bound(value: float, error: float, low: float, high: float) -> float | None:
    """Returns the share for Wilson's interval; None if the replicates vary and the value is not at a bound."""
    share = (value - low) / (high - low)
    inside = ROUNDING < share < 1 - ROUNDING and error / (high - low) > ROUNDING
    return None if inside else min(max(share, 0.0), 1.0)


@lru_cache(maxsize=4096)
def t_quantile(units: float, confidence: float) -> float:
    """Returns the upper (1 - confidence) / 2 quantile of Student's t with units - 1 degrees of freedom.

    Infinity for one unit or less, which has no spread.
    """
    return float(stdtrit(units - 1, (1 + confidence) / 2)) if units > 1 else math.inf


def logit_t(share: float, error: float, units: float, confidence: float) -> Interval:
    """Returns the logit-t interval of a share within (0, 1) with the standard error `error` > 0."""
    center = math.log(share) - math.log1p(-share)
    half = t_quantile(units, confidence) * error / (share * (1 - share))
    return _logistic(center - half), _logistic(center + half)


def wilson(share: float, units: float, confidence: float) -> Interval:
    """Returns Wilson's score interval of a share of `units` units; [0, 1] for 0 units."""
    squared = float(ndtri((1 + confidence) / 2)) ** 2
    center = (units * share + squared / 2) / (units + squared)
    half = math.sqrt(squared * (units * share * (1 - share) + squared / 4)) / (units + squared)
    # At a bound the interval ends there, to the last bit.
    return (0.0 if share == 0 else center - half), (1.0 if share == 1 else center + half)


def log_t(
    spec: MetricSpec, distance: float, error: float, replicates: FloatArray, units: float, confidence: float
) -> Interval | None:
    """Returns the log-t interval of a distance of at least 0 from the only bound of a metric.

    replicates: their distances. At the bound, it is Wilson's interval of a share of 0, times `loss`, the most that an
    error costs a unit, or what the replicates reach if that is more; None if either is infinite. Elsewhere, None if
    nothing differs, or for one unit or less.
    """
    if distance <= ROUNDING:
        end = max(spec.loss * wilson(0.0, units, confidence)[1], _reach(spec, error, replicates, units, confidence))
        return (0.0, end) if math.isfinite(end) else None
    if units <= 1 or error <= ROUNDING * distance:
        return None
    half = min(t_quantile(units, confidence) * error / distance, MAX_EXPONENT)
    return distance * math.exp(-half), distance * math.exp(half)


def _reach(spec: MetricSpec, error: float, distances: FloatArray, units: float, confidence: float) -> float:
    """Returns t(n - 1) times the root mean square of the distances of replicates from a bound, at which a metric is.

    0 if none differs. And unless the metric is a spread: others vary at a bound only where nothing is left to measure,
    such as a precision that is 0 as nothing is predicted.
    """
    if error <= ROUNDING or not spec.spread:
        return 0.0
    return t_quantile(units, confidence) * math.sqrt(np.mean(distances**2))


def expanded_percentile(
    value: float, error: float, replicates: FloatArray, units: float, confidence: float
) -> Interval | None:
    """Returns the expanded percentile interval; None for one unit or less, or if no replicate differs.

    Where the tails are beyond the outermost replicates, it is at least value +- t(n - 1) * error.
    """
    if units <= 1 or np.ptp(replicates) <= ROUNDING * abs(float(replicates[0])):
        return None
    quantile = t_quantile(units, confidence)
    tail = float(ndtr(-math.sqrt(units / (units - 1)) * quantile))
    low, high = (float(each) for each in np.quantile(replicates, [tail, 1 - tail], method="weibull"))
    if tail * (len(replicates) + 1) < 1:
        low, high = min(low, value - quantile * error), max(high, value + quantile * error)
    return low, high


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
