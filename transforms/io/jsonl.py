"""The lines of a part of a JSONL file, plain or compressed, in bounded memory."""

from __future__ import annotations

import operator
from collections.abc import Iterator

import msgspec

from .files import Part
from .restriction import ReadPosition, ReadRange, first_position
from .text import BOM, Text, open_text

_LINE_MARKS = len(BOM) + len(b"\r\n")
_SPACE = ord(" ")
_first = operator.itemgetter(0)


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


class LineReader:
    """The lines that start in a part, cut at `limit` bytes, from a place on.

    Memory is bounded by the limit, whatever the length of a line. Iterating gives a Line, or None where text was read
    in which no line was found yet or only blank ones, so that whoever iterates knows that it goes on; `place` is then
    where the reader stands. Raises InputProblem where the file cannot be read to its end.
    """

    def __init__(self, part: Part, limit: int, unread: ReadRange | None = None) -> None:
        self._part = part
        self._limit = limit
        self._from = unread.start if unread else first_position(part)
        stops = [part.stop, unread.stop.position if unread and unread.stop else None]
        self._stop = min((stop for stop in stops if stop is not None), default=None)
        self._position, self._line = self._from.position, self._from.line
        self._held, self._skipped = bytearray(), 0

    def __iter__(self) -> Iterator[Line | None]:
        """Yields the lines."""
        is_within = self._from == first_position(self._part) and self._position > 0
        # The line that covers the byte before the part belongs to the part before, as it started there.
        with open_text(self._part.file, self._position - is_within) as self._text:
            chunk = self._behind_started_line(self._text) if is_within else self._text.read()
            while chunk:
                yield from self._of_chunk(chunk)
                if not self._held and self._is_over:
                    return
                yield None
                chunk = self._text.read()
            if self._held:
                yield from self._finished()

    @property
    def place(self) -> ReadPosition:
        """Where the reader stands: behind what it gave last, and the blank lines that followed."""
        read = self._text.read_for(self._position) - self._part.start
        return ReadPosition(self._position, self._line, min(read, self._part.size))

    @property
    def _is_over(self) -> bool:
        return self._stop is not None and self._position >= self._stop

    def _behind_started_line(self, text: Text) -> bytes:
        """Reads to the next line end from the byte before the part on, and returns what was read behind it."""
        position = self._position - 1
        while (self._stop is None or position < self._stop) and (chunk := text.read()):
            end = chunk.find(b"\n") + 1
            if end:
                self._position = position + end
                return chunk[end:] or text.read()
            position += len(chunk)
        return b""

    def _of_chunk(self, chunk: bytes) -> Iterator[Line]:
        """Yields the lines that end in `chunk`, and holds what it has of the next one."""
        start = 0
        if self._held:
            start = chunk.find(b"\n") + 1
            self._hold(chunk[:start] if start else chunk)
            if not start:
                return
            yield from self._finished()
        end = chunk.rfind(b"\n") + 1
        if start < end and not self._is_over:
            yield from self._whole_lines(chunk[start:end])
        if end < len(chunk) and not self._is_over:
            self._hold(chunk[end:])

    def _whole_lines(self, block: bytes) -> Iterator[Line]:
        """Yields the lines of a block of whole lines: as they are where none of them needs a closer look."""
        if self._stop is not None:
            block = block[: block.find(b"\n", max(0, self._stop - self._position - 1)) + 1 or len(block)]
        texts = block[:-1].split(b"\n")
        is_special = b"\r" in block or (not self._position and block.startswith(BOM)) or not all(texts)
        if is_special or min(map(_first, texts)) <= _SPACE or max(map(len, texts)) > self._limit:
            for text in texts:
                self._hold(text + b"\n")
                yield from self._finished()
        else:
            for text in texts:
                position, line = self._position, self._line
                self._position += len(text) + 1
                self._line += 1 if line else 0
                yield Line(position, line, text, len(text))

    def _hold(self, more: bytes) -> None:
        kept = max(0, self._limit + _LINE_MARKS - len(self._held))
        self._held += more[:kept]
        self._skipped += max(0, len(more) - kept)

    def _finished(self) -> Iterator[Line]:
        """Yields the line that is held, unless it is blank."""
        text, skipped = bytes(self._held), self._skipped
        self._held, self._skipped = bytearray(), 0
        position, line = self._position, self._line
        self._position += len(text) + skipped
        self._line += 1 if line else 0
        kept = text if skipped else text.rstrip(b"\r\n")
        if not position:
            kept = kept.removeprefix(BOM)
        if skipped or kept.strip():
            yield Line(position, line, kept[: self._limit], skipped + len(kept))
