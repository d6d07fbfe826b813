"""The rows of a part of a Parquet file as records, column by column."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec
import pyarrow as pa
from apache_beam.io.filesystem import BeamIOError

from transforms.depth import deeper_than
from transforms.files import Part, SourceFile, open_parquet, unreadable
from transforms.records import InputProblem, columns_type

ROWS_PER_BATCH = 256


class Row(msgspec.Struct, frozen=True):
    """One row: its number in the file from 0, its sample_id, and the record as MessagePack without nulls.

    Where the row makes no record, `error` says why and `payload` is a MessagePack null.
    """

    number: int
    sample_id: Any
    payload: bytes
    error: str | None = None


def read_rows(
    part: Part, columns: Collection[str] | None, structured: Collection[str], depth_limit: int, skip: int = 0
) -> Iterator[Row]:
    """Yields the rows of `part` but the first `skip`.

    columns: the columns that matter; others are not even read. None: all of them.
    structured: the columns whose value is never plain text: where they hold text, it is JSON. Columns of
    Parquet's own JSON type are taken as JSON in any case.
    depth_limit: how deep such JSON may be nested.

    Raises InputProblem where the file cannot be read or has no column `sample_id`.
    """
    with open_parquet(part.file) as parquet:
        try:
            schema = parquet.schema_arrow
            check_columns(part.file, schema)
            names = [name for name in schema.names if columns is None or name in columns or name == "sample_id"]
            batches = parquet.iter_batches(
                ROWS_PER_BATCH, row_groups=list(range(part.start, part.stop or 0)), columns=names
            )
            number, start = part.first_row, part.first_row + skip
            for batch in batches:
                skipped = min(max(0, start - number), batch.num_rows)
                if skipped < batch.num_rows:
                    yield from _rows(batch.slice(skipped), number + skipped, structured, depth_limit)
                number += batch.num_rows
        except (OSError, ValueError, pa.ArrowException, BeamIOError) as error:
            raise unreadable(part.file, error) from error


def check_columns(file: SourceFile, schema: Any) -> None:
    """Raises InputProblem where the schema has no column `sample_id`, or has one name twice."""
    if "sample_id" not in schema.names:
        raise InputProblem(f"{file.path}: there is no column sample_id, only {', '.join(schema.names) or 'none'}")
    twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if twice:
        raise InputProblem(f"{file.path}: the column {twice[0]} stands there twice; rename one")


def _rows(batch: Any, first: int, structured: Collection[str], depth_limit: int) -> Iterator[Row]:
    names = batch.schema.names
    json_columns = [i for i, field in enumerate(batch.schema) if _holds_json(field, structured)]
    try:
        values = [column.to_pylist(maps_as_pydicts="lossy") for column in batch.columns]
    except UnicodeDecodeError:
        if batch.num_rows > 1:
            for offset in range(batch.num_rows):
                yield from _rows(batch.slice(offset, 1), first + offset, structured, depth_limit)
        else:
            yield _undecodable_row(batch, first)
        return
    record = columns_type(names)
    id_column = names.index("sample_id")
    for offset, cells in enumerate(zip(*values, strict=True)):
        row = list(cells)
        try:
            for column in json_columns:
                if row[column] is not None:
                    row[column] = _parsed(names[column], row[column], depth_limit)
            payload = msgspec.msgpack.encode(record(*row))
        except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
            yield Row(first + offset, cells[id_column], b"\xc0", str(error) or type(error).__name__)
        else:
            yield Row(first + offset, cells[id_column], payload)


def _undecodable_row(batch: Any, number: int) -> Row:
    """Returns the row of a batch of one in which some text is not UTF-8; `sample_id` is None where that is it."""
    cells: dict[str, Any] = {}
    problems = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            cells[name] = column.to_pylist()[0]
        except UnicodeDecodeError as error:
            problems.append(f"column {name}: {error}")
    return Row(number, cells.get("sample_id"), b"\xc0", "; ".join(problems))


def _holds_json(field: Any, structured: Collection[str]) -> bool:
    if isinstance(field.type, pa.JsonType):
        return True
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return bool(text) and field.name in structured


def _parsed(name: str, text: str, depth_limit: int) -> Any:
    if deeper_than(text.encode(), depth_limit):
        raise ValueError(f"column {name} is nested deeper than the {depth_limit} levels of limits.depth")
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"column {name} holds no JSON: {error}") from error
