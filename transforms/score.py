"""Scores paired samples in batches, each sample once for each system, and puts aside what cannot be scored."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam.pvalue import TaggedOutput
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from metrics.benchmark import Benchmark, MissingTool, Pair
from metrics.common.errors import explain
from metrics.scoring import Missing, Outcome, Result, Status, prediction_status, score_pairs
from transforms.blas import one_blas_thread
from transforms.counters import PROGRESS, Observed, timing
from transforms.pair import PairedSample
from transforms.read import side_name
from transforms.records import Cause, ColumnsReader, EncodedRecord, InputProblem, Quarantined, quarantined
from transforms.slice_labels import MAX_SLICES_PER_SAMPLE, check_slice_count, cluster_unit

WITHOUT_FIELDS = {"ground_truth": "ground_truth_without_fields", "predictions": "predictions_without_fields"}
"""What counts, by side, the records of scored samples that hold nothing but nulls of the fields of the benchmark."""


class ScoredSample(msgspec.Struct, frozen=True):
    """One sample of one system after scoring.

    unit: what the bootstrap draws, the sample_id or the cluster.
    columns: the values of the columns to slice by; None where the ground truth could not be read.
    statistics, figures, details: empty where the sample was not scored.
    coverage: what the sample adds to the coverage counts.
    """

    sample_id: str
    system: int
    status: Status
    unit: str
    columns: tuple[Any, ...] | None
    statistics: dict[str, float]
    figures: dict[str, float | None]
    details: bytes
    coverage: dict[str, int]


@dataclass(frozen=True, slots=True)
class ScoringPlan:
    """How to score: the benchmark, what a missing prediction means, and the columns that the run needs.

    columns: the ground-truth columns to slice by. cluster: the column whose value the bootstrap draws, or None; a
    sample where it is null or absent is a cluster of its own. slices: the columns of each slice, as indexes into
    `columns`. slices_per_sample: a sample that belongs to more of them is rejected.
    """

    benchmark: Benchmark[Any, Any, Any]
    missing: Missing
    names: tuple[str, ...]
    columns: tuple[str, ...]
    cluster: str | None
    slices: tuple[tuple[int, ...], ...] = ()
    slices_per_sample: int = MAX_SLICES_PER_SAMPLE


class ScoreSamples(beam.PTransform):
    """Scores samples.

    Input: PairedSample. Output, by tag: `samples`, ScoredSample; `quarantine`, pairs (side, Quarantined).
    """

    def __init__(self, plan: ScoringPlan) -> None:
        super().__init__()
        self._plan = plan

    def expand(self, samples: beam.PCollection) -> beam.pvalue.DoOutputsTuple:
        """Scores in the stage that paired; batches are cut from bundles."""
        return samples | "Score" >> beam.ParDo(ScoreBatch(self._plan)).with_outputs("quarantine", main="samples")


@dataclass(frozen=True, slots=True)
class _Job:
    """One sample of one system, decoded; a prediction that could not be decoded has a frame alone."""

    pair: Pair[Any, Any]
    system: int
    unit: str
    columns: tuple[Any, ...]
    truth_frame: EncodedRecord
    prediction_frame: EncodedRecord | None


class ScoreBatch(beam.DoFn):
    """Decodes samples, scores them a batch at a time, and yields what became of each; see ScoreSamples."""

    def __init__(self, plan: ScoringPlan) -> None:
        self._plan = plan
        self._benchmark = plan.benchmark
        self._timings = {name: timing(name) for name in plan.benchmark.timed}
        wanted = plan.columns if plan.cluster is None else (*plan.columns, plan.cluster)
        self._wanted = tuple(dict.fromkeys(wanted))

    def setup(self) -> None:
        """Makes what the benchmark needs in this worker."""
        one_blas_thread()
        self._columns = ColumnsReader(self._wanted)
        try:
            self._benchmark.setup()
        except MissingTool as error:
            raise InputProblem(str(error)) from error

    def teardown(self) -> None:
        """Removes what `setup` made."""
        self._benchmark.teardown()

    def start_bundle(self) -> None:
        """Starts with an empty batch: no batch crosses bundles."""
        self._jobs: list[_Job] = []

    def process(self, sample: PairedSample) -> Iterator[ScoredSample | TaggedOutput]:
        """Decodes a sample, and scores when enough have come together."""
        yield from self._decode(sample)
        if len(self._jobs) >= self._benchmark.batch_size:
            yield from self._score()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Scores what is left."""
        for output in self._score():
            if isinstance(output, TaggedOutput):
                yield TaggedOutput(output.tag, GlobalWindows.windowed_value(output.value))
            else:
                yield GlobalWindows.windowed_value(output)

    def _decode(self, sample: PairedSample) -> Iterator[ScoredSample | TaggedOutput]:
        """Adds a job for each system, or yields the rejection of what cannot be decoded."""
        try:
            truth = sample.truth.decode(self._benchmark.truth_type)
            cells = self._columns.read(sample.truth)
            check_slice_count(self._plan.columns, self._plan.slices, cells, self._plan.slices_per_sample)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            yield from self._reject_truth(sample, explain(error))
            return
        columns = cells[: len(self._plan.columns)]
        unit = sample.sample_id
        if self._plan.cluster is not None:
            unit = cluster_unit(cells[self._wanted.index(self._plan.cluster)], sample.sample_id)
        for system, frame in enumerate(sample.predictions):
            prediction = None
            if frame is not None:
                try:
                    prediction = frame.decode(self._benchmark.prediction_type)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                    yield self._quarantine(frame, sample.sample_id, "invalid", explain(error))
            pair = Pair(sample.sample_id, truth, prediction)
            self._jobs.append(_Job(pair, system, unit, columns, sample.truth, frame))

    def _score(self) -> Iterator[ScoredSample | TaggedOutput]:
        """Scores the jobs that have come together."""
        jobs, self._jobs = self._jobs, []
        outcomes = score_pairs(self._benchmark, [job.pair for job in jobs], self._plan.missing, self._timed_score)
        for job, outcome in zip(jobs, outcomes, strict=True):
            yield from self._settle(job, outcome)

    def _timed_score(self, pairs: Sequence[Pair[Any, Any]]) -> list[Result]:
        started = time.perf_counter_ns()
        results = self._benchmark.score(pairs)
        Observed.batch_size.update(len(pairs))
        Observed.sample_microseconds.update((time.perf_counter_ns() - started) // 1000 // len(pairs))
        for name, microseconds in self._benchmark.take_timings().items():
            self._timings[name].update(microseconds)
        return results

    def _settle(self, job: _Job, outcome: Outcome) -> Iterator[ScoredSample | TaggedOutput]:
        """Yields the sample of a job, and the quarantine entries of what was rejected."""
        frame, sample_id = job.prediction_frame, job.pair.sample_id
        if frame is not None and outcome.prediction_rejected is not None:
            yield self._quarantine(frame, sample_id, "invalid", outcome.prediction_rejected.message)
        if outcome.rejected is not None:
            cause: Cause = "failed" if outcome.rejected.side == "sample" else "invalid"
            yield self._quarantine(job.truth_frame, sample_id, cause, outcome.rejected.message, job.system)
            if frame is not None and _prediction_status(job, outcome) == "unmatched":
                yield self._quarantine(frame, sample_id, "unmatched", _TRUTH_REJECTED)
            elif frame is not None and job.pair.prediction is not None and outcome.prediction_rejected is None:
                yield self._quarantine(frame, sample_id, cause, outcome.rejected.message)
        yield self._sample(job, outcome)

    def _sample(self, job: _Job, outcome: Outcome) -> ScoredSample:
        status, score = outcome.status, outcome.score
        _SAMPLES[status].inc()
        counts = {f"ground_truth.{status}": 1}
        if (prediction := _prediction_status(job, outcome)) is not None:
            counts[f"predictions.{prediction}"] = 1
        if status != "rejected":
            PROGRESS.samples_scored += 1
            PROGRESS.note()
            counts.update(_without_fields(job.pair, outcome))
        if score is None:
            return ScoredSample(job.pair.sample_id, job.system, status, job.unit, job.columns, {}, {}, b"null", counts)
        for name, count in score.coverage.items():
            counts[name] = counts.get(name, 0) + count
        return ScoredSample(
            job.pair.sample_id,
            job.system,
            status,
            job.unit,
            job.columns,
            dict(score.statistics),
            dict(score.metrics),
            msgspec.json.encode(score.details),
            counts,
        )

    def _reject_truth(self, sample: PairedSample, message: str) -> Iterator[ScoredSample | TaggedOutput]:
        """Yields what a ground truth that cannot be decoded leaves: it is rejected once, its predictions unmatched."""
        yield self._quarantine(sample.truth, sample.sample_id, "invalid", message)
        for system, frame in enumerate(sample.predictions):
            counts = {"ground_truth.rejected": 1}
            if frame is not None:
                counts["predictions.unmatched"] = 1
                yield self._quarantine(frame, sample.sample_id, "unmatched", _TRUTH_REJECTED)
            Observed.samples_rejected.inc()
            yield ScoredSample(sample.sample_id, system, "rejected", sample.sample_id, None, {}, {}, b"null", counts)

    def _quarantine(
        self, encoded: EncodedRecord, sample_id: str, cause: Cause, message: str, system: int | None = None
    ) -> TaggedOutput:
        side = side_name(encoded.origin.side, self._plan.names)
        if system is not None and len(self._plan.names) > 1:
            message = f"{message} (with the prediction of {self._plan.names[system]})"
        (Observed.unmatched if cause == "unmatched" else Observed.rejected).inc()
        entry: Quarantined = quarantined(encoded, side, sample_id, "score", cause, message)
        return TaggedOutput("quarantine", (encoded.origin.side, entry))


_SAMPLES = {
    "scored": Observed.scored,
    "missing_prediction": Observed.missing,
    "rejected": Observed.samples_rejected,
}
_TRUTH_REJECTED = "the ground truth of this sample was rejected"


def _prediction_status(job: _Job, outcome: Outcome) -> str | None:
    return prediction_status(outcome, job.prediction_frame is not None, job.pair.prediction is not None)


def _without_fields(pair: Pair[Any, Any], outcome: Outcome) -> dict[str, int]:
    prediction = None if outcome.prediction_rejected is not None else pair.prediction
    sides = (("ground_truth", pair.truth), ("predictions", prediction))
    return {WITHOUT_FIELDS[side]: 1 for side, record in sides if record is not None and not _has_any_field(record)}


def _has_any_field(record: msgspec.Struct) -> bool:
    return any(value is not None for value in msgspec.structs.astuple(record))
