"""From scored samples to the sums of the corpus and of each slice, and from those to the metrics that people read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from ..metrics.benchmark import Benchmark
from ..metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from ..metrics.statistics.sums import Sums
from .process import one_blas_thread
from .scored import ScoredSample
from .totals import PartialSums, SliceKey, SliceResult, SliceTotals, corpus_sums, slice_result, too_many_slices

BYTES_HELD = 64 << 20


_KEYS = msgspec.msgpack.Decoder(SliceKey)
"""Slices are grouped by the bytes of their keys: equal keys have equal bytes."""


class SumSlices(beam.DoFn):
    """Adds scored samples up for all samples and for each slice.

    From lists of ScoredSample to pairs (encoded SliceKey, SliceTotals), one for each slice and bundle, or more where
    they would take more than BYTES_HELD. most: how many slices there may be.
    """

    def __init__(self, columns: Sequence[str], bootstrap: Bootstrap, most: int, sliced: Sequence[str] = ()) -> None:
        self._columns = columns
        self._sliced = sliced
        self._bootstrap = bootstrap
        self._most = most

    def setup(self) -> None:
        """Starts with no samples."""
        self._sums = PartialSums(self._columns, self._bootstrap, self._most, self._sliced)

    def start_bundle(self) -> None:
        """Forgets what a bundle that failed has left."""
        for _ in self._sums.take():
            pass

    def process(self, samples: list[ScoredSample]) -> Iterator[tuple[bytes, SliceTotals]]:
        """Adds a batch, and yields the totals where they have become large."""
        with one_blas_thread:
            self._sums.add_samples(samples)
        for key, totals in self._sums.take(BYTES_HELD):
            yield msgspec.msgpack.encode(key), totals

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Yields the totals."""
        for key, totals in self._sums.take():
            yield GlobalWindows.windowed_value((msgspec.msgpack.encode(key), totals))


class SumStatistics(beam.CombineFn):
    """Adds up SliceTotals. Associative and commutative to the last bit, as its sums are integers."""

    def __init__(self, bootstrap: Bootstrap) -> None:
        self._bootstrap = bootstrap

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


def merge_sums(parts: Iterable[Sums]) -> Sums:
    """Returns the sum of all parts; a runner names a function of a module, where it would copy the code of a method."""
    return Sums.merged(parts)


class CheckSliceCount(beam.PTransform):
    """Passes on pairs (encoded SliceKey, anything), one for each slice, once it is known that they are not too many.

    Raises InputProblem where one system has more than `most` slices.
    """

    def __init__(self, columns: Sequence[str], most: int) -> None:
        super().__init__()
        self._columns = tuple(columns)
        self._most = most

    def expand(self, totals: beam.PCollection) -> beam.PCollection:
        """Counts, checks, and then lets all through."""
        counts = (
            totals
            | "Systems" >> beam.Map(_system_of_slice).with_output_types(int)
            | "Count" >> beam.combiners.Count.PerElement()
            | "Check" >> beam.Map(self._checked)
        )
        return totals | "Pass" >> beam.Map(_pass_on, beam.pvalue.AsList(counts))

    def _checked(self, counted: tuple[int, int]) -> int:
        # The corpus itself is one of them.
        if counted[1] > self._most + 1:
            raise too_many_slices(self._columns, self._most)
        return counted[1]


def _system_of_slice(item: tuple[bytes, Any]) -> int:
    return _KEYS.decode(item[0]).system


def _pass_on(item: Any, checked: Sequence[int]) -> Any:
    return item


class ComputeValues(beam.PTransform):
    """Input: pairs (encoded SliceKey, SliceTotals). Output: SliceResult."""

    def __init__(self, benchmark: Benchmark[Any, Any, Any], confidence: float, clustered: bool = False) -> None:
        super().__init__()
        self._benchmark = benchmark
        self._confidence = confidence
        self._clustered = clustered

    def expand(self, totals: beam.PCollection) -> beam.PCollection:
        """Computes slice by slice, each with what the sums of all samples decide."""
        corpora = totals | "AllSamples" >> beam.FlatMapTuple(self._corpus)
        return totals | "Finalise" >> beam.Map(self._finalise, beam.pvalue.AsDict(corpora))

    def _corpus(self, encoded: bytes, totals: SliceTotals) -> Iterator[tuple[int, Sums]]:
        key = _KEYS.decode(encoded)
        if not key.label:
            yield key.system, corpus_sums(self._benchmark, totals.sums.sums())

    def _finalise(self, item: tuple[bytes, SliceTotals], corpora: Mapping[int, Sums]) -> SliceResult:
        key, found = _KEYS.decode(item[0]), item[1]
        return slice_result(self._benchmark, self._confidence, key, found, corpora[key.system], self._clustered)
