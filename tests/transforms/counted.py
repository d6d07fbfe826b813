"""Files that count what is read of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from apache_beam.io.filesystems import FileSystems


class Counted:
    """A stream that adds what is read of it to a list."""

    def __init__(self, stream: Any, sizes: list[int]) -> None:
        self._stream = stream
        self._sizes = sizes

    def read(self, size: int = -1) -> bytes:
        chunk: bytes = self._stream.read(size)
        self._sizes.append(len(chunk))
        return chunk

    def readline(self, size: int = -1) -> bytes:
        line: bytes = self._stream.readline(size)
        self._sizes.append(len(line))
        return line

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __enter__(self) -> Counted:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


@contextmanager
def counted_reads() -> Iterator[list[int]]:
    """Gives the sizes of all reads of files that are opened through Beam meanwhile."""
    sizes: list[int] = []
    original = FileSystems.open

    def opened(path: str, *more: Any, **options: Any) -> Counted:
        return Counted(original(path, *more, **options), sizes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileSystems, "open", staticmethod(opened))
        yield sizes
