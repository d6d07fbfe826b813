"""What is said of records that do not fit the benchmark, or one another, by all commands in the same words."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from ...metrics.benchmark import record_fields
from ...metrics.common.text import nearest, truncated
from ...metrics.registry import usable_benchmarks
from ...transforms.records import GROUND_TRUTH, EncodedRecord, printable
from ..config.settings import Configuration, predictions_of

RECORDS_LOOKED_AT = 1000


@dataclass
class FirstRecords:
    """What the first records of a side hold.

    fields: how many of the records have a value in each field, in order of appearance. Of a file that says itself what
    fields it has, those without a value are there too. records: how many of them are objects. rejected: how many the
    reader would reject; problem: why the first of these. by_id: the records with a sample_id. whole: whether no record
    of the side was left out.
    """

    fields: dict[str, int] = field(default_factory=dict)
    records: int = 0
    rejected: int = 0
    problem: str = ""
    by_id: dict[str, EncodedRecord] = field(default_factory=dict)
    whole: bool = True

    def add(self, record: EncodedRecord, problem: str | None = None) -> None:
        """Adds a record; one with a problem, that is no object, or has no sample_id is rejected."""
        try:
            if problem is not None:
                raise ValueError(problem)
            for name, value in record.decode(dict[str, msgspec.Raw]).items():
                self.fields[name] = self.fields.get(name, 0) + (bytes(value) not in (b"null", b"\xc0"))
            self.records += 1
            self.by_id.setdefault(record.decode(_Key).sample_id, record)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            self.reject(f"{record.origin.path}: {error}")

    def reject(self, problem: str) -> None:
        """Counts a record, or a file, that cannot be read."""
        self.rejected += 1
        self.problem = self.problem or problem

    @property
    def sample_id(self) -> str | None:
        """The first sample_id."""
        return next(iter(self.by_id), None)


class _Key(msgspec.Struct):
    sample_id: str


class Inputs(Protocol):
    """The two sides of a run: files (pipelines.inputs.inputs), or records in memory (pipelines.api.scorer)."""

    @property
    def configuration(self) -> Configuration:
        """The checked configuration."""

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems, in the order of their numbers."""

    def first_records(self, side: int) -> FirstRecords:
        """Returns what the first records of a side hold."""


NAMES_SHOWN = 8
MAX_NAME_LENGTH = 40
ALIKE = 0.8
"""How alike names are, by difflib, of which one is taken for a slip of the other."""


def side_label(inputs: Inputs, side: int) -> str:
    """Returns what messages call a side."""
    return "ground truth" if side == GROUND_TRUTH else predictions_of(inputs.systems[side])


def record_type(inputs: Inputs, side: int) -> type[msgspec.Struct]:
    """Returns what the benchmark decodes the records of a side into."""
    benchmark = inputs.configuration.benchmark
    return benchmark.truth_type if side == GROUND_TRUTH else benchmark.prediction_type


def other_records(inputs: Inputs, side: int, first: FirstRecords, certain: bool = False) -> str | None:
    """Returns in one line that no record of a side has a field of the benchmark; None where one may have.

    first: the first records of the side. certain: whether it is known that the others have none either.
    """
    benchmark, fields = inputs.configuration.benchmark.name, record_fields(record_type(inputs, side))
    if not first.records or first.fields.keys() & fields.keys():
        return None
    others = {name: count for name, count in first.fields.items() if name != "sample_id"}
    none = "no record has" if certain or first.whole else f"none of the first {first.records:,} records has"
    has = f"they have {listed(others)}{_hint(others, fields, benchmark)}" if others else "they have a sample_id alone"
    return f"{side_label(inputs, side)}: {none} a field that {benchmark} reads, {listed(fields)}; {has}"


def no_record(inputs: Inputs, side: int) -> str:
    """Returns in one line that a side holds nothing."""
    settings = inputs.configuration.settings
    globs = settings.ground_truth if side == GROUND_TRUTH else settings.predictions[inputs.systems[side]]
    return f"{side_label(inputs, side)}: there is no record{' in ' if globs else ''}{', '.join(globs)}"


def doubtful_sides(inputs: Inputs) -> list[str]:
    """Returns a line for each side that is empty, or none of whose first records has a field of the benchmark."""
    lines = []
    for side in (GROUND_TRUTH, *range(len(inputs.systems))):
        first = inputs.first_records(side)
        is_empty = first.whole and not first.records and not first.rejected
        lines.append(no_record(inputs, side) if is_empty else other_records(inputs, side, first))
    return [line for line in lines if line is not None]


def other_ids(truth_id: str | None, predicted_id: str | None) -> str:
    """Returns that no prediction has the sample_id of a ground truth, with an example of each where there is one."""
    example = ""
    if truth_id and predicted_id:
        example = f", which has {shown(truth_id)}, not {shown(predicted_id)}, for example"
    return (
        f"no sample_id is in the ground truth{example}; give both sides the same ids, or name their field under fields"
    )


def no_column(where: str, column: str, known: Sequence[str]) -> str:
    """Returns that no ground truth has a column by which the run slices or draws clusters. known: those that it has."""
    return f"{where}: there is no column {column}, only {listed(known)}{nearest(column, known)}"


def without_values(configuration: Configuration, column: str) -> str:
    """Returns that a column that the run needs is null or absent in all ground-truth records."""
    use = "slices" if column in configuration.columns() else "draws clusters"
    return f"no ground-truth record has a value in the column {printable(column)}, by which the run {use}"


def _hint(names: Mapping[str, int], fields: Iterable[str], name: str) -> str:
    """Returns the field that was meant, or the benchmarks whose fields these are, or what else may help."""
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


def listed(names: Collection[str]) -> str:
    """Returns the first of some names of unknown origin, and how many more there are."""
    more = len(names) - NAMES_SHOWN
    first = ", ".join(shown(name) for name in itertools.islice(names, NAMES_SHOWN))
    return f"{first} and {more:,} more" if more > 0 else first


def shown(name: str) -> str:
    """Returns a name of unknown origin on one line, quoted where it is unusual, and truncated where it is long."""
    text = name if name.isprintable() and name.strip() == name != "" else ascii(name)
    return truncated(text, MAX_NAME_LENGTH)
