"""The best one-to-one assignment."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.assignment import best_assignment, best_pairs, best_pairs_below, best_sum, numpy_sum


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
    assert best_pairs(scores.tolist()) == list(zip(found_rows.tolist(), found_columns.tolist(), strict=True))
    if scores.size:
        assert best_sum(scores.tolist()) == pytest.approx(best)


@given(st.integers(0, 5), st.integers(0, 5), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_pairs_below_bounds_are_those_of_all_scores(rows: int, columns: int, levels: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    scores = draw.integers(0, levels, (rows, columns)) / levels
    bounds = np.maximum(scores, draw.integers(0, levels, (rows, columns)) / levels)
    found = best_pairs_below(bounds.tolist(), lambda row, column: float(scores[row, column]))
    assert found == best_pairs(scores.tolist())


@given(st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_values_are_added_as_numpy_adds_them(count: int, seed: int) -> None:
    values = np.random.default_rng(seed).random(count)
    assert numpy_sum(values.tolist()) == float(values.sum())
