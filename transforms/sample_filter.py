"""Keeps the records of wanted samples, before they are shuffled.

The ids that are wanted are as many as the samples of a corpus may be, so they travel as a bitmap of their hashes, which
has one size. A record of another sample passes where the hashes are equal: what joins the records afterwards drops it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import apache_beam as beam
import numpy as np
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from .blocks import Block, BlockBuffer, BlockFolder, bucket_of, unpack

BITS = 1 << 24
"""Of 100,000 ids, 0.6 % of the records of other samples pass; of a million, 6 %."""

Bitmap = np.ndarray
"""uint8 [BITS / 8]"""


class IdBitmap(beam.CombineFn):
    """From sample_ids in UTF-8 to their bitmap; of none, to one without a bit."""

    def create_accumulator(self) -> Bitmap:
        """Returns the bitmap of no ids."""
        return np.zeros(BITS // 8, np.uint8)

    def add_input(self, bitmap: Bitmap, sample_id: bytes) -> Bitmap:
        """Adds one id."""
        bit = bucket_of(sample_id, BITS)
        bitmap[bit >> 3] |= 1 << (bit & 7)
        return bitmap

    def merge_accumulators(self, bitmaps: Iterable[Bitmap]) -> Bitmap:
        """Returns the bitmap of all ids."""
        merged = self.create_accumulator()
        for bitmap in bitmaps:
            merged |= bitmap
        return merged

    def extract_output(self, bitmap: Bitmap) -> bytes:
        """Returns the bytes of a bitmap."""
        return bitmap.tobytes()


def may_be_wanted(sample_id: bytes, bitmap: bytes) -> bool:
    """Tells whether the bit of a sample_id is set; it is for each that was added."""
    bit = bucket_of(sample_id, BITS)
    return bool(bitmap[bit >> 3] >> (bit & 7) & 1)


class KeepWanted(beam.DoFn):
    """Keeps the records of samples that may be wanted: from pairs (bucket, block) to fewer of them.

    buckets: their number, as the reader of the records has it.
    """

    def __init__(self, buckets: int, folder: BlockFolder) -> None:
        self._buckets = buckets
        self._folder = folder

    def start_bundle(self) -> None:
        """Starts with no records."""
        self._buffer = BlockBuffer(self._buckets, self._folder.writer())

    def process(self, keyed: tuple[int, Block], bitmap: bytes) -> Iterator[tuple[int, Block]]:
        """Yields the blocks that became large enough."""
        yield from self._buffer.add(record for record in unpack(keyed[1]) if may_be_wanted(record[0], bitmap))

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Yields the blocks that are left."""
        for block in self._buffer.flush():
            yield GlobalWindows.windowed_value(block)
