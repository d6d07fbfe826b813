"""The records of JSONL, CSV, TSV, Parquet and Arrow files, in bounded memory.

A CSV record ends at a line end outside of quotes, so it may span lines, and its start depends on everything before it.
The first record names the columns; each value is text.
"""

from __future__ import annotations

import csv
import json
import math
import re
import reprlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from ...metrics.common.text import some_of
from ..process import warnings_ignored
from ..records import JSON, MAX_QUARANTINED_LENGTH, MAYBE_NO_NUMBER, MSGPACK, Cause, Encoding, InputProblem
from .field_map import (
    SAMPLE_ID,
    FieldMap,
    SideColumns,
    decoding_problem,
    has_float,
    is_no_number,
    plain_value,
    plain_values,
    readable_json,
    without_decimals,
)
from .files import BOM, BYTES_PER_READ, FilePart, SourceFile, open_parquet, open_text, reading

_LINE_MARKS = len(BOM) + len(b"\r\n")

DELIMITERS = {"csv": ",", "tsv": "\t"}
_CR_IN_NAME = "a CR is not in quotes; write LF at the end of each line, or quote the name"
_CR_IN_VALUE = "a value has a line end (CR) without quotes; quote it, or write the file as JSONL"
MAX_HEADER_BYTES = 1 << 20
LIMITS_PER_RECORD = 2
"""A CSV record above this many limits.record_bytes ends the run: an unclosed quote extends to the end of the file."""

NAMES_LISTED = 20
ROWS_PER_BATCH = 64
BYTES_AT_ONCE = 8 << 20
"""How much of a batch becomes Python objects at a time, unless a single row has more."""


def read_part(part: FilePart, columns: SideColumns, limits: RecordLimits) -> Iterator[Line | Row]:
    """Yields the records of a part; raises InputProblem if the file cannot be read."""
    if part.file.format in ("parquet", "arrow"):
        yield from read_table(part, columns, limits)
    elif part.file.format in DELIMITERS:
        yield from read_delimited(part, columns, limits)
    else:
        yield from read_lines(part, limits.record_bytes)


def known_fields(file: SourceFile, fields: FieldMap) -> list[str] | None:
    """Returns the fields that a file declares for its records; None if it declares none.

    Raises InputProblem if the file cannot be read, or lacks the column of the sample_id.
    """
    if file.format in DELIMITERS:
        return fields.present(header_of(file, fields))
    if file.format == "jsonl":
        return None
    schema = file_schema(file)
    check_columns(file.path, schema.names, fields)
    return fields.present(schema.names)


class Line(msgspec.Struct, frozen=True):
    """One line that is not blank, without its end and without the byte-order mark of the file.

    position: the byte offset of its start, in the uncompressed text. line: its number from 1, or 0 if the
    part does not start the file. text: its bytes. length: its length, larger than the text if the line was
    longer than the limit and has been cut; it may include the line end of a line that was cut.
    """

    position: int
    line: int
    text: bytes
    length: int


def read_lines(part: FilePart, limit: int) -> Iterator[Line]:
    """Yields the lines that start in a part, cut at `limit` bytes, which bounds the memory.

    Raises InputProblem if the file cannot be read to its end, or its start is that of another format.
    """
    stop = math.inf if part.stop is None else part.stop
    position, number = part.start, 0 if part.start else 1
    is_first = not part.start
    # The line that covers the byte before the part belongs to the previous part, in which it starts.
    is_behind_its_start = part.start > 0
    with open_text(part.file, position - is_behind_its_start) as stream:
        if is_behind_its_start:
            position -= 1
            while position < stop and (piece := stream.readline(BYTES_PER_READ)):
                position += len(piece)
                if piece.endswith(b"\n"):
                    break
        while position < stop and (text := stream.readline(limit + _LINE_MARKS)):
            start, piece = position, text
            position += len(text)
            while not piece.endswith(b"\n") and (piece := stream.readline(BYTES_PER_READ)):
                position += len(piece)
            skipped = position - start - len(text)
            line = text if skipped else text.rstrip(b"\r\n")
            if not start:
                line = line.removeprefix(BOM)
            if skipped or line.strip():
                if is_first:
                    _check_format(line)
                is_first = False
                yield Line(start, number, line[:limit], skipped + len(line))
            number += number > 0


