"""Turns the sums of a slice into the metrics that people read, with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import apache_beam as beam

from ..metrics.benchmark import Benchmark
from ..metrics.statistics.intervals import intervals, standard_errors
from ..metrics.statistics.measured import Measured, measure
from ..metrics.statistics.replicates import PackedReplicates
from ..metrics.statistics.sums import Sums
from ..metrics.table import Table
from .combine import SliceTotals
from .hashes import fingerprint_text
from .slice import SliceKey


@dataclass(frozen=True, slots=True)
class SliceResult:
    """All that the result says of one slice of one system.

    replicates: the sums of each bootstrap replicate, packed: there are hundreds for each slice. units: by metric, how
    many samples, or clusters where clusters are drawn, count for it. fingerprint: the sum of the fingerprints of its
    samples; of the slice of all samples of the first system alone. corpus: the sums of all samples of the system, as
    far as its metrics are decided by them. predictions: the sum of the fingerprints of their predictions. errors: the
    standard error of each metric.
    """

    key: SliceKey
    coverage: dict[str, int]
    values: dict[str, float | None]
    intervals: dict[str, tuple[float, float] | None]
    tables: list[Table]
    sums: Sums
    replicates: PackedReplicates
    units: dict[str, float]
    corpus: Sums
    fingerprint: int = 0
    predictions: int = 0
    errors: dict[str, float | None] = field(default_factory=dict)

    def measured(self, benchmark: Benchmark[Any, Any, Any], replicates: int, clustered: bool) -> Measured:
        """Returns the metrics with all `replicates` of them, computed again from the sums."""
        sums = [self.sums, *self.replicates.unpack(replicates)]
        return measure(benchmark, self.corpus, sums, clustered, fingerprint_text(self.predictions))


class ComputeValues(beam.PTransform):
    """Input: pairs (SliceKey, SliceTotals). Output: SliceResult."""

    def __init__(self, benchmark: Benchmark[Any, Any, Any], confidence: float, clustered: bool = False) -> None:
        super().__init__()
        self._benchmark = benchmark
        self._confidence = confidence
        self._clustered = clustered

    def expand(self, totals: beam.PCollection) -> beam.PCollection:
        """Computes slice by slice, each with what the sums of all samples decide."""
        corpora = totals | "AllSamples" >> beam.FlatMapTuple(self._corpus)
        return totals | "Finalise" >> beam.Map(self._finalise, beam.pvalue.AsDict(corpora))

    def _corpus(self, key: SliceKey, totals: SliceTotals) -> Iterator[tuple[int, Sums]]:
        if not key.label:
            yield key.system, corpus_sums(self._benchmark, totals.sums.sums())

    def _finalise(self, totals: tuple[SliceKey, SliceTotals], corpora: Mapping[int, Sums]) -> SliceResult:
        key, found = totals
        return slice_result(self._benchmark, self._confidence, key, found, corpora[key.system], self._clustered)


def corpus_sums(benchmark: Benchmark[Any, Any, Any], sums: Sums) -> Sums:
    """Returns those of the sums of all samples by which metrics are decided in every slice."""
    return Sums().overridden(benchmark.corpus_statistics, sums)


def slice_result(
    benchmark: Benchmark[Any, Any, Any],
    confidence: float,
    key: SliceKey,
    totals: SliceTotals,
    corpus: Sums,
    clustered: bool = False,
) -> SliceResult:
    """Returns the result of one slice; tables are made for the slice of all samples alone.

    corpus: the sums of all samples of the system. clustered: whether the bootstrap drew clusters of samples.
    """
    sums, *replicates = totals.sums.all_sums()
    measured = measure(benchmark, corpus, [sums, *replicates], clustered)
    return SliceResult(
        key,
        totals.coverage,
        measured.values,
        intervals(benchmark, measured, confidence) if replicates else {},
        benchmark.tables(sums) if not key.label else [],
        sums,
        PackedReplicates.of(totals.sums),
        measured.units,
        corpus_sums(benchmark, corpus),
        totals.fingerprint,
        totals.predictions,
        standard_errors(benchmark, measured) if replicates else {},
    )
