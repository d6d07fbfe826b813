"""Areas and overlaps of boxes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.boxes import area, bounding_box, box_iou, pixel_iou, shared_area

SIDE = st.integers(-3, 8)
BOX = st.tuples(SIDE, SIDE, SIDE, SIDE)
Whole = tuple[int, int, int, int]


def cells(box: Whole, last: int = 0) -> set[tuple[int, int]]:
    """The unit squares of a box with whole corners; last: 1 with its last row and column."""
    x0, y0, x1, y1 = box
    return {(x, y) for x in range(x0, x1 + last) for y in range(y0, y1 + last)}


@given(BOX, BOX)
def test_areas_are_those_of_the_unit_squares(first: Whole, second: Whole) -> None:
    shared, union = len(cells(first) & cells(second)), len(cells(first) | cells(second))
    assert area(first) == len(cells(first))
    assert shared_area(first, second) == shared
    assert box_iou(first, second) == (shared / union if shared else 0)
    assert bounding_box([first, second]) == (
        min(first[0], second[0]),
        min(first[1], second[1]),
        max(first[2], second[2]),
        max(first[3], second[3]),
    )


@given(BOX, BOX)
def test_pixels_are_counted_with_the_last_row_and_column(first: Whole, second: Whole) -> None:
    # A side that runs backwards has one pixel.
    held = [(x0, y0, max(x0, x1), max(y0, y1)) for x0, y0, x1, y1 in (first, second)]
    if held == [first, second]:
        shared, union = cells(first, 1) & cells(second, 1), cells(first, 1) | cells(second, 1)
        assert pixel_iou(first, second) == len(shared) / len(union)
    assert 0 <= pixel_iou(first, second) <= 1
