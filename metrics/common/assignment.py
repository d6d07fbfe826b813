"""One-to-one assignment with the largest sum of scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ..statistics.ratios import plain_sum

# NumPy adds fewer values than this sequentially, and more by pairwise summation.
PAIRWISE = 8


def best_pairs(scores: Sequence[Sequence[float]] | npt.NDArray[np.float64]) -> list[tuple[int, int]]:
    """Returns the pairs (row, column) whose scores have the largest sum, in order of the rows.

    scores: finite, `[N, M]`. Each row and each column is used at most once: there are min(N, M) pairs.

    >>> best_pairs([[0.9, 0.8], [0.7, 0.1]])
    [(0, 1), (1, 0)]
    """
    if len(scores) == 0 or len(scores[0]) == 0:
        return []
    # Not at the top: SciPy takes half a second to import, which `beamscore benchmarks` need not wait for.
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(scores, maximize=True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def best_pairs_below(bounds: Sequence[Sequence[float]], score: Callable[[int, int], float]) -> list[tuple[int, int]]:
    """Returns `best_pairs` of the table of score(row, column); bounds: upper bounds of the scores, `[N, M]`.

    Computes only the scores that may be the best of their row (of their column if N > M), if these determine the pairs.

    >>> best_pairs_below([[1.0, 0.5], [0.5, 1.0]], lambda row, column: 0.75 if row == column else 0.25)
    [(0, 0), (1, 1)]
    """
    if bounds and len(bounds) > len(bounds[0]):
        turned = best_pairs_below([*zip(*bounds, strict=True)], lambda column, row: score(row, column))
        return sorted((row, column) for column, row in turned)
    columns: list[int] = []
    for row, line in enumerate(bounds):
        best, count = -1.0, 0
        for column in sorted(range(len(line)), key=line.__getitem__, reverse=True):
            if line[column] < best:
                break
            value = score(row, column)
            if value >= best:
                count = count + 1 if value == best else 1
                best, best_column = value, column
        if count != 1 or best_column in columns:
            return best_pairs([[score(row, column) for column in range(len(line))] for row in range(len(bounds))])
        columns.append(best_column)
    return list(enumerate(columns))


def best_sum(scores: Sequence[Sequence[float]]) -> float:
    """Returns the largest sum of a one-to-one assignment of at least one score.

    >>> best_sum([[0.5, 0.25], [0.0, 0.0]])
    0.5
    """
    best = [max(row) for row in scores]
    if len({row.index(score) for row, score in zip(scores, best, strict=True)}) == len(scores):
        return numpy_sum(best)  # The best scores of the rows are in different columns.
    return numpy_sum([scores[row][column] for row, column in best_pairs(scores)])


def numpy_sum(values: Sequence[float]) -> float:
    """Returns the sum of a short list as NumPy adds it; the built-in `sum` rounds differently since Python 3.12."""
    return float(np.array(values).sum() if len(values) >= PAIRWISE else plain_sum(values))
