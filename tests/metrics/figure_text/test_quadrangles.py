"""Convex quadrangles: their hulls and common areas are those of GEOS, or are not answered for."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.common.budget import Budget
from metrics.figure_text.arrays import FloatArray
from metrics.figure_text.overlaps import Limits, measure
from metrics.figure_text.quadrangles import DOUBT, areas_in_common, areas_of_rings, hulls_of_quadrangles
from metrics.figure_text.records import PredictedRegion
from metrics.figure_text.regions import locate

corners = st.lists(st.tuples(*[st.integers(-9, 9)] * 2), min_size=4, max_size=4)
scales = st.sampled_from([1.0, 0.1, 1e-3, 1e6])


@settings(max_examples=200, deadline=None)
@given(st.lists(corners, min_size=1, max_size=6), scales)
def test_clearly_convex_quadrangles_are_their_own_hulls(shapes: list[list[tuple[int, int]]], scale: float) -> None:
    points = np.array(shapes, dtype=np.float64) * scale
    rings, convex = hulls_of_quadrangles(points)
    hulls = shapely.convex_hull(shapely.linestrings(points))
    for n in np.flatnonzero(convex):
        assert np.array_equal(shapely.get_coordinates(hulls[n]), rings[n])
    # Whole numbers are exact, so all that are convex are found.
    if scale == 1.0:
        strictly = [
            shapely.get_num_coordinates(hull) == 5 and bool(shapely.is_simple(shapely.linearrings(shape)))
            for hull, shape in zip(hulls, points, strict=True)
        ]
        assert convex.tolist() == strictly


def convex_rings(shapes: list[list[tuple[int, int]]], scale: float, shift: float) -> FloatArray:
    rings, convex = hulls_of_quadrangles(np.array(shapes, dtype=np.float64) * scale + shift)
    return rings[convex]


@settings(max_examples=300, deadline=None)
@given(st.lists(corners, min_size=2, max_size=12), scales, st.sampled_from([0.0, 1e3, 9e6]))
def test_areas_in_common_are_right_or_in_doubt(shapes: list[list[tuple[int, int]]], scale: float, shift: float) -> None:
    rings = convex_rings(shapes, scale, shift)
    if not len(rings):
        return
    some, others = np.repeat(rings, len(rings), axis=0), np.tile(rings, (len(rings), 1, 1))
    common, beyond_doubt = areas_in_common(some, others)
    expected = shapely.area(shapely.intersection(shapely.polygons(some), shapely.polygons(others)))
    smaller = np.minimum(areas_of_rings(some), areas_of_rings(others))
    assert (np.abs(common - expected) <= DOUBT * smaller)[beyond_doubt].all()
    assert ((common > 0) == (expected > 0))[beyond_doubt].all()


@pytest.mark.parametrize(
    ("other", "answered"),
    [
        ([(3, 1), (9, 2), (8, 7), (2, 6)], True),  # overlaps by far
        ([(90, 1), (99, 2), (98, 7), (92, 6)], True),  # far apart
        ([(5, 0), (9, 0), (9, 5), (5, 5)], False),  # has sides on the same lines
        ([(10, 2), (19, 3), (18, 8), (11, 9)], False),  # touches in one corner
        ([(1, 1), (2, 1), (2, 1 + 1e-8), (1, 1 + 1e-8)], False),  # is too thin
    ],
)
def test_what_is_beyond_doubt(other: list[tuple[float, float]], answered: bool) -> None:
    square = np.array([[(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0)]])
    rings, convex = hulls_of_quadrangles(np.concatenate((square, np.array([other], dtype=np.float64))))
    assert convex.all()
    assert areas_in_common(rings[:1], rings[1:])[1].tolist() == [answered]


@settings(max_examples=200, deadline=None)
@given(st.lists(corners, max_size=6), st.lists(corners, max_size=6))
def test_comparisons_with_limits_come_out_as_with_exact_shares(
    truths: list[list[tuple[int, int]]], detections: list[list[tuple[int, int]]]
) -> None:
    sides = [
        locate(
            [PredictedRegion(points=[(float(x), float(y)) for x, y in shape]) for shape in shapes],
            range(len(shapes)),
            "polygon",
        )
        for shapes in (truths, detections)
    ]
    exact = measure(sides[0], sides[1], [Budget(10**9)])
    found = measure(sides[0], sides[1], [Budget(10**9)], Limits(0.5, 0.4, 0.6))
    assert found.rows.tolist() == exact.rows.tolist()
    assert found.columns.tolist() == exact.columns.tolist()
    for name, limit in (("sigma", 0.5), ("tau", 0.4), ("dice", 0.6)):
        ours, theirs = getattr(found, name), getattr(exact, name)
        assert ((ours > limit) == (theirs > limit)).all()
        assert ((ours >= limit) == (theirs >= limit)).all()
        assert np.abs(ours - theirs).max(initial=0.0) < 1e-5
