"""The best one-to-one assignment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from metrics.common.segments import PAIRWISE, Array, Indexes, segment_sums, starts_of


def best_assignment(scores: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Returns the rows and the columns, paired, whose scores have the largest sum.

    scores: finite, `[N, M]`. Each row and each column is used at most once, min(N, M) pairs in all, in order of
    the rows. Empty scores give no pairs.

    >>> rows, columns = best_assignment(np.array([[0.9, 0.8], [0.7, 0.1]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [1, 0])
    """
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
    found = None
    if not isinstance(scores, np.ndarray):
        found = _single_bests(scores if upright else list(zip(*scores, strict=True)))
    if found is None:
        rows, columns = best_assignment(np.asarray(scores, dtype=np.float64))
        return list(zip(rows.tolist(), columns.tolist(), strict=True))
    return list(enumerate(found)) if upright else sorted(zip(found, range(len(found)), strict=True))


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


def best_assignment_sums(scores: Array, shorter: Indexes, longer: Indexes, upright: npt.NDArray[np.bool_]) -> Array:
    """Returns the largest sum of each of many tables, to the last bit `scores[best_assignment(scores)].sum()`.

    scores: the tables one after the other, each a line for each element of its shorter side; 0 or more. shorter,
    longer: the lengths of both sides of each table, 1 or more. upright: whether the lines are the rows of the table;
    otherwise they are its columns.

    Where the best scores of all lines lie apart, they are the best assignment. Only other tables are assigned.
    """
    cells = shorter * longer
    widths = np.repeat(longer, shorter)
    tables = np.repeat(np.arange(len(shorter)), shorter)
    line_starts = starts_of(widths)
    best = np.maximum.reduceat(scores, line_starts) if len(scores) else np.zeros(0)
    places = np.flatnonzero(scores == np.repeat(best, widths))
    lines = np.repeat(np.arange(len(widths)), widths)[places]
    first = np.ones(len(places), dtype=bool)
    first[1:] = lines[1:] != lines[:-1]
    others = places[first] - line_starts
    open_tables = _with_clashes(best, others, tables, longer)
    # The sum runs in the order of rows: of columns with equal scores it is not known which row they take.
    sideways = ~upright
    if sideways.any():
        repeated = (np.bincount(lines, minlength=len(widths)) > 1) & (best > 0) & sideways[tables]
        open_tables[tables[repeated]] = True
        open_tables |= sideways & (shorter >= PAIRWISE)
        order = np.lexsort((np.where(sideways[tables], others, 0), tables))
        best = best[order]
    sums = segment_sums(best, shorter)
    starts = starts_of(cells)
    for table in np.flatnonzero(open_tables).tolist():
        start = int(starts[table])
        held = scores[start : start + int(cells[table])].reshape(shorter[table], longer[table])
        held = held if upright[table] else held.T
        rows, columns = best_assignment(held)
        sums[table] = held[rows, columns].sum()
    return sums


def _with_clashes(best: Array, others: Indexes, tables: Indexes, longer: Indexes) -> npt.NDArray[np.bool_]:
    """Tells which tables have two lines whose best scores, where they are above 0, are of the same element."""
    scoring = np.flatnonzero(best > 0)
    wanted = starts_of(longer)[tables[scoring]] + others[scoring]
    clashing = np.bincount(wanted, minlength=int(longer.sum())) > 1
    found = np.zeros(len(longer), dtype=bool)
    found[np.repeat(np.arange(len(longer)), longer)[clashing]] = True
    return found
