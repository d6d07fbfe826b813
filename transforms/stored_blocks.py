"""Blocks of bytes on their way through a shuffle: on the disk of this machine where the runner holds it in memory.

A local runner keeps all that is shuffled in the memory of the command. So a local pipeline writes its blocks to files
in a folder of the command, and shuffles where they are; on a cluster, whose workers share no disk, blocks travel. There
bytes cost more than the time to compress them well, and zstd does; a local disk takes more of them, and LZ4 is faster.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from .io import zstd
from .io.temporary import temporary_problem

BlockPlace = tuple[str, int, int, int]
"""The file that has a block, where in it, how many bytes it has there, and how many when it is unpacked."""
Block = bytes | BlockPlace
"""What travels of a block: all of it, or where it is."""

_LZ4 = pa.Codec("lz4_raw")


@dataclass(frozen=True)
class BlockFolder:
    """Where the blocks of a pipeline are; without a path, nowhere but in the pipeline."""

    path: str | None = None

    @property
    def block_type(self) -> Any:
        """What travels of its blocks, as a type for the runner to code."""
        return bytes if self.path is None else BlockPlace

    def writer(self) -> BlockWriter:
        """Returns what one bundle writes its blocks with."""
        return BlockWriter(self.path)


IN_PIPELINE = BlockFolder()


class BlockWriter:
    """Writes blocks to a file of its own, which is there as long as the folder is.

    The file is open only while a block is written: nothing stays open of a bundle that fails.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._folder = folder
        self._path: str | None = None

    def write(self, content: bytes) -> Block:
        """Returns what travels of the block that has this content; raises InputProblem where it cannot be written."""
        if self._folder is None:
            return zstd.compress(content, level=1)
        stored = _LZ4.compress(content, asbytes=True)
        try:
            # A file that is gone is not made again: then its folder is about to go, too.
            with open(self._path or self._new_path(self._folder), "xb" if self._path is None else "r+b") as file:
                self._path = file.name
                start = file.seek(0, os.SEEK_END)
                file.write(stored)
        except OSError as error:
            raise temporary_problem(self._folder, error) from error
        return self._path, start, len(stored), len(content)

    @staticmethod
    def _new_path(folder: str) -> str:
        return os.path.join(folder, f"{uuid.uuid4().hex}.blocks")


def read_block(block: Block) -> bytes:
    """Returns the content of a block; raises InputProblem where it cannot be read."""
    if isinstance(block, bytes):
        return zstd.decompress(block)
    path, start, size, unpacked = block
    try:
        with open(path, "rb", buffering=0) as file:
            stored = os.pread(file.fileno(), size, start)
        content: bytes = _LZ4.decompress(stored, unpacked, asbytes=True)
    except OSError as error:
        raise temporary_problem(os.path.dirname(path), error) from error
    return content
