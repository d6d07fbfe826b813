"""Many tables are assigned as each is alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.assignment import best_assignment
from beamscore.metrics.common.tables import Tables, best_assignment_sums, best_matches

Table = npt.NDArray[np.float64]
SHAPES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(1, 20)), max_size=6)
SEEDS = st.integers(0, 99)


def drawn(shapes: list[tuple[int, int, int]], seed: int) -> tuple[list[Table], Table, Tables]:
    """Returns tables of scores, their cells one after the other, and their sides."""
    draw = np.random.default_rng(seed)
    # Few levels give many ties, and many scores of 0.
    made = [np.maximum(draw.integers(-levels, levels, (n, m)), 0) / levels for n, m, levels in shapes]
    lines = [(table if table.shape[0] <= table.shape[1] else table.T).ravel() for table in made]
    sides = np.array([table.shape for table in made], dtype=np.intp).reshape(-1, 2)
    return made, np.concatenate([np.zeros(0), *lines]), Tables.of(sides[:, 0], sides[:, 1])


@given(SHAPES, SEEDS)
def test_cells_stand_in_lines_of_the_shorter_side(shapes: list[tuple[int, int, int]], seed: int) -> None:
    made, scores, tables = drawn(shapes, seed)
    numbers, rows, columns = tables.cells()
    held = [made[number][row, column] for number, row, column in zip(numbers, rows, columns, strict=True)]
    assert held == scores.tolist()


@given(SHAPES, SEEDS)
def test_matches_are_those_of_each_table_alone(shapes: list[tuple[int, int, int]], seed: int) -> None:
    made, scores, tables = drawn(shapes, seed)
    matches = best_matches(scores, tables)
    alone = [best_assignment(table) for table in made]
    assert matches.rows.tolist() == [row for rows, _ in alone for row in rows]
    assert matches.columns.tolist() == [column for _, columns in alone for column in columns]
    assert matches.counts.tolist() == [len(rows) for rows, _ in alone]
    picked = [value for table, found in zip(made, alone, strict=True) for value in table[found]]
    assert scores[matches.places].tolist() == picked


@given(SHAPES, SEEDS)
def test_sums_of_assignments_are_those_of_each_table_alone(shapes: list[tuple[int, int, int]], seed: int) -> None:
    made, scores, tables = drawn(shapes, seed)
    sums = best_assignment_sums(scores, tables)
    assert sums.tolist() == [float(table[best_assignment(table)].sum()) for table in made]
