"""Messages about records that do not fit the benchmark, or each other, the same in all commands."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from ...metrics.benchmark import record_fields, text_fields
from ...metrics.common.text import ALIKE, nearest, some_of, truncated
from ...metrics.registry import usable_benchmarks
from ...transforms.io.field_map import FieldMap, KeyOnly, SideColumns
from ...transforms.records import GROUND_TRUTH, EncodedRecord, printable
from ...transforms.repeats import REPEAT, label_of
from ..config.settings import Configuration, predictions_of

RECORDS_LOOKED_AT = 1000


@dataclass
class FirstRecords:
    """A summary of the first records of a side.

    read: how many there are. fields: how many of them have a value in each field, in order of appearance. If a file
    lists its own fields, fields without a value are included. records: how many of them are objects. rejected: how many
    the reader would reject. problem: where the first of these is, and why. by_id: the records with a sample_id.
    duplicates: where the others with these sample_ids are. whole: whether these are all records of the side.
    unreadable: why the first file that cannot be read to its end cannot.
    """

    read: int = 0

    fields: dict[str, int] = field(default_factory=dict)
    records: int = 0
    rejected: int = 0
    problem: str = ""
    by_id: dict[str, EncodedRecord] = field(default_factory=dict)
    duplicates: list[str] = field(default_factory=list)
    whole: bool = True
    unreadable: str = ""

    def add(self, record: EncodedRecord, problem: str | None = None, repeats: bool = False) -> None:
        """Adds a record; rejects it if it has a problem, is not an object, or has no sample_id, or no repeat it needs.

        repeats: whether it needs one.
        """
        self.read += 1
        try:
            for name, value in record.columns().items():
                self.fields[name] = self.fields.get(name, 0) + (bytes(value) not in (b"null", b"\xc0"))
            self.records += 1
            sample_id = record.decode(KeyOnly).sample_id
            if problem is not None:
                raise ValueError(problem)
            if repeats:
                label_of(record)
            if self.by_id.setdefault(sample_id, record) is not record:
                self.duplicates.append(f"{record.origin.place}: {shown_name(sample_id)}")
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            self.rejected += 1
            self.problem = self.problem or f"{record.origin.place}: {problem or error}"

    @property
    def sample_id(self) -> str | None:
        """The first sample_id."""
        return next(iter(self.by_id), None)


class RecordSides(Protocol):
    """The two sides of a run: files (pipelines.inputs.inputs), or records in memory (pipelines.api.scorer)."""

    @property
    def configuration(self) -> Configuration:
        """The checked configuration."""

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems, in the order of their numbers."""

    def first_records(self, side: int) -> FirstRecords:
        """Returns a summary of the first records of a side."""


NAMES_SHOWN = 8
MAX_NAME_LENGTH = 40


def side_label(inputs: RecordSides, side: int) -> str:
    """Returns the name of a side in messages."""
    return "ground truth" if side == GROUND_TRUTH else predictions_of(inputs.systems[side])


def record_type(inputs: RecordSides, side: int) -> type[msgspec.Struct]:
    """Returns the type that the benchmark decodes the records of a side to."""
    benchmark = inputs.configuration.benchmark
    return benchmark.truth_type if side == GROUND_TRUTH else benchmark.prediction_type


def columns_of_side(inputs: RecordSides, side: int, more: tuple[str, ...], whole: bool = False) -> SideColumns:
    """Returns how the records of a side are read. more: as Inputs.more_columns. whole: with all their columns."""
    is_truth, kind = side == GROUND_TRUTH, record_type(inputs, side)
    known, more = record_fields(kind), more if is_truth else ()
    repeats = not is_truth and inputs.configuration.settings.repeats
    needed = None if whole else frozenset([*known, *more, *([REPEAT] if repeats else [])])
    structured = frozenset(name for name, is_text in known.items() if not is_text)
    fields = inputs.configuration.fields_of(None if is_truth else inputs.systems[side])
    return SideColumns(needed, structured, more, fields, text_fields(kind), repeats)


def other_records(inputs: RecordSides, side: int, first: FirstRecords, certain: bool = False) -> str | None:
    """Returns one line that says that no record of a side has a field of the benchmark; None if one may.

    Also if all are rejected: the reason for that may hide the fields. first: the first records of the side. certain:
    whether the other records are known to have none either.
    """
    benchmark, fields = inputs.configuration.benchmark.name, record_fields(record_type(inputs, side))
    if first.rejected == first.read or first.fields.keys() & fields.keys():
        return None
    others = {name: count for name, count in first.fields.items() if name != "sample_id"}
    none = "no record has" if certain or first.whole else f"none of the first {first.records:,} records has"
    hint = _unfound(inputs, side, fields, others) or (_hint(others, fields, benchmark) if others else "")
    has = f"they have {shown_names(others) or 'only a sample_id'}{hint}"
    return f"{side_label(inputs, side)}: {none} a field that {benchmark} reads, {shown_names(fields)}; {has}"


