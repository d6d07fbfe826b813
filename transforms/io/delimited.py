"""The records of a CSV or TSV file, plain or compressed: each value is text.

A record ends at a line end that does not stand in quotes, so it may span lines, and where one starts is known only by
what stands before it. The first record names the columns.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from ..records import TEXT_KEPT, InputProblem
from .columnar import listed
from .field_map import FIELDS_AS_NAMED, FieldMap, SideColumns
from .files import Part, SourceFile
from .restriction import ReadPosition, ReadRange, first_position
from .rows import RecordLimits, Row, RowsOfBatch, too_large
from .text import BOM, Text, open_text

DELIMITERS = {"csv": ",", "tsv": "\t"}
MAX_HEADER_BYTES = 1 << 20


class Record(NamedTuple):
    """One record: where it starts, how long it is without its line end, and its fields, or the problem that it has.

    text: its bytes, where they are no more than the limit.
    """

    position: int
    line: int
    length: int
    lines: int
    text: bytes
    fields: list[str]
    problem: str

    @property
    def span(self) -> str:
        """Its lines, to stand behind what is wrong with it, where it takes several."""
        return f" (lines {self.line} to {self.line + self.lines - 1})" if self.lines > 1 else ""


class RecordReader:
    """The records of a text, from a place on; a blank line is none.

    Quotes count where a field starts with one: in it two quotes stand for one, and delimiters and line ends for
    themselves. Memory is bounded: of a record of more than `limit` bytes only what tells where it ends is parsed.
    """

    def __init__(self, text: Text, delimiter: str, limit: int, position: int = 0, line: int = 1) -> None:
        self._text, self._delimiter, self._limit = text, delimiter, limit
        self._content = re.compile(f'[^"\r\n{delimiter}]+'.encode())
        self.position, self.line = position, line
        self._length, self._line_end, self._lines, self._problem = 0, 0, 0, ""
        self._pieces: list[bytes] = []

    def __iter__(self) -> Iterator[Record]:
        """Yields the records."""
        csv.field_size_limit(max(csv.field_size_limit(), 2 * self._limit))
        parser = csv.reader(self._parsed_lines(), delimiter=self._delimiter, strict=True)
        while True:
            try:
                fields = next(parser, None)
            except csv.Error as error:
                is_open = str(error) == "unexpected end of data"
                self._problem = self._problem or (
                    "a quote is not closed before the file ends" if is_open else str(error)
                )
                fields = []
            if fields is None:
                return
            length, text = self._length - self._line_end, b"".join(self._pieces)
            record = Record(self.position, self.line, length, self._lines, text[:length], fields, self._problem)
            self.position, self.line = self.position + self._length, self.line + self._lines
            self._start_record()
            if fields or record.problem:
                yield record

    def _start_record(self) -> None:
        self._length, self._line_end, self._lines, self._problem = 0, 0, 0, ""
        self._pieces.clear()

    def _parsed_lines(self) -> Iterator[str]:
        """Yields the lines for the parser, and notes what it takes for the next record."""
        held, left_out = b"", 0
        while chunk := self._text.read():
            *lines, held = (held + chunk).split(b"\n")
            for line in lines:
                yield self._parsed(line + b"\n", left_out)
                left_out = 0
            if len(held) > self._limit:
                left_out += len(held)
                held = self._content.sub(b"x", held)
                left_out -= len(held)
        if held:
            yield self._parsed(held, left_out)

    def _parsed(self, line: bytes, left_out: int) -> str:
        if not self.position and not self._length and line.startswith(BOM):
            line, self.position = line.removeprefix(BOM), len(BOM)
        before = self._length
        self._length += len(line) + left_out
        self._line_end = 2 if line.endswith(b"\r\n") else 1 if line.endswith(b"\n") else 0
        self._lines += 1
        if self._length - self._line_end > self._limit:
            # A line without a quote, or with pairs alone, changes nothing where it goes on within quotes.
            is_inner = before > 0 and b'"' not in line.replace(b'""', b"")
            line = b"" if is_inner else self._content.sub(b"x", line)
        else:
            self._pieces.append(line)
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            self._problem = self._problem or f"this is not UTF-8, at byte {before + error.start} of the record"
            return line.decode("utf-8", "replace")


class DelimitedReader:
    """The records of a CSV or TSV file, from a place on; see RowReader.

    The number of a row is the byte of the text at which it starts. A record with more or fewer fields than there are
    columns, or with a quote that is not closed, is given as one that makes no record. Iterating raises InputProblem
    where the file cannot be read, or has no column of the sample_id.
    """

    def __init__(self, part: Part, columns: SideColumns, limits: RecordLimits, unread: ReadRange | None = None) -> None:
        self._part = part
        self._columns = columns
        self._limits = limits
        self._rows = RowsOfBatch(columns, limits)
        self._from = unread.start if unread else first_position(part)
        self._stop = unread.stop.position if unread and unread.stop else None

    def __iter__(self) -> Iterator[Row]:
        """Yields the rows."""
        file, first, wanted = self._part.file, self._from, self._columns.read
        names = header_of(file, self._columns.fields)
        kept = [index for index, name in enumerate(names) if wanted is None or name in wanted]
        with open_text(file, first.position) as self._text:
            delimiter = DELIMITERS[file.format]
            self._records = RecordReader(self._text, delimiter, self._limits.record_bytes, first.position, first.line)
            records = iter(self._records)
            if not first.position:
                next(records, None)
            for record in records:
                if self._stop is not None and record.position >= self._stop:
                    return
                yield self._row(record, names, kept)

    @property
    def place(self) -> ReadPosition:
        """Where the reader stands: behind the record that it gave last."""
        position = self._records.position
        return ReadPosition(position, self._records.line, min(self._text.read_for(position), self._part.size))

    def _row(self, record: Record, names: list[str], kept: list[int]) -> Row:
        position, line = record.position, record.line
        if record.length > self._limits.record_bytes:
            message = too_large(record.length, self._limits.record_bytes)
            if record.lines > 1:
                message += f"; it goes on for {record.lines} lines: check the quotes in it"
            return Row(position, None, b"\xc0", message, "too_large", line)
        problem = record.problem
        if not problem and len(record.fields) != len(names):
            problem = f"the record has {len(record.fields)} fields, but the first line names {len(names)} columns"
        if problem:
            shown = msgspec.msgpack.encode(record.text[:TEXT_KEPT].decode("utf-8", "replace"))
            return Row(position, None, shown, problem + record.span, "unreadable", line)
        row = self._rows.of_text(position, {names[index]: record.fields[index] for index in kept})
        return msgspec.structs.replace(row, line=line)


def header_of(file: SourceFile, fields: FieldMap = FIELDS_AS_NAMED) -> list[str]:
    """Returns the names of the columns of a CSV or TSV file, none where the file is empty.

    Raises InputProblem where the file cannot be read, has no column of the sample_id, or has one name twice.
    """
    with open_text(file) as text:
        header = next(iter(RecordReader(text, DELIMITERS[file.format], MAX_HEADER_BYTES)), None)
        if header is not None and header.text.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ValueError("it is UTF-16; write it as UTF-8")
    return [] if header is None else _names(file, header, fields)


def _names(file: SourceFile, header: Record, fields: FieldMap) -> list[str]:
    where, names = f"{file.path}:{header.line}", header.fields
    if header.length > MAX_HEADER_BYTES:
        raise InputProblem(f"{where}: the first record, which names the columns, is too large")
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
