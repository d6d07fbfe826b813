"""Scores records in memory without Beam, in this process or a few workers, with the functions of the pipeline."""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from ...metrics.benchmark import Pair
from ...metrics.derived import normal_form
from ...metrics.scoring import Outcome, score_pairs
from ...metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from ...metrics.statistics.sums import Sums
from ...transforms.hashes import scoring_signature
from ...transforms.io.field_map import (
    SAMPLE_ID,
    WITH_FIELDS,
    column_counter,
    fields_of,
    identified,
    needed_fields,
    present_fields,
    readable_json,
)
from ...transforms.io.readers import converted, same_name
from ...transforms.records import (
    GROUND_TRUTH,
    JSON,
    UNMATCHED,
    Cause,
    ColumnsReader,
    EncodedRecord,
    InputProblem,
    Quarantined,
    RecordEncoder,
    Stage,
    quarantined,
    side_name,
)
from ...transforms.repeats import label_of, outcome_of, paired_of, score_batch
from ...transforms.rows import sample_table
from ...transforms.scored import BatchDecoder, PairedSample, ScoredSample, ScoringPlan
from ...transforms.slice_labels import Slicing
from ...transforms.totals import EvaluationCore, PartialSums, SliceKey, SliceTotals, slice_results
from ..config.errors import UsageError
from ..config.settings import DEFAULT_SYSTEM, Configuration, predictions_of
from ..inputs.mismatch import RECORDS_LOOKED_AT, FirstRecords, columns_of_side, no_column, shown_name
from ..runs.causes import (
    DAMAGED_COVERAGE,
    QuarantineCause,
    causes_of,
    duplicate_warnings,
    quarantine_causes,
    unscored_systems,
    why_unscored,
)
from ..runs.gates import rejection_notes
from ..runs.numbers import count_of
from ..runs.run import Run
from .arguments import Arguments, check_arguments
from .result import Rejected, Result, RunToSave, SliceResult
from .workers import score_in_processes

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ...transforms.rows import ReusedRows

ROWS_PER_BATCH = 1024
IN_MEMORY = "memory"
"""The source, in the quarantine, of records that are not from a file."""
_AGAIN = "the sample was in an earlier update, which counts; reset() discards all samples so far"
_SCORED = "its sample was scored in an earlier update, with another prediction"
_TOO_LATE = "its ground truth was in an earlier update; give both records of a sample to the same update"
_DECODING_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def core_of(configuration: Configuration, systems: tuple[str, ...], reuse: ReusedRows | None = None) -> EvaluationCore:
    """Returns the core for a configuration and the names of the systems."""
    settings, drawn = configuration.settings, configuration.settings.bootstrap
    slicing = Slicing(configuration.columns(), configuration.slice_columns(), settings.limits.slices_per_sample)
    scoring = ScoringPlan(
        configuration.benchmark, settings.missing, systems, settings.cluster, slicing, reuse, settings.repeats
    )
    return EvaluationCore(scoring, Bootstrap(drawn.replicates, drawn.seed), drawn.confidence, settings.limits.slices)


