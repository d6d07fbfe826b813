"""The lines of a part of a JSONL file, plain or compressed, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from .files import BOM, Part, open_text

BYTES_PER_READ = 1 << 20
_LINE_MARKS = len(BOM) + len(b"\r\n")


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


def read_lines(part: Part, limit: int) -> Iterator[Line]:
    """Yields the lines that start in a part, cut at `limit` bytes, which bounds the memory.

    Raises InputProblem where the file cannot be read to its end.
    """
    stop = math.inf if part.stop is None else part.stop
    position, number = part.start, 0 if part.start else 1
    # The line that covers the byte before the part belongs to the part before, as it started there.
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
            kept = text if skipped else text.rstrip(b"\r\n")
            if not start:
                kept = kept.removeprefix(BOM)
            if skipped or kept.strip():
                yield Line(start, number, kept[:limit], skipped + len(kept))
            number += number > 0
