"""Scores a batch of paired samples: each is decoded and scored, and what became of it is settled.

Without Beam, for the Python API too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from ..metrics.benchmark import Benchmark, Pair, explain
from ..metrics.scoring import Missing, Outcome, prediction_status
from .records import Cause, ColumnsReader, EncodedRecord, Quarantined, quarantined, side_name
from .scored_sample import DecodedSample, ScoredSample, hash_of, unreadable_truth
from .slice_labels import Slicing, cluster_unit

if TYPE_CHECKING:
    from .earlier_rows import ReusedRows

_TRUTH_REJECTED = "the ground truth of this sample was rejected"


class PairedSample(msgspec.Struct, frozen=True):
    """One sample: its ground truth, by system the prediction for it, if there is one, and rows of earlier runs.

    systems: the system of each prediction, where there are repeats (see transforms.repeats); else they are in order.
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
        """The bytes of its records before they were compressed."""
        return self.truth.size + sum(each.size for each in (*self.predictions, *self.rows) if each is not None)


@dataclass(frozen=True, slots=True)
class ScoringPlan:
    """How to score: the benchmark, what a missing prediction means, and the columns that the run needs.

    names: those of the systems. cluster: the column whose value the bootstrap draws, or None; a sample where it is null
    or absent is a cluster of its own. slicing: a sample that belongs to more slices than it allows is rejected. reuse:
    rows of an earlier run, from which the scores of samples that have not changed are taken. repeats: whether a sample
    may have several predictions of a system, see transforms.repeats.
    """

    benchmark: Benchmark[Any, Any, Any]
    missing: Missing
    names: tuple[str, ...]
    cluster: str | None = None
    slicing: Slicing = field(default_factory=Slicing)
    reuse: ReusedRows | None = None
    repeats: bool = False


@dataclass(slots=True)
class ScoredBatch:
    """What became of a batch: a row for each sample and system, and what of it is quarantined.

    names: of the systems.
    """

    names: Sequence[str]
    samples: list[ScoredSample] = field(default_factory=list)
    quarantine: list[Quarantined] = field(default_factory=list)

    def reject(self, record: EncodedRecord, sample_id: str, cause: Cause, message: str) -> None:
        """Adds the quarantine entry of a record."""
        side = side_name(record.side, self.names)
        self.quarantine.append(quarantined(record, side, sample_id, "score", cause, message))

    def reject_truth(self, sample: PairedSample, message: str) -> None:
        """Adds a sample whose ground truth cannot be decoded: it is rejected once, its predictions are unmatched."""
        self.reject(sample.truth, sample.sample_id, "invalid", message)
        for system, record in sample.by_system:
            if record is not None:
                self.reject(record, sample.sample_id, "unmatched", _TRUTH_REJECTED)
            self.samples.append(unreadable_truth(sample.sample_id, system, record is not None))

    def add(self, sample: DecodedSample, outcome: Outcome) -> None:
        """Adds a sample, and the quarantine entries of what was rejected."""
        sample_id, prediction = sample.pair.sample_id, sample.prediction
        was_decoded = sample.pair.prediction is not None
        became = prediction_status(outcome, prediction is not None, was_decoded)
        if prediction is not None and outcome.prediction_rejected is not None:
            self.reject(prediction, sample_id, "invalid", outcome.prediction_rejected.message)
        if outcome.rejected is not None:
            cause: Cause = "failed" if outcome.rejected.side == "sample" else "invalid"
            message = outcome.rejected.message
            whose = f" (with the prediction of {self.names[sample.system]})" if len(self.names) > 1 else ""
            self.reject(sample.truth, sample_id, cause, message + whose)
            if prediction is not None and became == "unmatched":
                self.reject(prediction, sample_id, "unmatched", _TRUTH_REJECTED)
            elif prediction is not None and was_decoded and outcome.prediction_rejected is None:
                self.reject(prediction, sample_id, cause, message)
        self.samples.append(sample.scored(outcome, became))


_NOT_DECODED = (msgspec.MsgspecError, ValueError, RecursionError)


class BatchDecoder:
    """Decodes the records of samples, and the columns that the run needs."""

    def __init__(self, plan: ScoringPlan) -> None:
        self._plan = plan
        columns = plan.slicing.columns
        wanted = columns if plan.cluster is None else (*columns, plan.cluster)
        self._wanted = tuple(dict.fromkeys(wanted))
        self._columns = ColumnsReader(self._wanted)

    def decode(self, samples: Iterable[PairedSample], batch: ScoredBatch) -> list[DecodedSample]:
        """Returns each sample of each system, decoded; what cannot be decoded is rejected in `batch`."""
        return [decoded for sample in samples for decoded in self._decode(sample, batch)]

    def _decode(self, sample: PairedSample, batch: ScoredBatch) -> Iterator[DecodedSample]:
        plan, sample_id = self._plan, sample.sample_id
        try:
            truth = sample.truth.decode(plan.benchmark.truth_type)
            cells = self._columns.read(sample.truth)
            slice_values = cells[: len(plan.slicing.columns)]
            slices = plan.slicing.of(slice_values)
        except _NOT_DECODED as error:
            batch.reject_truth(sample, explain(error))
            return
        truth_hash, unit = hash_of(truth), sample_id
        if plan.cluster is not None:
            unit = cluster_unit(cells[self._wanted.index(plan.cluster)], sample_id)
        for system, record in sample.by_system:
            prediction = None
            if record is not None:
                try:
                    prediction = record.decode(plan.benchmark.prediction_type)
                except _NOT_DECODED as error:
                    batch.reject(record, sample_id, "invalid", explain(error))
            pair, prediction_hash = Pair(sample_id, truth, prediction), hash_of(prediction)
            yield DecodedSample(
                pair, system, unit, slices, slice_values, truth_hash, prediction_hash, sample.truth, record
            )
