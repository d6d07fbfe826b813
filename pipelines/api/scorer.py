"""Scores records in memory, in this process or in a few workers, with the sums of the pipeline to the last bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import pyarrow as pa

from ...metrics.benchmark import Benchmark, Pair
from ...metrics.common.errors import explain
from ...metrics.record_fields import record_fields
from ...metrics.scoring import Outcome, prediction_status, score_pairs
from ...metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from ...metrics.statistics.intervals import intervals
from ...metrics.statistics.measured import measure
from ...transforms.hashes import scoring_signature
from ...transforms.io.field_map import FieldMap
from ...transforms.records import GROUND_TRUTH, JSON, EncodedRecord, Origin
from ...transforms.sample_ids import KEY_ONLY, about_sample_id, wrong_length
from ...transforms.scored_sample import (
    DecodedSample,
    ScoredSample,
    hash_of,
    sample_table,
    status_counts,
    unreadable_truth,
)
from ...transforms.slice_labels import Slicing, cluster_unit
from ..config.mismatch import no_column, without_values
from ..config.seen import RECORDS_LOOKED_AT, FirstRecords
from ..config.settings import Configuration
from ..config.systems import DEFAULT_SYSTEM
from ..results.coverage import coverage_document
from ..results.unscored import why_unscored
from .records import as_table, json_records
from .workers import score_in_processes

Interval = tuple[float, float]
Side = Literal["ground_truth", "predictions"]
SIDES: dict[Side, int] = {"ground_truth": GROUND_TRUTH, "predictions": 0}


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
    records of each side, as in `summary.json`. samples: an Arrow table with a row for each sample, the columns of
    `samples/*.parquet` of a run. rejected: the records that were not scored. sums: the exact sums behind the values, in
    units of 2**-52, as in `sums.json`. warnings: what is odd about the records, a line each, such as that nothing was
    scored, and why.
    """

    benchmark: str
    values: dict[str, float | None]
    intervals: dict[str, Interval | None]
    slices: dict[str, SliceResult]
    coverage: dict[str, Any]
    samples: pa.Table
    rejected: list[Rejected]
    sums: dict[str, int]
    warnings: list[str] = field(default_factory=list)
    main_metrics: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Returns the main metrics with their intervals, and the number of samples, in one line."""
        metrics = ", ".join(self._metric(name) for name in self.main_metrics)
        return f"Result({self.benchmark}: {metrics}; {count_of(self.samples.num_rows, 'sample')})"

    def _metric(self, name: str) -> str:
        value, ends = self.values.get(name), self.intervals.get(name)
        interval = "" if ends is None else f" [{ends[0]:.4g}, {ends[1]:.4g}]"
        return f"{name} {'none' if value is None else format(value, '.4g')}{interval}"


def count_of(number: int, what: str) -> str:
    """Returns a number of things in words."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class Plan:
    """How records are scored: a checked configuration, and in how many processes."""

    configuration: Configuration
    processes: int = 1

    @property
    def benchmark(self) -> Benchmark[Any, Any, Any]:
        """The benchmark."""
        return self.configuration.benchmark

    @property
    def bootstrap(self) -> Bootstrap:
        """What draws the replicates."""
        drawn = self.configuration.settings.bootstrap
        return Bootstrap(drawn.replicates, drawn.seed)

    def slicing(self) -> Slicing:
        """Returns how to slice."""
        configuration = self.configuration
        limit = configuration.settings.limits.slices_per_sample
        return Slicing(configuration.columns(), configuration.slice_indexes(), limit)

    def fields(self, side: Side) -> FieldMap:
        """Returns where the fields of a side are in its records."""
        return self.configuration.fields_of(None if side == "ground_truth" else DEFAULT_SYSTEM)

    def scores_as(self) -> tuple[Any, ...]:
        """Returns what two scorers must share for their sums to be of one evaluation."""
        settings = self.configuration.settings
        return (
            self.benchmark.name,
            self.benchmark.options,
            settings.missing,
            settings.slices,
            settings.cluster,
            self.bootstrap,
        )


