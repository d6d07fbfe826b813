"""The core of an evaluation: pairs records by sample, scores them, adds up each slice, and computes the values.

It knows nothing of files and no benchmark by name: records come from `ReadRecords` or `EncodeRecords`, and what is done
with the result, such as publishing it, comes behind.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import TaggedOutput

from ..metrics.benchmark import Pair
from ..metrics.scoring import Result, score_pairs
from .counters import METRICS, count_samples, timing
from .earlier_rows import split_known
from .faults import faults_end_the_bundle
from .pair import PairBySample, samples_per_batch
from .process import gc_paused, one_blas_thread
from .repeats import Repeats, labels_of
from .scored import BatchDecoder, PairedSample, ScoredBatch, ScoredSample, ScoringPlan
from .slice import CheckSliceCount, ComputeValues, SumSlices, SumStatistics, merge_sums
from .totals import EvaluationCore, SliceTotals

RECORD_STREAMS = ("records", "quarantine", "outcomes")


class Evaluated(NamedTuple):
    """The result of an evaluation as collections.

    samples: lists of ScoredSample. slices: SliceResult, one for each system and slice. outcomes: pairs (side, Sums),
    one for each side that has records. quarantine: Quarantined. batches: pairs (list of PairedSample, list of
    ScoredSample), the samples with the records behind them.
    """

    samples: beam.PCollection
    slices: beam.PCollection
    outcomes: beam.PCollection
    quarantine: beam.PCollection
    batches: beam.PCollection


class EvaluateRecords(beam.PTransform):
    """Evaluates records.

    Input: the collections of RECORD_STREAMS by name, see `ReadRecords`. Output: Evaluated.
    """

    def __init__(self, core: EvaluationCore) -> None:
        super().__init__()
        self._core = core

    def expand(self, read: Mapping[str, beam.PCollection]) -> Evaluated:
        """Pairs, scores, slices, combines and finalises."""
        core, scoring = self._core, self._core.scoring
        benchmark, columns = scoring.benchmark, scoring.slicing.columns
        paired = read["records"] | "Pair" >> PairBySample(
            scoring.names, samples_per_batch(benchmark.batch_size), scoring.repeats
        )
        labels = []
        if scoring.repeats:
            told = read["outcomes"] | "Repeats" >> beam.FlatMapTuple(labels_of) | "EachOnce" >> beam.Distinct()
            labels = [beam.pvalue.AsList(told)]
        scored = paired.batches | "Score" >> beam.ParDo(ScoreBatch(scoring), *labels).with_output_types(
            list[ScoredSample]
        ).with_outputs("quarantine", "batches", main="samples")
        slices = (
            scored.samples
            | "Slice"
            >> beam.ParDo(
                SumSlices(columns, core.bootstrap, core.max_slices, benchmark.sliced_columns)
            ).with_output_types(tuple[bytes, SliceTotals])
            | "Combine" >> beam.CombinePerKey(SumStatistics(core.bootstrap))
            | "SliceCount" >> CheckSliceCount(columns, core.max_slices)
            | "Values" >> ComputeValues(benchmark, core.confidence, scoring.cluster is not None)
        )
        outcomes = (
            (read["outcomes"], paired.outcomes)
            | "AllOutcomes" >> beam.Flatten()
            | "Outcomes" >> beam.CombinePerKey(merge_sums)
        )
        quarantine = (read["quarantine"], paired.quarantine, scored.quarantine) | "AllQuarantined" >> beam.Flatten()
        return Evaluated(scored.samples, slices, outcomes, quarantine, scored.batches)


class ScoreBatch(beam.DoFn):
    """Scores batches: from lists of PairedSample to lists of ScoredSample.

    Other outputs, by tag: `quarantine`, Quarantined; `batches`, pairs (list of PairedSample, list of ScoredSample).
    """

    def __init__(self, plan: ScoringPlan) -> None:
        self._plan = plan
        self._timings = {name: timing(name) for name in plan.benchmark.timed}

    def setup(self) -> None:
        """Makes what the benchmark needs in this worker."""
        self._decoder = BatchDecoder(self._plan)
        with faults_end_the_bundle("the start of scoring"):
            self._plan.benchmark.setup()

    def teardown(self) -> None:
        """Removes what `setup` made."""
        self._plan.benchmark.teardown()

    def process(
        self, samples: list[PairedSample], labels: Sequence[tuple[int, str]] = ()
    ) -> Iterator[list[ScoredSample] | TaggedOutput]:
        """Yields what became of the samples of a batch. labels: of the repeats of each system, where there are any."""
        plan = self._plan
        with gc_paused(), one_blas_thread:
            repeats = Repeats(plan.benchmark, len(plan.names), labels) if plan.repeats else None
            if repeats is not None:
                samples = repeats.spread(samples)
            batch = self._scored(samples)
            if repeats is not None:
                samples, batch.samples = repeats.fold(samples, batch.samples)
        count_samples((sample.status for sample in batch.samples), (entry.cause for entry in batch.quarantine))
        yield batch.samples
        for entry in batch.quarantine:
            yield TaggedOutput("quarantine", entry)
        yield TaggedOutput("batches", (samples, batch.samples))

    def _scored(self, samples: Sequence[PairedSample]) -> ScoredBatch:
        batch = ScoredBatch(self._plan.names)
        decoded = self._decoder.decode(samples, batch)
        known, due = split_known(self._plan.reuse, samples, decoded)
        with faults_end_the_bundle("scoring"):
            scored = iter(score_pairs(self._plan.benchmark, due, self._plan.missing, self._timed_score))
        for sample, outcome in zip(decoded, known, strict=True):
            batch.add(sample, next(scored) if outcome is None else outcome)
        return batch

    def _timed_score(self, pairs: Sequence[Pair[Any, Any]]) -> list[Result]:
        started = time.perf_counter_ns()
        results = self._plan.benchmark.score(pairs)
        METRICS["batch_size"].update(len(pairs))
        METRICS["sample_microseconds"].update((time.perf_counter_ns() - started) // 1000 // len(pairs))
        for name, microseconds in self._plan.benchmark.take_timings().items():
            self._timings[name].update(microseconds)
        return results
