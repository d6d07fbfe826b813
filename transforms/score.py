"""Scores paired samples in batches, each sample once for each system, and puts aside what cannot be scored."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import apache_beam as beam
import msgspec
from apache_beam.pvalue import TaggedOutput
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from metrics.benchmark import Benchmark, MissingTool, Pair, RejectedRecord, SampleScore
from metrics.bootstrap import check_statistics
from transforms.labels import MOST_SLICES_PER_SAMPLE, check_slice_count
from transforms.observe import PROGRESS, Observed, timing
from transforms.pair import PairedSample
from transforms.read import side_name
from transforms.records import Cause, ColumnsReader, Framed, InputProblem, Quarantined, explain, quarantined
from transforms.threads import one_blas_thread

Status = Literal["scored", "missing_prediction", "rejected"]
Missing = Literal["wrong", "exclude"]


class ScoredSample(msgspec.Struct, frozen=True):
    """One sample of one system after scoring.

    unit: what the bootstrap draws, the sample_id or the cluster.
    columns: the values of the columns to slice by; None where the ground truth could not be read.
    statistics, figures, details: empty where the sample was not scored.
    coverage: what the sample adds to the ledger.
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
    slices_per_sample: int = MOST_SLICES_PER_SAMPLE


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


@dataclass(slots=True)
class _Job:
    """One sample of one system on its way through scoring."""

    sample_id: str
    system: int
    unit: str
    columns: tuple[Any, ...]
    truth_frame: Framed
    prediction_frame: Framed | None
    truth: Any
    prediction: Any
    prediction_rejected: bool = False


