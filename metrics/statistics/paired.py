"""The difference of two systems over the same samples, with an interval of its own.

The weights of the bootstrap depend only on the seed, the unit and the replicate, so replicate r of one system draws the
same samples as replicate r of another. Errors that both systems share cancel, and the interval of the difference is far
narrower than the intervals of the two values: whether these overlap says little.

With d the difference of the values and SE the standard deviation of the differences of the replicates, the interval is
d +- t(n - 1) SE, with n the units that count for the metric, the smaller number of both systems.

SE is based on the units that differ; if these are few, none of them may show the loss that matters: if a unit is lost
with probability 1 %, nothing differs in 13 % of corpora of 200 units, and SE is 0. So a second interval, for decisions
that such a loss would reverse, adds 2 (width / n)^2 to SE^2 while fewer than 20 units differ, as if two more differed
by the whole width of a metric with two bounds. Agresti and Min add pseudo-observations in much the same way ("Simple
Improved Confidence Intervals for Comparing Matched Proportions", Statistics in Medicine 24, 2005). Only a large
difference counts as one: (n SE / width)^2 units differ by the whole width. Where all units are counted that differ at
all, the smaller number decides: a little won on each says nothing of a rare loss, nor many won in one class of another
class. Systems with the same predictions are equal on any corpus: nothing is added then.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from ..benchmark import AnyBenchmark
from .intervals import ROUNDING, Interval, t_quantile, wilson
from .measured import Measured, spec_or_undeclared, spreads

POWER = 0.8
"""The probability with which the interval of a true difference as large as `detectable` excludes 0."""

MIN_DIFFERING_UNITS, ADDED_UNITS = 20, 2
"""docs/explanation/statistics.md has how often these values wrongly accept a candidate as good enough."""

MIN_REPLICATES = 20
"""The spread of fewer is often far too small, that of one is 0; and fewer may be equal by chance."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """One metric of two systems over the same samples.

    baseline, candidate: the values; None if a system has nothing to measure.
    difference: candidate - baseline; None if either is None.
    error: the standard error of the difference; None if fewer than half of the replicates have one, they are fewer than
    MIN_REPLICATES, or the metric has no denominator.
    interval: of the difference; None if `error` is None, or a metric without bounds is based on a single unit.
    units: how many samples, or clusters, count for the metric: the smaller number of both systems.
    detectable: the smallest true difference whose `interval` excludes 0 with a probability of 80 %, at most the width
    of a metric with two bounds; None if nothing differs, or no interval of so few units excludes 0. A verdict corrected
    for several metrics and slices needs a larger one.
    cautious: the interval that allows for losses that no unit shows. For a metric without two bounds it is `interval`,
    since the size of such a loss is unknown.
    same_predictions: whether both systems are known to have the same predictions.
    total: how many units there are at least, where `units` is an estimate that uneven sizes make small.
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
    total: float = math.inf


def paired_differences(
    benchmark: AnyBenchmark,
    baseline: Measured,
    candidate: Measured,
    confidence: float,
    differing: Mapping[str, int] | None = None,
) -> dict[str, PairedDifference]:
    """Returns the difference of each metric that either system has, for one slice.

    differing: by metric, how many units differ; None if not known. The replicates of both must have been drawn with the
    same seed, over the same samples. Fewer than MIN_REPLICATES give no interval.
    Raises ValueError if their numbers differ.
    """
    same = baseline.predictions is not None and baseline.predictions == candidate.predictions
    shared = [name for name in baseline.replicates if name in candidate.replicates]
    changes = {name: candidate.replicates[name] - baseline.replicates[name] for name in shared}
    errors = spreads({name: each for name, each in changes.items() if len(each) >= MIN_REPLICATES})
    differences = {}
    for name in dict.fromkeys([*baseline.values, *candidate.values]):
        before, after = baseline.values.get(name), candidate.values.get(name)
        units = min(baseline.units.get(name, 0.0), candidate.units.get(name, 0.0))
        difference = None if before is None or after is None else after - before
        error = None if difference is None else errors.get(name)
        spec = spec_or_undeclared(type(benchmark), name)
        if difference is None or error is None or not spec.has_units:
            differences[name] = PairedDifference(before, after, difference, None, None, units, None, total=units)
            continue
        wider, counted = error, None if differing is None else differing.get(name, 0)
        if not same or error or difference:
            size = min(baseline.size(name), candidate.size(name))
            wider = widened_error(error, size, spec.width, counted)
        # The number of clusters is estimated; those that differ are counted.
        total = max(min(baseline.total(name), candidate.total(name)), counted or 0)
        interval, cautious = (
            paired_interval(difference, each, units, confidence, spec.width, total) for each in (error, wider)
        )
        # If all units differ alike, the first is Wilson's, and may be the wider one.
        if interval is not None and cautious is not None:
            cautious = min(interval[0], cautious[0]), max(interval[1], cautious[1])
        differences[name] = PairedDifference(
            before,
            after,
            difference,
            error,
            interval,
            units,
            _detectable(error, units, confidence, spec.width, total),
            cautious,
            same,
            total,
        )
    return differences


