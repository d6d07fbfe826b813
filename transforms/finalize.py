"""Turns the sums of a slice into the metrics that people read, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from metrics.benchmark import Benchmark
from metrics.statistics.intervals import percentile_intervals
from metrics.statistics.replicates import PackedReplicates
from metrics.statistics.sums import Sums
from metrics.table import Table
from transforms.combine import SliceTotals
from transforms.slice import SliceKey


@dataclass(frozen=True, slots=True)
class SliceResult:
    """All that the result says of one slice of one system.

    replicates: the sums of each bootstrap replicate, packed: there are hundreds for each slice. fingerprint: the sum of
    the fingerprints of its samples; of the slice of all samples of the first system alone.
    """

    key: SliceKey
    coverage: dict[str, int]
    values: dict[str, float | None]
    intervals: dict[str, tuple[float, float] | None]
    tables: list[Table]
    sums: Sums
    replicates: PackedReplicates
    fingerprint: int = 0


class ComputeValues(beam.PTransform):
    """Input: pairs (SliceKey, SliceTotals). Output: SliceResult."""

    def __init__(self, benchmark: Benchmark[Any, Any, Any], confidence: float) -> None:
        super().__init__()
        self._benchmark = benchmark
        self._confidence = confidence

    def expand(self, totals: beam.PCollection) -> beam.PCollection:
        """Computes slice by slice."""
        return totals | "Finalise" >> beam.Map(self._finalise)

    def _finalise(self, totals: tuple[SliceKey, SliceTotals]) -> SliceResult:
        return slice_result(self._benchmark, self._confidence, *totals)


def slice_result(
    benchmark: Benchmark[Any, Any, Any], confidence: float, key: SliceKey, totals: SliceTotals
) -> SliceResult:
    """Returns the result of one slice; tables are made for the slice of all samples alone."""
    sums, *replicates = totals.sums.all_sums()
    return SliceResult(
        key,
        totals.coverage,
        benchmark.values(sums),
        percentile_intervals(benchmark.values, replicates, confidence) if replicates else {},
        benchmark.tables(sums) if not key.label else [],
        sums,
        PackedReplicates.of(totals.sums),
        totals.fingerprint,
    )
