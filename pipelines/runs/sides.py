"""The sides of a difference: whether both measured the same samples, and how far those of one side may move it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from ...metrics.benchmark import AnyBenchmark
from ...metrics.repeats import REPEATS, is_of_k
from ...metrics.statistics.measured import Measured, class_families, slices_with_value, spec_or_undeclared
from ...metrics.statistics.paired import relative_excess, same_denominators, same_samples
from ...metrics.statistics.sums import Sums
from ..config.settings import Configuration
from .numbers import count_of
from .run import Run

OTHER_SAMPLES = "the slice has other samples there"


class MeasuredSide(NamedTuple):
    """One side of a comparison. truths: the fingerprint of its ground truth; None: not known. predictions: that of its
    system, in all slices. samples: how many were measured. left_out: how many were not: they were rejected, or they
    lack a prediction and missing predictions are left out; a repeat counts as a part of a sample, except for a metric
    of k repeats. parts: the slices and classes with a value whose mean the metric is, if it is one. run: whose slice it
    is; None for all samples."""

    name: str
    truths: str | None
    predictions: str | None
    samples: int
    left_out: int
    measured: Measured
    parts: frozenset[str]
    run: Run | None


def side_of(
    benchmark: AnyBenchmark,
    metric: str,
    run: Run,
    system: str,
    label: str,
    measured: Measured | None = None,
    name: str = "",
) -> MeasuredSide | None:
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
    sums = Sums(run.slice_sums(system, label).sums)
    parts = frozenset(_parts(benchmark, metric, measured, sums, run.corpus(system)))
    predictions = run.systems[system].predictions_fingerprint
    whose = run if label else None
    return MeasuredSide(name, summary.fingerprint, predictions, samples, left_out, measured, parts, whose)


def _parts(benchmark: AnyBenchmark, metric: str, measured: Measured, sums: Sums, corpus: Sums) -> Iterator[str]:
    """Yields the slices and the classes with a value, each of which counts alike however few samples it has."""
    for part, column in spec_or_undeclared(type(benchmark), metric).sliced:
        values = slices_with_value(benchmark, part, column, sums, corpus)
        yield from (f"{part} of {column}={value}" for value in values)
    for family in class_families(type(benchmark), metric):
        yield from (name for name, each in measured.denominators.items() if family.covers(name) and each[0])


def apart(
    configuration: Configuration, metric: str, ours: MeasuredSide, theirs: MeasuredSide, is_trusted: bool
) -> tuple[float, str]:
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
    # Where a missing prediction counts as wrong, what is left out is rejected, as a rule on both sides.
    samples = ours.samples if settings.missing == "exclude" else 0
    same = same_samples(configuration.benchmark, metric, ours.measured, theirs.measured, samples)
    more = abs(ours.samples - theirs.samples)
    if settings.cluster is None and not settings.repeats:
        is_whole = spec.per_sample is not None or not more
    else:
        is_whole = ours.left_out == theirs.left_out and (is_trusted or not ours.left_out)
    if (same and is_whole) or (same is not False and _answer_alike(ours, theirs)):
        return 0.0, ""
    # The samples left out on one side may all differ from those left out on the other.
    samples = max(more, ours.left_out + theirs.left_out)
    if not samples:
        is_unknown = ours.run is not theirs.run and not (ours.truths and theirs.truths)
        return (math.inf, OTHER_SAMPLES) if is_unknown and same is False else (0.0, "")
    least = min(ours.samples, theirs.samples)
    share = samples / least if least else math.inf
    if samples == more:
        return share, f"one side measured {count_of(more, 'sample')} more"
    return share, f"up to {count_of(samples, 'sample')} may have been measured on one side alone"


def _answer_alike(ours: MeasuredSide, theirs: MeasuredSide) -> bool:
    """Returns whether both sides answered alike to the same samples, which a metric without denominators does not tell.

    Denominators of any metric show if scoring failed for other samples.
    """
    records = ours.truths, ours.predictions, ours.left_out
    is_equal = all(records[:2]) and records == (theirs.truths, theirs.predictions, theirs.left_out)
    return is_equal and same_denominators(ours.measured.denominators, ours.measured, theirs.measured)


def attributable_shift(
    configuration: Configuration, metric: str, ours: MeasuredSide, theirs: MeasuredSide
) -> tuple[float, str]:
    """Returns how far samples that only one side measured may have moved a difference at most, and a text.

    A share s of the samples moves a mean by at most s times the width of its bounds; of a mean over classes, s is the
    mean of the shares. Where a missing prediction counts as wrong, both sides measured the whole ground truth. Then a
    slice alone may hold other samples; equal predictions of the systems show that these are why it differs.
    """
    share, reason = apart(configuration, metric, ours, theirs, is_trusted=True)
    kind = type(configuration.benchmark)
    is_same_system = ours.predictions is not None and ours.predictions == theirs.predictions
    if ours.parts == theirs.parts and not is_same_system:
        if configuration.settings.missing == "wrong":
            return 0.0, reason
        if reason == OTHER_SAMPLES:
            share = (ours.left_out + theirs.left_out) / max(1, min(ours.samples, theirs.samples))
    for family in class_families(kind, metric) if share else ():
        names = [name for name in ours.measured.denominators if name in ours.parts and family.covers(name)]
        excess = sum(relative_excess(name, ours.measured, theirs.measured) for name in names)
        share = max(share, excess / max(1, len(names)))
    return (share * spec_or_undeclared(kind, metric).reach if share else 0.0), reason