class Totals:
    """The scores so far, and what messages need of both sides; see pipelines.inputs.mismatch.RecordSides.

    slices: the totals of each slice. outcomes: the counts of reading and pairing by side, see `ReadRecords`. seen: the
    first records of each side. rows: that of each sample, by its id. numbered: the number of samples paired by
    position. repeats: those of the predictions, if any; they are the same in each update, as an earlier sample lacks
    the repeats of later ones.
    """

    systems = (DEFAULT_SYSTEM,)

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.slices: dict[SliceKey, SliceTotals] = {}
        self.outcomes: dict[int, Counter[str]] = {GROUND_TRUTH: Counter(), 0: Counter()}
        self.quarantine: list[Quarantined] = []
        self.seen = {GROUND_TRUTH: FirstRecords(), 0: FirstRecords()}
        self.numbered = 0
        self.repeats: frozenset[str] = frozenset()
        self.rows: dict[str, ScoredSample] = {}

    def first_records(self, side: int) -> FirstRecords:
        """Returns the first records of a side."""
        return self.seen[side]

    def set_samples(self, samples: list[ScoredSample], core: EvaluationCore) -> None:
        """Replaces all samples by these, and adds them up."""
        sums = PartialSums(replace(core, max_slices=sys.maxsize))
        sums.add_samples(samples)
        self.slices = dict(sums.flush())
        self.rows = {sample.sample_id: sample for sample in samples}

    def reject(self, record: EncodedRecord, sample_id: str | None, cause: Cause, message: str) -> None:
        """Adds a record that belongs to no sample."""
        stage: Stage = "pair" if cause in ("duplicate", "unmatched") else "read"
        self.outcomes[record.side][cause if stage == "pair" else "rejected"] += 1
        self.quarantine.append(quarantined(record, self.systems, sample_id, stage, cause, message))

    def merge(self, other: Totals) -> None:
        """Adds the scores of `other`, or nothing of them.

        Raises ValueError if both scored a sample of the same id, or their repeats differ.
        """
        if self.rows and other.rows and self.repeats != other.repeats:
            ours, theirs = (", ".join(sorted(each)) or "none" for each in (self.repeats, other.repeats))
            raise ValueError(f"repeats: each update must have the same; there are {theirs}, and were {ours}")
        both = sorted(self.rows.keys() & other.rows.keys())
        if both:
            were = "was" if len(both) == 1 else "were"
            raise ValueError(f"{count_of(len(both), 'sample')} {were} scored by both, such as {both[0]!r}")
        # All is computed before any is assigned: an interrupt meanwhile leaves the totals of before.
        slices = dict(self.slices)
        for key, totals in other.slices.items():
            slices[key] = SliceTotals(BootstrapSums(totals.sums.bootstrap))
            for part in (self.slices.get(key), totals):
                if part is not None:
                    slices[key].merge(part)
        outcomes = {side: counts + other.outcomes[side] for side, counts in self.outcomes.items()}
        seen = {side: first if first.records else other.seen[side] for side, first in self.seen.items()}
        self.slices, self.outcomes, self.seen = slices, outcomes, seen
        self.quarantine += other.quarantine
        self.numbered += other.numbered
        self.repeats |= other.repeats
        self.rows.update(other.rows)