_OTHER_FORMATS = {
    b"\x1f\x8b": "gzip; name it .jsonl.gz",
    b"BZh": "bzip2; name it .jsonl.bz2",
    b"\x28\xb5\x2f\xfd": "Zstandard; name it .jsonl.zst",
    b"PAR1": "Parquet; name it .parquet",
    b"ARROW1": "Arrow; name it .arrow",
    b"\xff\xff\xff\xff": "Arrow; name it .arrow",
    b"PK\x03\x04": "a zip archive; unpack it",
    b"\xff\xfe": "UTF-16 or UTF-32; write it as UTF-8",
    b"\xfe\xff": "UTF-16; write it as UTF-8",
    b"\0\0\xfe\xff": "UTF-32; write it as UTF-8",
}
"""What a file is by its first bytes, and how to correct it. No text of JSON starts with any of them."""
_ARRAY_OF_OBJECTS = re.compile(rb"\s*\[\s*(?:\{|\Z)")


def _check_format(line: bytes) -> None:
    """Raises ValueError if a file with this first line has another format than JSONL.

    A line that is merely no JSON may be a damaged record.
    """
    for start, what in _OTHER_FORMATS.items():
        if line.startswith(start):
            raise ValueError(f"it is {what}")
    if _ARRAY_OF_OBJECTS.match(line):
        raise ValueError("it is a JSON array; write one object per line")


class Record(NamedTuple):
    """One record: where it starts, its bytes without the line end, and its fields or its problem."""

    position: int
    line: int
    text: bytes
    fields: list[str]
    problem: str


def read_records(stream: BinaryIO, delimiter: str, longest: int, limit: str = "") -> Iterator[Record]:
    """Yields the records of a text, except blank lines. limit: what the problem of a long record says of `longest`.

    Only a field that starts with a quote is quoted: in it two quotes mean one, and delimiters and line ends are text.
    Raises ValueError if a quote is not closed, or if a record is longer than `longest`.
    """
    position, number = 0, 1
    taken, count = bytearray(), 0

    def lines() -> Iterator[str]:
        nonlocal position, taken, count
        while line := stream.readline(longest + 1 + len(b"\r\n") - len(taken)):
            if len(taken) + len(line.removesuffix(b"\n").removesuffix(b"\r")) > longest:
                has_cr = number + count == 1 and b"\r" in line.strip()
                hint = "; its quote may not be closed" if count else "; lines end with LF, not with CR alone" * has_cr
                raise ValueError(f"the record in line {number} is longer than {longest} bytes{limit}{hint}")
            if number + count == 1 and line.startswith(BOM):
                line, position = line.removeprefix(BOM), len(BOM)
            taken += line
            count += 1
            yield line.decode("utf-8", "surrogateescape")

    # The limit of this module is that of the process, so records are limited above.
    csv.field_size_limit(max(csv.field_size_limit(), longest))
    parser = csv.reader(lines(), delimiter=delimiter, strict=True)
    while True:
        fields, problem = [], ""
        try:
            fields = next(parser)
        except StopIteration:
            return
        except csv.Error as error:
            problem = str(error)
            # Python blames how the file was opened, in other words in each version.
            problem = _CR_IN_VALUE if problem.startswith("new-line character seen") else problem
        if problem.startswith("unexpected end of data"):
            raise ValueError(f"the quote that opens in line {number} is not closed")
        text = bytes(taken)
        try:
            text.decode()
        except UnicodeDecodeError as error:
            problem = f"this is not UTF-8, at byte {error.start} of the record"
        if fields or problem:
            end = 2 if text.endswith(b"\r\n") else 1 if text.endswith(b"\n") else 0
            yield Record(position, number, text[: len(text) - end], fields, problem)
        position, number = position + len(text), number + count
        taken, count = bytearray(), 0


