"""Files as streams of their text, uncompressed as the ends of their names say."""

from __future__ import annotations

import bz2
import contextlib
import gzip
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from apache_beam.io.filesystems import FileSystems

from . import zstd
from .files import SourceFile, reading

READ_BYTES = 1 << 20
BOM = b"\xef\xbb\xbf"

_READERS: dict[str, Any] = {"gz": lambda raw: gzip.GzipFile(fileobj=raw), "bz2": bz2.BZ2File, "zst": zstd.ZstdFile}


class Text:
    """The text of a file that is open, read from the byte `position` on."""

    def __init__(self, raw: BinaryIO, path: str, position: int) -> None:
        self._raw, self._stored = raw, 0
        self._stream = uncompressed(raw, path)
        self._stream.seek(position)

    def read(self) -> bytes:
        """Returns the next bytes, none only at the end."""
        chunk = self._stream.read(READ_BYTES)
        self._stored = self._raw.tell()
        return chunk

    def read_for(self, position: int) -> int:
        """Returns how many bytes of the file, as it is stored, had to be read for the text before `position`."""
        return position if self._stream is self._raw else self._stored


def uncompressed(raw: BinaryIO, path: str) -> BinaryIO:
    """Returns the text of a file.

    Beam's own decompression takes a file that was cut off for a whole one; these readers raise EOFError.
    """
    reader = _READERS.get(path.lower().rpartition(".")[2])
    return raw if reader is None else cast(BinaryIO, reader(raw))


@contextlib.contextmanager
def open_text(file: SourceFile, position: int = 0) -> Iterator[Text]:
    """Opens the text of a file from the byte `position` on; see `reading`."""
    with reading(file) as raw:
        yield Text(raw, file.path, position)


@contextlib.contextmanager
def open_uncompressed(path: str) -> Iterator[BinaryIO]:
    """Opens a file on any filesystem of Beam, uncompressed; raises what reading it raises."""
    with FileSystems.open(path, compression_type="uncompressed") as raw:
        yield uncompressed(raw, path)
