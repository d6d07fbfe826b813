"""The lines of a part of a JSONL file, plain or compressed, in bounded memory."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems
from backports import zstd

from transforms.files import Part, unreadable

READ_BYTES = 1 << 20


@contextlib.contextmanager
def open_uncompressed(path: str) -> Iterator[BinaryIO]:
    """Opens a file on any filesystem of Beam and uncompresses it as the end of its name says.

    Beam's own decompression takes a file that was cut off for a whole one; these readers raise EOFError.
    """
    with FileSystems.open(path, compression_type="uncompressed") as raw:
        if path.endswith(".gz"):
            yield cast(BinaryIO, gzip.GzipFile(fileobj=raw))
        elif path.endswith(".bz2"):
            yield cast(BinaryIO, bz2.BZ2File(raw))
        elif path.endswith(".zst"):
            yield cast(BinaryIO, zstd.ZstdFile(raw))
        else:
            yield raw


@dataclass(frozen=True, slots=True)
class Line:
    """One line that is not blank, without its end.

    position: the byte offset of its start, in the uncompressed text. line: its number from 1, or 0 where the
    part does not start the file. text: its bytes. length: its length, larger than the text where the line was
    longer than the limit and has been cut.
    """

    position: int
    line: int
    text: bytes
    length: int


def read_lines(part: Part, limit: int) -> Iterator[Line]:
    """Yields the lines that start in `part`, cut at `limit` bytes.

    Memory is bounded by the limit, whatever the length of a line. Raises InputProblem where the file cannot be
    read to its end.
    """
    try:
        with open_uncompressed(part.file.path) as stream:
            yield from _lines(stream, part, limit)
    except (OSError, EOFError, ValueError, BeamIOError, zstd.ZstdError, zlib.error) as error:
        raise unreadable(part.file, error) from error


def _lines(stream: BinaryIO, part: Part, limit: int) -> Iterator[Line]:
    position = part.start
    if part.start:
        # The line that covers the byte before the part belongs to the part before, as it started there.
        stream.seek(part.start - 1)
        position -= 1
    pieces = _pieces(stream, limit)
    if part.start:
        _, length, _ = next(pieces, (b"", 0, False))
        position += length
    for number, (text, length, is_bom_place) in enumerate(pieces, start=1):
        if part.stop is not None and position >= part.stop:
            return
        kept = text[3:] if is_bom_place and not part.start and text.startswith(b"\xef\xbb\xbf") else text
        kept = kept.rstrip(b"\r\n")
        if kept.strip() or length > len(text):
            yield Line(position, 0 if part.start else number, kept, length)
        position += length


def _pieces(stream: BinaryIO, limit: int) -> Iterator[tuple[bytes, int, bool]]:
    """Yields each line with its end, cut after `limit` bytes, its whole length, and whether it is the first."""
    first, held, skipped = True, b"", 0
    while chunk := stream.read(READ_BYTES):
        lines = chunk.split(b"\n")
        for line in lines[:-1]:
            held, skipped = _grown(held, skipped, line + b"\n", limit)
            yield held, len(held) + skipped, first
            first, held, skipped = False, b"", 0
        held, skipped = _grown(held, skipped, lines[-1], limit)
    if held or skipped:
        yield held, len(held) + skipped, first


def _grown(held: bytes, skipped: int, more: bytes, limit: int) -> tuple[bytes, int]:
    """Returns the text held of a line and the bytes skipped of it, after `more` of it has come."""
    if not held and not skipped and len(more) <= limit:
        return more, 0
    kept = more[: max(0, limit - len(held))]
    return held + kept, skipped + len(more) - len(kept)
