"""The core of an evaluation: pairs records by sample, scores them, adds up each slice, and computes the values.

It knows nothing of files and no benchmark by name: records come from `ReadRecords` or `encode_records`, and what is
done with the result, such as publishing it, comes later.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import msgspec
from apache_beam.pvalue import TaggedOutput

from ..metrics.benchmark import Pair
from ..metrics.scoring import Outcome, ScoreOrRejection, score_pairs
from ..metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from ..metrics.statistics.measured import SLICES_AT_ONCE
from ..metrics.statistics.sums import Sums
from .blocks import at_end
from .counters import METRICS, count_samples, timing
from .pair import PairBySample, samples_per_batch
from .process import faults_end_the_bundle, gc_paused, one_blas_thread
from .repeats import labels_of, score_batch
from .scored import BatchDecoder, PairedSample, ScoredSample, ScoringPlan
from .totals import ComputedSlice, EvaluationCore, PartialSums, SliceKey, SliceTotals, slice_results, too_many_slices

RECORD_STREAMS = ("records", "quarantine", "outcomes")


class Evaluated(NamedTuple):
    """The result of an evaluation as collections.

    samples: lists of ScoredSample. slices: ComputedSlice, one for each system and slice. outcomes: pairs (side, Sums),
    one for each side that has records. quarantine: several of Quarantined, as a local runner holds in memory whatever
    is flattened. batches: pairs (list of PairedSample, list of ScoredSample), the samples with the records behind them.
    """

    samples: beam.PCollection
    slices: beam.PCollection
    outcomes: beam.PCollection
    quarantine: tuple[beam.PCollection, ...]
    batches: beam.PCollection


class EvaluateRecords(beam.PTransform):
    """Evaluates records.

    Input: the collections of RECORD_STREAMS by name, see `ReadRecords`. Output: Evaluated.
    """

    def __init__(self, core: EvaluationCore) -> None:
        super().__init__()
        self._core = core

    def expand(self, read: Mapping[str, beam.PCollection]) -> Evaluated:
        """Pairs, scores, slices, combines and finalizes."""
        core, scoring = self._core, self._core.scoring
        batch = samples_per_batch(scoring.benchmark.batch_size)
        repeats = range(len(scoring.names)) if scoring.repeats else ()
        paired = read["records"] | "Pair" >> PairBySample(scoring.names, batch, repeats)
        labels = []
        if scoring.repeats:
            repeat_labels = read["outcomes"] | "Repeats" >> beam.FlatMapTuple(labels_of) | "EachOnce" >> beam.Distinct()
            labels = [beam.pvalue.AsList(repeat_labels)]
        scored = paired.batches | "Score" >> beam.ParDo(ScoreBatch(scoring), *labels).with_outputs(
            "quarantine", "batches", main="samples"
        )
        slices = (
            scored.samples
            | "Slice" >> beam.ParDo(SumSlices(core)).with_output_types(tuple[bytes, SliceTotals])
            | "Combine" >> beam.CombinePerKey(merge_totals, core.bootstrap)
            | "Values" >> ComputeValues(core)
        )
        outcomes = (
            (read["outcomes"], paired.outcomes)
            | "AllOutcomes" >> beam.Flatten()
            | "Outcomes" >> beam.CombinePerKey(merge_sums)
        )
        quarantine = (read["quarantine"], paired.quarantine, scored.quarantine)
        return Evaluated(scored.samples, slices, outcomes, quarantine, scored.batches)


class ScoreBatch(beam.DoFn):
    """Scores batches: from lists of PairedSample to lists of ScoredSample.

    Other outputs, by tag: `quarantine`, Quarantined; `batches`, pairs (list of PairedSample, list of ScoredSample).
    """

    def __init__(self, plan: ScoringPlan) -> None:
        self._plan = plan
        self._timings = {name: timing(name) for name in plan.benchmark.timed}

    def setup(self) -> None:
        """Sets up the benchmark in this worker."""
        self._decoder = BatchDecoder(self._plan)
        with faults_end_the_bundle("the start of scoring"):
            self._plan.benchmark.setup()

    def teardown(self) -> None:
        """Removes what `setup` made."""
        self._plan.benchmark.teardown()

    def process(
        self, samples: list[PairedSample], labels: Sequence[tuple[int, str]] = ()
    ) -> Iterator[list[ScoredSample] | TaggedOutput]:
        """Scores one batch. labels: the repeats of each system, if it has any."""
        with gc_paused(), one_blas_thread:
            scored, batch = score_batch(self._decoder, samples, labels, self._score)
        count_samples((sample.status for sample in batch.samples), (entry.cause for entry in batch.quarantine))
        yield batch.samples
        for entry in batch.quarantine:
            yield TaggedOutput("quarantine", entry)
        yield TaggedOutput("batches", (scored, batch.samples))

    def _score(self, pairs: list[Pair[Any, Any]]) -> list[Outcome]:
        with faults_end_the_bundle("scoring"):
            return score_pairs(self._plan.benchmark, pairs, self._plan.missing, self._timed_score)

    def _timed_score(self, pairs: Sequence[Pair[Any, Any]]) -> list[ScoreOrRejection]:
        started = time.perf_counter_ns()
        results = self._plan.benchmark.score(pairs)
        METRICS["batch_size"].update(len(pairs))
        METRICS["sample_microseconds"].update((time.perf_counter_ns() - started) // 1000 // len(pairs))
        for name, microseconds in self._plan.benchmark.take_timings().items():
            self._timings[name].update(microseconds)
        return results


BYTES_HELD = 64 << 20

_KEYS = msgspec.msgpack.Decoder(SliceKey)
"""Decodes the keys by which slices are grouped: equal keys have equal bytes."""


class SumSlices(beam.DoFn):
    """Adds scored samples up for all samples and for each slice.

    From lists of ScoredSample to pairs (encoded SliceKey, SliceTotals), one for each slice and bundle, or more if
    they would take more than BYTES_HELD.
    """

    def __init__(self, core: EvaluationCore) -> None:
        self._sums = PartialSums(core)

    def start_bundle(self) -> None:
        """Forgets what a bundle that failed has left."""
        list(self._sums.flush())

    def process(self, samples: list[ScoredSample]) -> Iterator[tuple[bytes, SliceTotals]]:
        """Adds a batch, and yields the totals if they have become large."""
        with one_blas_thread:
            self._sums.add_samples(samples)
        yield from self._flush(BYTES_HELD)

    def finish_bundle(self) -> Iterator[Any]:
        """Yields the totals."""
        return at_end(self._flush())

    def _flush(self, limit: int = 0) -> Iterator[tuple[bytes, SliceTotals]]:
        for key, totals in self._sums.flush(limit):
            yield msgspec.msgpack.encode(key), totals


def merge_totals(parts: Iterable[SliceTotals], bootstrap: Bootstrap) -> SliceTotals:
    """Returns the sum of all parts. Associative and commutative to the last bit: its sums are integers."""
    merged = SliceTotals(BootstrapSums(bootstrap))
    for totals in parts:
        merged.merge(totals)
    return merged


def merge_sums(parts: Iterable[Sums]) -> Sums:
    """Returns the sum of all parts; a runner pickles a function by its name, a method by its code."""
    return Sums.merged(parts)


class ComputeValues(beam.PTransform):
    """Computes the metrics of each slice: from pairs (encoded SliceKey, SliceTotals) to ComputedSlice.

    Raises InputProblem if a system has more slices than are allowed, before any is computed.
    """

    def __init__(self, core: EvaluationCore) -> None:
        super().__init__()
        self._core = core

    def expand(self, totals: beam.PCollection) -> beam.PCollection:
        """Computes some slices at once, each with the decisions made from the sums of all samples."""
        corpora = (
            totals
            | "Systems" >> beam.MapTuple(self._of_system).with_output_types(tuple[int, Any])
            | "Slices" >> beam.GroupByKey()
            | "AllSamples" >> beam.MapTuple(self._corpus)
        )
        return totals | "Finalize" >> beam.ParDo(FinalizeSlices(self._core), beam.pvalue.AsDict(corpora))

    def _of_system(self, encoded: bytes, totals: SliceTotals) -> tuple[int, Sums | None]:
        key, names = _KEYS.decode(encoded), self._core.scoring.benchmark.corpus_statistics
        return key.system, None if key.label else Sums().overridden(names, totals.sums.sums())

    def _corpus(self, system: int, slices: Iterable[Sums | None]) -> tuple[int, Sums]:
        sums = list(slices)
        # All samples are one of them.
        if len(sums) > self._core.max_slices + 1:
            raise too_many_slices(self._core)
        return system, next(each for each in sums if each is not None)


class FinalizeSlices(beam.DoFn):
    """Computes the results of some slices of a system at once; see `slice_results`."""

    def __init__(self, core: EvaluationCore) -> None:
        self._core = core

    def start_bundle(self) -> None:
        """Forgets what a bundle that failed has left."""
        self._slices: dict[int, list[tuple[SliceKey, SliceTotals]]] = {}

    def process(self, item: tuple[bytes, SliceTotals], corpora: Mapping[int, Sums]) -> Iterator[ComputedSlice]:
        """Adds a slice, and yields the results of its system once it has SLICES_AT_ONCE."""
        self._corpora = corpora
        key = _KEYS.decode(item[0])
        slices = self._slices.setdefault(key.system, [])
        slices.append((key, item[1]))
        if len(slices) == SLICES_AT_ONCE:
            yield from self._results(key.system)

    def finish_bundle(self) -> Iterator[Any]:
        """Yields the results of the remaining slices."""
        return at_end(each for system in list(self._slices) for each in self._results(system))

    def _results(self, system: int) -> Iterator[ComputedSlice]:
        slices, corpus, core = self._slices.pop(system), self._corpora[system], self._core
        clustered = core.scoring.cluster is not None
        return slice_results(core.scoring.benchmark, core.confidence, slices, corpus, clustered, core.scoring.missing)
