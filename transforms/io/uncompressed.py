"""Compressed files as streams of their text, member by member, in bounded memory."""

from __future__ import annotations

import bz2
import zlib
from collections import deque
from typing import Any, BinaryIO, Protocol

from . import zstd
from .expansion import check_text

_STORED_BYTES = 1 << 14
"""How much of a compressed file is fetched at a time: what a short member leaves of it is copied for the next one."""


class TextStream(Protocol):
    """The text of a file from some position on."""

    def read(self, size: int) -> bytes:
        """Returns up to `size` bytes, none only at the end."""

    def read_for(self, position: int) -> int:
        """Returns how many bytes of the file, as it is stored, had to be read for the text before `position`."""

    def restart(self, position: int) -> tuple[int, int]:
        """Returns the last place before `position` from which the text can be read: stored byte, position."""


class PlainText:
    """A file that is not compressed, from the byte `position`."""

    def __init__(self, raw: BinaryIO, position: int) -> None:
        self._raw = raw
        raw.seek(position)

    def read(self, size: int) -> bytes:
        """Returns up to `size` bytes, none only at the end."""
        return self._raw.read(size)

    def read_for(self, position: int) -> int:
        """Returns the position itself."""
        return position

    def restart(self, position: int) -> tuple[int, int]:
        """Returns the position itself: every byte can be sought."""
        return position, position


class CompressedText:
    """A file of one or more compressed members (gzip members, zstd frames, bzip2 streams), one after the other.

    Reading can start at any member: stored_start is the byte where one starts, position that of its text. Raises
    EOFError where the file ends within a member, the error of its format where it is none, and ValueError where it
    becomes too large, see transforms.io.expansion.
    """

    def __init__(self, raw: BinaryIO, ending: str, stored_start: int = 0, position: int = 0) -> None:
        self._raw = raw
        self._ending = ending
        self._position = position
        self._fetched = stored_start
        self._pending = b""
        self._member: Any = None
        self._members: deque[tuple[int, int]] = deque()
        raw.seek(stored_start)

    def read(self, size: int) -> bytes:
        """Returns up to `size` bytes, none only at the end."""
        while True:
            if self._member is None and not self._next_member():
                return b""
            if not self._pending and self._member.needs_input:
                self._fetch()
                if not self._pending:
                    raise EOFError("the file ends within its compressed data")
            chunk, self._pending = self._member.decompress(self._pending, size)
            if self._member.eof:
                self._member = None
            if chunk:
                self._position += len(chunk)
                check_text(self._ending, self._position, self._stored)
                return bytes(chunk)

    def read_for(self, position: int) -> int:
        """Returns the bytes that have been uncompressed: where in them a text ends is not known."""
        return self._stored

    def restart(self, position: int) -> tuple[int, int]:
        """Returns where the last member starts whose text starts at `position` or before: stored byte, position."""
        while len(self._members) > 1 and self._members[1][1] <= position:
            self._members.popleft()
        return self._members[0] if self._members else (self._stored, self._position)

    @property
    def _stored(self) -> int:
        return self._fetched - len(self._pending)

    def _fetch(self) -> None:
        self._pending = self._raw.read(_STORED_BYTES)
        self._fetched += len(self._pending)

    def _next_member(self) -> bool:
        """Starts the next member; tells whether there is one."""
        while True:
            if not self._pending:
                self._fetch()
            if not self._pending:
                return False
            # Zeros may fill up a file after its members.
            after_first = bool(self._members) or self._stored > 0
            self._pending = self._pending.lstrip(b"\0") if after_first else self._pending
            if self._pending:
                self._member = _MEMBERS[self._ending]()
                if self._members and self._members[-1][1] == self._position:
                    self._members.pop()
                self._members.append((self._stored, self._position))
                return True


class _Gzip:
    """A gzip member as the decompressors of bz2 and zstd work, but that it gives back what it did not need."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=31)

    needs_input = True

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    def decompress(self, data: bytes, size: int) -> tuple[bytes, bytes]:
        chunk = self._zlib.decompress(data, size)
        return chunk, self._zlib.unused_data if self._zlib.eof else self._zlib.unconsumed_tail


class _Buffered:
    """A bzip2 stream or a zstd frame, which holds what it did not need yet."""

    def __init__(self, decompressor: Any) -> None:
        self._decompressor = decompressor

    @property
    def needs_input(self) -> bool:
        return bool(self._decompressor.needs_input)

    @property
    def eof(self) -> bool:
        return bool(self._decompressor.eof)

    def decompress(self, data: bytes, size: int) -> tuple[bytes, bytes]:
        chunk = self._decompressor.decompress(data, size)
        return chunk, self._decompressor.unused_data if self.eof else b""


_MEMBERS: dict[str, Any] = {
    ".gz": _Gzip,
    ".bz2": lambda: _Buffered(bz2.BZ2Decompressor()),
    ".zst": lambda: _Buffered(zstd.ZstdDecompressor()),
}


def text_stream(raw: BinaryIO, path: str, stored_start: int, position: int) -> TextStream:
    """Returns the text of a file, compressed as the end of its name says, from `position` on.

    stored_start: the byte of the file where that text starts; the position itself where nothing is compressed.
    """
    ending = "." + path.lower().rpartition(".")[2]
    return CompressedText(raw, ending, stored_start, position) if ending in _MEMBERS else PlainText(raw, position)
