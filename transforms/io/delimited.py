"""The records of a CSV or TSV file, plain or compressed, in bounded memory: each value is text.

A record ends at a line end that does not stand in quotes, so it may span lines, and where one starts is known only by
what stands before it. The first record names the columns.
"""

from __future__ import annotations

import csv
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import msgspec
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from ..records import TEXT_KEPT, InputProblem
from . import zstd
from .arrow_rows import Row, RowsOfBatch
from .expansion import containers_allowed
from .field_map import FIELDS_AS_NAMED, FieldMap
from .files import Part, SourceFile, unreadable
from .jsonl import BOM, READ_BYTES
from .parquet import RECORD_BYTES, RowLimits, listed
from .restriction import Place, Unread, first_place
from .side_columns import SideColumns
from .uncompressed import TextStream, text_stream

DELIMITERS = {"csv": b",", "tsv": b"\t"}
MAX_HEADER_BYTES = 1 << 20

_NOT_READ = (OSError, EOFError, ValueError, BeamIOError, zstd.ZstdError, zlib.error)
_QUOTES = re.compile(rb'"+')
_QUOTE = b'"'[0]
_START, _PLAIN, _QUOTED, _CLOSED = range(4)


class Text(NamedTuple):
    """The text of one record, cut at a limit; length: how long it is; line: the line in which it starts, from 1.

    lines: how many it takes. is_open: whether the file ended within quotes.
    """

    position: int
    line: int
    text: bytes
    length: int
    lines: int
    is_open: bool = False


class RecordEnds:
    """Finds where records end, from chunk to chunk.

    Quotes count where a field starts with one: in it two quotes stand for one, and delimiters and line ends for
    themselves. Any other quote stands for itself.
    """

    def __init__(self, delimiter: bytes) -> None:
        self._delimiter = delimiter
        self._opening = delimiter + b'"'
        self._state = _START

    @property
    def is_open(self) -> bool:
        """Tells whether the text so far ends within quotes."""
        return self._state == _QUOTED

    def find(self, chunk: bytes, at: int) -> int:
        """Returns where in `chunk`, from `at` on, the next record starts; -1 where this one goes on behind it."""
        line_end = -1
        while at < len(chunk):
            if self._state == _QUOTED:
                at = self._behind_quotes(chunk, at)
            elif self._state == _PLAIN:
                if line_end < at:
                    line_end = chunk.find(b"\n", at) % (len(chunk) + 1)
                quoted = chunk.find(self._opening, at, line_end)
                if quoted >= 0:
                    self._state, at = _QUOTED, quoted + len(self._opening)
                elif line_end < len(chunk):
                    self._state = _START
                    return line_end + 1
                else:
                    self._state = _START if chunk.endswith(self._delimiter) else _PLAIN
                    return -1
            elif chunk[at] == _QUOTE:
                self._state, at = _QUOTED, at + 1
            elif self._state == _CLOSED and chunk[at : at + 1] == self._delimiter:
                self._state, at = _START, at + 1
            else:
                self._state = _PLAIN
        return -1

    def _behind_quotes(self, chunk: bytes, at: int) -> int:
        """Passes over what is quoted; an odd number of quotes closes it, unless more of them follow."""
        quotes = _QUOTES.search(chunk, at)
        if quotes is None:
            return len(chunk)
        if (quotes.end() - quotes.start()) % 2:
            self._state = _CLOSED
        return quotes.end()


class TextReader:
    """The texts of the records of a stream, cut at `limit` bytes; a blank line is none.

    Iterating gives None where text was read in which no record ended, so that whoever iterates knows that it goes on.
    """

    def __init__(self, stream: TextStream, delimiter: bytes, limit: int, position: int = 0, line: int = 1) -> None:
        self._stream = stream
        self._ends = RecordEnds(delimiter)
        self._limit = limit
        self.position, self.line = position, line
        self._held, self._length, self._lines = bytearray(), 0, 0

    def texts(self, chunk: bytes) -> Iterator[Text | None]:
        """Yields the records from `chunk` on, what has been read of the stream and not been given."""
        while chunk:
            at = 0
            while (end := self._ends.find(chunk, at)) >= 0:
                self._hold(chunk, at, end)
                yield from self._finished()
                at = end
            self._hold(chunk, at, len(chunk))
            yield None
            chunk = self._stream.read(READ_BYTES)
        if self._length:
            yield from self._finished(self._ends.is_open)

    def _hold(self, chunk: bytes, start: int, stop: int) -> None:
        self._held += chunk[start : min(stop, start + max(0, self._limit + len(b"\r\n") + len(BOM) - len(self._held)))]
        self._length += stop - start
        self._lines += chunk.count(b"\n", start, stop)

    def _finished(self, is_open: bool = False) -> Iterator[Text]:
        text, length, lines = bytes(self._held), self._length, self._lines
        position, line = self.position, self.line
        self._held, self._length, self._lines = bytearray(), 0, 0
        self.position, self.line = position + length, line + lines
        if len(text) == length:
            kept = text.removesuffix(b"\n").removesuffix(b"\r")
            kept = kept if position else kept.removeprefix(BOM)
            text, length = kept, len(kept)
        if length:
            yield Text(position, line, text[: self._limit], length, lines, is_open)


