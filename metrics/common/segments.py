"""Sums and places over stretches of one long array, with the bits that NumPy gives for each stretch alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.intp]

# NumPy adds fewer values than this one after the other, and more of them in pairs.
PAIRWISE = 8


def starts_of(counts: Indexes) -> Indexes:
    """Returns where stretches of these lengths start, one after the other, `[N]`."""
    return np.asarray(np.cumsum(counts) - counts, dtype=np.intp)


def within(counts: Indexes) -> Indexes:
    """Returns the place of each element in its stretch: 0, 1, 2, 0, 1 for the lengths 3 and 2."""
    return np.asarray(np.arange(int(counts.sum())) - np.repeat(starts_of(counts), counts), dtype=np.intp)


def segment_sums(values: Array, counts: Indexes) -> Array:
    """Returns `values[start:stop].sum()` of each of the stretches of these lengths, `[N]`; 0 for an empty one."""
    sums = np.bincount(np.repeat(np.arange(len(counts)), counts), weights=values, minlength=len(counts))
    long = np.flatnonzero(counts >= PAIRWISE)
    if len(long):
        starts, lengths = starts_of(counts)[long], counts[long]
        for length in set(lengths.tolist()):
            equal = lengths == length
            # The rows of a table are added up as each would be alone.
            sums[long[equal]] = values[starts[equal][:, None] + np.arange(length)].sum(axis=1)
    return sums.astype(np.float64, copy=False)


def places_behind(values: Array, starts: Indexes, counts: Indexes, wanted: Array) -> Indexes:
    """Returns for each wanted value how many values of its own stretch are at most as large, `[W]`.

    values: stretches that are sorted and without NaN. starts, counts: the stretch of each wanted value.
    """
    low, high = starts.copy(), starts + counts
    for _ in range(int(counts.max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        behind = (low < high) & (values[np.minimum(middle, len(values) - 1)] <= wanted)
        low, high = np.where(behind, middle + 1, low), np.where(behind, high, middle)
    return np.asarray(low - starts, dtype=np.intp)


def numpy_sum(values: list[float]) -> float:
    """Returns the sum of a short list as NumPy adds it; the built-in `sum` rounds otherwise since Python 3.12."""
    if len(values) >= PAIRWISE:
        return float(np.array(values).sum())
    total = 0.0
    for value in values:
        total += value
    return total
