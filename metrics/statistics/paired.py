"""The difference of two systems over the same samples, with an interval of its own.

The weights of the bootstrap depend on nothing but the seed, the unit and the replicate, so replicate r of one system
draws the same samples as replicate r of another. What both get right or wrong alike cancels, and the interval of the
difference is far narrower than those of the two values: whether these overlap says little.

With d the difference of the values and SE the standard deviation of the differences of the replicates, the interval is
d +- t(n - 1) SE, with n the units that count for the metric, the fewer of both systems.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from metrics.benchmark import MetricSpec
from metrics.statistics.intervals import ROUNDING, Interval, measured_replicates, t_quantile, wilson
from metrics.statistics.measured import AnyBenchmark, Measured, spec_of

POWER = 0.8
"""The chance with which a difference as large as `detectable` is found."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """One metric of two systems over the same samples.

    baseline, candidate: the values; None where a system has nothing to measure.
    difference: candidate - baseline; None where either is.
    error: the standard error of the difference; None where fewer than half of the replicates have one.
    interval: of the difference; None where `error` is, and where a metric without bounds rests on a single unit.
    units: how many samples, or clusters, count for the metric: the fewer of both systems.
    detectable: the smallest difference that this corpus tells from 0 with a chance of 80 %.
    """

    baseline: float | None
    candidate: float | None
    difference: float | None
    error: float | None
    interval: Interval | None
    units: float
    detectable: float | None


def paired_differences(
    benchmark: AnyBenchmark, baseline: Measured, candidate: Measured, confidence: float
) -> dict[str, PairedDifference]:
    """Returns the difference of each metric that either system has, for one slice.

    The replicates of both must have been drawn with the same seed, over the same samples.
    Raises ValueError where they are not as many.
    """
    differences = {}
    for name in dict.fromkeys([*baseline.values, *candidate.values]):
        before, after = baseline.values.get(name), candidate.values.get(name)
        units = min(baseline.units.get(name, 0.0), candidate.units.get(name, 0.0))
        if before is None or after is None:
            differences[name] = PairedDifference(before, after, None, None, None, units, None)
            continue
        spread = candidate.replicates[name] - baseline.replicates[name]
        spec = spec_of(type(benchmark), name)
        differences[name] = _difference(spec, before, after, spread, units, confidence)
    return differences


def _difference(
    spec: MetricSpec, before: float, after: float, spread: np.ndarray, units: float, confidence: float
) -> PairedDifference:
    difference = after - before
    found = measured_replicates(spread)
    if found is None:
        return PairedDifference(before, after, difference, None, None, units, None)
    error = float(np.std(found))
    interval = paired_interval(difference, error, units, confidence, spec.bounds)
    return PairedDifference(before, after, difference, error, interval, units, _detectable(error, units, confidence))


def paired_interval(
    difference: float, error: float, units: float, confidence: float, bounds: tuple[float | None, float | None]
) -> Interval | None:
    """Returns the interval d +- t(n - 1) SE, cut to what the bounds of the metric allow.

    Where nothing differs in any replicate, and d is 0 as far as floats tell, it is 0 too: the systems are equal on this
    corpus. A difference of a bounded metric that all units share has no spread either; its interval is as wide as
    Wilson's at a bound.
    """
    low, high = bounds
    width = None if low is None or high is None else high - low
    nothing = ROUNDING if width is None else ROUNDING * width
    if error > nothing:
        half = t_quantile(units, confidence) * error
    elif abs(difference) <= nothing:
        return min(difference, 0.0), max(difference, 0.0)
    elif width is not None:
        half = width * (1 - wilson(1.0, units, confidence)[0])
    else:
        return None
    if width is None:
        return None if half == np.inf else (difference - half, difference + half)
    return max(difference - half, -width), min(difference + half, width)


def _detectable(error: float, units: float, confidence: float) -> float | None:
    """Returns (t at the confidence + t at the power) * SE; None where it is unknown, as nothing differs."""
    if error <= ROUNDING or units <= 1:
        return None
    return (t_quantile(units, confidence) + float(stdtrit(units - 1, POWER))) * error