class Totals:
    """What has been scored so far: sums with replicates for each slice, counts, and a row for each sample.

    seen: the first records of each side. valued: the columns in which a ground truth had a value. numbered: how many
    samples were paired by position.
    """

    def __init__(self, bootstrap: Bootstrap) -> None:
        self.bootstrap = bootstrap
        self.sums: dict[str, BootstrapSums] = {}
        self.samples: Counter[str] = Counter()
        self.coverage: Counter[str] = Counter()
        self.rejected: list[Rejected] = []
        self.seen: dict[Side, FirstRecords] = {side: FirstRecords() for side in SIDES}
        self.valued: frozenset[str] = frozenset()
        self.numbered = 0
        self._rows: dict[str, ScoredSample] = {}
        self._last: dict[str, ScoredSample] = {}

    @property
    def rows(self) -> dict[str, ScoredSample]:
        """The row of each sample, by its id."""
        # What an interrupt breaks off here is done once more, with the same result.
        self._rows.update(self._last)
        self._last = {}
        return self._rows

    def add(self, sample: ScoredSample) -> None:
        """Adds a sample to all samples and to its slices."""
        self._last[sample.sample_id] = sample
        unit_hash = self.bootstrap.unit_hash(sample.unit)
        for label in ("", *(each.label for each in sample.slices)):
            self.samples[label] += 1
            sums = self.sums.setdefault(label, BootstrapSums(self.bootstrap))
            if sample.statistics:
                sums.add(unit_hash, sample.statistics)

    def merge(self, other: Totals) -> None:
        """Adds what `other` has scored, all or nothing, also where an interrupt comes in between.

        Raises ValueError where both scored a sample of the same id.
        """
        both = sorted(self.rows.keys() & other.rows.keys())
        if both:
            raise ValueError(f"{count_of(len(both), 'sample')} {_were(both)} scored by both, such as {both[0]!r}")
        sums = dict(self.sums)
        for label, found in other.sums.items():
            sums[label] = BootstrapSums(self.bootstrap)
            for each in (self.sums.get(label), found):
                if each is not None:
                    sums[label].merge(each)
        merged = {
            "sums": sums,
            "samples": self.samples + other.samples,
            "coverage": self.coverage + other.coverage,
            "rejected": [*self.rejected, *other.rejected],
            "seen": {side: _both_seen(self.seen[side], other.seen[side]) for side in SIDES},
            "valued": self.valued | other.valued,
            "numbered": self.numbered + other.numbered,
            "_last": dict(other.rows),
        }
        # One step, which no interrupt divides.
        self.__dict__.update(merged)


def _were(these: list[str]) -> str:
    return "was" if len(these) == 1 else "were"


def _both_seen(first: FirstRecords, second: FirstRecords) -> FirstRecords:
    if not second.records or first.records >= RECORDS_LOOKED_AT:
        return first
    fields = dict(first.fields)
    for name, count in second.fields.items():
        fields[name] = fields.get(name, 0) + count
    by_id = first.by_id or second.by_id
    return FirstRecords(fields, first.records + second.records, by_id=by_id, whole=first.whole and second.whole)


@dataclass(frozen=True)
class InMemory:
    """The two sides of what has been scored, as messages ask for them; see pipelines.config.mismatch.Inputs."""

    configuration: Configuration
    seen: Mapping[Side, FirstRecords]
    systems: tuple[str, ...] = (DEFAULT_SYSTEM,)

    def first_records(self, side: int) -> FirstRecords:
        """Returns what the first records of a side hold."""
        return self.seen["ground_truth" if side == GROUND_TRUTH else "predictions"]


