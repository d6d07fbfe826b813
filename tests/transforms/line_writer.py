"""A writer of staged files that is as plain as can be."""

from __future__ import annotations

from typing import BinaryIO


class LineWriter:
    """Writes lines, given without their ends, to a stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, line: bytes) -> None:
        self._stream.write(line + b"\n")

    def close(self) -> None:
        """No-op: every line is written."""
