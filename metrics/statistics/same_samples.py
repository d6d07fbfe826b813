"""Whether two systems were measured on the same samples, told by the replicates of what they count.

The weights of a replicate are those of the sample, so a count of samples has the same replicates on both sides where
the samples are the same, and practically never else: not where as many others were rejected, nor where the same slice
holds others. What counts something of the predictions tells nothing where it differs.
"""

from __future__ import annotations

import numpy as np

from .measured import AnyBenchmark, Measured, spec_of

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
