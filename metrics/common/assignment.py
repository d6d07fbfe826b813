"""The best one-to-one assignment."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment


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
