"""The best one-to-one assignment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .segments import Array


def best_assignment(scores: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Returns the rows and the columns, paired, whose scores have the largest sum.

    scores: finite, `[N, M]`. Each row and each column is used at most once, min(N, M) pairs in all, in order of
    the rows. Empty scores give no pairs.

    >>> rows, columns = best_assignment(np.array([[0.9, 0.8], [0.7, 0.1]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [1, 0])
    """
    # Not at the top: SciPy takes half a second to import, which `beamscore benchmarks` need not wait for.
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(scores, maximize=True)
    return rows, columns


def best_pairs(scores: Sequence[Sequence[float]] | Array) -> list[tuple[int, int]]:
    """Returns what `best_assignment` does, as pairs (row, column); of lists in less time for a few rows and columns.

    >>> best_pairs([[0.9, 0.8], [0.7, 0.1]])
    [(0, 1), (1, 0)]
    """
    if len(scores) == 0 or len(scores[0]) == 0:
        return []
    upright = len(scores) <= len(scores[0])
    bests = None
    if not isinstance(scores, np.ndarray):
        bests = _single_bests(scores if upright else list(zip(*scores, strict=True)))
    if bests is None:
        rows, columns = best_assignment(np.asarray(scores, dtype=np.float64))
        return list(zip(rows.tolist(), columns.tolist(), strict=True))
    return list(enumerate(bests)) if upright else sorted(zip(bests, range(len(bests)), strict=True))


def _single_bests(lines: Sequence[Sequence[float]]) -> list[int] | None:
    """Returns the place of the best score of each line; None where a line has two, or two lines have the same one.

    Where each line has one of its own, no other assignment has their sum.
    """
    places: list[int] = []
    for line in lines:
        best = max(line)
        if line.count(best) > 1:
            return None
        places.append(line.index(best))
    return places if len(set(places)) == len(places) else None
