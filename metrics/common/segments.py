"""Sums over stretches of one long array, with the bits that NumPy gives for each stretch alone."""

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
        starts = starts_of(counts)
        for number in long.tolist():
            start = int(starts[number])
            sums[number] = values[start : start + int(counts[number])].sum()
    return sums.astype(np.float64, copy=False)


def numpy_sum(values: list[float]) -> float:
    """Returns the sum of a short list as NumPy adds it; the built-in `sum` rounds otherwise since Python 3.12."""
    if len(values) >= PAIRWISE:
        return float(np.array(values).sum())
    total = 0.0
    for value in values:
        total += value
    return total
