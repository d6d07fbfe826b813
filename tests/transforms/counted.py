"""Files that count what is read of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from beamscore.transforms.io import files, storage


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


@contextmanager
def counted_reads() -> Iterator[list[int]]:
    """Gives the sizes of all reads of input files that are opened meanwhile."""
    sizes: list[int] = []
    original = storage.open_file

    @contextmanager
    def opened(path: str) -> Iterator[Any]:
        with original(path) as stream:
            yield Counted(stream, sizes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "open_file", opened)
        yield sizes