class ScoreBatch(beam.DoFn):
    """Gathers jobs and scores them a batch at a time; see ScoreSamples for what it gives."""

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
            yield from self._flush()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Scores what is left."""
        for output in self._flush():
            if isinstance(output, TaggedOutput):
                yield TaggedOutput(output.tag, GlobalWindows.windowed_value(output.value))
            else:
                yield GlobalWindows.windowed_value(output)

    def _decode(self, sample: PairedSample) -> Iterator[ScoredSample | TaggedOutput]:
        try:
            truth = sample.truth.decode(self._benchmark.truth_type)
            cells = self._columns.read(sample.truth)
            check_slice_count(self._plan.columns, self._plan.slices, cells, self._plan.slices_per_sample)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            yield from self._reject_truth(sample, "invalid", explain(error))
            return
        columns = cells[: len(self._plan.columns)]
        unit = sample.sample_id if self._plan.cluster is None else self._cluster(cells, sample.sample_id)
        for system, frame in enumerate(sample.predictions):
            job = _Job(sample.sample_id, system, unit, columns, sample.truth, frame, truth, None)
            if frame is not None:
                try:
                    job.prediction = frame.decode(self._benchmark.prediction_type)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                    job.prediction_rejected = True
                    yield self._quarantine(frame, sample.sample_id, "invalid", explain(error))
            if job.prediction is None and self._plan.missing == "exclude":
                yield self._sample(job, None)
            else:
                self._jobs.append(job)

    def _cluster(self, cells: Sequence[Any], sample_id: str) -> str:
        value = cells[self._wanted.index(self._plan.cluster or "")]
        if value is None:
            # No JSON starts like this, so that no cluster is the same.
            return f"sample:{sample_id}"
        # A string and a number that print alike are different clusters.
        return msgspec.json.encode(value, order="sorted").decode()

    def _flush(self) -> Iterator[ScoredSample | TaggedOutput]:
        jobs, self._jobs = self._jobs, []
        again: list[_Job] = []
        for job, result in zip(jobs, self._score(jobs), strict=True):
            if isinstance(result, RejectedRecord) and result.side == "prediction" and job.prediction is not None:
                yield self._quarantine(_frame_of_prediction(job), job.sample_id, "invalid", result.message)
                job.prediction, job.prediction_rejected = None, True
                again.append(job)
            else:
                yield from self._settle(job, result)
        if self._plan.missing == "exclude":
            for job in again:
                yield self._sample(job, None)
            return
        for job, result in zip(again, self._score(again), strict=True):
            yield from self._settle(job, result)

    def _score(self, jobs: Sequence[_Job]) -> list[SampleScore | RejectedRecord]:
        """Scores jobs in batches: a sample of several systems may have brought more than one batch holds."""
        size = self._benchmark.batch_size
        batches = [jobs[start : start + size] for start in range(0, len(jobs), size)]
        return [result for batch in batches for result in self._score_batch(batch)]

    def _score_batch(self, jobs: Sequence[_Job]) -> list[SampleScore | RejectedRecord]:
        """Scores jobs as one batch; where the batch fails as a whole, each alone, to find the one that fails."""
        started = time.perf_counter_ns()
        pairs = [Pair(job.sample_id, job.truth, job.prediction) for job in jobs]
        try:
            results = self._benchmark.score(pairs)
        except Exception as error:  # noqa: BLE001 - whatever a sample does to a metric must not end the run
            if len(jobs) == 1:
                return [RejectedRecord("sample", f"scoring failed: {type(error).__name__}: {explain(error)}")]
            return [result for job in jobs for result in self._score_batch([job])]
        Observed.batch_size.update(len(jobs))
        Observed.sample_microseconds.update((time.perf_counter_ns() - started) // 1000 // len(jobs))
        for name, microseconds in self._benchmark.take_timings().items():
            self._timings[name].update(microseconds)
        return [_checked(result) for result in results]

    def _settle(self, job: _Job, result: SampleScore | RejectedRecord) -> Iterator[ScoredSample | TaggedOutput]:
        if isinstance(result, SampleScore):
            yield self._sample(job, result)
            return
        cause: Cause = "failed" if result.side == "sample" else "invalid"
        yield self._quarantine(job.truth_frame, job.sample_id, cause, result.message, job.system)
        if job.prediction_frame is not None and not job.prediction_rejected:
            if result.side == "ground_truth":
                yield self._quarantine(job.prediction_frame, job.sample_id, "unmatched", _TRUTH_REJECTED)
                ledger = {"ground_truth.rejected": 1, "predictions.unmatched": 1}
            else:
                yield self._quarantine(job.prediction_frame, job.sample_id, cause, result.message)
                ledger = {"ground_truth.rejected": 1, "predictions.rejected": 1}
        else:
            ledger = {"ground_truth.rejected": 1, **_prediction_ledger(job)}
        Observed.samples_rejected.inc()
        yield ScoredSample(job.sample_id, job.system, "rejected", job.unit, job.columns, {}, {}, b"null", ledger)

    def _reject_truth(self, sample: PairedSample, cause: Cause, message: str) -> Iterator[ScoredSample | TaggedOutput]:
        """A ground truth that cannot be decoded is rejected once, and its predictions have no match."""
        yield self._quarantine(sample.truth, sample.sample_id, cause, message)
        for system, frame in enumerate(sample.predictions):
            ledger = {"ground_truth.rejected": 1}
            if frame is not None:
                ledger["predictions.unmatched"] = 1
                yield self._quarantine(frame, sample.sample_id, "unmatched", _TRUTH_REJECTED)
            Observed.samples_rejected.inc()
            yield ScoredSample(sample.sample_id, system, "rejected", sample.sample_id, None, {}, {}, b"null", ledger)

    def _sample(self, job: _Job, score: SampleScore | None) -> ScoredSample:
        status: Status = "missing_prediction" if job.prediction is None else "scored"
        (Observed.missing if job.prediction is None else Observed.scored).inc()
        PROGRESS.samples_scored += 1
        PROGRESS.note()
        ledger = {f"ground_truth.{status}": 1, **_prediction_ledger(job)}
        if score is None:
            return ScoredSample(job.sample_id, job.system, status, job.unit, job.columns, {}, {}, b"null", ledger)
        for name, count in score.coverage.items():
            ledger[name] = ledger.get(name, 0) + count
        return ScoredSample(
            job.sample_id,
            job.system,
            status,
            job.unit,
            job.columns,
            dict(score.statistics),
            dict(score.columns),
            msgspec.json.encode(score.details),
            ledger,
        )

    def _quarantine(
        self, framed: Framed, sample_id: str, cause: Cause, message: str, system: int | None = None
    ) -> TaggedOutput:
        side = side_name(framed.origin.side, self._plan.names)
        if system is not None and len(self._plan.names) > 1:
            message = f"{message} (with the prediction of {self._plan.names[system]})"
        (Observed.unmatched if cause == "unmatched" else Observed.rejected).inc()
        entry: Quarantined = quarantined(framed, side, sample_id, "score", cause, message)
        return TaggedOutput("quarantine", (framed.origin.side, entry))


_TRUTH_REJECTED = "the ground truth of this sample was rejected"


def _prediction_ledger(job: _Job) -> dict[str, int]:
    if job.prediction_rejected:
        return {"predictions.rejected": 1}
    return {"predictions.scored": 1} if job.prediction is not None else {}


def _frame_of_prediction(job: _Job) -> Framed:
    if job.prediction_frame is None:
        raise ValueError(f"sample {job.sample_id} has a prediction but no record of it")
    return job.prediction_frame


def _checked(result: SampleScore | RejectedRecord) -> SampleScore | RejectedRecord:
    """Returns a score with its details written as JSON; one that cannot be added up or written is rejected."""
    if isinstance(result, RejectedRecord):
        return result
    try:
        check_statistics(result.statistics)
        details = msgspec.Raw(msgspec.json.encode(result.details))
        return SampleScore(result.statistics, result.columns, details, result.coverage)
    except (ValueError, TypeError, RecursionError) as error:
        return RejectedRecord("sample", explain(error))