def score_records(
    plan: Plan, known: Container[str], truths: Any, predictions: Any, all_columns: bool = False
) -> Totals:
    """Returns the totals of records that are paired by `sample_id`.

    Of records of one side with the same id the first counts, and none whose id is among the `known` ones. all_columns:
    whether a column must be there that no ground truth has. Raises TypeError where the data are not records, ValueError
    where there is no such column.
    """
    totals = Totals(plan.bootstrap)
    names: dict[str, None] = {}
    read = {
        "ground_truth": _by_id(plan, totals, "ground_truth", truths, known, names),
        "predictions": _by_id(plan, totals, "predictions", predictions, (), {}),
    }
    _look_for_columns(plan, totals, read["ground_truth"], names, all_columns)
    samples = list(_decoded(plan, totals, read["ground_truth"], read["predictions"]))
    for sample_id in (each for each in read["predictions"] if each not in read["ground_truth"]):
        totals.coverage["predictions.unmatched"] += 1
        totals.rejected.append(Rejected("predictions", sample_id, "no ground-truth record has this sample_id"))
    pairs, missing = [sample.pair for sample in samples], plan.configuration.settings.missing
    if plan.processes > 1:
        outcomes = score_in_processes(plan.benchmark, pairs, missing, plan.processes)
    else:
        outcomes = score_pairs(plan.benchmark, pairs, missing)
    for sample, outcome in zip(samples, outcomes, strict=True):
        _settle(totals, sample, outcome)
    return totals


def _by_id(
    plan: Plan, totals: Totals, side: Side, data: Any, known: Container[str], names: dict[str, None]
) -> dict[str, bytes]:
    """Returns the records of a side by sample_id; one without, or with one that was there before, is rejected.

    names: gets the columns of a table, under the names of the benchmark.
    """
    kind = plan.benchmark.truth_type if side == "ground_truth" else plan.benchmark.prediction_type
    fields, found = plan.fields(side), dict[str, bytes]()
    structured = [name for name, is_text in record_fields(kind).items() if not is_text]
    table = as_table(data)
    if table is not None:
        data = table
        names.update(dict.fromkeys(fields.present(table.column_names)))
    columns = {fields.path_of(name)[0] for name in structured if len(fields.path_of(name)) == 1}
    for record in json_records(data, columns):
        totals.coverage[f"{side}.read"] += 1
        sample_id, mapped, problem = _identified(record, fields)
        _look_at(totals.seen[side], mapped, sample_id)
        if problem is not None:
            totals.coverage[f"{side}.rejected"] += 1
            totals.rejected.append(Rejected(side, None, problem))
        elif sample_id in found or sample_id in known:
            totals.coverage[f"{side}.duplicate"] += 1
            totals.rejected.append(Rejected(side, sample_id, "the sample_id is duplicated; the first record counts"))
        else:
            found[sample_id] = mapped
    return found


def _identified(record: bytes, fields: FieldMap) -> tuple[str, bytes, str | None]:
    """Returns the sample_id of a record, the record under the names of the benchmark, and what is wrong with the id."""
    try:
        mapped = fields.of_json(record)
        sample_id = KEY_ONLY.decode(mapped).sample_id
    except msgspec.ValidationError as error:
        return "", record, about_sample_id(str(error), fields.integer_ids)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return "", record, explain(error)
    return sample_id, mapped, wrong_length(sample_id)


def _look_at(seen: FirstRecords, record: bytes, sample_id: str) -> None:
    """Takes note of the fields of one of the first records of a side."""
    if seen.records >= RECORDS_LOOKED_AT:
        seen.whole = False
        return
    cells = _cells(record)
    for name, value in cells.items():
        seen.fields[name] = seen.fields.get(name, 0) + (bytes(value) != b"null")
    seen.records += 1
    if sample_id and not seen.by_id:
        seen.by_id[sample_id] = EncodedRecord.of(Origin(0, 0, 0, 0, ""), JSON, b"{}")


