"""Adds up what the samples contribute, by slice: the one combiner of every benchmark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import apache_beam as beam

from metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from metrics.statistics.sums import Sums
from transforms.blas import one_blas_thread
from transforms.slice import Contribution


@dataclass(slots=True)
class SliceTotals:
    """The sums of a slice with their replicates, and the counts of its coverage."""

    sums: BootstrapSums
    coverage: dict[str, int] = field(default_factory=dict)

    def add(self, contribution: Contribution) -> None:
        """Adds one sample."""
        if contribution.statistics:
            self.sums.add(contribution.unit_hash, contribution.statistics)
        self._count(contribution.coverage)

    def merge(self, other: SliceTotals) -> None:
        """Adds all samples of `other`, which stays as it is."""
        self.sums.merge(other.sums)
        self._count(other.coverage)

    def _count(self, coverage: dict[str, int]) -> None:
        for name, count in coverage.items():
            self.coverage[name] = self.coverage.get(name, 0) + count


class SumStatistics(beam.CombineFn):
    """Contributions to SliceTotals. Associative and commutative to the last bit, as its sums are integers."""

    def __init__(self, bootstrap: Bootstrap) -> None:
        self._bootstrap = bootstrap

    def setup(self) -> None:
        """Prepares the worker."""
        one_blas_thread()

    def create_accumulator(self) -> SliceTotals:
        """Returns the totals of no samples."""
        return SliceTotals(BootstrapSums(self._bootstrap))

    def add_input(self, totals: SliceTotals, contribution: Contribution) -> SliceTotals:
        """Adds one sample."""
        totals.add(contribution)
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
    """Sums to Sums, for the tallies of the readers."""

    def create_accumulator(self) -> Sums:
        """Returns zero."""
        return Sums()

    def add_input(self, sums: Sums, more: Sums) -> Sums:
        """Adds one tally."""
        return sums.merge(more)

    def merge_accumulators(self, accumulators: Iterable[Sums]) -> Sums:
        """Adds up partial tallies."""
        return Sums.merged(accumulators)

    def extract_output(self, sums: Sums) -> Sums:
        """Returns the tallies."""
        return sums
