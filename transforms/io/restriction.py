"""Where a reader stops for now: after a block of records, of which a bundle takes as many as a runner can hold.

Flink takes all parts that one of its slots reads as one bundle, and holds what a bundle gives in memory until it has
ended; when that is more than about 1 GB, it waits for ever. So a bundle that has given enough defers the rest of
its parts to another bundle, which reads on from the record that comes next. The worker keeps the open reader for that
bundle; only where it comes to another worker is the part read from its start, and what has been given passed over.
"""

from __future__ import annotations

import atexit
import threading
from collections import OrderedDict
from collections.abc import Generator, Hashable
from typing import Any, NamedTuple

from apache_beam.io.iobase import RestrictionProgress, RestrictionTracker
from apache_beam.transforms.core import RestrictionProvider

from .files import Part

RECORDS_PER_BLOCK = 64
BYTES_PER_BLOCK = 1 << 20
BYTES_PER_BUNDLE = 64 << 20
MAX_KEPT_READERS = 8


class RecordRange(NamedTuple):
    """Which records of a part are to be read, by their numbers in it from 0; stop: None: to the end of the part."""

    start: int = 0
    stop: int | None = None


class PartRestrictionProvider(RestrictionProvider):
    """What is to be read of a part: at first all of it."""

    def initial_restriction(self, element: Part) -> RecordRange:
        """Returns the whole part."""
        return RecordRange()

    def create_tracker(self, restriction: RecordRange) -> RecordRangeTracker:
        """Returns what a reader asks whether it may read on."""
        return RecordRangeTracker(restriction)

    def restriction_size(self, element: Part, restriction: RecordRange) -> int:
        """Returns the bytes of the part: how many of them are left is not known."""
        return element.size


class RecordRangeTracker(RestrictionTracker):
    """Follows a reader from block to block, and splits only where it stands: nobody knows how many records come.

    A reader claims the number of the record behind each block, and then the end, which is None.
    """

    def __init__(self, records: RecordRange) -> None:
        self._records = records
        self._reached = records.start
        self._is_done = False

    def current_restriction(self) -> RecordRange:
        """Returns what is to be read by now."""
        return self._records

    def current_progress(self) -> RestrictionProgress:
        """Returns whether all has been read."""
        return RestrictionProgress(fraction=float(self._is_done))

    def check_done(self) -> None:
        """Raises ValueError where the reader ended before the end."""
        if not self._is_done:
            raise ValueError(f"the part has been read to record {self._reached}, not to {self._records.stop}")

    def is_bounded(self) -> bool:
        """Tells that a part has an end."""
        return True

    def try_claim(self, position: int | None) -> bool:
        """Tells whether the records up to a number, or to the end, may be given."""
        if self._is_done:
            return False
        if position is None:
            self._is_done = True
        else:
            self._reached = position
        return True

    def try_split(self, fraction_of_remainder: float) -> tuple[RecordRange, RecordRange] | None:
        """Returns what has been claimed and what has not, or None where a share of the rest is wanted."""
        if fraction_of_remainder != 0 or self._is_done:
            return None
        rest = self._records._replace(start=self._reached)
        self._records = self._records._replace(stop=self._reached)
        self._is_done = True
        return self._records, rest


BlockReader = Generator[list[Any], None, None]
"""The blocks of a part from some record on."""


class KeptReaders:
    """The open readers of this process that wait for the bundle that reads on, the latest few of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._readers: OrderedDict[Hashable, BlockReader] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, key: Hashable, reader: BlockReader) -> None:
        """Keeps a reader under the rules by which it reads, its part and its place; closes the oldest of too many."""
        with self._lock:
            self._readers[key] = reader
            dropped = self._readers.popitem(last=False)[1] if len(self._readers) > self._most else None
        if dropped is not None:
            dropped.close()

    def take(self, key: Hashable) -> BlockReader | None:
        """Returns the reader that was kept so, once; None if there is none."""
        with self._lock:
            return self._readers.pop(key, None)

    def close(self) -> None:
        """Closes all readers."""
        with self._lock:
            readers = list(self._readers.values())
            self._readers.clear()
        for reader in readers:
            reader.close()


KEPT_READERS = KeptReaders(MAX_KEPT_READERS)
atexit.register(KEPT_READERS.close)
