"""Where a reader stops for now: after a block of records, of which a bundle takes as many as a runner can hold.

Flink takes all parts that one of its slots reads as one bundle, and holds what a bundle gives in memory until it has
ended; when that is more than about 1 GB, it waits for ever. So a bundle that has given enough defers the rest of
its parts to another bundle, which reads on from the place that the first one reached: a byte of text, or a row. In a
compressed or Arrow file, or within a row group, nothing can be sought. There the worker keeps the open reader for the
bundle that reads on; only where that bundle comes to another worker is the file, or the row group, read from its start.
"""

from __future__ import annotations

import atexit
import threading
from collections import OrderedDict
from collections.abc import Generator, Hashable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from apache_beam.io.iobase import RestrictionProgress, RestrictionTracker
from apache_beam.transforms.core import RestrictionProvider

from .files import Part

RECORDS_PER_BLOCK = 64
BYTES_PER_BLOCK = 1 << 20
BYTES_PER_BUNDLE = 64 << 20
MAX_KEPT_READERS = 8


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """Where a reader of a part stands: between two records.

    position: the byte of the text, or the number of the row, that comes next. line: the number of the line that comes
    next, from 1; 0 where it is not known. read: how many bytes of the part, as it is stored, have been read to come
    here.
    """

    position: int
    line: int
    read: int


@dataclass(frozen=True, slots=True)
class ReadRange:
    """What is to be read of a part: from one place to another, or to the end. size: the bytes of the whole part."""

    start: ReadPosition
    stop: ReadPosition | None
    size: int

    @property
    def bytes_at_stop(self) -> int:
        """How many bytes of the part have been read at the end of this."""
        return self.size if self.stop is None else self.stop.read


class PartRestrictionProvider(RestrictionProvider):
    """What is to be read of a part: at first all of it."""

    def initial_restriction(self, element: Part) -> ReadRange:
        """Returns the whole part."""
        return ReadRange(first_position(element), None, element.size)

    def create_tracker(self, restriction: ReadRange) -> ReadRangeTracker:
        """Returns what a reader asks whether it may read on."""
        return ReadRangeTracker(restriction)

    def restriction_size(self, element: Part, restriction: ReadRange) -> int:
        """Returns how many bytes, as they are stored, are to be read."""
        return max(0, restriction.bytes_at_stop - restriction.start.read)


def first_position(part: Part) -> ReadPosition:
    """Returns the place before all records of a part."""
    if part.file.format in ("parquet", "arrow"):
        return ReadPosition(part.first_row, part.first_row + 1, 0)
    return ReadPosition(part.start, 0 if part.start else 1, 0)


class ReadRangeTracker(RestrictionTracker):
    """Follows a reader from place to place, and splits only where it stands: nobody knows the places ahead.

    A reader claims the place behind each block, and then the end, which is None.
    """

    def __init__(self, unread: ReadRange) -> None:
        self._unread = unread
        self._reached = unread.start
        self._is_done = False

    def current_restriction(self) -> ReadRange:
        """Returns what is to be read by now."""
        return self._unread

    def current_progress(self) -> RestrictionProgress:
        """Returns how many bytes have been read, and how many are left."""
        start, stop = self._unread.start.read, self._unread.bytes_at_stop
        reached = stop if self._is_done else min(self._reached.read, stop)
        return RestrictionProgress(completed=reached - start, remaining=stop - reached)

    def check_done(self) -> None:
        """Raises ValueError where the reader ended before the end."""
        if not self._is_done:
            raise ValueError(f"the part has not been read from {self._reached} to {self._unread.stop}")

    def is_bounded(self) -> bool:
        """Tells that a part has an end."""
        return True

    def try_claim(self, position: ReadPosition | None) -> bool:
        """Tells whether the records up to a place, or to the end, may be given."""
        if self._is_done:
            return False
        if position is None:
            self._is_done = True
        else:
            self._reached = position
        return True

    def try_split(self, fraction_of_remainder: float) -> tuple[ReadRange, ReadRange] | None:
        """Returns what has been claimed and what has not, or None where a share of the rest is wanted."""
        if fraction_of_remainder != 0 or self._is_done:
            return None
        rest = replace(self._unread, start=self._reached)
        self._unread = replace(self._unread, stop=self._reached)
        self._is_done = True
        return self._unread, rest


class Block(NamedTuple):
    """Some records of a part, and the place behind them."""

    records: list[Any]
    place: ReadPosition


BlockReader = Generator[Block, None, None]
"""The blocks of a part from some place on."""


class KeptReaders:
    """The open readers of this process that wait for the bundle that reads on, the latest few of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._readers: OrderedDict[tuple[Hashable, Part, ReadPosition], BlockReader] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, rules: Hashable, part: Part, position: ReadPosition, reader: BlockReader) -> None:
        """Keeps a reader that has come to `position` of `part` by some rules; closes the oldest of too many."""
        with self._lock:
            self._readers[rules, part, position] = reader
            dropped = self._readers.popitem(last=False)[1] if len(self._readers) > self._most else None
        if dropped is not None:
            dropped.close()

    def take(self, rules: Hashable, part: Part, position: ReadPosition) -> BlockReader | None:
        """Returns the reader that has come to `position` of `part` by these rules, once; None if there is none."""
        with self._lock:
            return self._readers.pop((rules, part, position), None)

    def close(self) -> None:
        """Closes all readers."""
        with self._lock:
            readers = list(self._readers.values())
            self._readers.clear()
        for reader in readers:
            reader.close()


KEPT_READERS = KeptReaders(MAX_KEPT_READERS)
atexit.register(KEPT_READERS.close)
