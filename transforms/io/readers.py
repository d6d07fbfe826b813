"""The reader of a part of a file, by the format of the file."""

from __future__ import annotations

from collections.abc import Iterator

from .columnar import check_columns, read_table, schema_of
from .delimited import DELIMITERS, header_of, read_delimited
from .field_map import FIELDS_AS_NAMED, FieldMap, SideColumns
from .files import Part, SourceFile
from .jsonl import Line, read_lines
from .rows import RecordLimits, Row


def read_part(part: Part, columns: SideColumns, limits: RecordLimits) -> Iterator[Line | Row]:
    """Yields the records of a part; raises InputProblem where the file cannot be read."""
    if part.file.format in ("parquet", "arrow"):
        yield from read_table(part, columns, limits)
    elif part.file.format in DELIMITERS:
        yield from read_delimited(part, columns, limits)
    else:
        yield from read_lines(part, limits.record_bytes)


def known_fields(file: SourceFile, fields: FieldMap = FIELDS_AS_NAMED) -> list[str] | None:
    """Returns the fields that a file says its records have; None where only they tell.

    Raises InputProblem where the file cannot be read, or lacks the column of the sample_id.
    """
    if file.format in DELIMITERS:
        return fields.present(header_of(file, fields))
    if file.format == "jsonl":
        return None
    schema = schema_of(file)
    check_columns(file, schema, fields)
    return fields.present(schema.names)