def read_delimited(part: FilePart, columns: SideColumns, limits: RecordLimits) -> Iterator[Row]:
    """Yields the rows of a CSV or TSV file.

    The number of a row is the byte of the text at which it starts. A record that is too large, or has more or fewer
    fields than there are columns, becomes a row with an error. Raises InputProblem if the file cannot be read, or has
    no column of the sample_id.
    """
    file, rows, columns_read = part.file, RowsOfBatch(columns, limits), columns.read
    names = header_of(file, columns.fields)
    used_columns = [(index, name) for index, name in enumerate(names) if columns_read is None or name in columns_read]
    with open_text(file) as stream:
        limit = f", {LIMITS_PER_RECORD} times the {limits.record_bytes} of limits.record_bytes"
        records = read_records(stream, DELIMITERS[file.format], LIMITS_PER_RECORD * limits.record_bytes, limit)
        next(records, None)
        for record in records:
            position, size, problem = record.position, len(record.text), record.problem
            if not problem and len(record.fields) != len(names):
                problem = f"the record has {len(record.fields)} fields, but the first line names {len(names)} columns"
            if size > limits.record_bytes:
                row = Row(position, None, error=too_large(size, limits.record_bytes), cause="too_large")
            elif problem:
                row = Row(position, None, error=problem)
            else:
                row = rows.of_text(position, {name: record.fields[index] for index, name in used_columns})
            if row.error is not None:
                row = msgspec.structs.replace(row, payload=record.text[: 4 * MAX_QUARANTINED_LENGTH], encoding=JSON)
            yield msgspec.structs.replace(row, line=record.line)


def header_of(file: SourceFile, fields: FieldMap) -> list[str]:
    """Returns the names of the columns of a CSV or TSV file, empty for an empty file.

    Raises InputProblem if the file cannot be read, has no column of the sample_id, or has duplicate names.
    """
    with open_text(file) as stream:
        header = next(read_records(stream, DELIMITERS[file.format], MAX_HEADER_BYTES), None)
    if header is None:
        return []
    if header.problem:
        problem = _CR_IN_NAME if header.problem == _CR_IN_VALUE else header.problem
        raise InputProblem(f"{file.path}:{header.line}: the names of the columns: {problem}")
    check_columns(f"{file.path}:{header.line}", header.fields, fields)
    return header.fields


def read_table(part: FilePart, columns: SideColumns, limits: RecordLimits) -> Iterator[Row]:
    """Yields the rows of a part of a Parquet or Arrow file.

    Columns that are not needed are not decoded; columns of Parquet's own JSON type are always taken as JSON. Raises
    InputProblem if the file cannot be read or has no column of the sample_id.
    """
    rows, number = RowsOfBatch(columns, limits), part.first_row
    for batch in (_of_arrow if part.file.format == "arrow" else _of_parquet)(part, columns):
        step = max(1, BYTES_AT_ONCE * len(batch) // max(1, _size_of(batch)))
        for start in range(0, len(batch), step):
            yield from rows.of(batch.slice(start, step), number + start)
        number += len(batch)


def _size_of(batch: Any) -> int:
    try:
        return int(batch.nbytes)
    except pa.ArrowTypeError:
        # Before pyarrow 24, the part of a column of views that a slice needs is not known.
        return int(batch.get_total_buffer_size())


def _of_parquet(part: FilePart, columns: SideColumns) -> Iterator[Any]:
    with open_parquet(part.file) as parquet:
        names = _wanted(part.file, parquet.schema_arrow, columns)
        groups = list(range(part.start, part.stop or 0))
        yield from parquet.iter_batches(ROWS_PER_BATCH, row_groups=groups, columns=names)


def _of_arrow(part: FilePart, columns: SideColumns) -> Iterator[Any]:
    with reading(part.file) as stream:
        reader = _open_arrow(stream)
        names = _wanted(part.file, reader.schema, columns)
        for batch in _batches(reader, stream):
            rows = batch.select(names)
            rows.validate(full=True)
            yield rows


def _wanted(file: SourceFile, schema: Any, columns: SideColumns) -> list[str]:
    check_columns(file.path, schema.names, columns.fields)
    return [name for name in schema.names if columns.read is None or name in columns.read]


def _open_arrow(stream: BinaryIO) -> Any:
    """Opens an Arrow IPC file, or a stream."""
    is_file = stream.read(6) == b"ARROW1"
    stream.seek(0)
    source = pa.PythonFile(stream, "r")
    return pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)


