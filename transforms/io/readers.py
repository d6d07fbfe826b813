"""The reader of a part of a file, by the format of the file."""

from __future__ import annotations

from .columnar import RowReader, check_columns, schema_of
from .delimited import DELIMITERS, DelimitedReader, header_of
from .field_map import FIELDS_AS_NAMED, FieldMap, SideColumns
from .files import Part, SourceFile
from .jsonl import LineReader
from .restriction import ReadRange
from .rows import RecordLimits

Reader = LineReader | RowReader | DelimitedReader


def reader_of(part: Part, columns: SideColumns, limits: RecordLimits, unread: ReadRange | None = None) -> Reader:
    """Returns the reader of a part. unread: from where to where it reads; None: all of the part."""
    if part.file.format in ("parquet", "arrow"):
        return RowReader(part, columns, limits, unread)
    if part.file.format in DELIMITERS:
        return DelimitedReader(part, columns, limits, unread)
    return LineReader(part, limits.record_bytes, unread)


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
