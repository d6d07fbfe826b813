"""The rows of Parquet and Arrow files as records, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from ..records import InputProblem
from .field_map import FIELDS_AS_NAMED, FieldMap, SideColumns
from .files import Part, SourceFile, open_parquet, reading
from .restriction import ReadPosition, ReadRange, first_position
from .rows import RecordLimits, Row, RowsOfBatch

NAMES_LISTED = 20
ROWS_PER_BATCH = 64
BYTES_AT_ONCE = 8 << 20
"""How much of a batch becomes Python objects at a time, unless a single row has more."""


class Batch(NamedTuple):
    """A batch of rows: the number of the first one, and the bytes of the part that are read before and behind it."""

    first: int
    rows: Any
    read_before: int
    read_behind: int


class RowReader:
    """The rows of a part of a Parquet or Arrow file, from a place on.

    Columns that do not matter are not decoded; those of Parquet's own JSON type are taken as JSON in any case.
    unread: from where to where it reads; None: all of the part.

    Iterating raises InputProblem where the file cannot be read, has no column of the sample_id, or is nested too deep.
    """

    def __init__(self, part: Part, columns: SideColumns, limits: RecordLimits, unread: ReadRange | None = None) -> None:
        self._part = part
        self._columns = columns
        self._limits = limits
        self._rows = RowsOfBatch(columns, limits)
        self._number = (unread.start if unread else first_position(part)).position
        self._stop = unread.stop.position if unread and unread.stop else None
        self._batch = Batch(self._number, (), 0, unread.start.read if unread else 0)

    def __iter__(self) -> Iterator[Row]:
        """Yields the rows."""
        is_arrow = self._part.file.format == "arrow"
        for batch in self._of_arrow() if is_arrow else self._of_parquet():
            self._batch, rows = batch, batch.rows
            step = max(1, BYTES_AT_ONCE * len(rows) // max(1, rows.nbytes))
            for start in range(max(0, self._number - batch.first), len(rows), step):
                for row in self._rows.of(rows.slice(start, step), batch.first + start):
                    if row.number == self._stop:
                        return
                    self._number = row.number + 1
                    yield row

    @property
    def place(self) -> ReadPosition:
        """Where the reader stands, behind the row that it gave last; the bytes of a batch count by the row."""
        first, rows, before, behind = self._batch
        share = (self._number - first) / len(rows) if len(rows) else 1.0
        return ReadPosition(self._number, self._number + 1, before + int((behind - before) * share))

    def _of_parquet(self) -> Iterator[Batch]:
        """Yields the batches of the row groups from the one on in which the reader stands."""
        with open_parquet(self._part.file) as parquet:
            names = self._wanted(parquet.schema_arrow)
            numbers = range(self._part.start, self._part.stop or 0)
            groups = [parquet.metadata.row_group(number) for number in numbers]
            unpacked = max(1, sum(group.total_byte_size for group in groups))
            first, read = self._part.first_row, 0.0
            for number, group in zip(numbers, groups, strict=True):
                behind = first + group.num_rows
                per_row = self._part.stored * group.total_byte_size / unpacked / max(1, group.num_rows)
                if behind > self._number:
                    start = first
                    for rows in parquet.iter_batches(ROWS_PER_BATCH, row_groups=[number], columns=names):
                        before = read + per_row * (start - first)
                        yield Batch(start, rows, int(before), int(before + per_row * len(rows)))
                        start += len(rows)
                first, read = behind, read + per_row * group.num_rows

    def _of_arrow(self) -> Iterator[Batch]:
        """Yields the record batches of an Arrow file, also those before the place: only they tell where one starts."""
        with reading(self._part.file) as stream:
            reader, first, read = _open_arrow(stream, self._part.file), 0, 0
            names = self._wanted(reader.schema)
            for batch in _batches(reader, stream):
                rows = batch.select(names)
                rows.validate(full=True)
                read, before = min(stream.tell(), self._part.size), read
                yield Batch(first, rows, before, max(before, read))
                first += len(rows)

    def _wanted(self, schema: Any) -> list[str]:
        file, wanted = self._part.file, self._columns.read
        check_columns(file, schema, self._columns.fields)
        fields = [field for field in schema if wanted is None or field.name in wanted]
        for field in fields:
            if _depth(field.type) >= self._limits.depth:
                limit = f"the {self._limits.depth} levels of limits.depth"
                raise InputProblem(f"{file.path}: the column {field.name} is nested deeper than {limit}")
        return [field.name for field in fields]


class _UpToEnd:
    """A stream of which no more is asked than its file has: a damaged length would ask for terabytes."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream, self._size = stream, size

    def read(self, size: int) -> bytes:
        return self._stream.read(min(size, self._size))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _open_arrow(stream: BinaryIO, file: SourceFile) -> Any:
    """Opens an Arrow IPC file, or a stream."""
    is_file = stream.read(6) == b"ARROW1"
    stream.seek(0)
    source = pa.PythonFile(_UpToEnd(stream, file.size), "r")
    return pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)


def _batches(reader: Any, stream: BinaryIO) -> Iterator[Any]:
    """Yields the record batches; raises ValueError where a stream was cut off between two of them."""
    if isinstance(reader, pa.RecordBatchFileReader):
        yield from map(reader.get_batch, range(reader.num_record_batches))
        return
    while True:
        before = stream.tell()
        batch = next(reader, None)
        if batch is not None:
            yield batch
        elif stream.tell() == before:
            raise ValueError(f"it was cut off: nothing ends the stream at byte {before}")
        else:
            return


def schema_of(file: SourceFile) -> Any:
    """Returns the schema of a Parquet or Arrow file; raises InputProblem where it cannot be read."""
    if file.format == "parquet":
        with open_parquet(file) as parquet:
            return parquet.schema_arrow
    with reading(file) as stream:
        return _open_arrow(stream, file).schema


def check_columns(file: SourceFile, schema: Any, fields: FieldMap = FIELDS_AS_NAMED) -> None:
    """Raises InputProblem where the schema has no column of the sample_id, or has one name twice."""
    counts = Counter(schema.names)
    if fields.id_column() not in counts:
        raise InputProblem(f"{file.path}: there is no column {fields.id_column()}, only {listed(schema.names)}")
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        raise InputProblem(f"{file.path}: two columns are called {twice[0]}; rename one")


def listed(names: Iterable[str]) -> str:
    """Returns the names of columns for a person: the first ones, and how many more there are."""
    found = list(names)
    more = f" and {len(found) - NAMES_LISTED} more" if len(found) > NAMES_LISTED else ""
    return (", ".join(found[:NAMES_LISTED]) or "none") + more


def _depth(kind: Any) -> int:
    """Returns how deep the values of an Arrow type are nested, 0 for a number or text."""
    return max((1 + _depth(kind.field(index).type) for index in range(kind.num_fields)), default=0)
