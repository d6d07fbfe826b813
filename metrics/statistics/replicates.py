"""The sums of the bootstrap replicates in few bytes, to travel and to be kept."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from .bootstrap import BootstrapSums
from .sum_table import SumTable
from .sums import FRACTION_BITS, UNITS_PER_ONE

BYTES_PER_SUM = 16
_WHOLE_BITS = 64 - FRACTION_BITS


@dataclass(frozen=True, slots=True)
class PackedReplicates:
    """The sums of R replicates, as one integer in units of 2**-52 for each replicate and name.

    names: all that any replicate has a sum of, in order. data: the integers as two's complement of 128 bits, the
    lowest byte first, replicate by replicate in the order of `names`, compressed with zlib.
    """

    names: tuple[str, ...]
    data: bytes

    @classmethod
    def of(cls, sums: BootstrapSums) -> PackedReplicates:
        """Packs the replicates of `sums`; equal sums give equal bytes."""
        table = sums.table().below().without_zeros()
        wholes, fractions = table.wholes, table.fractions
        # whole * 2**52 + fraction in two words; the fraction is less than 2**52, so that nothing is carried.
        halves = np.empty((*wholes.shape, 2), dtype="<i8")
        halves[..., 0] = (wholes << FRACTION_BITS) | fractions
        halves[..., 1] = wholes >> _WHOLE_BITS
        return cls(table.names, zlib.compress(halves.tobytes(), 6))

    def unpack(self, count: int) -> SumTable:
        """Returns the sums of the `count` replicates.

        Raises ValueError where the data are not as many, are too large, or cannot be uncompressed.
        """
        try:
            raw = zlib.decompress(self.data)
        except zlib.error as error:
            raise ValueError(f"the replicates cannot be uncompressed: {error}") from error
        width = BYTES_PER_SUM * len(self.names)
        if len(raw) != count * width:
            raise ValueError(f"the replicates have {len(raw)} bytes where {count} of {width} are due")
        halves = np.frombuffer(raw, dtype="<i8").reshape(count, len(self.names), 2)
        low, high = halves[..., 0], halves[..., 1]
        wholes = (high << _WHOLE_BITS) | (low.view("<u8") >> FRACTION_BITS).astype(np.int64)
        if (wholes >> _WHOLE_BITS != high).any():
            raise ValueError("the replicates have a sum that is larger than any that samples add up to")
        return SumTable(self.names, wholes, low & (UNITS_PER_ONE - 1))
