"""Scores records in memory, in this process or in a few workers, with the sums of the pipeline to the last bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import pyarrow as pa

from metrics.benchmark import Benchmark, Pair
from metrics.common.errors import explain
from metrics.record_fields import record_fields
from metrics.scoring import Missing, Outcome, prediction_status, score_pairs
from metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from metrics.statistics.intervals import intervals
from metrics.statistics.measured import measure
from pipelines.api.records import json_records
from pipelines.api.workers import score_in_processes
from pipelines.config.systems import DEFAULT_SYSTEM
from transforms.hashes import scoring_signature
from transforms.scored_sample import (
    DecodedSample,
    ScoredSample,
    hash_of,
    sample_table,
    status_counts,
    unreadable_truth,
)
from transforms.slice_labels import Slicing, cluster_unit

Interval = tuple[float, float]
Side = Literal["ground_truth", "predictions"]


@dataclass(frozen=True)
class Rejected:
    """A record that was not scored, and why."""

    side: Side
    sample_id: str | None
    message: str


@dataclass(frozen=True)
class SliceResult:
    """The metrics of a set of samples, their intervals by name (None where there is none), and how many samples."""

    values: dict[str, float | None]
    intervals: dict[str, Interval | None]
    samples: int


@dataclass(frozen=True)
class Result:
    """The result of an evaluation.

    values, intervals: of all samples, by metric. slices: by label, such as `source=web`. coverage: what became of the
    records of each side. samples: an Arrow table with a row for each sample, the columns of `samples/*.parquet` of a
    run. rejected: the records that were not scored. sums: the exact sums behind the values, in units of 2**-52, as in
    `sums.json`.
    """

    benchmark: str
    values: dict[str, float | None]
    intervals: dict[str, Interval | None]
    slices: dict[str, SliceResult]
    coverage: dict[str, Any]
    samples: pa.Table = field(repr=False)
    rejected: list[Rejected] = field(repr=False)
    sums: dict[str, int] = field(repr=False)


@dataclass(frozen=True)
class Plan:
    """How records are scored: as the settings of the same names in a configuration."""

    benchmark: Benchmark[Any, Any, Any]
    missing: Missing = "wrong"
    slices: tuple[tuple[str, ...], ...] = ()
    cluster: str | None = None
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    confidence: float = 0.95
    processes: int = 1

    def slicing(self) -> Slicing:
        """Returns how to slice."""
        columns = tuple(dict.fromkeys(column for each in self.slices for column in each))
        return Slicing(columns, tuple(tuple(columns.index(column) for column in each) for each in self.slices))


class Totals:
    """What has been scored so far: sums with replicates for each slice, counts, and a row for each sample."""

    def __init__(self, bootstrap: Bootstrap) -> None:
        self.bootstrap = bootstrap
        self.sums: dict[str, BootstrapSums] = {}
        self.samples: Counter[str] = Counter()
        self.coverage: Counter[str] = Counter()
        self.rows: list[ScoredSample] = []
        self.rejected: list[Rejected] = []
        self.ids: set[str] = set()

    def add(self, sample: ScoredSample) -> None:
        """Adds a sample to all samples and to its slices."""
        self.rows.append(sample)
        unit_hash = self.bootstrap.unit_hash(sample.unit)
        for label in ("", *(each.label for each in sample.slices)):
            self.samples[label] += 1
            sums = self.sums.setdefault(label, BootstrapSums(self.bootstrap))
            if sample.statistics:
                sums.add(unit_hash, sample.statistics)

    def merge(self, other: Totals) -> None:
        """Adds what `other` has scored; raises ValueError where both scored a sample of the same id."""
        both = sorted(self.ids & other.ids)
        if both:
            raise ValueError(f"{len(both)} samples were scored by both, such as {both[0]!r}")
        for label, sums in other.sums.items():
            self.sums.setdefault(label, BootstrapSums(self.bootstrap)).merge(sums)
        self.samples.update(other.samples)
        self.coverage.update(other.coverage)
        self.rows += other.rows
        self.rejected += other.rejected
        self.ids |= other.ids


class _Key(msgspec.Struct):
    sample_id: str


def score_records(plan: Plan, totals: Totals, truths: Any, predictions: Any) -> None:
    """Scores records that are paired by `sample_id`, and adds them to the totals.

    Of records of one side with the same id the first counts. Raises TypeError where the data are not records.
    """
    kind = plan.benchmark
    read = {
        "ground_truth": _by_id(totals, "ground_truth", json_records(truths, _structured(kind.truth_type))),
        "predictions": _by_id(totals, "predictions", json_records(predictions, _structured(kind.prediction_type))),
    }
    samples = list(_decoded(plan, totals, read["ground_truth"], read["predictions"]))
    for sample_id in (each for each in read["predictions"] if each not in read["ground_truth"]):
        totals.coverage["predictions.unmatched"] += 1
        totals.rejected.append(Rejected("predictions", sample_id, "no ground-truth record has this sample_id"))
    pairs = [sample.pair for sample in samples]
    if plan.processes > 1:
        outcomes = score_in_processes(plan.benchmark, pairs, plan.missing, plan.processes)
    else:
        outcomes = score_pairs(plan.benchmark, pairs, plan.missing)
    for sample, outcome in zip(samples, outcomes, strict=True):
        _settle(totals, sample, outcome)


def _structured(kind: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(name for name, is_text in record_fields(kind).items() if not is_text)


def _by_id(totals: Totals, side: Side, records: Iterator[bytes]) -> dict[str, bytes]:
    """Returns the records of a side by sample_id; one without, or with one that was there before, is rejected."""
    found: dict[str, bytes] = {}
    for record in records:
        totals.coverage[f"{side}.read"] += 1
        try:
            sample_id = msgspec.json.decode(record, type=_Key).sample_id
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            totals.coverage[f"{side}.rejected"] += 1
            totals.rejected.append(Rejected(side, None, explain(error)))
            continue
        if sample_id in found or (side == "ground_truth" and sample_id in totals.ids):
            totals.coverage[f"{side}.duplicate"] += 1
            totals.rejected.append(Rejected(side, sample_id, "the sample_id is duplicated; the first record counts"))
        else:
            found[sample_id] = record
    return found


def _decoded(
    plan: Plan, totals: Totals, truths: Mapping[str, bytes], predictions: Mapping[str, bytes]
) -> Iterator[DecodedSample]:
    """Yields the samples that can be decoded, and counts the others."""
    slicing = plan.slicing()
    for sample_id, record in truths.items():
        totals.ids.add(sample_id)
        prediction = predictions.get(sample_id)
        try:
            truth = msgspec.json.decode(record, type=plan.benchmark.truth_type)
            cells = msgspec.json.decode(record) if slicing.columns or plan.cluster else {}
            values = tuple(cells.get(column) for column in slicing.columns)
            slices = slicing.of(values)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            _reject_truth(totals, sample_id, explain(error), prediction is not None)
            continue
        decoded = None
        if prediction is not None:
            try:
                decoded = msgspec.json.decode(prediction, type=plan.benchmark.prediction_type)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                totals.rejected.append(Rejected("predictions", sample_id, explain(error)))
        unit = cluster_unit(cells.get(plan.cluster), sample_id) if plan.cluster else sample_id
        pair = Pair(sample_id, truth, decoded)
        yield DecodedSample(pair, 0, unit, slices, values, hash_of(truth), hash_of(decoded), prediction is not None)


def _reject_truth(totals: Totals, sample_id: str, message: str, has_prediction: bool) -> None:
    totals.coverage["ground_truth.rejected"] += 1
    totals.rejected.append(Rejected("ground_truth", sample_id, message))
    if has_prediction:
        totals.coverage["predictions.unmatched"] += 1
    totals.add(unreadable_truth(sample_id, 0, has_prediction))


def _settle(totals: Totals, sample: DecodedSample, outcome: Outcome) -> None:
    sample_id, score = sample.pair.sample_id, outcome.score
    status = prediction_status(outcome, sample.has_prediction, sample.has_decoded_prediction)
    totals.coverage.update(status_counts(outcome.status, status))
    if outcome.prediction_rejected is not None:
        totals.rejected.append(Rejected("predictions", sample_id, outcome.prediction_rejected.message))
    if outcome.rejected is not None:
        side: Side = "predictions" if outcome.rejected.side == "prediction" else "ground_truth"
        totals.rejected.append(Rejected(side, sample_id, outcome.rejected.message))
    totals.coverage.update(score.coverage if score else {})
    totals.add(sample.scored(outcome, status))


def result_of(plan: Plan, totals: Totals) -> Result:
    """Returns the result of what has been scored."""
    slices = {label: _slice(plan, totals, label) for label in sorted(totals.sums) if label}
    overall = _slice(plan, totals, "")
    return Result(
        plan.benchmark.name,
        overall.values,
        overall.intervals,
        slices,
        _coverage(totals.coverage),
        sample_table(
            totals.rows,
            [DEFAULT_SYSTEM],
            plan.benchmark.sample_metric_names(),
            plan.slicing().columns,
            scoring_signature(plan.benchmark, plan.missing),
        ),
        list(totals.rejected),
        _sums(totals, "").sums().units(),
    )


def _sums(totals: Totals, label: str) -> BootstrapSums:
    return totals.sums.get(label) or BootstrapSums(totals.bootstrap)


def _slice(plan: Plan, totals: Totals, label: str) -> SliceResult:
    sums = _sums(totals, label).all_sums()
    measured = measure(plan.benchmark, _sums(totals, "").sums(), sums, plan.cluster is not None)
    found = intervals(plan.benchmark, measured, plan.confidence) if len(sums) > 1 else {}
    return SliceResult(measured.values, found, totals.samples[label])


def _coverage(counts: Mapping[str, int]) -> dict[str, Any]:
    sides: dict[str, Any] = {"ground_truth": {}, "predictions": {}}
    for name in sorted(counts):
        side, dot, status = name.partition(".")
        if dot:
            sides[side][status] = counts[name]
        else:
            sides[name] = counts[name]
    return sides
