"""The difference of two systems over the same samples, with an interval of its own.

The weights of the bootstrap depend on nothing but the seed, the unit and the replicate, so replicate r of one system
draws the same samples as replicate r of another. What both get right or wrong alike cancels, and the interval of the
difference is far narrower than those of the two values: whether these overlap says little.

With d the difference of the values and SE the standard deviation of the differences of the replicates, the interval is
d +- t(n - 1) SE, with n the units that count for the metric, the fewer of both systems.

SE rests on the units that differ, and where these are few, the loss that matters may be in none of them: if a unit is
lost with a chance of 1 %, nothing differs in 13 % of corpora of 200 units, and SE is 0. So a second interval, for the
decisions that such a loss would turn, adds 2 (width / n)^2 to SE^2 while fewer than 20 units differ, as if two more did
by the whole width of a metric with two bounds. Agresti and Min add pseudo-observations in much the same way ("Simple
Improved Confidence Intervals for Comparing Matched Proportions", Statistics in Medicine 24, 2005). The sums alone do
not say how many units differ, only that at least (n SE / width)^2 do, as many as would each by the whole width. Systems
with the same predictions are equal on any corpus: nothing is added then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from .intervals import ROUNDING, Interval, t_quantile, wilson
from .measured import AnyBenchmark, Measured, spec_of, spreads

POWER = 0.8
"""The chance with which a difference as large as `detectable` is found."""

MIN_DIFFERING_UNITS, ADDED_UNITS = 20, 2
"""docs/explanation/statistics.md has how often a candidate is wrongly taken for good enough with these."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """One metric of two systems over the same samples.

    baseline, candidate: the values; None where a system has nothing to measure.
    difference: candidate - baseline; None where either is.
    error: the standard error of the difference; None where fewer than half of the replicates have one.
    interval: of the difference; None where `error` is, and where a metric without bounds rests on a single unit.
    units: how many samples, or clusters, count for the metric: the fewer of both systems.
    detectable: the smallest difference that this corpus tells from 0 with a chance of 80 %, at most the width of a
    metric with two bounds.
    cautious: the interval that allows for losses that no unit has. It is `interval` for a metric without two bounds, as
    nothing says how large such a loss may be.
    same_predictions: whether both systems are known to have the same.
    """

    baseline: float | None
    candidate: float | None
    difference: float | None
    error: float | None
    interval: Interval | None
    units: float
    detectable: float | None
    cautious: Interval | None = None
    same_predictions: bool = False


def paired_differences(
    benchmark: AnyBenchmark,
    baseline: Measured,
    candidate: Measured,
    confidence: float,
    differing: Mapping[str, int] | None = None,
) -> dict[str, PairedDifference]:
    """Returns the difference of each metric that either system has, for one slice.

    differing: by metric, how many units differ; None where that is not known. The replicates of both must have been
    drawn with the same seed, over the same samples.
    Raises ValueError where they are not as many.
    """
    same = baseline.predictions is not None and baseline.predictions == candidate.predictions
    shared = [name for name in baseline.replicates if name in candidate.replicates]
    errors = spreads({name: candidate.replicates[name] - baseline.replicates[name] for name in shared})
    differences = {}
    for name in dict.fromkeys([*baseline.values, *candidate.values]):
        before, after = baseline.values.get(name), candidate.values.get(name)
        units = min(baseline.units.get(name, 0.0), candidate.units.get(name, 0.0))
        difference = None if before is None or after is None else after - before
        error = None if difference is None else errors[name]
        if difference is None or error is None:
            differences[name] = PairedDifference(before, after, difference, None, None, units, None)
            continue
        spec = spec_of(type(benchmark), name)
        wider = error
        if not same or error or difference:
            size = min(baseline.size(name), candidate.size(name))
            wider = widened_error(error, size, spec.width, None if differing is None else differing.get(name, 0))
        differences[name] = PairedDifference(
            before,
            after,
            difference,
            error,
            paired_interval(difference, error, units, confidence, spec.width),
            units,
            _detectable(error, units, confidence, spec.width),
            paired_interval(difference, wider, units, confidence, spec.width),
            same,
        )
    return differences


def widened_error(error: float, size: float, width: float | None, differing: int | None = None) -> float:
    """Returns a standard error that allows for losses that no unit has, see the module; without a width, as it is.

    size: how many units of equal weight would tell as much of the metric. differing: how many units differ; None: as
    many as the error says at least.
    """
    if width is None:
        return error
    if size <= 0:
        return math.inf
    step = width / size
    # Rounded, so that 20 units that differ by the whole width are 20.
    least = round((error / step) ** 2, 6) if differing is None else differing
    return error if least >= MIN_DIFFERING_UNITS else math.sqrt(error**2 + ADDED_UNITS * step**2)


def paired_interval(
    difference: float, error: float, units: float, confidence: float, width: float | None
) -> Interval | None:
    """Returns the interval d +- t(n - 1) SE, cut to what the bounds of the metric allow, which are `width` apart.

    Where nothing differs in any replicate, and d is 0 as far as floats tell, it is 0 too: the systems are equal on this
    corpus. A difference of a bounded metric that all units share has no spread either; its interval is as wide as
    Wilson's at a bound.
    """
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


def _detectable(error: float, units: float, confidence: float, width: float | None) -> float | None:
    """Returns (t at the confidence + t at the power) * SE; None where it is unknown, as nothing differs."""
    if error <= ROUNDING or units <= 1:
        return None
    found = (t_quantile(units, confidence) + float(stdtrit(units - 1, POWER))) * error
    return found if width is None else min(found, width)


# Whether two systems were measured on the same samples is told by the replicates of what they count. The weights of a
# replicate are those of the sample, so a count of samples has the same replicates on both sides where the samples are
# the same, and practically never else: not where as many others were rejected, nor where the same slice holds others.
# What counts something of the predictions tells nothing where it differs.

MIN_REPLICATES = 20
"""Fewer may be the same by chance."""


def same_samples(benchmark: AnyBenchmark, metric: str, one: Measured, other: Measured) -> bool | None:
    """Returns whether a metric rests on the same samples on both sides; None where nothing tells.

    A metric that counts samples tells of itself; of others all that do, or else any that has equal denominators, or
    that all metrics are equal throughout.
    """
    kind = type(benchmark)
    if spec_of(kind, metric).per_sample is not None:
        return _equal(metric, one, other)
    shared = [name for name in one.denominators if name in other.denominators and "[" not in name]
    counts = [_equal(name, one, other) for name in shared if spec_of(kind, name).per_sample is not None]
    told = [each for each in counts if each is not None]
    if told:
        return all(told)
    return True if any(_equal(name, one, other) for name in shared) or _all_equal(one, other) else None


def _equal(metric: str, one: Measured, other: Measured) -> bool | None:
    """Returns whether the denominators of a metric are equal in all replicates; None where there is nothing to see."""
    first, second = one.denominators.get(metric), other.denominators.get(metric)
    if first is None or second is None or min(len(first), len(second)) <= MIN_REPLICATES:
        return None
    return bool(np.array_equal(first, second)) if first[0] or second[0] else None


def _all_equal(one: Measured, other: Measured) -> bool:
    """Tells whether all metrics are equal in each replicate, and vary."""
    names = one.replicates.keys()
    return (
        names == other.replicates.keys()
        and all(np.array_equal(one.replicates[name], other.replicates[name], equal_nan=True) for name in names)
        and any(len(set(one.replicates[name].tolist())) > MIN_REPLICATES // 2 for name in names)
    )


def distance(metric: str, one: Measured, other: Measured) -> float:
    """Returns by what share the larger denominator of a metric is beyond the smaller; infinity beside 0."""
    totals = [float(each.denominators[metric][0]) for each in (one, other) if metric in each.denominators]
    if len(totals) < 2 or totals[0] == totals[1]:
        return 0.0
    return (max(totals) - min(totals)) / min(totals) if min(totals) > 0 else float("inf")
