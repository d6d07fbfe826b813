"""Where a reader stops for now: blocks of records, of which a bundle takes as many as a runner can hold.

Flink takes all parts that one of its slots reads as one bundle, and holds what a bundle gives in memory until it has
ended; when that is more than about 1 GB, it waits for ever. So a bundle that has given enough defers the rest of
its parts to another bundle. A compressed file is then read from its start again.
"""

from __future__ import annotations

from typing import Any

from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from apache_beam.transforms.core import RestrictionProvider

from transforms.files import Part

RECORDS_PER_BLOCK = 16
MOST_BLOCKS = 1 << 48
BYTES_PER_BUNDLE = 64 << 20


class BlocksOfPart(RestrictionProvider):
    """The blocks of a part, numbered from 0; how many there are is known when they have been read."""

    def initial_restriction(self, element: Part) -> OffsetRange:
        """Returns the blocks of a whole part."""
        return OffsetRange(0, MOST_BLOCKS)

    def create_tracker(self, restriction: OffsetRange) -> OffsetRestrictionTracker:
        """Returns what a reader asks whether it may read on."""
        return BlockTracker(restriction)

    def restriction_size(self, element: Part, restriction: OffsetRange) -> int:
        """Returns how many bytes a part has at most."""
        if element.stop is None or element.file.format == "parquet":
            return max(1, element.file.size)
        return element.stop - element.start


class BlockTracker(OffsetRestrictionTracker):
    """Splits only after the block that is being read: nobody knows where the middle of the rest is."""

    def try_split(self, fraction_of_remainder: float) -> Any:
        """Returns the blocks up to the current one and those after it, or None where a share of them is wanted."""
        return super().try_split(0) if fraction_of_remainder == 0 else None
