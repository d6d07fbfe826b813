"""Areas and overlaps of boxes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.geometry import box_areas, box_intersections, box_ious

SIDE = st.integers(-3, 8)
BOX = st.tuples(SIDE, SIDE, SIDE, SIDE)


def cells(box: tuple[int, int, int, int]) -> set[tuple[int, int]]:
    """The unit squares of a box with whole corners."""
    x0, y0, x1, y1 = box
    return {(x, y) for x in range(x0, x1) for y in range(y0, y1)}


@given(BOX, BOX)
def test_areas_are_those_of_the_unit_squares(
    first: tuple[int, int, int, int], second: tuple[int, int, int, int]
) -> None:
    a, b = np.array([first], dtype=np.float64), np.array([second], dtype=np.float64)
    assert box_areas(a)[0] == len(cells(first))
    shared, union = len(cells(first) & cells(second)), len(cells(first) | cells(second))
    assert box_ious(a, b)[0, 0] == (shared / union if union else 0)
    if cells(first) and cells(second):
        assert box_intersections(a, b)[0, 0] == shared


def test_a_margin_counts_the_last_row_and_column() -> None:
    # Pixels 0..3 and 2..5 in x, one row: 4 pixels each, 2 shared.
    first, second = np.array([[0.0, 0.0, 3.0, 0.0]]), np.array([[2.0, 0.0, 5.0, 0.0]])
    assert box_ious(first, second, margin=1.0)[0, 0] == 2 / (4 + 4 - 2)


def test_no_boxes() -> None:
    assert box_ious(np.empty((0, 4)), np.ones((3, 4))).shape == (0, 3)
