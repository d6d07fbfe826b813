"""Convex quadrangles: their hulls and common areas are those of GEOS, or are not answered for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.common.budget import Budget
from beamscore.metrics.figure_text import overlaps
from beamscore.metrics.figure_text.arrays import BoolArray, FloatArray
from beamscore.metrics.figure_text.deteval import Rules, match
from beamscore.metrics.figure_text.overlaps import Limits, Overlaps, measure
from beamscore.metrics.figure_text.quadrangles import (
    DOUBT,
    areas_in_common,
    areas_of_rings,
    hulls_of_quadrangles,
    upright_areas_in_common,
)
from beamscore.metrics.figure_text.records import PredictedRegion
from beamscore.metrics.figure_text.regions import Regions, locate
from beamscore.metrics.figure_text.spotting import Choices, agree

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


boxes = st.tuples(*[st.integers(0, 9)] * 4).map(lambda box: (*box[:2], box[0] + 1 + box[2], box[1] + 1 + box[3]))


@settings(max_examples=200, deadline=None)
@given(st.lists(boxes, min_size=1, max_size=9), scales, st.sampled_from([0.0, 1e3, 9e6]))
def test_areas_in_common_of_upright_rectangles_are_right_or_in_doubt(
    shapes: list[tuple[int, ...]], scale: float, shift: float
) -> None:
    rectangles = np.array(shapes, dtype=np.float64) * scale + shift
    some, others = np.repeat(rectangles, len(rectangles), axis=0), np.tile(rectangles, (len(rectangles), 1))
    common, beyond_doubt = upright_areas_in_common(some, others)
    polygons, other_polygons = shapely.box(*some.T), shapely.box(*others.T)
    expected = shapely.area(shapely.intersection(polygons, other_polygons))
    smaller = np.minimum(shapely.area(polygons), shapely.area(other_polygons))
    assert (np.abs(common - expected) <= DOUBT * smaller)[beyond_doubt].all()
    assert (expected > 0)[beyond_doubt].all()
    if shift == 0.0:
        assert beyond_doubt.tolist() == (expected > 0).tolist()


def located(shapes: list[list[tuple[int, int]]]) -> Regions:
    records = [PredictedRegion(points=[(float(x), float(y)) for x, y in shape]) for shape in shapes]
    return locate(records, range(len(records)), "polygon")


def matched(found: Overlaps, rules: Rules) -> object:
    """What comes of the overlaps: all matches, and the pairs that agree."""
    counts = np.ones((1, len(found.truths)), dtype=np.bool_)
    [matching] = match(found, counts, rules)
    choices = Choices(counts, matching.covered[None], [1])
    texts = np.zeros(len(found.truths), dtype=np.intp), np.zeros(len(found.detections), dtype=np.intp)
    agreed = [pairing.pairs(0) for pairing in agree(found, texts, 0.5, choices, [Budget(10**9)])]
    pairs = [(int(found.rows[pair]), int(found.columns[pair])) for pair in matching.pairs]
    return pairs, matching.groups, agreed


upright = boxes.map(lambda box: [(box[0], box[1]), (box[2], box[1]), (box[2], box[3]), (box[0], box[3])])
regions = st.lists(st.one_of(upright, upright, corners), max_size=8)


@settings(max_examples=300, deadline=None)
@given(regions, regions, st.booleans(), st.sampled_from([(0.8, 0.4), (0.5, 0.5), (0.6, 0.25)]))
def test_what_matches_is_the_same_with_limits_as_with_exact_shares(
    truths: list[list[tuple[int, int]]],
    detections: list[list[tuple[int, int]]],
    strict: bool,
    thresholds: tuple[float, float],
) -> None:
    """Shares that are sums of whole units are often at a threshold, or equal, to the last bit but one."""
    assert_matched_as_exactly(located(truths), located(detections), Rules(*thresholds, strict))


@pytest.mark.parametrize("widths", [(2.25, 2.0), (2.0, 1.25, 1.0)])
def test_a_sum_of_shares_that_is_almost_at_its_threshold_is_exact(widths: tuple[float, ...]) -> None:
    # 4.25 * 4 of 8 * 4 are 0.53125, which is rounded to 0.5312; a millionth more would be rounded to 0.5313.
    starts = [sum(widths[:n]) + n for n in range(len(widths))]
    boxes = [(start, 0.0, start + width, 4.0) for start, width in zip(starts, widths, strict=True)]
    truth, detections = (
        locate([PredictedRegion(box=box) for box in some], range(len(some)), "polygon")
        for some in ([(0.0, 0.0, 8.0, 4.0)], boxes)
    )
    assert_matched_as_exactly(truth, detections, Rules(0.5312, 0.4, True))


def assert_matched_as_exactly(truths: Regions, detections: Regions, rules: Rules) -> None:
    """Asserts that the same matches where the areas in common that are beyond doubt are off by what they may be."""

    def off(measured: Callable[[FloatArray, FloatArray], tuple[FloatArray, BoolArray]], areas: Areas) -> Any:
        def measure_off(some: FloatArray, others: FloatArray) -> tuple[FloatArray, BoolArray]:
            common, beyond_doubt = measured(some, others)
            error = 0.9 * DOUBT * np.minimum(areas(some), areas(others)) * (common > 0)
            return common + np.where(np.arange(len(common)) % 3 == 1, -error, error), beyond_doubt

        return measure_off

    exact = measure(truths, detections, [Budget(10**9)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlaps, "areas_in_common", off(areas_in_common, areas_of_rings))
        patch.setattr(overlaps, "upright_areas_in_common", off(upright_areas_in_common, areas_of_boxes))
        found = measure(truths, detections, [Budget(10**9)], Limits(rules.sigma, rules.tau, 0.5))
    assert matched(found, rules) == matched(exact, rules)


Areas = Callable[[FloatArray], FloatArray]


def areas_of_boxes(some: FloatArray) -> FloatArray:
    areas: FloatArray = np.prod(some[:, 2:] - some[:, :2], axis=1)
    return areas


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
    sides = located(truths), located(detections)
    exact = measure(sides[0], sides[1], [Budget(10**9)])
    found = measure(sides[0], sides[1], [Budget(10**9)], Limits(0.5, 0.4, 0.6))
    assert found.rows.tolist() == exact.rows.tolist()
    assert found.columns.tolist() == exact.columns.tolist()
    for name, limit in (("sigma", 0.5), ("tau", 0.4), ("dice", 0.6)):
        ours, theirs = getattr(found, name), getattr(exact, name)
        assert ((ours > limit) == (theirs > limit)).all()
        assert ((ours >= limit) == (theirs >= limit)).all()
        assert np.abs(ours - theirs).max(initial=0.0) < 1e-5
