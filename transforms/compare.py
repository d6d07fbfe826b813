"""From the rows of two systems to the parts of their comparison: sums by slice, counts, samples that changed.

A bucket has all rows of its samples. Samples that both systems scored are paired; each adds to all samples and to its
slices: the statistics of both systems with the replicates of the bootstrap, and the changes under every swap. A bundle
adds up its samples before it sends anything, so that memory depends on the slices and not on the samples.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import apache_beam as beam
import msgspec
from apache_beam.pvalue import TaggedOutput
from apache_beam.utils.windowed_value import WindowedValue

from ..metrics.repeats import with_labels
from ..metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from ..metrics.statistics.comparison import SwapWeights
from ..metrics.statistics.slice_names import with_slices
from .blocks import Block, BlockFolder, KeyedRecord, at_end, sorted_on_disk, unpack
from .process import one_blas_thread
from .records import EncodedRecord, InputProblem
from .rows import SampleRow
from .sample_changes import RUN_SIDES, ChangeCounter, ChangePlan
from .slice_labels import Slice, sample_slices

SUMS_HELD = 64 << 20
SAMPLES_PER_LOOK = 256
REGROUPED = "regrouped"
"""Counts the compared samples whose cluster or values to slice by differ in the candidate."""


@dataclass(frozen=True)
class ComparePlan:
    """How to compare.

    columns, slices: the columns that any slice needs, and those of each slice. masks: for each statistic the set of
    metrics that change with it, a bit each; `all_metrics` for one not in it. units_needed: up to how many differing
    units are counted. changes: what is reported of samples that changed. sliced: the columns whose slices are summed up
    among all samples too. repeats: the labels of those of the baseline and of the candidate, which get the labels of
    the baseline.
    """

    columns: tuple[str, ...]
    slices: tuple[tuple[str, ...], ...]
    bootstrap: Bootstrap
    swaps: SwapWeights
    masks: Mapping[str, int]
    all_metrics: int
    units_needed: int
    changes: ChangePlan
    sliced: tuple[str, ...] = ()
    repeats: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


@dataclass(slots=True)
class PairSums:
    """The sums over the samples of a slice.

    baseline, candidate: the sums of each system with their replicates. changes: the sums of candidate - baseline over
    all units, and over the units that each swap trades. differing: for each set of metrics, as bits, how many samples
    differ in exactly these metrics, and the smallest `units_needed` hashes of their units.
    """

    baseline: BootstrapSums
    candidate: BootstrapSums
    changes: BootstrapSums
    units_needed: int
    samples: int = 0
    differing: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """About how many bytes of memory the sums take."""
        return self.baseline.size + self.candidate.size + self.changes.size

    @classmethod
    def empty(cls, plan: ComparePlan) -> PairSums:
        """Returns the sums of no samples."""
        sums = (BootstrapSums(plan.bootstrap), BootstrapSums(plan.bootstrap), BootstrapSums(plan.swaps))
        return cls(*sums, plan.units_needed)

    def add(
        self, unit_hash: int, swap_hash: int, before: Mapping[str, float], after: Mapping[str, float], mask: int
    ) -> None:
        """Adds a sample that both systems scored.

        unit_hash, swap_hash: of its unit, for the bootstrap and for the swaps. before, after: the statistics of both
        systems. mask: the metrics in which they differ, as bits.
        """
        self.samples += 1
        self.baseline.add(unit_hash, before)
        self.candidate.add(unit_hash, after)
        if mask:
            self.changes.add(swap_hash, after)
            self.changes.add(swap_hash, {name: -value for name, value in before.items()})
            self._differ(mask, 1, (swap_hash,))

    def merge(self, other: PairSums) -> None:
        """Adds all samples of `other`, which is not modified."""
        self.samples += other.samples
        self.baseline.merge(other.baseline)
        self.candidate.merge(other.candidate)
        self.changes.merge(other.changes)
        for mask, (count, units) in other.differing.items():
            self._differ(mask, count, units)

    def differing_in(self, metric: int) -> tuple[int, int]:
        """Returns how many samples differ in metric number `metric`, and how many units, at most `units_needed`."""
        counts = [each for mask, each in self.differing.items() if mask >> metric & 1]
        units = {unit for _, smallest in counts for unit in smallest}
        return sum(count for count, _ in counts), min(len(units), self.units_needed)

    def _differ(self, mask: int, count: int, units: tuple[int, ...]) -> None:
        before, known = self.differing.get(mask, (0, ()))
        self.differing[mask] = before + count, tuple(sorted({*known, *units})[: self.units_needed])


class CompareBuckets(beam.DoFn):
    """Pairs the rows of a bucket, and adds them up.

    Input: pairs (bucket, blocks). Output, by tag: `slices`, pairs (label, PairSums); `counts`, pairs (name, number) of
    samples; `metrics`, pairs (per-sample metric, counts of how it changed); `changed`, blocks of samples that changed,
    in `folder`.
    """

    def __init__(self, plan: ComparePlan, folder: BlockFolder) -> None:
        self._plan = plan
        self._folder = folder

    def start_bundle(self) -> None:
        """Resets the sums and counts."""
        self._sums: dict[str, PairSums] = {}
        self._counts: Counter[str] = Counter()
        self._changes = ChangeCounter(self._plan.changes)

    def process(self, bucket: tuple[int, Iterable[Block]]) -> Iterator[TaggedOutput]:
        """Pairs a bucket, which is sorted by sample_id, and yields the sums if they have become large."""
        with one_blas_thread, sorted_on_disk(itertools.chain.from_iterable(map(unpack, bucket[1]))) as ordered:
            for number, (before, after) in enumerate(_paired(ordered)):
                self._add_sample(before, after)
                if number % SAMPLES_PER_LOOK == 0 and sum(sums.size for sums in self._sums.values()) > SUMS_HELD:
                    yield from self._flush_sums()

    def finish_bundle(self) -> Iterator[WindowedValue | TaggedOutput]:
        """Yields the sums, counts and changed samples of the bundle."""
        outputs = [*self._flush_sums()]
        outputs += [TaggedOutput("counts", each) for each in self._counts.items()]
        outputs += [TaggedOutput("metrics", each) for each in self._changes.counts.items()]
        outputs += [TaggedOutput("changed", self._folder.write(samples)) for samples in self._changes.blocks()]
        return at_end(outputs)

    def _add_sample(self, before: SampleRow | None, after: SampleRow | None) -> None:
        """Counts a sample, and compares it if both systems scored it against the same ground truth."""
        scored = [row is not None and row.statistics is not None for row in (before, after)]
        if before is None or after is None or not all(scored):
            self._counts[_UNPAIRED[scored[0], scored[1]]] += 1
        elif before.truth_hash != after.truth_hash:
            self._counts["other_ground_truth"] += 1
        else:
            self._counts["compared"] += 1
            if (before.unit, before.slice_values) != (after.unit, after.slice_values):
                self._counts[REGROUPED] += 1
            self._compare(before, after)

    def _compare(self, before: SampleRow, after: SampleRow) -> None:
        plan = self._plan
        values = (None if text is None else json.loads(text) for text in before.slice_values)
        slices = sample_slices(plan.slices, dict(zip(plan.columns, values, strict=True)))
        old, new, mask = _statistics(before, after, plan, slices)
        hashes = plan.bootstrap.unit_hash(before.unit), plan.swaps.unit_hash(before.unit)
        for label in ("", *(each.label for each in slices)):
            sums = self._sums.get(label)
            if sums is None:
                sums = self._sums[label] = PairSums.empty(plan)
            sums.add(*hashes, old, new, mask)
        self._changes.add(before, after)

    def _flush_sums(self) -> Iterator[TaggedOutput]:
        sums, self._sums = self._sums, {}
        for each in sums.items():
            yield TaggedOutput("slices", each)


_UNPAIRED = {(True, False): "only_baseline", (False, True): "only_candidate", (False, False): "neither"}


_ROW = msgspec.msgpack.Decoder(SampleRow)


def _paired(ordered: Iterable[KeyedRecord]) -> Iterator[list[SampleRow | None]]:
    """Yields the rows of each sample, the baseline first; raises InputProblem if a run has a sample twice."""
    for key, records in itertools.groupby(ordered, itemgetter(0)):
        rows: list[SampleRow | None] = [None, None]
        for record in (EncodedRecord(encoded) for _, encoded in records):
            if rows[record.side] is not None:
                name = RUN_SIDES[record.side]
                raise InputProblem(f"the {name} has two rows of sample {key.decode()}: its folder samples/ is damaged")
            rows[record.side] = _ROW.decode(record.payload)
        yield rows


def _statistics(
    before: SampleRow, after: SampleRow, plan: ComparePlan, slices: Sequence[Slice]
) -> tuple[Mapping[str, float], Mapping[str, float], int]:
    """Returns the statistics of both systems, and the metrics in which they differ, as bits."""
    old = with_slices(before.decoded_statistics(), slices, plan.sliced)
    labels, own = plan.repeats
    if before.statistics == after.statistics and labels == own:
        return old, old, 0
    new = with_slices(with_labels(after.decoded_statistics(), own, labels), slices, plan.sliced)
    mask = 0
    for name in old.keys() | new.keys():
        if old.get(name, 0) != new.get(name, 0):
            mask |= plan.masks.get(name, plan.all_metrics)
    return old, new, mask


def merged_sums(item: tuple[str, Iterable[PairSums]], plan: ComparePlan) -> tuple[str, PairSums]:
    """Merges the sums of a slice from all bundles, one after the other."""
    label, parts = item
    whole = PairSums.empty(plan)
    for part in parts:
        whole.merge(part)
    return label, whole
