"""Adds up what the samples contribute, by slice: the one combiner of every benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import apache_beam as beam

from ..metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from ..metrics.statistics.sums import Sums
from .blas import limited_blas_threads


@dataclass(slots=True)
class SliceTotals:
    """The sums of a slice with their replicates, the counts of its coverage, and sums of fingerprints.

    fingerprint: of the ground truth. predictions: of the predictions.
    """

    sums: BootstrapSums
    coverage: dict[str, int] = field(default_factory=dict)
    fingerprint: int = 0
    predictions: int = 0

    def add(
        self, unit_hash: int, statistics: Mapping[str, float], coverage: Mapping[str, int], prediction: int = 0
    ) -> None:
        """Adds one sample: its bootstrap unit, its statistics, none where it was not scored, and its counts.

        prediction: the fingerprint of its prediction.
        """
        if statistics:
            self.sums.add(unit_hash, statistics)
        self.predictions += prediction
        self._count(coverage)

    def merge(self, other: SliceTotals) -> None:
        """Adds all samples of `other`, which stays as it is."""
        self.sums.merge(other.sums)
        self._count(other.coverage)
        self.fingerprint += other.fingerprint
        self.predictions += other.predictions

    def _count(self, coverage: Mapping[str, int]) -> None:
        for name, count in coverage.items():
            self.coverage[name] = self.coverage.get(name, 0) + count


class SumStatistics(beam.CombineFn):
    """Adds up SliceTotals. Associative and commutative to the last bit, as its sums are integers."""

    def __init__(self, bootstrap: Bootstrap) -> None:
        self._bootstrap = bootstrap

    def setup(self) -> None:
        """Prepares the worker."""
        self._blas = limited_blas_threads()

    def teardown(self) -> None:
        """Leaves the worker as it was."""
        self._blas.close()

    def create_accumulator(self) -> SliceTotals:
        """Returns the totals of no samples."""
        return SliceTotals(BootstrapSums(self._bootstrap))

    def add_input(self, totals: SliceTotals, more: SliceTotals) -> SliceTotals:
        """Adds the totals of one bundle."""
        totals.merge(more)
        return totals

    def merge_accumulators(self, accumulators: Iterable[SliceTotals]) -> SliceTotals:
        """Adds up partial totals."""
        merged = self.create_accumulator()
        for totals in accumulators:
            merged.merge(totals)
        return merged

    def extract_output(self, totals: SliceTotals) -> SliceTotals:
        """Returns the totals."""
        return totals


class MergeSums(beam.CombineFn):
    """Adds up Sums, for the outcomes of records."""

    def create_accumulator(self) -> Sums:
        """Returns zero."""
        return Sums()

    def add_input(self, sums: Sums, more: Sums) -> Sums:
        """Adds the counts of one bundle."""
        return sums.merge(more)

    def merge_accumulators(self, accumulators: Iterable[Sums]) -> Sums:
        """Adds up partial counts."""
        return Sums.merged(accumulators)

    def extract_output(self, sums: Sums) -> Sums:
        """Returns the counts."""
        return sums