def _cells(record: bytes) -> dict[str, msgspec.Raw]:
    try:
        cells: dict[str, msgspec.Raw] = msgspec.json.decode(record, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return cells


def _look_for_columns(
    plan: Plan, totals: Totals, truths: Mapping[str, bytes], names: dict[str, None], all_columns: bool
) -> None:
    """Takes note of the columns in which a ground truth has a value.

    Raises ValueError where no ground truth has a column that there must be.
    """
    wanted = plan.configuration.truth_columns()
    absent = set(wanted)
    for record in truths.values():
        if not absent:
            break
        cells = _cells(record)
        names.update(dict.fromkeys(cells))
        absent -= {name for name in absent & cells.keys() if bytes(cells[name]) != b"null"}
    totals.valued = frozenset(wanted) - absent
    for column in wanted:
        if all_columns and truths and column not in names:
            raise ValueError(no_column("ground_truth", column, list(names)))


def _decoded(
    plan: Plan, totals: Totals, truths: Mapping[str, bytes], predictions: Mapping[str, bytes]
) -> Iterator[DecodedSample]:
    """Yields the samples that can be decoded, and counts the others."""
    slicing, cluster = plan.slicing(), plan.configuration.settings.cluster
    for sample_id, record in truths.items():
        prediction = predictions.get(sample_id)
        try:
            truth = msgspec.json.decode(record, type=plan.benchmark.truth_type)
            cells = msgspec.json.decode(record) if slicing.columns or cluster else {}
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
        unit = cluster_unit(cells.get(cluster), sample_id) if cluster else sample_id
        pair = Pair(sample_id, truth, decoded)
        yield DecodedSample(pair, 0, unit, slices, values, hash_of(truth), hash_of(decoded), prediction is not None)


def _reject_truth(totals: Totals, sample_id: str, message: str, has_prediction: bool) -> None:
    sample = unreadable_truth(sample_id, 0, has_prediction)
    totals.rejected.append(Rejected("ground_truth", sample_id, message))
    totals.coverage.update(status_counts(sample.status, sample.prediction_status))
    totals.add(sample)


def _settle(totals: Totals, sample: DecodedSample, outcome: Outcome) -> None:
    sample_id = sample.pair.sample_id
    status = prediction_status(outcome, sample.has_prediction, sample.has_decoded_prediction)
    if outcome.prediction_rejected is not None:
        totals.rejected.append(Rejected("predictions", sample_id, outcome.prediction_rejected.message))
    if outcome.rejected is not None:
        side: Side = "predictions" if outcome.rejected.side == "prediction" else "ground_truth"
        totals.rejected.append(Rejected(side, sample_id, outcome.rejected.message))
    scored = sample.scored(outcome, status)
    totals.coverage.update(scored.coverage)
    totals.add(scored)


def result_of(plan: Plan, totals: Totals) -> Result:
    """Returns the result of what has been scored."""
    slices = {label: _slice(plan, totals, label) for label in sorted(totals.sums) if label}
    overall, rows = _slice(plan, totals, ""), list(totals.rows.values())
    coverage = coverage_document(totals.coverage)
    return Result(
        plan.benchmark.name,
        overall.values,
        overall.intervals,
        slices,
        coverage,
        sample_table(
            rows,
            [DEFAULT_SYSTEM],
            plan.benchmark.sample_metric_names(),
            plan.slicing().columns,
            scoring_signature(plan.benchmark, plan.configuration.settings.missing),
        ),
        list(totals.rejected),
        _sums(totals, "").sums().units(),
        [*_unscored(plan, totals, coverage, overall), *_without_values(plan, totals)],
        tuple(plan.benchmark.main_metrics()),
    )


def _unscored(plan: Plan, totals: Totals, coverage: Mapping[str, Any], overall: SliceResult) -> list[str]:
    document = {"systems": {DEFAULT_SYSTEM: {"coverage": coverage, "values": overall.values}}}
    inputs = InMemory(plan.configuration, totals.seen)
    return list(why_unscored(document, inputs, rejected="the attribute `rejected`").values())


def _without_values(plan: Plan, totals: Totals) -> list[str]:
    counts = totals.coverage
    if counts["ground_truth.read"] == counts["ground_truth.rejected"]:
        return []
    columns = plan.configuration.truth_columns()
    return [without_values(plan.configuration, column) for column in columns if column not in totals.valued]


def _sums(totals: Totals, label: str) -> BootstrapSums:
    return totals.sums.get(label) or BootstrapSums(totals.bootstrap)


def _slice(plan: Plan, totals: Totals, label: str) -> SliceResult:
    settings = plan.configuration.settings
    sums = _sums(totals, label).all_sums()
    corpus = _sums(totals, "").sums()
    measured = measure(plan.benchmark, corpus, sums, settings.cluster is not None)
    found = intervals(plan.benchmark, measured, settings.bootstrap.confidence) if len(sums) > 1 else {}
    return SliceResult(measured.values, found, totals.samples[label])
