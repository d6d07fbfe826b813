"""The lines of a part of a JSONL file, plain or compressed, in bounded memory."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import itertools
import operator
import re
import zlib
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import msgspec
import numpy as np
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from . import zstd
from .files import Part, unreadable
from .restriction import Place, Unread, first_place
from .uncompressed import text_stream

READ_BYTES = 1 << 20
BOM = b"\xef\xbb\xbf"
_LINE_MARKS = len(BOM) + len(b"\r\n")
_SPACE = ord(" ")
_first = operator.itemgetter(0)
_LINE_END = ord("\n")
_BLANK = re.compile(rb"[ \t\n\r\x0b\x0c]+")


@contextlib.contextmanager
def open_uncompressed(path: str) -> Iterator[BinaryIO]:
    """Opens a file on any filesystem of Beam and uncompresses it as the end of its name says.

    Beam's own decompression takes a file that was cut off for a whole one; these readers raise EOFError.
    """
    name = path.lower()
    with FileSystems.open(path, compression_type="uncompressed") as raw:
        if name.endswith(".gz"):
            yield cast(BinaryIO, gzip.GzipFile(fileobj=raw))
        elif name.endswith(".bz2"):
            yield cast(BinaryIO, bz2.BZ2File(raw))
        elif name.endswith(".zst"):
            yield cast(BinaryIO, zstd.ZstdFile(raw))
        else:
            yield raw


class Line(msgspec.Struct, frozen=True):
    """One line that is not blank, without its end and without the byte-order mark of the file.

    position: the byte offset of its start, in the uncompressed text. line: its number from 1, or 0 where the
    part does not start the file. text: its bytes. length: its length, larger than the text where the line was
    longer than the limit and has been cut; the end of a line that was cut may count.
    """

    position: int
    line: int
    text: bytes
    length: int


class Lines(msgspec.Struct, frozen=True):
    """Lines that follow each other, none of which was cut, with one byte between them.

    position, line: those of the first one, see Line. texts: their bytes.
    """

    position: int
    line: int
    texts: list[bytes]

    def each(self) -> Iterator[Line]:
        """Yields the lines one by one."""
        position = self.position
        for number, text in enumerate(self.texts):
            yield Line(position, self.line and self.line + number, text, len(text))
            position += len(text) + 1


class LineReader:
    """The lines that start in a part, cut at `limit` bytes, from a place on.

    Memory is bounded by the limit, whatever the length of a line. Iterating gives a Line, or None where text was read
    in which no line was found yet or only blank ones, so that whoever iterates knows that it goes on; `place` is then
    where the reader stands. Raises InputProblem where the file cannot be read to its end.
    """

    def __init__(self, part: Part, limit: int, unread: Unread | None = None) -> None:
        self._part = part
        self._limit = limit
        self._from = unread.start if unread else first_place(part)
        stops = [part.stop, unread.stop.position if unread and unread.stop else None]
        self._stop = min((stop for stop in stops if stop is not None), default=None)
        self._position, self._line = self._from.position, self._from.line

    def __iter__(self) -> Iterator[Line | None]:
        """Yields the lines."""
        for found in self.groups(1):
            if isinstance(found, Lines):
                yield from found.each()
            else:
                yield found

    def groups(self, most: int) -> Iterator[Lines | Line | None]:
        """Yields what iterating gives, but up to `most` lines at a time as Lines where nothing is special about them.

        Most files have only such lines, which are read several times faster together.
        """
        file = self._part.file
        try:
            with FileSystems.open(file.path, compression_type="uncompressed") as raw:
                yield from self._lines(raw, most)
        except (OSError, EOFError, ValueError, BeamIOError, zstd.ZstdError, zlib.error) as error:
            raise unreadable(file, error) from error

    @property
    def place(self) -> Place:
        """Where the reader stands: behind what it gave last, and the blank lines that followed."""
        position = self._position
        stored, start = self._stream.restart(position)
        read = min(self._stream.read_for(position), self._part.start + self._part.size) - self._part.start
        return Place(position, self._line, read, stored, start)

    def _lines(self, raw: BinaryIO, most: int) -> Iterator[Lines | Line | None]:
        first = self._from
        self._stream = text_stream(raw, self._part.file.path, first.stored_start, first.start)
        if first == first_place(self._part) and first.position:
            # The line that covers the byte before the part belongs to the part before, as it started there.
            self._stream = text_stream(raw, self._part.file.path, first.position - 1, first.position - 1)
            chunk = self._skip_started_line(first.position - 1)
        else:
            chunk = self._skip_to(first.start)
        self._held, self._skipped = bytearray(), 0
        while chunk:
            yield from self._of_chunk(chunk, most)
            if self._is_over:
                return
            yield None
            chunk = self._stream.read(READ_BYTES)
        if self._held and (line := self._finished(b"")) is not None:
            yield line

    def _skip_started_line(self, position: int) -> bytes:
        """Reads to the next line end at `position` or behind it, and returns what follows it of what was read."""
        while (self._stop is None or position < self._stop) and (chunk := self._stream.read(READ_BYTES)):
            end = chunk.find(b"\n") + 1
            if end:
                self._position = position + end
                return chunk[end:] or self._stream.read(READ_BYTES)
            position += len(chunk)
        return b""

    def _skip_to(self, position: int) -> bytes:
        """Reads from `position` to where this reader starts, and returns what was read of the text from there on."""
        while chunk := self._stream.read(READ_BYTES):
            position += len(chunk)
            if position > self._position:
                return chunk[self._position - position :]
        return b""

    @property
    def _is_over(self) -> bool:
        return self._stop is not None and not self._held and self._position >= self._stop

    def _of_chunk(self, chunk: bytes, most: int) -> Iterator[Lines | Line]:
        """Yields the lines that end in `chunk`, and holds what it has of the next one."""
        at, is_tried = 0, False
        while at < len(chunk):
            if not self._held:
                if chunk[at] <= _SPACE:
                    at = self._behind_blank_lines(chunk, at)
                if at == len(chunk) or (self._stop is not None and self._position >= self._stop):
                    return
                # Before the first line may stand a byte-order mark.
                if not is_tried and self._position:
                    is_tried, before = True, self._position
                    yield from self._plain_lines(chunk, at, most)
                    at += self._position - before
                    continue
            end = chunk.find(b"\n", at) + 1
            if not end:
                self._hold(memoryview(chunk)[at:])
                return
            line = self._finished(chunk[at:end])
            at = end
            if line is not None:
                yield line

    def _plain_lines(self, chunk: bytes, at: int, most: int) -> Iterator[Lines]:
        """Yields the lines that start at `at` and end in `chunk` where none of them needs a closer look."""
        end = chunk.rfind(b"\n", at)
        if end < 0 or chunk.find(b"\r", at, end) >= 0:
            return
        texts = chunk[at:end].split(b"\n")
        if not all(texts) or max(map(len, texts)) > self._limit or min(map(_first, texts)) <= _SPACE:
            return
        for start in range(0, len(texts), most):
            group = texts[start : start + most]
            stops = list(itertools.accumulate([len(text) + 1 for text in group], initial=self._position))
            if self._stop is not None and stops[-1] > self._stop:
                group = group[: bisect_left(stops, self._stop)]
            if not group:
                return
            lines = Lines(self._position, self._line, group)
            self._position = stops[len(group)]
            self._line += len(group) if self._line else 0
            yield lines

    def _behind_blank_lines(self, chunk: bytes, at: int) -> int:
        """Returns where in `chunk` the first line starts that is not blank, or not known to be; `at` starts a line."""
        if not at and chunk.isspace():
            end = len(chunk)
        else:
            blank = _BLANK.match(chunk, at)
            end = blank.end() if blank else at
        behind = chunk.rfind(b"\n", at, end) + 1
        if behind <= at:
            return at
        self._position += behind - at
        if self._line:
            self._line += int(np.count_nonzero(np.frombuffer(chunk, np.uint8, behind - at, at) == _LINE_END))
        return behind

    def _hold(self, more: Any) -> None:
        kept = max(0, self._limit + _LINE_MARKS - len(self._held))
        self._held += more[:kept]
        self._skipped += max(0, len(more) - kept)

    def _finished(self, end: bytes) -> Line | None:
        """Returns the line that ends with `end`, after what is held; None where it is blank."""
        if self._held or len(end) > self._limit + _LINE_MARKS:
            self._hold(end)
            text, skipped = bytes(self._held), self._skipped
            self._held, self._skipped = bytearray(), 0
        else:
            text, skipped = end, 0
        position, line = self._position, self._line
        self._position += len(text) + skipped
        self._line += 1 if line else 0
        kept = text if skipped else text.rstrip(b"\r\n")
        if not position:
            kept = kept.removeprefix(BOM)
        if not skipped and not kept.strip():
            return None
        return Line(position, line, kept[: self._limit], skipped + len(kept))


def read_lines(part: Part, limit: int) -> Iterator[Line]:
    """Yields the lines that start in `part`, cut at `limit` bytes; see LineReader."""
    return (line for line in LineReader(part, limit) if line is not None)
