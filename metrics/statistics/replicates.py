"""The sums of the bootstrap replicates in few bytes, to travel and to be kept."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .bootstrap import BootstrapSums
from .sums import FRACTION_BITS, Sums

BYTES_PER_SUM = 16


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
        every, wholes, fractions = sums.to_arrays()
        wholes, fractions = wholes[1:], fractions[1:]
        used = (wholes != 0).any(axis=0) | (fractions != 0).any(axis=0)
        names = tuple(name for name, has_sum in zip(every, used.tolist(), strict=True) if has_sum)
        wholes, fractions = wholes[:, used], fractions[:, used]
        # whole * 2**52 + fraction in two words; the fraction is less than 2**52, so that nothing is carried.
        halves = np.empty((*wholes.shape, 2), dtype="<i8")
        halves[..., 0] = (wholes << FRACTION_BITS) | fractions
        halves[..., 1] = wholes >> (64 - FRACTION_BITS)
        return cls(names, zlib.compress(halves.tobytes(), 6))

    def unpack(self, count: int) -> list[Sums]:
        """Returns the sums of the `count` replicates.

        Raises ValueError where the data are not as many, or cannot be uncompressed.
        """
        try:
            raw = zlib.decompress(self.data)
        except zlib.error as error:
            raise ValueError(f"the replicates cannot be uncompressed: {error}") from error
        width = BYTES_PER_SUM * len(self.names)
        if len(raw) != count * width:
            raise ValueError(f"the replicates have {len(raw)} bytes where {count} of {width} are due")
        return [_unpack_row(self.names, raw[start * width : (start + 1) * width]) for start in range(count)]


def _unpack_row(names: Sequence[str], row: bytes) -> Sums:
    cells = (row[start : start + BYTES_PER_SUM] for start in range(0, len(row), BYTES_PER_SUM))
    numbers = (int.from_bytes(cell, "little", signed=True) for cell in cells)
    return Sums(dict(zip(names, numbers, strict=True)))
