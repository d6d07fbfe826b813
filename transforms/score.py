"""Scores batches of paired samples, each sample once for each system, and quarantines what cannot be scored."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import TaggedOutput

from ..metrics.benchmark import Pair
from ..metrics.scoring import Result, score_pairs
from .counters import METRICS, count_samples, timing
from .earlier_rows import split_known
from .faults import faults_end_the_bundle
from .process import gc_paused, one_blas_thread
from .scored_batch import BatchDecoder, PairedSample, ScoredBatch, ScoringPlan
from .scored_sample import ScoredSample


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

    def process(self, samples: list[PairedSample]) -> Iterator[list[ScoredSample] | TaggedOutput]:
        """Yields what became of the samples of a batch."""
        with gc_paused(), one_blas_thread:
            batch = self._scored(samples)
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