def _batches(reader: Any, stream: BinaryIO) -> Iterator[Any]:
    """Yields the record batches; raises ValueError if a stream was cut off between two of them."""
    if isinstance(reader, pa.RecordBatchFileReader):
        yield from map(reader.get_batch, range(reader.num_record_batches))
        return
    end = stream.tell()
    for batch in reader:
        yield batch
        end = stream.tell()
    if stream.tell() == end:
        raise ValueError(f"it was cut off: nothing ends the stream at byte {end}")


def file_schema(file: SourceFile) -> Any:
    """Returns the schema of a Parquet or Arrow file; raises InputProblem if it cannot be read."""
    if file.format == "parquet":
        with open_parquet(file) as parquet:
            return parquet.schema_arrow
    with reading(file) as stream:
        return _open_arrow(stream).schema


def check_columns(place: str, names: Sequence[str], fields: FieldMap) -> None:
    """Raises InputProblem if no column has the sample_id, or two have one name. place: what the problem names first."""
    if fields.id_column() not in names:
        known = some_of(names, NAMES_LISTED) or "none"
        raise InputProblem(f"{place}: there is no column {fields.id_column()}, only {known}{fields.dotted(names)}")
    if problem := same_name(names):
        raise InputProblem(f"{place}: {problem}")


def same_name(names: Iterable[str]) -> str | None:
    """Returns a message about two columns of one name; None if each has its own."""
    duplicates = sorted(name for name, count in Counter(names).items() if count > 1)
    return f"two columns are called {duplicates[0]!r}; rename one" if duplicates else None


@dataclass(frozen=True, slots=True)
class RecordLimits:
    """The limits on one record: its bytes as read, and the nesting depth of its JSON."""

    record_bytes: int = 16 << 20
    depth: int = 200


class Row(msgspec.Struct, frozen=True):
    """One row: its number in the file from 0, its sample_id, and the record without nulls.

    line: the line of a text file in which it starts, if the number is the byte; 0: it has none. If the row makes no
    record, `error` says why, `cause` in one word, and `payload` is its beginning for a person, or a null if Python
    cannot represent it. encoding: of the payload; JSON for such a beginning.
    """

    number: int
    sample_id: Any
    payload: bytes = b"\xc0"
    error: str | None = None
    cause: Cause = "unreadable"
    line: int = 0
    encoding: Encoding = MSGPACK


