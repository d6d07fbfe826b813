"""Blocks of bytes on their way through a shuffle: on the disk of this machine where the runner holds it in memory.

A local runner keeps all that is shuffled in the memory of the command. So a local pipeline writes its blocks to files
in a folder of the command, and shuffles where they are; on a cluster, whose workers share no disk, blocks travel.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import IO

Block = bytes | tuple[str, int, int]
"""A block, or the file that has it, where in it, and how many bytes."""


@dataclass(frozen=True)
class BlockFolder:
    """Where the blocks of a pipeline are; without a path, nowhere but in the pipeline."""

    path: str | None = None

    def writer(self) -> BlockWriter:
        """Returns what one bundle writes its blocks with."""
        return BlockWriter(self.path)


class BlockWriter:
    """Writes blocks to a file of its own, which is there as long as the folder is."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None

    def write(self, block: bytes) -> Block:
        """Returns what travels in the place of a block."""
        if self._folder is None:
            return block
        if self._file is None:
            self._file = tempfile.NamedTemporaryFile(dir=self._folder, suffix=".blocks", delete=False)  # noqa: SIM115
        start = self._file.tell()
        self._file.write(block)
        # What comes next may run in the same stage and read it at once.
        self._file.flush()
        return self._file.name, start, len(block)

    def close(self) -> None:
        """Ends the file."""
        if self._file is not None:
            self._file.close()


def read_block(block: Block) -> bytes:
    """Returns the bytes of a block."""
    if isinstance(block, bytes):
        return block
    path, start, size = block
    with open(path, "rb") as file:
        file.seek(start)
        return file.read(size)
