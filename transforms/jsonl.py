"""The lines of a part of a JSONL file, plain or compressed, in bounded memory."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

import msgspec
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from transforms import zstd
from transforms.files import Part, unreadable

READ_BYTES = 1 << 20
BOM = b"\xef\xbb\xbf"


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
    position = _seek_first_line(stream, part)
    if position is None:
        return
    for number, (text, length) in enumerate(_pieces(stream, limit + len(BOM) + len(b"\r\n")), start=1):
        if part.stop is not None and position >= part.stop:
            return
        cut = length > len(text)
        kept = text if cut else text.rstrip(b"\r\n")
        if not position:
            kept = kept.removeprefix(BOM)
        if kept.strip() or cut:
            yield Line(position, 0 if part.start else number, kept[:limit], length - len(text) + len(kept))
        position += length


def _seek_first_line(stream: BinaryIO, part: Part) -> int | None:
    """Moves to the first line that starts in `part` and returns its position, or None where none does."""
    if not part.start:
        return 0
    # The line that covers the byte before the part belongs to the part before, as it started there.
    position = part.start - 1
    stream.seek(position)
    while (part.stop is None or position < part.stop) and (chunk := stream.read(READ_BYTES)):
        end = chunk.find(b"\n")
        if end >= 0:
            stream.seek(position + end + 1)
            return position + end + 1
        position += len(chunk)
    return None


def _pieces(stream: BinaryIO, limit: int) -> Iterator[tuple[bytes, int]]:
    """Yields each line with its end, cut after `limit` bytes, and its whole length."""
    held, skipped = b"", 0
    while chunk := stream.read(READ_BYTES):
        lines = chunk.split(b"\n")
        for line in lines[:-1]:
            held, skipped = _grown(held, skipped, line + b"\n", limit)
            yield held, len(held) + skipped
            held, skipped = b"", 0
        held, skipped = _grown(held, skipped, lines[-1], limit)
    if held or skipped:
        yield held, len(held) + skipped


def _grown(held: bytes, skipped: int, more: bytes, limit: int) -> tuple[bytes, int]:
    """Returns the text held of a line and the bytes skipped of it, after `more` of it has come."""
    if not held and not skipped and len(more) <= limit:
        return more, 0
    kept = more[: max(0, limit - len(held))]
    return held + kept, skipped + len(more) - len(kept)
