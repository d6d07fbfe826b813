"""Blocks: many encoded records of one bucket in one element; and sorting of records, on disk if there are many.

For a runner, moving an element costs more than reading a record. So records are shuffled by the bucket of their
sample_id, a block at a time; a bucket has all records of its samples.

A local runner keeps all shuffled elements in the memory of the command. So a local pipeline writes its blocks to files
in a folder of the command, and shuffles their places; on a cluster, whose workers share no disk, it shuffles blocks.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import struct
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

import apache_beam as beam
import msgspec
from apache_beam.pvalue import TaggedOutput
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from .hashes import bucket_of
from .io.files import SourceFile
from .process import temporary_folder, temporary_problem
from .records import zstd

BYTES_PER_BUCKET = 16 << 20
BYTES_PER_SMALL_BUCKET = 64 << 10
TARGET_BUCKETS = 64
MAX_BUCKETS = 2048
"""Each bucket holds BYTES_PER_BUCKET, but there are at least TARGET_BUCKETS, for as many workers, unless buckets would
be too small. Never more than this: a reader holds BYTES_HELD for all buckets, and its blocks would be too small."""

BYTES_PER_BLOCK = 1 << 20
BYTES_HELD = 32 << 20

EXPANSION = 8
"""Roughly how many bytes of records a compressed byte of input holds."""

BYTES_IN_MEMORY = 64 << 20
_BYTES_PER_ITEM = 150
"""The memory of an item in addition to its bytes: a tuple and two objects."""

_LENGTHS = struct.Struct("<QQ")

KeyedRecord = tuple[bytes, bytes]
"""A key to sort by, such as a sample_id in UTF-8, and the bytes of what has it."""

BlockPlace = tuple[str, int, int]
"""The file that has a block, its offset, and its size in bytes."""
Block = bytes | BlockPlace
"""The shuffled form of a block: its bytes, or its place."""


@dataclass(frozen=True)
class BlockFolder:
    """Where the blocks of a pipeline are; without a path, nowhere but in the pipeline.

    Each thread that writes has a file of its own, open only while a block is written: a bundle that fails leaves no
    open file.
    """

    path: str | None = None

    @property
    def block_type(self) -> Any:
        """What travels of its blocks, as a type for the runner to code."""
        return bytes if self.path is None else BlockPlace

    def write(self, records: list[KeyedRecord]) -> Block:
        """Returns the block of some records in its shuffled form; raises InputProblem if it cannot be written."""
        stored = zstd.compress(_ENCODER.encode(records), level=1)
        if self.path is None:
            return stored
        path = os.path.join(self.path, f"{os.getpid()}-{threading.get_ident()}.blocks")
        try:
            with open(path, "ab") as file:
                start = file.tell()
                file.write(stored)
        except OSError as error:
            raise temporary_problem(self.path, error) from error
        return path, start, len(stored)


IN_PIPELINE = BlockFolder()


def unpack(block: Block) -> list[KeyedRecord]:
    """Returns the records of a block in their order; raises InputProblem if it cannot be read."""
    if isinstance(block, bytes):
        return _DECODER.decode(zstd.decompress(block))
    path, start, size = block
    try:
        with open(path, "rb", buffering=0) as file:
            return _DECODER.decode(zstd.decompress(os.pread(file.fileno(), size, start)))
    except (OSError, zstd.ZstdError) as error:
        raise temporary_problem(os.path.dirname(path), error) from error


_DECODER = msgspec.msgpack.Decoder(list[KeyedRecord])
_ENCODER = msgspec.msgpack.Encoder()


def bucket_count(files: Iterable[SourceFile]) -> int:
    """Returns the number of buckets for an input of these files; results do not depend on it."""
    return buckets_for(sum(file.size * (1 if file.is_plain else EXPANSION) for file in files))


def buckets_for(size: int) -> int:
    """Returns the number of buckets for `size` bytes of records."""
    count = max(size // BYTES_PER_BUCKET, min(TARGET_BUCKETS, size // BYTES_PER_SMALL_BUCKET), 1)
    return min(MAX_BUCKETS, count)


class BlockBuffer:
    """The records that a reader holds until their blocks are large enough; at most BYTES_HELD plus one record."""

    def __init__(self, buckets: int, folder: BlockFolder) -> None:
        self._buckets = buckets
        self._folder = folder
        self._records: defaultdict[int, list[KeyedRecord]] = defaultdict(list)
        self._sizes: defaultdict[int, int] = defaultdict(int)
        self._size = 0

    def add(self, record: KeyedRecord) -> Iterator[tuple[int, Block]]:
        """Adds a record; yields pairs (bucket, block) of the blocks that are now large enough."""
        key, encoded = record
        bucket, size = bucket_of(key, self._buckets), len(key) + len(encoded)
        self._records[bucket].append(record)
        self._sizes[bucket] += size
        self._size += size
        if self._size >= BYTES_HELD:
            yield from self.flush()
        elif self._sizes[bucket] >= BYTES_PER_BLOCK:
            yield self._block(bucket)

    def flush(self) -> Iterator[tuple[int, Block]]:
        """Yields a block of each bucket that is not empty."""
        while self._records:
            yield self._block(next(iter(self._records)))

    def _block(self, bucket: int) -> tuple[int, Block]:
        self._size -= self._sizes.pop(bucket)
        return bucket, self._folder.write(self._records.pop(bucket))


def at_end(outputs: Iterable[Any]) -> Iterator[WindowedValue | TaggedOutput]:
    """Yields outputs, tagged or not, in the global window, as required at the end of a bundle."""
    for each in outputs:
        if isinstance(each, TaggedOutput):
            yield TaggedOutput(each.tag, GlobalWindows.windowed_value(each.value))
        else:
            yield GlobalWindows.windowed_value(each)


class ToBlocks(beam.DoFn):
    """Gathers the records of a bundle: from KeyedRecord to pairs (bucket, block); see BlockBuffer."""

    def __init__(self, buckets: int, folder: BlockFolder) -> None:
        self._buckets = buckets
        self._folder = folder

    def start_bundle(self) -> None:
        """Creates an empty buffer."""
        self._held = BlockBuffer(self._buckets, self._folder)

    def process(self, record: KeyedRecord) -> Iterator[tuple[int, Block]]:
        """Yields the blocks that are now large enough."""
        yield from self._held.add(record)

    def finish_bundle(self) -> Iterator[WindowedValue | TaggedOutput]:
        """Yields the remaining blocks."""
        return at_end(self._held.flush())


def only_samples(keyed: tuple[int, Block], sample_ids: Iterable[str]) -> Iterator[tuple[int, Block]]:
    """Yields (bucket, block) with the records of these samples only, if any; the block is in memory."""
    ids = {sample_id.encode("utf-8", "surrogatepass") for sample_id in sample_ids}
    records = [record for record in unpack(keyed[1]) if record[0] in ids]
    if records:
        yield keyed[0], IN_PIPELINE.write(records)


@contextlib.contextmanager
def sorted_on_disk(
    items: Iterable[KeyedRecord], bytes_in_memory: int = BYTES_IN_MEMORY
) -> Iterator[Iterator[KeyedRecord]]:
    """Yields the items in order; about `bytes_in_memory` of them are held at once, the others in temporary files.

    Raises InputProblem if these cannot be written.
    """
    with contextlib.ExitStack() as files:
        runs: list[IO[bytes]] = []
        held: list[KeyedRecord] = []
        size = 0
        for item in items:
            held.append(item)
            key, value = item
            size += len(key) + len(value) + _BYTES_PER_ITEM
            if size > bytes_in_memory:
                runs.append(_spilled(sorted(held), files))
                held, size = [], 0
        held.sort()
        yield heapq.merge(*map(_read_back, runs), held) if runs else iter(held)


def _closed(file: IO[bytes]) -> None:
    with contextlib.suppress(OSError):
        file.close()


def _spilled(items: list[KeyedRecord], files: contextlib.ExitStack) -> IO[bytes]:
    folder = temporary_folder()
    try:
        file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - `files` closes it
        # If writing fails, closing tries again to write the rest.
        files.callback(_closed, file)
        for key, value in items:
            file.write(_LENGTHS.pack(len(key), len(value)))
            file.write(key)
            file.write(value)
        file.seek(0)
    except OSError as error:
        raise temporary_problem(folder, error) from error
    return file


def _read_back(file: IO[bytes]) -> Iterator[KeyedRecord]:
    while lengths := file.read(_LENGTHS.size):
        key, value = _LENGTHS.unpack(lengths)
        yield file.read(key), file.read(value)
