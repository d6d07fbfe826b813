"""Adds scored samples up for each slice, and computes the metrics; needs no Beam, so the Python API can use it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..metrics.benchmark import ENVIRONMENT_FAULTS, Benchmark, Table, error_text
from ..metrics.scoring import MEASURED, Missing
from ..metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from ..metrics.statistics.intervals import intervals, standard_errors
from ..metrics.statistics.measured import measure_slices
from ..metrics.statistics.slice_names import with_slices
from ..metrics.statistics.sum_table import PackedReplicates
from ..metrics.statistics.sums import Sums
from ..metrics.statistics.unread import misspelled_statistics
from .hashes import prediction_fingerprint, sample_fingerprint
from .records import InputProblem, writable
from .scored import ScoredSample, ScoringPlan
from .slice_labels import ALL_SAMPLES, MAX_SLICES, Slice


@dataclass(frozen=True, slots=True)
class EvaluationCore:
    """The settings of the core: how to score, and how to add up.

    confidence: of the intervals. max_slices: how many slices a run may have.
    """

    scoring: ScoringPlan
    bootstrap: Bootstrap
    confidence: float
    max_slices: int = MAX_SLICES


class SliceKey(NamedTuple):
    """A system, and a slice of the samples."""

    system: int
    slice: Slice = ALL_SAMPLES

    @property
    def label(self) -> str:
        """The label of the slice; empty for all samples."""
        return self.slice.label


@dataclass(slots=True)
class SliceTotals:
    """The sums of a slice with their replicates, the counts of its coverage, and sums of fingerprints.

    fingerprint: of the ground truth, in the totals of the first system. predictions_fingerprint: of the predictions.
    """

    sums: BootstrapSums
    coverage: dict[str, int] = field(default_factory=dict)
    fingerprint: int = 0
    predictions_fingerprint: int = 0

    def merge(self, other: SliceTotals) -> None:
        """Adds all samples of `other`, which is not modified."""
        self.sums.merge(other.sums)
        self.count(other.coverage)
        self.fingerprint += other.fingerprint
        self.predictions_fingerprint += other.predictions_fingerprint

    def count(self, coverage: Mapping[str, int]) -> None:
        """Adds counts to the coverage."""
        for name, count in coverage.items():
            self.coverage[name] = self.coverage.get(name, 0) + count


class PartialSums:
    """The totals of each slice in a bundle; raises InputProblem if there are more slices than a run may have."""

    def __init__(self, core: EvaluationCore) -> None:
        self._core = core
        self._sliced = core.scoring.benchmark.sliced_columns
        self._bootstrap = core.bootstrap
        self._seen: set[Slice] = set()
        self._totals: dict[SliceKey, SliceTotals] = {}

    def add_samples(self, samples: Sequence[ScoredSample]) -> None:
        """Adds scored samples, and the fingerprints of their records, to all samples of their system and to slices."""
        for sample in samples:
            prediction = prediction_fingerprint(sample.sample_id, sample.prediction_hash, sample.prediction_status)
            unit_hash, statistics = self._bootstrap.unit_hash(sample.unit), sample.statistics or {}
            if self._sliced and statistics:
                statistics = with_slices(statistics, sample.slices, self._sliced)
            # All systems have the same ground truth.
            truth = 0 if sample.system else sample_fingerprint(sample.sample_id, sample.truth_hash)
            for each in (ALL_SAMPLES, *sample.slices):
                totals = self._of(SliceKey(sample.system, each))
                if statistics:
                    totals.sums.add(unit_hash, statistics)
                totals.fingerprint += truth
                totals.predictions_fingerprint += prediction
                totals.count(sample.coverage)

    def _of(self, key: SliceKey) -> SliceTotals:
        """Returns the totals of a slice, for adding samples."""
        totals = self._totals.get(key)
        if totals is None:
            # Too many slices end the run before they fill the memory of this worker; the slice of all samples is extra.
            self._seen.add(key.slice)
            if len(self._seen) > self._core.max_slices + 1:
                raise too_many_slices(self._core)
            totals = self._totals[key] = SliceTotals(BootstrapSums(self._bootstrap))
        return totals

    def flush(self, limit: int = 0) -> Iterator[tuple[SliceKey, SliceTotals]]:
        """Yields and resets the totals if they take more than `limit` bytes."""
        if limit and sum(totals.sums.size for totals in self._totals.values()) <= limit:
            return
        totals, self._totals = self._totals, {}
        yield from totals.items()


@dataclass(frozen=True, slots=True)
class ComputedSlice:
    """The result of one slice of one system.

    replicates: the sums of each bootstrap replicate, packed: there are hundreds for each slice. units: by metric, how
    many samples, or clusters if clusters are drawn, count for it. fingerprint: the sum of the fingerprints of its
    samples; only for slices of the first system. predictions_fingerprint: that of their predictions. errors: the
    standard error of each metric. table_problem: why the benchmark could not make its tables. misspelled:
    warnings of the statistics of all samples, see `misspelled_statistics`.
    """

    key: SliceKey
    coverage: dict[str, int]
    values: dict[str, float | None]
    intervals: dict[str, tuple[float, float] | None]
    tables: list[Table]
    sums: Sums
    replicates: PackedReplicates
    units: dict[str, float]
    fingerprint: int = 0
    predictions_fingerprint: int = 0
    errors: dict[str, float | None] = field(default_factory=dict)
    table_problem: str = ""
    misspelled: Sequence[str] = ()


def truth_count(counts: Mapping[str, int]) -> int:
    """Returns how many ground-truth records of a slice are counted by SIDE.STATUS, with any status."""
    return sum(count for name, count in counts.items() if name.startswith("ground_truth."))


def slice_results(
    benchmark: Benchmark[Any, Any, Any],
    confidence: float,
    slices: Iterable[tuple[SliceKey, SliceTotals]],
    corpus: Sums,
    clustered: bool,
    missing: Missing,
) -> Iterator[ComputedSlice]:
    """Yields the results of slices of one system; only the slice of all samples has tables.

    corpus: the sums of all samples of the system. clustered: whether the bootstrap drew clusters of samples. missing:
    what a missing prediction means.
    """
    known = [(key, totals, totals.sums.table()) for key, totals in slices]
    slices_measured = measure_slices(benchmark, corpus, (table for *_, table in known), clustered)
    for (key, totals, table), unlimited in zip(known, slices_measured, strict=True):
        measured = unlimited.at_most(sum(totals.coverage.get(f"ground_truth.{each}", 0) for each in MEASURED[missing]))
        sums, has_replicates = table.row(0), len(table) > 1
        tables, table_problem = ([], "") if key.label else _tables(benchmark, sums)
        yield ComputedSlice(
            key,
            totals.coverage,
            measured.values,
            intervals(benchmark, measured, confidence) if has_replicates else {},
            tables,
            sums,
            PackedReplicates.of(table.below().without_zeros()),
            measured.units,
            totals.fingerprint,
            totals.predictions_fingerprint,
            standard_errors(benchmark, measured) if has_replicates else {},
            table_problem,
            () if key.label else misspelled_statistics(benchmark, sums, totals.sums.names()),
        )


def _tables(benchmark: Benchmark[Any, Any, Any], sums: Sums) -> tuple[list[Table], str]:
    """Returns the tables of a benchmark; or none, and why they cannot be published."""
    try:
        return [table.plain() for table in benchmark.tables(sums)], ""
    except ENVIRONMENT_FAULTS:
        raise
    except Exception as error:  # noqa: BLE001 - the result is complete without them
        return [], writable(f"{type(error).__name__}: {' '.join(error_text(error).split())}")


def too_many_slices(core: EvaluationCore) -> InputProblem:
    """Returns the problem of a run with more slices than are allowed."""
    return InputProblem(
        f"slices by {', '.join(core.scoring.slicing.columns)}: there are more than {core.max_slices}; "
        "slice by columns with fewer values, or raise limits.slices"
    )