def all_rejected(inputs: RecordSides, side: int, first: FirstRecords) -> str | None:
    """Returns one line that says why the first records of a side would be rejected; None if one would not."""
    if first.rejected < max(1, first.read):
        return None
    system = None if side == GROUND_TRUTH else inputs.systems[side]
    told = f"{first.problem}{inputs.configuration.fields_of(system).dotted(first.fields)}"
    return f"{side_label(inputs, side)}: all of the first {first.read:,} records would be rejected: {told}"


def no_record(inputs: RecordSides, side: int) -> str:
    """Returns one line that says that a side is empty."""
    settings = inputs.configuration.settings
    globs = settings.ground_truth if side == GROUND_TRUTH else settings.predictions[inputs.systems[side]]
    return f"{side_label(inputs, side)}: there is no record{' in ' if globs else ''}{', '.join(globs)}"


def doubtful_sides(inputs: RecordSides) -> list[str]:
    """Returns a line for each side that is empty, or of whose first records all are rejected or none has a field."""
    lines = []
    for side in (GROUND_TRUTH, *range(len(inputs.systems))):
        first = inputs.first_records(side)
        is_empty = first.whole and not first.records and not first.rejected
        doubt = all_rejected(inputs, side, first) or other_records(inputs, side, first)
        lines.append(no_record(inputs, side) if is_empty else doubt)
    return [line for line in lines if line is not None]


def other_ids(truth_id: str | None, predicted_id: str | None) -> str:
    """Returns the message that no sample_id is in both sides, with an example of each if there is one."""
    example = ""
    if truth_id and predicted_id:
        example = f" (which has {shown_name(truth_id)}, for example, not {shown_name(predicted_id)})"
    remedy = "give both sides the same ids, or name their field under fields"
    return f"no predicted sample_id is in the ground truth{example}; {remedy}"


def no_column(where: str, column: str, known: Sequence[str], fields: FieldMap) -> str:
    """Returns the message that a column of the slices or the cluster is missing.

    known: the existing columns. fields: their places.
    """
    within = column.partition(".")[0]
    is_nested = within in known and not any(each.startswith(f"{within}.") for each in known)
    hint = f"; name the value in {within} under fields" if is_nested else fields.dotted(known) or nearest(column, known)
    return f"{where}: there is no column {column}, only {shown_names(known)}{hint}"


def without_values(configuration: Configuration, column: str) -> str:
    """Returns the message that a needed column is null or absent in all ground-truth records."""
    use = "slices" if column in configuration.columns() else "draws clusters"
    return f"no ground-truth record has a value in the column {printable(column)}, by which the run {use}"


def _unfound(inputs: RecordSides, side: int, fields: Collection[str], names: Collection[str]) -> str:
    """Returns a hint at the places that the setting `fields` gives for fields of the benchmark; empty if it has none.

    No record has one of these fields.
    """
    system = None if side == GROUND_TRUTH else inputs.systems[side]
    mapped = inputs.configuration.fields_of(system)
    if hint := mapped.dotted(names):
        return hint
    places = {name: ".".join(path) for name, path in mapped.paths}
    absent = [place for name, place in places.items() if name in fields and place not in names]
    return f"; none has {shown_names(absent)}, which fields names{nearest(absent[0], names)}" if absent else ""


def _hint(names: Mapping[str, int], fields: Iterable[str], name: str) -> str:
    """Returns a hint: the misspelled field, the benchmarks that have these fields, or another remedy."""
    for each in itertools.islice((each for each in names if len(each) <= MAX_NAME_LENGTH), RECORDS_LOOKED_AT):
        for meant in difflib.get_close_matches(each, list(fields), n=1, cutoff=ALIKE):
            return f" (did you mean {meant}?)"
    others = [
        each
        for each, kind in usable_benchmarks().items()
        if each != name and names.keys() & {*record_fields(kind.truth_type), *record_fields(kind.prediction_type)}
    ]
    if others:
        return f" (did you mean the benchmark {' or '.join(others)}?)"
    return "; name them under fields in the configuration"


def shown_names(names: Iterable[str]) -> str:
    """Returns the first few names of unknown origin, and how many more there are."""
    return some_of(map(shown_name, names), NAMES_SHOWN)


def shown_name(name: str) -> str:
    """Returns a name of unknown origin on one line, quoted if it is unusual, and truncated if it is long."""
    text = name if name.isprintable() and name.strip() == name != "" else ascii(name)
    return truncated(text, MAX_NAME_LENGTH)