class DelimitedReader:
    """The records of a CSV or TSV file, from a place on; see RowReader.

    The number of a row is the byte of the text at which it starts. A record with more or fewer fields than there are
    columns, or with a quote that is not closed, is given as one that makes no record. Iterating raises InputProblem
    where the file cannot be read, or has no column of the sample_id.
    """

    def __init__(self, part: Part, columns: SideColumns, limits: RowLimits, unread: Unread | None = None) -> None:
        self._part = part
        self._fields = columns.fields
        self._columns = columns.read
        self._limits = limits
        self._rows = RowsOfBatch(columns, limits.depth, containers_allowed(limits.record_bytes))
        self._from = unread.start if unread else first_place(part)
        self._stop = unread.stop.position if unread and unread.stop else None

    def __iter__(self) -> Iterator[Row | None]:
        """Yields the rows, and None where text was read that gives none yet."""
        file = self._part.file
        try:
            names = header_of(file, self._fields)
            with FileSystems.open(file.path, compression_type="uncompressed") as raw:
                yield from self._of_stream(raw, names)
        except _NOT_READ as error:
            raise unreadable(file, error) from error

    @property
    def place(self) -> Place:
        """Where the reader stands: behind the record that it gave last, and the blank lines that followed."""
        position = self._texts.position
        stored, start = self._stream.restart(position)
        read = min(self._stream.read_for(position), self._part.size)
        return Place(position, self._texts.line, read, stored, start)

    def _of_stream(self, raw: BinaryIO, names: list[str]) -> Iterator[Row | None]:
        file, first = self._part.file, self._from
        self._stream = text_stream(raw, file.path, first.stored_start, first.start)
        delimiter = DELIMITERS[file.format]
        self._texts = TextReader(self._stream, delimiter, self._limits.record_bytes, first.position, first.line)
        is_header = not first.position
        kept = [index for index, name in enumerate(names) if self._columns is None or name in self._columns]
        for text in self._texts.texts(skipped(self._stream, first.start, first.position)):
            if text is None:
                yield None
                continue
            if self._stop is not None and text.position >= self._stop:
                return
            if is_header:
                is_header = False
                continue
            yield self._row(text, names, kept)

    def _row(self, text: Text, names: list[str], kept: list[int]) -> Row:
        if text.length > self._limits.record_bytes:
            message = f"the record has {text.length} bytes, more than the {self._limits.record_bytes} of {RECORD_BYTES}"
            if text.lines > 1:
                message += f"; it goes on for {text.lines} lines: check the quotes in it"
            return Row(text.position, None, b"\xc0", message, "too_large", text.line)
        try:
            values = fields_of(text, DELIMITERS[self._part.file.format])
            if len(values) != len(names):
                raise ValueError(f"the record has {len(values)} fields, but the first line names {len(names)} columns")
        except (csv.Error, ValueError) as error:
            shown = msgspec.msgpack.encode(text.text[:TEXT_KEPT].decode("utf-8", "replace"))
            return Row(text.position, None, shown, explained(error, text), "unreadable", text.line)
        row = self._rows.of_text(text.position, [names[i] for i in kept], [values[i] for i in kept])
        return msgspec.structs.replace(row, line=text.line)


def skipped(stream: TextStream, start: int, position: int) -> bytes:
    """Reads from `start` to `position`, and returns what was read of the text from there on."""
    while chunk := stream.read(READ_BYTES):
        start += len(chunk)
        if start > position:
            return chunk[position - start :]
    return b""


def fields_of(text: Text, delimiter: bytes) -> list[str]:
    """Returns the fields of a record; raises ValueError or csv.Error where it makes none."""
    if text.is_open:
        raise ValueError("a quote is not closed before the file ends")
    decoded = text.text.decode("utf-8")
    if len(decoded) > csv.field_size_limit():
        csv.field_size_limit(len(decoded))
    return next(csv.reader([decoded], delimiter=delimiter.decode(), strict=True))


def explained(error: Exception, text: Text) -> str:
    """Returns why a record makes no fields."""
    if isinstance(error, UnicodeDecodeError):
        return f"this is not UTF-8, at byte {error.start} of the record"
    lines = f" (lines {text.line} to {text.line + text.lines - 1})" if text.lines > 1 else ""
    return f"{error}{lines}"


def header_of(file: SourceFile, fields: FieldMap = FIELDS_AS_NAMED) -> list[str]:
    """Returns the names of the columns of a CSV or TSV file, none where the file is empty.

    Raises InputProblem where the file cannot be read, has no column of the sample_id, or has one name twice.
    """
    try:
        with FileSystems.open(file.path, compression_type="uncompressed") as raw:
            stream = text_stream(raw, file.path, 0, 0)
            chunk = stream.read(READ_BYTES)
            if chunk.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise ValueError("it is UTF-16; write it as UTF-8")
            texts = TextReader(stream, DELIMITERS[file.format], MAX_HEADER_BYTES).texts(chunk)
            header = next((text for text in texts if text is not None), None)
    except _NOT_READ as error:
        raise unreadable(file, error) from error
    return [] if header is None else _names(file, header, fields)


def _names(file: SourceFile, header: Text, fields: FieldMap) -> list[str]:
    if header.length > MAX_HEADER_BYTES:
        raise InputProblem(f"{file.path}:{header.line}: the first record, which names the columns, is too large")
    try:
        names = fields_of(header, DELIMITERS[file.format])
    except (csv.Error, ValueError) as error:
        raise InputProblem(
            f"{file.path}:{header.line}: the names of the columns: {explained(error, header)}"
        ) from error
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputProblem(f"{file.path}:{header.line}: two columns are called {twice[0]!r}; rename one")
    if fields.id_column() not in names:
        raise InputProblem(
            f"{file.path}:{header.line}: there is no column {fields.id_column()}, only {listed(names)}; the first line "
            f"must name the columns{_other_delimiter(file, names)}"
        )
    return names


def _other_delimiter(file: SourceFile, names: list[str]) -> str:
    found = next((mark for mark in ";\t,|" if len(names) == 1 and mark in names[0]), None)
    if found is None:
        return ""
    wanted = {"csv": "a comma", "tsv": "a tab"}[file.format]
    return f", with {wanted} between them, not {found!r}"