class RowsOfBatch:
    """Makes rows of Arrow batches."""

    def __init__(self, columns: SideColumns, limits: RecordLimits) -> None:
        self._limits = limits
        self._fields, self._scored = columns.fields, columns.scored
        # A field that is a column is parsed with its column, a field within a column after its value is extracted.
        paths = {name: columns.fields.path_of(name) for name in columns.structured}
        self._structured = {path[0] for path in paths.values() if len(path) == 1}
        self._inner = {name for name, path in paths.items() if len(path) > 1}
        self._nested = [name for name, path in columns.fields.paths if len(path) > 1]
        texts = {columns.fields.path_of(name)[0]: is_required for name, is_required in columns.texts.items()}
        self._texts = list(texts)
        self._never_absent = {columns.fields.id_column(), *(name for name, is_required in texts.items() if is_required)}

    def of(self, batch: Any, first: int) -> Iterator[Row]:
        """Yields the rows of a batch, numbered from `first`."""
        json_columns = [field.name for field in batch.schema if _holds_json(field, self._structured)]
        for number, record in enumerate(converted(batch), first):
            if isinstance(record, str):
                yield Row(number, None, error=record)
            else:
                yield self._of_record(number, record, json_columns)

    def of_text(self, number: int, record: dict[str, Any]) -> Row:
        """Returns the row of values that are text; the text of a field that is never text is JSON.

        An empty value is absent, except a text that every record must have. If no field of a record would be left, its
        first text is the empty text: the system read nothing.
        """
        if "" in record.values():
            known = {name: value for name, value in record.items() if value or name in self._never_absent}
            first = next((name for name in self._texts if name in record), None)
            if first is not None and known.keys().isdisjoint(self._texts) and known.keys().isdisjoint(self._structured):
                known[first] = ""
            record = {name: known[name] for name in record if name in known}
        return self._of_record(number, record, [name for name in record if name in self._structured])

    def _of_record(self, number: int, record: dict[str, Any], json_columns: Collection[str]) -> Row:
        sample_id = self._fields.sample_id(self._fields.find(SAMPLE_ID, record))
        try:
            for name in json_columns:
                if name in record:
                    self._parse(record, name)
            # In a column of Parquet's JSON type the id is known only once that is parsed.
            if json_columns:
                sample_id = self._fields.sample_id(self._fields.find(SAMPLE_ID, record))
            record = self._fields.of_values(record)
            for name in self._nested:
                if isinstance(value := record.get(name), str):
                    if name in self._inner:
                        self._parse(record, name)
                elif problem := nesting_problem(msgspec.json.encode(value, enc_hook=plain_value), self._limits.depth):
                    raise ValueError(f"field {name} {problem}")
            payload, encoding = _encoded(record, self._scored)
        except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
            cause: Cause = "unreadable"
            message = str(error) or type(error).__name__
        else:
            if len(payload) <= self._limits.record_bytes:
                return Row(number, sample_id, payload, encoding=encoding)
            cause, message = "too_large", too_large(len(payload), self._limits.record_bytes)
        return Row(number, sample_id, clipped_repr(record), error=message, cause=cause, encoding=JSON)

    def _parse(self, record: dict[str, Any], name: str) -> None:
        """Replaces the text of a column by the JSON that it holds; a null is omitted."""
        text = record[name].encode()
        if problem := nesting_problem(text, self._limits.depth):
            raise ValueError(f"column {name} {problem}")
        try:
            value = msgspec.json.decode(text)
        except msgspec.ValidationError:
            # A number is out of range, as 1e999: it is infinite, which only a field that is scored may not be.
            value = json.loads(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValueError(f"column {name} holds no JSON: {decoding_problem(text, error)}") from error
        if value is None:
            del record[name]
        else:
            record[name] = value


_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = MAX_QUARANTINED_LENGTH
_SHOWN.maxdict = 20


def clipped_repr(value: Any) -> bytes:
    """Returns the beginning of a value as Python writes it, for a person."""
    try:
        text = _SHOWN.repr(value)
    except ValueError:
        # An integer of more digits than Python writes.
        text = f"<{type(value).__name__}>"
    return text.encode("utf-8", "backslashreplace")


def _encoded(record: dict[str, Any], scored: Collection[str]) -> tuple[bytes, Encoding]:
    """Returns a record as MessagePack, or as JSON if an integer has more than 64 bits.

    Raises ValueError if a field of `scored` has a NaN or an infinite number.
    """
    try:
        payload = msgspec.msgpack.encode(record, enc_hook=plain_value)
    except OverflowError:
        text, problem = readable_json(record, (), scored)
        if problem is not None:
            raise ValueError(f"field {problem}") from None
        return text, JSON
    if MAYBE_NO_NUMBER.search(payload):
        for name, value in msgspec.msgpack.decode(payload).items():
            if name in scored and has_float(value, is_no_number):
                raise ValueError(f"field {name}: NaN and Infinity are not JSON")
    return payload, MSGPACK


def too_large(size: int, limit: int) -> str:
    """Returns the message about a record of `size` bytes."""
    return f"the record has {size} bytes, more than the {limit} of limits.record_bytes"


_NOT_CONVERTED = (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, pa.ArrowException)
"""Errors of pyarrow for values that Python cannot represent: text that is not UTF-8, a date of the year 20000."""


def converted(batch: Any) -> Iterator[dict[str, Any] | str]:
    """Yields the values of each row of an Arrow batch, without nulls, or why a row cannot be converted."""
    try:
        columns = [_values(column) for column in batch.columns]
    except MemoryError:
        # The MemoryError of pyarrow is an ArrowException, too.
        raise
    except _NOT_CONVERTED as error:
        if batch.num_rows == 1:
            yield str(error)
            return
        for offset in range(batch.num_rows):
            yield from converted(batch.slice(offset, 1))
        return
    names = batch.schema.names
    # Without a column, zip has no rows.
    for values in zip(*columns, strict=True) if columns else [()] * batch.num_rows:
        yield {name: value for name, value in zip(names, values, strict=True) if value is not None}


def _values(column: Any) -> Any:
    """Returns the values of an Arrow array as Python objects: maps as dictionaries, times and keys of maps as text.

    NaN is None: not every program writes a gap as null. Of equal keys of a map the last counts, as in JSON.
    """
    if pa.types.is_floating(column.type):
        return [None if value != value else value for value in column.to_pylist()]
    if not _has_map_time_or_decimal(column.type):
        return column.to_pylist()
    with warnings_ignored("Encountered key"):
        values = column.to_pylist(maps_as_pydicts="lossy")
    return without_decimals(plain_values(values))


def _has_map_time_or_decimal(kind: Any) -> bool:
    if pa.types.is_map(kind) or pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        return True
    inner = [kind.value_type] if pa.types.is_dictionary(kind) else [kind.field(i).type for i in range(kind.num_fields)]
    return any(map(_has_map_time_or_decimal, inner))


def _holds_json(field: Any, structured: Collection[str]) -> bool:
    if isinstance(field.type, pa.JsonType):
        return True
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return bool(text) and field.name in structured


_NEITHER_BRACKET_NOR_QUOTE = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1


MAX_ARRAYS = 1_000_000
"""Brackets `[` in a record, including those in strings: decoded, an array takes 100 bytes."""


def nesting_problem(text: bytes, depth: int) -> str | None:
    """Returns why the JSON `text` is not decoded: it has more than a million arrays, or is nested too deep."""
    if text.count(b"[") > MAX_ARRAYS:
        return f"has more than {MAX_ARRAYS:,} arrays"
    return f"is nested deeper than the {depth} levels of limits.depth" if deeper_than(text, depth) else None


def deeper_than(text: bytes, limit: int) -> bool:
    """Returns whether the JSON `text` nests arrays and objects more than `limit` deep.

    Text with few brackets is decided at once; otherwise the brackets outside of strings are counted up and down.
    Truncated text counts as deep as it goes; for other text that is not JSON the result may be either.
    """
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    without_escapes = text.replace(rb"\\", b"").replace(rb"\"", b"")
    # Text is within a string if an odd number of quotes precedes it, so adjacent pairs can be removed.
    structure = without_escapes.translate(None, _NEITHER_BRACKET_NOR_QUOTE).replace(b'""', b"")
    steps = _STEPS[np.frombuffer(b"".join(structure.split(b'"')[::2]), np.uint8)]
    return bool(np.cumsum(steps, dtype=np.int32).max(initial=0) > limit)