def widened_error(error: float, size: float, width: float | None, differing: int | None) -> float:
    """Returns a standard error that allows for losses that no unit shows, see the module; unchanged without a width.

    size: the effective sample size of the metric, in units of equal weight. differing: how many units differ; None: not
    known. If the error implies a smaller number, that decides.
    """
    if width is None:
        return error
    if size <= 0:
        return math.inf
    step = width / size
    # Rounded, so that 20 units that differ by the whole width are 20.
    implied = round((error / step) ** 2, 6)
    least = implied if differing is None else min(differing, implied)
    return error if least >= MIN_DIFFERING_UNITS else math.sqrt(error**2 + ADDED_UNITS * step**2)


def paired_interval(
    difference: float, error: float, units: float, confidence: float, width: float | None, total: float | None = None
) -> Interval | None:
    """Returns the interval d +- t(n - 1) SE, clipped to the bounds of the metric, which are `width` apart.

    If nothing differs in any replicate, and d is 0 up to rounding, the interval is 0 too: the systems are equal on this
    corpus. A difference of a bounded metric that all units share has no spread either; its interval is as wide as
    Wilson's at a bound. It reaches 0 if the units, `total`, are fewer than any swap test needs. None: `units`.
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
    if _are_few(units if total is None else total, confidence):
        half = max(half, abs(difference))
    if width is None:
        return None if half == np.inf else (difference - half, difference + half)
    return max(difference - half, -width), min(difference + half, width)


def units_needed(confidence: float) -> int:
    """Returns how many units must differ for any swap test to be significant: 6 at 95 %.

    With m differing units there are 2^m swaps, and at least two of them are as extreme as the systems themselves.
    """
    return math.ceil(1 - math.log2(1 - confidence))


def _are_few(units: float, confidence: float) -> bool:
    """Returns whether so many units are fewer than `units_needed`, which an estimate of just that may fall short of."""
    return 1 - units > math.log2(1 - confidence)


def _detectable(error: float, units: float, confidence: float, width: float | None, total: float) -> float | None:
    """Returns (t at the confidence + t at the power) * SE; None if nothing differs, or no difference is detectable."""
    if error <= ROUNDING or units <= 1 or _are_few(total, confidence):
        return None
    detectable = (t_quantile(units, confidence) + float(stdtrit(units - 1, POWER))) * error
    return detectable if width is None else min(detectable, width)


# The replicates of counts show whether two systems were measured on the same samples. The weights of a replicate belong
# to the samples, so a count of samples has the same replicates on both sides if the samples are the same, and
# practically never otherwise: not if the same number of different samples was rejected, nor if a slice of the same name
# holds different samples. Samples of one cluster have one weight: of these, only the number is told. A count of
# something in the predictions says nothing if it differs.


def same_samples(benchmark: AnyBenchmark, metric: str, one: Measured, other: Measured, samples: int = 0) -> bool | None:
    """Returns whether a metric is based on the same samples on both sides; None if that is unknown.

    A metric that counts samples decides for itself. For any other, all metrics that count samples decide together, if
    one of them has as many as the `samples` that were measured; otherwise they can only deny it, as those of documents
    among formulas. Without such a metric, it is True if any denominators are equal.
    """
    kind = type(benchmark)
    if spec_or_undeclared(kind, metric).per_sample is not None:
        return _equal(metric, one, other)
    shared = [name for name in one.denominators if name in other.denominators and "[" not in name]
    counting = [name for name in shared if spec_or_undeclared(kind, name).per_sample is not None]
    known = {name: equal for name in counting if (equal := _equal(name, one, other)) is not None}
    if not all(known.values()):
        return False
    if known:
        covers = max(one.denominators[name][0] for name in known) >= samples
        return bool(covers) or _equal(metric, one, other) or None
    return True if any(_equal(name, one, other) for name in shared) else None


def _equal(metric: str, one: Measured, other: Measured) -> bool | None:
    """Returns whether the denominators of a metric are equal in all replicates; None without enough data."""
    first, second = one.denominators.get(metric), other.denominators.get(metric)
    if first is None or second is None or len(first) <= MIN_REPLICATES:
        return None
    return bool(np.array_equal(first, second)) if first[0] or second[0] else None


def same_denominators(metrics: Iterable[str], one: Measured, other: Measured) -> bool:
    """Returns whether the denominators of each metric are equal in all replicates; one that neither has is."""
    first, second = one.denominators, other.denominators
    return all(np.array_equal(first.get(metric, ()), second.get(metric, ())) for metric in metrics)


def relative_excess(metric: str, one: Measured, other: Measured) -> float:
    """Returns the relative excess of the larger denominator of a metric over the smaller; infinity if that is 0."""
    totals = [float(each.denominators[metric][0]) for each in (one, other) if metric in each.denominators]
    if len(totals) < 2 or totals[0] == totals[1]:
        return 0.0
    return (max(totals) - min(totals)) / min(totals) if min(totals) > 0 else float("inf")
