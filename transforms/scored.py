"""Decodes the paired samples of a batch, and collects their results: scored samples and quarantine entries.

Needs no Beam, so the Python API can use it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from ..metrics.benchmark import Benchmark, Pair, error_text
from ..metrics.scoring import Missing, Outcome, Status, status_of_prediction
from .hashes import record_hash
from .io.field_map import record_json
from .records import Cause, ColumnsReader, EncodedRecord, Quarantined, quarantined, with_integers
from .slice_labels import Slice, Slicing, cluster_unit

if TYPE_CHECKING:
    from .rows import ReusedRows

WITHOUT_FIELDS = {"ground_truth": "ground_truth_without_fields", "predictions": "predictions_without_fields"}
"""By side, the count of records of scored samples, if no record of the side has a field of the benchmark."""

Worst = tuple[float, str, str]
"""The main per-sample metric of a sample, its sample_id and its status."""
NO_DETAILS = b"null"
_TRUTH_REJECTED = "the ground truth of this sample was rejected"
_NOT_DECODED = (msgspec.MsgspecError, TypeError, ValueError, RecursionError)


class PairedSample(msgspec.Struct, frozen=True):
    """One sample: its ground truth, the prediction of each system or None, and rows of earlier runs.

    systems: the system of each prediction, if there are repeats (see transforms.repeats); else they are in order.
    """

    sample_id: str
    truth: EncodedRecord
    predictions: tuple[EncodedRecord | None, ...]
    rows: tuple[EncodedRecord, ...] = ()
    systems: tuple[int, ...] = ()

    @property
    def by_system(self) -> Iterable[tuple[int, EncodedRecord | None]]:
        """The predictions, each with the number of its system."""
        return zip(self.systems, self.predictions, strict=True) if self.systems else enumerate(self.predictions)

    @property
    def nbytes(self) -> int:
        """The bytes of its records."""
        return self.truth.size + sum(each.size for each in (*self.predictions, *self.rows) if each is not None)


@dataclass(frozen=True, slots=True)
class ScoringPlan:
    """How to score: the benchmark, what a missing prediction means, and the columns that the run needs.

    names: of the systems. cluster: the column whose values the bootstrap draws, or None; a sample in which it
    is null or absent is a cluster of its own. slicing: a sample that belongs to more slices than it allows is rejected.
    reuse: rows of an earlier run, which provide the scores of samples that have not changed. repeats: whether a sample
    may have several predictions of a system, see transforms.repeats.
    """

    benchmark: Benchmark[Any, Any, Any]
    missing: Missing
    names: tuple[str, ...]
    cluster: str | None = None
    slicing: Slicing = field(default_factory=Slicing)
    reuse: ReusedRows | None = None
    repeats: bool = False


class ScoredSample(msgspec.Struct, frozen=True):
    """One sample of one system after scoring.

    prediction_status: the status of the prediction; None without a record.
    unit: what the bootstrap draws, the sample_id or the cluster.
    coverage: what the sample adds to the coverage counts.
    slices, slice_values: the slices that the sample belongs to, and the values of the columns behind them; None if
    these could not be decoded, or make too many slices.
    statistics: None if the sample was not scored; the metrics are empty then, and the details null.
    truth_hash, prediction_hash: see transforms.hashes; None if a record is missing or cannot be decoded.
    """

    sample_id: str
    system: int
    status: Status
    prediction_status: str | None
    unit: str
    coverage: Mapping[str, int]
    slices: tuple[Slice, ...] = ()
    slice_values: tuple[Any, ...] | None = None
    statistics: Mapping[str, float] | None = None
    metrics: Mapping[str, float | None] = {}
    truth_hash: str | None = None
    prediction_hash: str | None = None
    details: bytes = NO_DETAILS


class DecodedSample(msgspec.Struct, frozen=True):
    """One sample of one system before scoring. unscored: what is known of it. truth, prediction: the records."""

    pair: Pair[Any, Any]
    unscored: ScoredSample
    truth: EncodedRecord
    prediction: EncodedRecord | None

    def scored(self, outcome: Outcome, prediction_status: str | None) -> ScoredSample:
        """Returns the sample with its outcome. prediction_status: see ScoredSample."""
        score = outcome.score
        return msgspec.structs.replace(
            self.unscored,
            status=outcome.status,
            prediction_status=prediction_status,
            coverage=self._coverage(outcome, prediction_status),
            statistics=None if score is None else score.statistics,
            metrics={} if score is None else score.metrics,
            details=NO_DETAILS if score is None else bytes(score.details),
        )

    def _coverage(self, outcome: Outcome, prediction_status: str | None) -> Mapping[str, int]:
        counts = status_counts(outcome.status, prediction_status)
        for name, count in () if outcome.score is None else outcome.score.coverage.items():
            counts[name] = counts.get(name, 0) + count
        return counts


@dataclass(slots=True)
class ScoredBatch:
    """The results of a batch: a row for each sample and system, and its quarantine entries.

    names: of the systems.
    """

    names: Sequence[str]
    samples: list[ScoredSample] = field(default_factory=list)
    quarantine: list[Quarantined] = field(default_factory=list)

    def reject(self, record: EncodedRecord, sample_id: str, cause: Cause, message: str, system: str = "") -> None:
        """Adds the quarantine entry of a record. system: see Quarantined."""
        self.quarantine.append(quarantined(record, self.names, sample_id, "score", cause, message, system))

    def reject_truth(
        self, sample: PairedSample, message: str, unit: str, slices: tuple[Slice, ...], values: tuple[Any, ...] | None
    ) -> None:
        """Adds a sample whose ground truth cannot be decoded: it is rejected once, its predictions are unmatched.

        unit, slices, values: the unit, slices and slice_values of ScoredSample.
        """
        self.reject(sample.truth, sample.sample_id, "invalid", message)
        for system, record in sample.by_system:
            if record is not None:
                self.reject(record, sample.sample_id, "unmatched", _TRUTH_REJECTED)
            status = "unmatched" if record is not None else None
            counts = status_counts("rejected", status)
            known = status, unit, counts, slices, values
            self.samples.append(ScoredSample(sample.sample_id, system, "rejected", *known))

    def add(self, samples: Sequence[DecodedSample], outcomes: Sequence[Outcome]) -> None:
        """Adds the samples of a batch, and the quarantine entries of their rejected records.

        A ground truth at fault has one entry; if a system scored it all the same, one for each other system. One that
        could not be scored has one for each system, unless that has another repeat which was not rejected.
        """
        results = [*zip(samples, outcomes, strict=True)]
        kept = {(each.pair.sample_id, each.unscored.system) for each, outcome in results if outcome.rejected is None}
        scored, truths = {sample_id for sample_id, _ in kept}, set[tuple[str, str]]()
        for sample, outcome in results:
            sample_id, number, prediction = sample.pair.sample_id, sample.unscored.system, sample.prediction
            was_decoded = sample.pair.prediction is not None
            prediction_status = status_of_prediction(outcome, prediction is not None, was_decoded)
            self.samples.append(sample.scored(outcome, prediction_status))
            if prediction is not None and outcome.prediction_rejected is not None:
                self.reject(prediction, sample_id, "invalid", outcome.prediction_rejected.message)
            if outcome.rejected is None:
                continue
            cause: Cause = "failed" if outcome.rejected.side == "sample" else "invalid"
            message, is_at_fault = outcome.rejected.message, outcome.rejected.side == "ground_truth"
            had_prediction = was_decoded and outcome.prediction_rejected is None
            is_for_all = is_at_fault and sample_id not in scored
            system = "" if is_for_all or len(self.names) == 1 else self.names[number]
            is_lost = is_at_fault or (sample_id, number) not in kept
            if is_lost and (sample_id, system) not in truths:
                truths.add((sample_id, system))
                which = "with the" if had_prediction else "without a"
                suffix = f" ({which} prediction of {system})" if system else ""
                self.reject(sample.truth, sample_id, cause, message + suffix, system)
            if prediction is not None and prediction_status == "unmatched":
                self.reject(prediction, sample_id, "unmatched", _TRUTH_REJECTED)
            elif prediction is not None and had_prediction:
                self.reject(prediction, sample_id, cause, message)


def hash_of(record: EncodedRecord, kind: type[msgspec.Struct]) -> str | None:
    """Returns the hash of a record of type `kind`; None if it cannot be decoded."""
    try:
        return record_hash(record.decode(kind))
    except _NOT_DECODED:
        return None


class BatchDecoder:
    """Decodes the records of samples, and the columns that the run needs."""

    def __init__(self, plan: ScoringPlan) -> None:
        self.plan = plan
        columns = plan.slicing.columns
        column_names = columns if plan.cluster is None else (*columns, plan.cluster)
        self._column_names = tuple(dict.fromkeys(column_names))
        self._columns = ColumnsReader(self._column_names)

    def decode(self, samples: Iterable[PairedSample], batch: ScoredBatch) -> list[DecodedSample]:
        """Returns each sample of each system, decoded; what cannot be decoded is rejected in `batch`."""
        return [decoded for sample in samples for decoded in self._decode(sample, batch)]

    def _decode(self, sample: PairedSample, batch: ScoredBatch) -> Iterator[DecodedSample]:
        plan, sample_id = self.plan, sample.sample_id
        unit, slices = sample_id, tuple[Slice, ...]()
        slice_values: tuple[Any, ...] | None = None
        try:
            # First what is known of the sample even if its ground truth is no record of the benchmark.
            cells = tuple(map(json_value, self._columns.read(sample.truth), self._column_names))
            values = cells[: len(plan.slicing.columns)]
            slices, slice_values = plan.slicing.of(values), values
            if plan.cluster is not None:
                unit = cluster_unit(cells[self._column_names.index(plan.cluster)], sample_id)
            truth = sample.truth.decode(plan.benchmark.truth_type)
        except _NOT_DECODED as error:
            batch.reject_truth(sample, error_text(error), unit, slices, slice_values)
            return
        truth_hash = record_hash(truth)
        for system, record in sample.by_system:
            prediction = None
            if record is not None:
                try:
                    prediction = record.decode(plan.benchmark.prediction_type)
                except _NOT_DECODED as error:
                    batch.reject(record, sample_id, "invalid", error_text(error))
            hashes = truth_hash, record_hash(prediction)
            unscored = ScoredSample(
                sample_id, system, "rejected", None, unit, {}, slices, slice_values, None, {}, *hashes
            )
            yield DecodedSample(Pair(sample_id, truth, prediction), unscored, sample.truth, record)


def json_value(value: Any, column: str) -> Any:
    """Returns a value of a column by which samples are grouped: 7.0 is 7, NaN null, and a date or a key of a map text.

    Raises ValueError for an infinite number, TypeError for what JSON does not have.
    """
    if value is None or isinstance(value, (str, int)):
        return value
    try:
        return with_integers(msgspec.json.decode(record_json({"value": value}, scored=()))["value"])
    except (ValueError, msgspec.MsgspecError) as error:
        raise ValueError(f"the column {column}, by which samples are grouped, has an infinite number") from error


def status_counts(status: Status, prediction_status: str | None) -> dict[str, int]:
    """Returns what a sample adds to the coverage by its status and the status of its prediction."""
    counts = {f"ground_truth.{status}": 1}
    if prediction_status is not None:
        counts[f"predictions.{prediction_status}"] = 1
    return counts
