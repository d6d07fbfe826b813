"""The rows of Parquet and Arrow files as records, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import pyarrow as pa

from ..records import InputProblem
from .field_map import FIELDS_AS_NAMED, FieldMap, SideColumns
from .files import Part, SourceFile, open_parquet, reading
from .rows import RecordLimits, Row, RowsOfBatch

NAMES_LISTED = 20
ROWS_PER_BATCH = 64
BYTES_AT_ONCE = 8 << 20
"""How much of a batch becomes Python objects at a time, unless a single row has more."""


def read_table(part: Part, columns: SideColumns, limits: RecordLimits) -> Iterator[Row]:
    """Yields the rows of a part of a Parquet or Arrow file.

    Columns that do not matter are not decoded; those of Parquet's own JSON type are taken as JSON in any case. Raises
    InputProblem where the file cannot be read, has no column of the sample_id, or is nested too deep.
    """
    rows, number = RowsOfBatch(columns, limits), part.first_row
    batches = _of_arrow if part.file.format == "arrow" else _of_parquet
    for batch in batches(part, columns, limits):
        step = max(1, BYTES_AT_ONCE * len(batch) // max(1, batch.nbytes))
        for start in range(0, len(batch), step):
            yield from rows.of(batch.slice(start, step), number + start)
        number += len(batch)


def _of_parquet(part: Part, columns: SideColumns, limits: RecordLimits) -> Iterator[Any]:
    with open_parquet(part.file) as parquet:
        names = _wanted(part.file, parquet.schema_arrow, columns, limits)
        groups = list(range(part.start, part.stop or 0))
        yield from parquet.iter_batches(ROWS_PER_BATCH, row_groups=groups, columns=names)


def _of_arrow(part: Part, columns: SideColumns, limits: RecordLimits) -> Iterator[Any]:
    with reading(part.file) as stream:
        reader = _open_arrow(stream, part.file)
        names = _wanted(part.file, reader.schema, columns, limits)
        for batch in _batches(reader, stream):
            rows = batch.select(names)
            rows.validate(full=True)
            yield rows


def _wanted(file: SourceFile, schema: Any, columns: SideColumns, limits: RecordLimits) -> list[str]:
    check_columns(file, schema, columns.fields)
    fields = [field for field in schema if columns.read is None or field.name in columns.read]
    for field in fields:
        if _depth(field.type) >= limits.depth:
            limit = f"the {limits.depth} levels of limits.depth"
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
