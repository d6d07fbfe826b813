"""Sums over stretches of an array have the bits that NumPy gives for each stretch alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metrics.common.assignment import best_assignment, best_assignment_sums
from metrics.common.segments import numpy_sum, segment_sums, within

COUNTS = st.lists(st.integers(0, 30), max_size=8)


@given(COUNTS, st.integers(0, 2**32 - 1))
def test_each_stretch_is_summed_as_numpy_sums_it_alone(counts: list[int], seed: int) -> None:
    parts = [np.random.default_rng((seed, place)).random(count) for place, count in enumerate(counts)]
    sums = segment_sums(np.concatenate([np.zeros(0), *parts]), np.array(counts, dtype=np.intp))
    assert sums.tolist() == [float(part.sum()) for part in parts]
    assert [numpy_sum(part.tolist()) for part in parts] == sums.tolist()


def test_places_within_stretches() -> None:
    assert within(np.array([3, 0, 2])).tolist() == [0, 1, 2, 0, 1]


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 20)), min_size=1), st.integers(0, 99))
def test_sums_of_assignments_are_those_of_each_table_alone(shapes: list[tuple[int, int, int]], seed: int) -> None:
    draw = np.random.default_rng(seed)
    # Few levels give many ties, and many scores of 0.
    tables = [np.maximum(draw.integers(-levels, levels, (n, m)), 0) / levels for n, m, levels in shapes]
    lines = np.concatenate(
        [(table if n <= m else table.T).ravel() for table, (n, m, _) in zip(tables, shapes, strict=True)]
    )
    sides = np.array([shape[:2] for shape in shapes])
    sums = best_assignment_sums(lines, sides.min(axis=1), sides.max(axis=1), sides[:, 0] <= sides[:, 1])
    assert sums.tolist() == [float(table[best_assignment(table)].sum()) for table in tables]
