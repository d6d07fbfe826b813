"""The largest one-to-one pairing of two sides among the pairs that are allowed."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from metrics.figure_text.regions import BoolArray, FloatArray, IntArray


def pair_up(rows: IntArray, columns: IntArray, scores: FloatArray, allowed: BoolArray) -> BoolArray:
    """Returns which of P pairs (row, column) are chosen, bool [S, P], for each of S choices of `allowed` pairs.

    Each row and each column is used at most once, and as many pairs as possible are chosen. Among pairings of that
    size those with high `scores` are tried first.
    """
    chosen = np.zeros_like(allowed)
    if not len(rows):
        return chosen
    alone = (np.bincount(rows)[rows] == 1) & (np.bincount(columns)[columns] == 1)
    chosen[:, alone] = allowed[:, alone]
    contested = np.flatnonzero(~alone)
    if contested.size:
        contested = contested[np.lexsort((columns[contested], -scores[contested], rows[contested]))]
        for n in range(len(allowed)):
            pairs = contested[allowed[n, contested]]
            chosen[n, _largest(rows, columns, pairs)] = True
    return chosen


def _largest(rows: IntArray, columns: IntArray, pairs: IntArray) -> IntArray:
    """Returns a largest choice among `pairs`, which are ordered by row; the first of a row is tried first."""
    if pairs.size < 2:
        return pairs
    begins = np.append(True, rows[pairs[1:]] != rows[pairs[:-1]])
    firsts: IntArray = pairs[begins]
    used_columns, column_numbers = np.unique(columns[pairs], return_inverse=True)
    if np.bincount(column_numbers[begins]).max() == 1:
        return firsts  # each row has its own column, and no pairing has more pairs than rows
    starts = np.append(np.flatnonzero(begins), len(pairs))
    # Older SciPy matches graphs with indices of 32 bits alone.
    indices, bounds = column_numbers.astype(np.int32), starts.astype(np.int32)
    graph = csr_array((np.ones(len(pairs), dtype=np.int8), indices, bounds), shape=(len(firsts), len(used_columns)))
    partner = maximum_bipartite_matching(graph, perm_type="column")
    chosen: IntArray = pairs[partner[np.cumsum(begins) - 1] == column_numbers]
    return chosen
