"""The best one-to-one assignment."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.assignment import best_assignment, best_pairs


@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 2**32 - 1))
def test_no_assignment_is_better(rows: int, columns: int, seed: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 5, (rows, columns)) / 4
    found_rows, found_columns = best_assignment(scores)
    assert len(set(found_rows)) == len(set(found_columns)) == min(rows, columns)
    wide = scores if rows <= columns else scores.T
    best = max(
        sum(wide[row, column] for row, column in enumerate(chosen))
        for chosen in permutations(range(wide.shape[1]), wide.shape[0])
    )
    assert scores[found_rows, found_columns].sum() == pytest.approx(best)


@given(st.integers(0, 6), st.integers(0, 6), st.integers(1, 50), st.integers(0, 2**32 - 1))
def test_pairs_of_lists_are_those_of_the_array(rows: int, columns: int, values: int, seed: int) -> None:
    scores = np.random.default_rng(seed).integers(0, values, (rows, columns)) / values
    found_rows, found_columns = best_assignment(scores)
    assert best_pairs(scores.tolist()) == list(zip(found_rows.tolist(), found_columns.tolist(), strict=True))
