"""The records of a CSV or TSV file, plain or compressed: each value is text.

A record ends at a line end that does not stand in quotes, so it may span lines, and where one starts is known only by
what stands before it. The first record names the columns.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import msgspec

from ..records import TEXT_KEPT, InputProblem
from .columnar import listed
from .field_map import FIELDS_AS_NAMED, FieldMap, SideColumns
from .files import BOM, Part, SourceFile, open_text
from .rows import RecordLimits, Row, RowsOfBatch, too_large

DELIMITERS = {"csv": ",", "tsv": "\t"}
MAX_HEADER_BYTES = 1 << 20
LIMITS_PER_VALUE = 2
"""A value of so many times limits.record_bytes ends the run: a quote that is never closed takes all that follows."""


class Record(NamedTuple):
    """One record: where it starts, its bytes without the line end, and its fields, or the problem that it has."""

    position: int
    line: int
    lines: int
    text: bytes
    fields: list[str]
    problem: str

    @property
    def span(self) -> str:
        """Its lines, to stand behind what is wrong with it, where it takes several."""
        return f" (lines {self.line} to {self.line + self.lines - 1})" if self.lines > 1 else ""


def read_records(stream: BinaryIO, delimiter: str, longest: int) -> Iterator[Record]:
    """Yields the records of a text; a blank line is none.

    Quotes count where a field starts with one: in it two quotes stand for one, and delimiters and line ends for
    themselves. Raises ValueError where a quote is not closed, or a value or a line is longer than `longest`.
    """
    if stream.read(len(BOM)) != BOM:
        stream.seek(0)
    position, number = stream.tell(), 1
    taken, count = bytearray(), 0

    def lines() -> Iterator[str]:
        nonlocal taken, count
        while line := stream.readline(longest + 1):
            if len(line) > longest:
                raise ValueError(f"line {number + count} is longer than {longest} bytes")
            taken += line
            count += 1
            yield line.decode("utf-8", "surrogateescape")

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
        if problem.startswith(("unexpected end of data", "field larger than")):
            raise ValueError(f"the quote that opens in line {number} is not closed")
        text = bytes(taken)
        try:
            text.decode()
        except UnicodeDecodeError as error:
            problem = f"this is not UTF-8, at byte {error.start} of the record"
        if fields or problem:
            end = 2 if text.endswith(b"\r\n") else 1 if text.endswith(b"\n") else 0
            yield Record(position, number, count, text[: len(text) - end], fields, problem)
        position, number = position + len(text), number + count
        taken, count = bytearray(), 0


def read_delimited(part: Part, columns: SideColumns, limits: RecordLimits) -> Iterator[Row]:
    """Yields the rows of a CSV or TSV file.

    The number of a row is the byte of the text at which it starts. A record that is too large, or with more or fewer
    fields than there are columns, is given as one that makes no record. Raises InputProblem where the file cannot be
    read, or has no column of the sample_id.
    """
    file, rows, wanted = part.file, RowsOfBatch(columns, limits), columns.read
    names = header_of(file, columns.fields)
    kept = [(index, name) for index, name in enumerate(names) if wanted is None or name in wanted]
    with open_text(file) as stream:
        records = read_records(stream, DELIMITERS[file.format], LIMITS_PER_VALUE * limits.record_bytes)
        next(records, None)
        for record in records:
            position, line, size = record.position, record.line, len(record.text)
            problem = record.problem
            if not problem and len(record.fields) != len(names):
                problem = f"the record has {len(record.fields)} fields, but the first line names {len(names)} columns"
            if size > limits.record_bytes:
                message = too_large(size, limits.record_bytes) + record.span
                yield Row(position, None, b"\xc0", message, "too_large", line)
            elif problem:
                shown = msgspec.msgpack.encode(record.text[:TEXT_KEPT].decode("utf-8", "replace"))
                yield Row(position, None, shown, problem + record.span, "unreadable", line)
            else:
                row = rows.of_text(position, {name: record.fields[index] for index, name in kept})
                yield msgspec.structs.replace(row, line=line)


def header_of(file: SourceFile, fields: FieldMap = FIELDS_AS_NAMED) -> list[str]:
    """Returns the names of the columns of a CSV or TSV file, none where the file is empty.

    Raises InputProblem where the file cannot be read, has no column of the sample_id, or has one name twice.
    """
    with open_text(file) as stream:
        if stream.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise ValueError("it is UTF-16; write it as UTF-8")
        stream.seek(0)
        header = next(read_records(stream, DELIMITERS[file.format], MAX_HEADER_BYTES), None)
    return [] if header is None else _names(file, header, fields)


def _names(file: SourceFile, header: Record, fields: FieldMap) -> list[str]:
    where, names = f"{file.path}:{header.line}", header.fields
    if header.problem:
        raise InputProblem(f"{where}: the names of the columns: {header.problem}{header.span}")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputProblem(f"{where}: two columns are called {twice[0]!r}; rename one")
    if fields.id_column() not in names:
        raise InputProblem(
            f"{where}: there is no column {fields.id_column()}, only {listed(names)}; the first line "
            f"must name the columns{_other_delimiter(file, names)}"
        )
    return names


def _other_delimiter(file: SourceFile, names: list[str]) -> str:
    found = next((mark for mark in ";\t,|" if len(names) == 1 and mark in names[0]), None)
    if found is None:
        return ""
    wanted = {"csv": "a comma", "tsv": "a tab"}[file.format]
    return f", with {wanted} between them, not {found!r}"
