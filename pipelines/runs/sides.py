"""The sides of a difference: whether both measured the same samples, and what those that one side measured may explain.

Nothing is known of a sample that one side alone measured but the bounds of the metric. If a share s of the samples
that both sides measured is measured on one side in addition, and its mean with them is v, then without them it is
v + s (v - m), where their mean m is within the bounds (Manski, "Nonparametric Bounds on Treatment Effects", American
Economic Review 80, 1990).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from ...metrics.benchmark import AnyBenchmark
from ...metrics.repeats import REPEATS, is_of_k
from ...metrics.statistics.measured import Measured, class_families, slices_with_value, spec_or_undeclared
from ...metrics.statistics.paired import relative_excess, same_samples
from ...metrics.statistics.sums import Sums
from ..config.settings import Configuration
from .numbers import count_of
from .run import Run

OTHER_SAMPLES = "the slice has other samples there"


class Side(NamedTuple):
    """One side of a comparison. truths: the fingerprint of its ground truth; None: not known. samples: how many were
    measured. left_out: how many were not: they were rejected, or they lack a prediction and missing predictions are
    left out; a repeat counts as a part of a sample, except for a metric of k repeats. parts: the slices and classes
    with samples whose mean the metric is, if it is one. slice_of: the run and the label of a slice, None for all
    samples."""

    name: str
    truths: str | None
    samples: int
    left_out: int
    measured: Measured
    parts: frozenset[str]
    slice_of: tuple[Run, str] | None


def side_of(
    benchmark: AnyBenchmark,
    metric: str,
    run: Run,
    system: str,
    label: str,
    measured: Measured | None = None,
    name: str = "",
) -> Side | None:
    """Returns one side of a comparison; None if the run has no such slice. measured: of the slice, if it is known."""
    summary = run.slice(system, label)
    if summary is None:
        return None
    missing = run.configuration.settings.missing
    samples = summary.measured_samples(missing)
    left_out = summary.left_out(missing, run.systems[system].values.get(REPEATS))
    measured = measured or run.measured(system, label)
    if is_of_k(spec_or_undeclared(type(benchmark), metric)) and metric in measured.denominators:
        # Of a sample that lacks one of k repeats, nothing is in it.
        samples = round(measured.denominators[metric][0])
        left_out = summary.samples - samples
    stored = run.slice_sums(system, label)
    sums = Sums(stored.sums if stored else {})
    parts = frozenset(_parts(benchmark, metric, measured, sums, run.corpus(system)))
    return Side(name, summary.fingerprint, samples, left_out, measured, parts, (run, label) if label else None)


def _parts(benchmark: AnyBenchmark, metric: str, measured: Measured, sums: Sums, corpus: Sums) -> Iterator[str]:
    """Yields the slices and the classes with a value, each of which counts alike however few samples it has."""
    for part, column in spec_or_undeclared(type(benchmark), metric).sliced:
        values = slices_with_value(benchmark, part, column, sums, corpus)
        yield from (f"{part} of {column}={value}" for value in values)
    for family in class_families(type(benchmark), metric):
        yield from (name for name, each in measured.denominators.items() if family.covers(name) and each[0])


def apart(configuration: Configuration, metric: str, ours: Side, theirs: Side, is_trusted: bool) -> tuple[float, str]:
    """Returns the share of samples that only one side measured, and a text; 0 if both have the same samples.

    A slice of another run may hold other samples, of which nothing is known: the share is infinite.

    is_trusted: whether replicates tell which samples of a cluster, or which repeats of a sample, were measured. They
    are drawn together, so equal predictions do, or the assumption that a cluster lacks the same ones on both sides.
    """
    settings, spec = configuration.settings, spec_or_undeclared(type(configuration.benchmark), metric)
    if ours.truths and theirs.truths and ours.truths != theirs.truths:
        return math.inf, OTHER_SAMPLES
    if parts := sorted(ours.parts ^ theirs.parts):
        return math.inf, f"only one side measured {parts[0]}"
    same = same_samples(configuration.benchmark, metric, ours.measured, theirs.measured)
    more = abs(ours.samples - theirs.samples)
    if settings.cluster is None and not settings.repeats:
        is_whole = spec.per_sample is not None or not more
    else:
        is_whole = is_trusted or not (ours.left_out or theirs.left_out)
    if same and is_whole:
        return 0.0, ""
    # The samples left out on one side may all differ from those left out on the other.
    samples = max(more, ours.left_out + theirs.left_out)
    if not samples:
        of_other_run = ours.slice_of and theirs.slice_of and ours.slice_of[0] is not theirs.slice_of[0]
        is_unknown = of_other_run and not (ours.truths and theirs.truths)
        return (math.inf, OTHER_SAMPLES) if is_unknown and same is False else (0.0, "")
    further = max(relative_excess(part, ours.measured, theirs.measured) for part in spec.parts or (metric,))
    share = max(samples / min(ours.samples, theirs.samples), further)
    if samples == more:
        return share, f"one side measured {count_of(more, 'sample')} more"
    return share, f"up to {count_of(samples, 'sample')} may have been measured on one side alone"


def explained(
    configuration: Configuration, metric: str, ours: Side, theirs: Side, is_gain: bool = False
) -> tuple[float, str]:
    """Returns how much of a loss, or gain, the samples that only one side measured may explain at most, and a text.

    The loss is largest if those of their side are as good as the bounds of the metric allow, and ours as bad; see the
    module. Where a missing prediction counts as wrong, only a slice with other samples explains anything.
    """
    spec = spec_or_undeclared(type(configuration.benchmark), metric)
    share, reason = apart(configuration, metric, ours, theirs, is_trusted=True)
    if not math.isfinite(share):
        return math.inf, reason
    if not share or configuration.settings.missing == "wrong":
        return 0.0, ""
    low, high = spec.bounds
    worst, best = (low, high) if spec.higher_is_better != is_gain else (high, low)
    alone, moved = 0, 0.0
    for side, other, bound in ((theirs, ours, best), (ours, theirs, worst)):
        if more := other.left_out or max(0, side.samples - other.samples):
            value = side.measured.values[metric]
            moved += more * (math.inf if bound is None or value is None else abs(value - bound))
            alone += more
    # The share is of the smaller side, some of whose samples the other side may have left out.
    common = 1 - min(ours.left_out, theirs.left_out) / min(ours.samples, theirs.samples)
    return (share * moved / alone / common if common > 0 else math.inf), reason