class Scorer:
    """Scores samples incrementally, such as in the validation loop of a training run.

    options: those of the benchmark's configuration. missing ("wrong"), slices, cluster, repeats (False), derived,
    fields, sample_id_type ("any"): as the settings of the same name. replicates (200), confidence (0.95), seed (0): of
    the intervals; without replicates there are no intervals. processes: worker processes that score; they are restarted
    for every `update`, so more than one pays off only for large updates. benchmark: its name; within this package also
    a checked configuration. Threads may share a scorer, whose methods run one at a time; the records that one is given
    must not wait for another.

    Raises ValueError if an argument is wrong, with the message of the command.
    """

    def __init__(self, benchmark: str | Configuration, *, processes: int = 1, **arguments: Unpack[Arguments]) -> None:
        if not isinstance(benchmark, Configuration):
            benchmark = check_arguments(benchmark, arguments, processes=processes)
        self._configuration = benchmark
        self._processes = int(processes)
        self._core = core_of(self._configuration, Totals.systems)
        self._totals = Totals(self._configuration)
        more = self._configuration.truth_columns()
        self._columns = {side: columns_of_side(self._totals, side, more) for side in (GROUND_TRUTH, 0)}
        self._open = False
        # The records that are given to it may come from a generator that calls it.
        self._lock = threading.RLock()

    def update(self, truths: Any, predictions: Any) -> None:
        """Scores more samples: all of them, or none if it raises.

        truths, predictions: tables or iterables of records, paired by `sample_id`. Two sequences or tables of equal
        length whose records have no `sample_id` are paired by position; a prediction may then be None.

        Raises ValueError if sequences without `sample_id` differ in length, or the repeats differ from earlier ones or
        are too many, TypeError if a side holds no records, and OSError, MemoryError or BrokenProcessPool if the machine
        fails.
        """
        with self._lock:
            self._update(truths, predictions)

    def _update(self, truths: Any, predictions: Any, all_columns: bool = False) -> None:
        """Scores more samples. all_columns: whether each column must exist in some ground truth."""
        if not self._open:
            self._configuration.benchmark.setup()
            self._open = True
        added = Totals(self._configuration)
        added.numbered, truths, predictions = self._numbered(truths, predictions)
        sides = (self._by_id(added, GROUND_TRUTH, truths, self._totals.rows), self._by_id(added, 0, predictions, ()))
        self._look_for_columns(added, sides[0].values(), all_columns)
        try:
            self._score(added, *sides)
        except InputProblem as error:
            raise ValueError(error.message) from None
        self._totals.merge(added)

    def _numbered(self, truths: Any, predictions: Any) -> tuple[int, Any, Any]:
        """Returns the number of samples paired by position, and both sides, with ids for these samples."""
        truths, predictions = (
            _table(data, self._columns[side].read or frozenset()) if hasattr(data, "__arrow_c_stream__") else data
            for side, data in ((GROUND_TRUTH, truths), (0, predictions))
        )
        has_own_ids = any(SAMPLE_ID in fields for fields in self._configuration.settings.fields.values())
        if has_own_ids or not (_unnamed(truths) and _unnamed(predictions)):
            return 0, truths, predictions
        if self._configuration.settings.repeats:
            raise ValueError("repeats: samples without sample_id have one prediction each; give both sides a sample_id")
        if len(truths) != len(predictions):
            raise ValueError(f"{len(truths)} ground-truth records and {len(predictions)} predictions without sample_id")
        if not isinstance(truths, pa.Table) and None in truths:
            raise TypeError("a ground-truth record must be a mapping, not None")
        first = self._totals.numbered
        return len(truths), _with_numbers(truths, first), _with_numbers(predictions, first)

    def _by_id(
        self, added: Totals, side: int, data: Any, known: Container[str]
    ) -> dict[tuple[str, str], EncodedRecord]:
        """Returns the records of a side by sample_id and repeat, which is empty if there are none.

        A record without them, or with those of an earlier record, is rejected.
        """
        repeated = side != GROUND_TRUTH and self._configuration.settings.repeats
        records: dict[tuple[str, str], EncodedRecord] = {}
        for record, sample_id, problem in self._identified(added, side, data):
            if problem is not None:
                added.reject(record, sample_id or None, *problem)
                continue
            try:
                key = sample_id, label_of(record) if repeated else ""
            except ValueError as error:
                added.reject(record, sample_id, "no_repeat", str(error))
                continue
            if key in records:
                what = f"repeat {key[1]} of the sample_id" if repeated else "sample_id"
                added.reject(record, sample_id, "duplicate", f"the {what} is duplicated; the first record counts")
            elif sample_id in known:
                added.reject(record, sample_id, "duplicate", _AGAIN)
            else:
                records[key] = record
        return records

    def _identified(
        self, added: Totals, side: int, data: Any
    ) -> Iterator[tuple[EncodedRecord, str, tuple[Cause, str] | None]]:
        """Yields each record of a side with its sample_id, and why it is rejected; counts what messages need of it."""
        seen, columns = added.seen[side], self._columns[side]
        fields, needed, scored = columns.fields, columns.read or frozenset(), columns.scored
        if isinstance(data, (pa.Table, _Rows)):
            fields = fields.parsing(columns.structured)
        if isinstance(data, pa.Table):
            names = data.column_names
            if same := same_name(names):
                raise ValueError(f"{side_name(side, Totals.systems)}: {same}")
            seen.fields.update(dict.fromkeys(fields.present(names), 0))
            data = data.select([name for name in names if name in needed])
        encoder, is_fieldless = RecordEncoder(side, 0, IN_MEMORY), True
        texts = fields.columns({SAMPLE_ID, *columns.texts})
        structured = fields.columns(fields.whole(columns.structured))
        renamed = {name for name, _ in fields.paths}

        def needed_of(record: Any) -> dict[str, Any]:
            try:
                every = fields_of(record)
            except TypeError as error:
                place = f"{side_name(side, Totals.systems)}: record {added.outcomes[side]['read'] + 1}"
                raise TypeError(f"{place}: {error}") from None
            if seen.read < RECORDS_LOOKED_AT:
                for name in map(str, every):
                    if name not in renamed:
                        seen.fields.setdefault(name, 0)
            return needed_fields(every, needed)

        given = json_records(data, structured, texts, needed_of, fields.columns(scored))
        for number, (text, unreadable) in enumerate(given):
            sample_id, mapped, problem = identified(text, fields)
            problem = problem if unreadable is None else ("unreadable", unreadable)
            record = EncodedRecord(encoder.encode(number, number + 1, JSON, mapped))
            added.outcomes[side]["read"] += 1
            is_fieldless = is_fieldless and scored.isdisjoint(record.fields())
            seen.whole = number < RECORDS_LOOKED_AT
            if seen.whole:
                with contextlib.suppress(*_DECODING_ERRORS):
                    seen.add(record, problem and problem[1])
            yield record, sample_id, problem
        if not (is_fieldless and scored.isdisjoint(fields.whole(seen.fields))):
            added.outcomes[side][WITH_FIELDS] += 1
        # Messages need only the first sample_id, so the records are not kept.
        seen.by_id = dict.fromkeys(list(seen.by_id)[:1], EncodedRecord(b""))

    def _look_for_columns(self, added: Totals, truths: Collection[EncodedRecord], all_columns: bool) -> None:
        """Counts the columns in which a ground truth has a value.

        Raises ValueError if no ground truth has a required column.
        """
        columns = self._configuration.truth_columns()
        reader, absent = ColumnsReader(columns), set(columns)
        for record in truths:
            if not absent:
                break
            with contextlib.suppress(*_DECODING_ERRORS):
                absent -= {name for name, value in zip(columns, reader.read(record), strict=True) if value is not None}
        added.outcomes[GROUND_TRUTH] += Counter(column_counter(column) for column in columns if column not in absent)
        known = added.seen[GROUND_TRUTH].fields
        for column in columns:
            if all_columns and truths and column in absent and column not in known:
                raise ValueError(no_column("ground_truth", column, list(known), self._columns[GROUND_TRUTH].fields))

    def _score(
        self,
        added: Totals,
        truths: Mapping[tuple[str, str], EncodedRecord],
        predictions: Mapping[tuple[str, str], EncodedRecord],
    ) -> None:
        """Scores the paired records, and rejects predictions without a ground truth."""
        plan = self._core.scoring
        of_sample: defaultdict[str, list[EncodedRecord]] = defaultdict(list)
        for (sample_id, label), record in predictions.items():
            of_sample[sample_id].append(record)
            is_paired = (sample_id, "") in truths
            if plan.repeats and truths:
                added.outcomes[0][outcome_of(label)] += 1
                added.outcomes[0][paired_of(label)] += is_paired
            if not is_paired:
                message = UNMATCHED
                if (earlier := self._totals.rows.get(sample_id)) is not None:
                    message = _TOO_LATE if earlier.prediction_status is None else _SCORED
                added.reject(record, sample_id, "unmatched", message)
        samples = [
            PairedSample(each, truth, tuple(of_sample.get(each, (None,)))) for (each, _), truth in truths.items()
        ]
        if plan.repeats and truths:
            added.repeats = frozenset(label for _, label in predictions)

        def score(pairs: list[Pair[Any, Any]]) -> list[Outcome]:
            if self._processes > 1:
                return score_in_processes(plan.benchmark, pairs, plan.missing, self._processes)
            return score_pairs(plan.benchmark, pairs, plan.missing)

        _, batch = score_batch(BatchDecoder(plan), samples, [(0, label) for label in added.repeats], score)
        added.quarantine += batch.quarantine
        added.set_samples(batch.samples, self._core)

    def compute(self) -> Result:
        """Returns the result of all samples so far, and warns as `evaluate`."""
        with self._lock:
            result = self._result()
        result.warn()
        return result

    def _result(self) -> Result:
        core, totals, configuration = self._core, self._totals, self._configuration
        benchmark, (system,) = core.scoring.benchmark, Totals.systems
        slices = {SliceKey(0): SliceTotals(BootstrapSums(core.bootstrap)), **totals.slices}
        corpus, clustered = slices[SliceKey(0)].sums.sums(), core.scoring.cluster is not None
        missing = core.scoring.missing
        results = list(slice_results(benchmark, core.confidence, slices.items(), corpus, clustered, missing))
        outcomes = {side: Sums.of(counts) for side, counts in totals.outcomes.items()}
        run = Run.of(configuration, Totals.systems, results, outcomes, {}, [])
        causes = quarantine_causes(causes_of(totals.quarantine))
        unscored = why_unscored(run.summary.document(), totals, causes, "the attribute `rejected`")
        late = next((each for each in totals.quarantine if each.error == _TOO_LATE), None)
        if late is not None and system in unscored:
            named = f"{shown_name(late.sample_id or '')}, for example: {late.error}"
            unscored[system] = f"the {predictions_of(system)}: nothing was scored: {named}"
        samples = sample_table(
            list(totals.rows.values()),
            Totals.systems,
            benchmark.sample_metric_names(),
            configuration.columns(),
            scoring_signature(benchmark, core.scoring.missing),
        )
        return result_of(samples, unscored.values(), RunToSave(run, list(totals.quarantine)))

    def merge(self, other: Scorer) -> None:
        """Adds the scores of `other`, of different samples: all, or none if it raises.

        Raises ValueError if both scored a sample of the same id, or their options differ.
        """
        if self._scores_as() != other._scores_as():
            raise ValueError("the scorers have other benchmarks, options or settings")
        added = other._copied_totals()
        with self._lock:
            self._totals.merge(added)

    def _scores_as(self) -> tuple[Any, ...]:
        """Returns what must be equal in two scorers for their sums to be of one evaluation."""
        settings = self._configuration.settings
        signature = scoring_signature(self._configuration.benchmark, settings.missing)
        derived = {name: normal_form(formula) for name, formula in settings.derived.items()}
        how = settings.slices, settings.cluster, settings.repeats, derived
        return signature, *how, self._core.bootstrap

    def reset(self) -> None:
        """Discards all samples so far."""
        with self._lock:
            self._totals = Totals(self._configuration)

    def close(self) -> None:
        """Removes the resources of scoring, such as a scratch folder; the next `update` recreates them."""
        with self._lock:
            if self._open:
                self._configuration.benchmark.teardown()
                self._open = False

    def _copied_totals(self) -> Totals:
        copied = Totals(self._configuration)
        with self._lock:
            copied.merge(self._totals)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state of a copy, which has none of the resources of scoring and a lock of its own."""
        return {**self.__dict__, "_totals": self._copied_totals(), "_open": False, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= {**state, "_lock": threading.RLock()}

    def __repr__(self) -> str:
        """Returns the benchmark and the number of samples so far."""
        return f"Scorer({self._configuration.benchmark.name}: {count_of(len(self._totals.rows), 'sample')})"

    def __enter__(self) -> Scorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def warnings_of(
    run: Run, causes: Sequence[QuarantineCause], rejected: str, unscored: Iterable[str] | None
) -> list[str]:
    """Returns what a run warns of: systems of which nothing was scored, anomalies, duplicates and rejected records.

    rejected: what lists all rejected records. unscored: see `why_unscored`; None: without its inputs, the summary alone
    says why. Raises UsageError if the coverage of a stored run is damaged.
    """
    # The share that may be rejected is for gates.
    settings = msgspec.structs.replace(run.configuration.settings, max_rejected_fraction=1.0)
    systems = run.summary.document()["systems"]
    try:
        reasons = unscored_systems(systems)
        for name in reasons:
            del systems[name]
        rejections = rejection_notes(systems, settings, causes)
    except (KeyError, TypeError) as error:
        raise UsageError(f"{run.path}: {DAMAGED_COVERAGE}") from error
    if unscored is None:
        unscored = [f"the {predictions_of(name)}: {reason}" for name, reason in reasons.items()]
    return [*unscored, *run.summary.warnings, *duplicate_warnings(causes, settings.repeats, rejected), *rejections]


def result_of(samples: pa.Table, unscored: Iterable[str] | None, saved: RunToSave) -> Result:
    """Returns the result of a run with one system. unscored: as in `warnings_of`."""
    run, benchmark = saved.run, saved.run.configuration.benchmark
    causes = quarantine_causes(causes_of(saved.quarantine))
    ((system, overall),) = run.systems.items()
    return Result(
        benchmark.name,
        overall.values,
        overall.intervals,
        {label: SliceResult(each.values, each.intervals, each.samples) for label, each in overall.slices.items()},
        overall.coverage,
        samples,
        [
            Rejected(
                "ground_truth" if each.side == "ground_truth" else "predictions", each.sample_id, each.error, each.cause
            )
            for each in saved.quarantine
        ],
        run.sums.systems[system].sums,
        warnings_of(run, causes, "`rejected`", unscored),
        tuple(benchmark.main_metrics()),
        saved=saved,
    )


class _Rows(list[dict[str, Any]]):
    """The rows of a frame that is no Arrow table, in which text may be JSON as in a table."""


_NOT_OF_ARROW = re.compile("Object|Int128")


def _table(frame: Any, needed: Set[str]) -> pa.Table | _Rows:
    """Returns a frame as a table; columns that are not needed are null if they may hold any objects.

    One of pandas with values that Arrow does not have, such as of several types in a column, becomes rows; so does one
    of Polars with objects, whose addresses it exports, or integers of 128 bits. Mappings become JSON: Arrow would give
    each the keys of all. A level of the index of pandas is a column.
    """
    if hasattr(frame, "to_dicts"):
        lacking = {name for name, kind in frame.schema.items() if _NOT_OF_ARROW.search(str(kind))}
        table = pa.table(frame.with_columns(**dict.fromkeys(lacking)))
        if not lacking & needed:
            return table
        # Only these are of Polars, whose rows have no nanoseconds.
        objects = frame.select(sorted(lacking & needed)).to_dicts()
        return _Rows(row | each for row, each in zip(table.to_pylist(), objects, strict=True))
    if not hasattr(frame, "reindex"):
        return pa.table(frame)
    # Arrow leaves out an index that is a range.
    if levels := [name for name in frame.index.names if name in needed and name not in frame.columns]:
        frame = frame.reset_index(levels)
    read = frame[[name for name in frame.columns if str(name) in needed]]
    try:
        table = pa.table(read)
        for place, (_, column) in enumerate(read.items()):
            field = table.field(place)
            # Arrow makes bytes of text beside bytes, and numbers of periods.
            if "binary" in str(field.type) or "extension<pandas." in str(field.type):
                raise pa.ArrowInvalid(str(field.type))
            if "struct<" in str(field.type) and not pa.types.is_map(field.type):
                table = table.set_column(place, field.name, pa.array(map(_json_of, column, column.notna()), pa.json_()))
        for name in map(str, frame.columns):
            if name not in needed:
                table = table.append_column(name, pa.nulls(len(table)))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError, TypeError, UnicodeEncodeError):
        # Nulls are absent fields, but one that is null everywhere is there.
        given = frame[frame.columns[frame.notna().any()]]
        empty = dict.fromkeys(frame.columns.difference(given.columns, sort=False))
        rows = zip(given.to_dict("records"), given.notna().to_dict("records"), strict=True)
        return _Rows(empty | {key: row[key] for key in row if has_value[key]} for row, has_value in rows)
    return table


def _json_of(value: Any, is_present: bool) -> str | None:
    """Returns a value of a pandas frame as JSON, with null for NaN; None if it is missing.

    Raises ArrowInvalid for what JSON does not have.
    """
    text, problem = readable_json({"": value} if is_present else {}, (), ())
    if problem is not None:
        raise pa.ArrowInvalid(problem)
    return text[len('{"":') : -1].decode() or None


def _unnamed(side: Any) -> bool:
    """Returns whether a side is a table without a `sample_id`, or a sequence of records or None, all without one."""
    if isinstance(side, pa.Table):
        return SAMPLE_ID not in side.column_names
    return isinstance(side, (list, tuple)) and all(
        record is None or SAMPLE_ID not in fields_of(record) for record in side
    )


def _with_numbers(side: Any, first: int) -> Any:
    """Returns the records of an unnamed side that are not None, each with its number, from `first`, as `sample_id`."""
    if isinstance(side, pa.Table):
        return side.append_column(SAMPLE_ID, pa.array(map(str, range(first, first + len(side))), pa.string()))
    kind = _Rows if isinstance(side, _Rows) else list
    return kind({**fields_of(each), SAMPLE_ID: str(n)} for n, each in enumerate(side, first) if each is not None)


def json_records(
    data: Any,
    structured: Collection[str],
    texts: Collection[str],
    fields: Callable[[Any], dict[str, Any]],
    scored: Collection[str] | None = None,
) -> Iterator[tuple[bytes, str | None]]:
    """Yields each record of `data` as the JSON object that the pipeline would read, and why it cannot be read, if so.

    data: an iterable of records, see `fields_of`, or an Arrow table. In a table, or the rows of a frame, a null is an
    absent field, and text in a column of `structured` is JSON. fields: returns those of a record that is no row of a
    table. scored: as in `record_json`.

    Raises TypeError if a record is not a mapping.
    """
    if isinstance(data, pa.Table):
        parsed = {each.name for each in data.schema if isinstance(each.type, pa.JsonType) or each.name in structured}
        for batch in data.to_batches(ROWS_PER_BATCH):
            for row in converted(batch):
                if isinstance(row, str):
                    yield b"null", row
                else:
                    yield readable_json(present_fields(row, parsed), texts, scored)
    elif isinstance(data, Iterable) and not isinstance(data, (str, bytes, Mapping)):
        for record in map(fields, data):
            given = present_fields(record, structured) if isinstance(data, _Rows) else record
            yield readable_json(given, texts, scored)
    else:
        raise TypeError(f"records must be a table or an iterable of mappings, not {type(data).__name__}")
