"""Locations as arrays: rectangles turned upright, polygons, and what is left out."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from beamscore.metrics.common.budget import Budget, OutOfBudget
from beamscore.metrics.figure_text.overlaps import crossings, measure
from beamscore.metrics.figure_text.records import Geometry, PredictedRegion
from beamscore.metrics.figure_text.regions import Regions, locate
from beamscore.metrics.figure_text.turning import minimum_area_rectangles

Corners = list[tuple[float, float]]


def rectangle(x: float, y: float, width: float, height: float, degrees: float) -> Corners:
    """The corners of a rectangle about the centre (x, y), turned by `degrees`."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    half = ((-width / 2, -height / 2), (width / 2, -height / 2), (width / 2, height / 2), (-width / 2, height / 2))
    return [(x + a * cosine - b * sine, y + a * sine + b * cosine) for a, b in half]


def located(*shapes: Corners, geometry: Geometry = "rectangle") -> Regions:
    records = [PredictedRegion(points=shape) for shape in shapes]
    return locate(records, range(len(records)), geometry)


def shares(truth: Corners, detection: Corners, geometry: Geometry = "rectangle") -> tuple[float, float]:
    """Returns (sigma, tau) of the one pair."""
    overlaps = measure(located(truth, geometry=geometry), located(detection, geometry=geometry), [Budget(10**9)])
    return (float(overlaps.sigma[0]), float(overlaps.tau[0])) if len(overlaps) else (0.0, 0.0)


class TestUpright:
    def test_a_box_and_the_same_points_are_the_same_to_the_bit(self) -> None:
        box = (0.1, 0.2, 0.7, 0.9)
        points = [(0.7, 0.9), (0.1, 0.9), (0.1, 0.2), (0.7, 0.2)]
        records = [PredictedRegion(box=box), PredictedRegion(points=points)]
        assert locate(records, [0, 1], "rectangle").boxes.tolist() == [list(box), list(box)]

    def test_the_corners_of_a_box_come_in_any_order(self) -> None:
        records = [PredictedRegion(box=(7, 9, 1, 2))]
        assert locate(records, [0], "rectangle").boxes.tolist() == [[1, 2, 7, 9]]

    @pytest.mark.parametrize("degrees", [1, 30, 44, -44, -20])
    def test_a_turned_rectangle_is_turned_back_about_its_centre(self, degrees: float) -> None:
        regions = located(rectangle(50, 20, 40, 10, degrees))
        np.testing.assert_allclose(regions.boxes, [[30, 15, 70, 25]], atol=1e-9)
        np.testing.assert_allclose(np.degrees(regions.angles), [degrees])

    def test_upright_text_stays_upright(self) -> None:
        np.testing.assert_allclose(located(rectangle(50, 20, 40, 10, 90)).boxes, [[45, 0, 55, 40]], atol=1e-9)
        np.testing.assert_allclose(located(rectangle(50, 20, 40, 10, 80)).boxes, [[45, 0, 55, 40]], atol=1e-9)

    def test_text_on_either_side_of_45_degrees_does_not_end_up_crosswise(self) -> None:
        sigma, tau = shares(rectangle(50, 50, 60, 10, 44), rectangle(50, 50, 60, 10, 46))
        assert sigma == pytest.approx(1)
        assert tau == pytest.approx(1)

    @settings(max_examples=100, deadline=None)
    @given(
        st.sampled_from((45, -45, 135, -135)),
        st.floats(5, 80),
        st.floats(5, 80),
        st.tuples(st.floats(-2000, 2000), st.floats(-2000, 2000)),
        st.integers(0, 3),
        st.booleans(),
    )
    def test_text_at_45_degrees_is_wider_than_high_whatever_its_place_and_first_corner(
        self,
        degrees: float,
        width: float,
        height: float,
        centre: tuple[float, float],
        first: int,
        backwards: bool,
    ) -> None:
        corners = rectangle(*centre, width, height, degrees)
        corners = corners[first:] + corners[:first]
        box = located(corners[::-1] if backwards else corners).boxes[0]
        expected = max(width, height), min(width, height)
        np.testing.assert_allclose(box[2:] - box[:2], expected, rtol=2e-9)

    @settings(max_examples=150, deadline=None)
    @given(
        st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=3, max_size=6),
        st.tuples(st.floats(-2000, 2000), st.floats(-2000, 2000)),
    )
    @example([(0, 0), (4, 0), (0, 3)], (0.3, 1000.1))
    @example([(2, 0), (4, 2), (2, 4), (0, 2)], (0.1, 1000.1))
    def test_a_shape_has_the_same_upright_rectangle_wherever_it_stands(
        self, points: list[tuple[int, int]], shift: tuple[float, float]
    ) -> None:
        here = [(x / 3, y / 3) for x, y in points]
        there = [(x + shift[0], y + shift[1]) for x, y in here]
        found, moved = located(here), located(there)
        assume(len(found) == len(moved))  # A shape without area may have one by rounding.
        size, size_moved = (regions.boxes[:, 2:] - regions.boxes[:, :2] for regions in (found, moved))
        np.testing.assert_allclose(size_moved, size, rtol=1e-6, atol=1e-9)

    def test_an_upright_box_is_not_turned_to_meet_text_at_45_degrees(self) -> None:
        # 10 x 60 about the same centre as 60 x 10 turned upright: they share the square of 10 x 10 in the middle.
        for degrees in (45, -45, 135, -135):
            for turned in (rectangle(50, 50, 60, 10, degrees), rectangle(50, 50, 10, 60, degrees)):
                upright = rectangle(50, 50, 10, 60, 0)
                assert shares(turned, upright) == pytest.approx((1 / 6, 1 / 6))
                assert shares(upright, turned) == pytest.approx((1 / 6, 1 / 6))

    def test_corners_of_a_rectangle_in_any_order_are_that_rectangle(self) -> None:
        a, b, c, d = rectangle(50, 20, 40, 10, 30)
        np.testing.assert_allclose(located([a, c, b, d]).boxes, [[30, 15, 70, 25]], atol=1e-9)

    @settings(max_examples=100, deadline=None)
    @given(
        st.floats(-180, 180),
        st.floats(5, 80),
        st.floats(5, 80),
        st.tuples(st.floats(-20, 20), st.floats(-20, 20)),
        st.integers(0, 3),
    )
    def test_an_exact_copy_is_covered_whatever_the_angle_and_the_first_corner(
        self, degrees: float, width: float, height: float, centre: tuple[float, float], first: int
    ) -> None:
        corners = rectangle(*centre, width, height, degrees)
        sigma, tau = shares(corners, corners[first:] + corners[:first])
        assert sigma == pytest.approx(1)
        assert tau == pytest.approx(1)


class TestPolygon:
    def test_exact_areas(self) -> None:
        triangle: Corners = [(0, 0), (10, 0), (0, 10)]
        square: Corners = [(0, 0), (10, 0), (10, 10), (0, 10)]
        assert shares(square, triangle, "polygon") == (0.5, 1.0)

    def test_an_arc_of_text_is_not_its_bounding_rectangle(self) -> None:
        arc: Corners = [(0, 0), (10, 0), (10, 10), (9, 10), (9, 1), (0, 1)]
        inner: Corners = [(0, 2), (8, 2), (8, 10), (0, 10)]
        assert shares(arc, inner, "polygon") == (0, 0)
        assert shares(arc, inner, "rectangle") == (0.64, 1)


BOW_TIE: Corners = [(0, 0), (10, 10), (10, 0), (0, 10)]
LINE: Corners = [(0, 0), (5, 5), (10, 10)]
POINT: Corners = [(3, 3), (3, 3), (3, 3)]
GOOD: Corners = [(0, 0), (10, 0), (10, 10)]


class TestDropped:
    def test_crossing_sides_have_no_polygon_but_a_rectangle(self) -> None:
        assert list(located(BOW_TIE, GOOD, geometry="polygon").dropped) == [0]
        assert located(BOW_TIE, geometry="rectangle").boxes.tolist() == [[0, 0, 10, 10]]

    @pytest.mark.parametrize("geometry", ["rectangle", "polygon"])
    def test_what_has_no_area_is_left_out_with_the_reason(self, geometry: Geometry) -> None:
        regions = located(LINE, GOOD, POINT, geometry=geometry)
        assert regions.positions.tolist() == [1]
        assert list(regions.dropped) == [0, 2]
        assert all("no area" in reason for reason in regions.dropped.values())

    @pytest.mark.parametrize("geometry", ["rectangle", "polygon"])
    def test_a_thousand_corners(self, geometry: Geometry) -> None:
        circle = [(math.cos(n * math.tau / 1000), math.sin(n * math.tau / 1000)) for n in range(1000)]
        regions = located(circle, geometry=geometry)
        assert regions.areas[0] == pytest.approx(math.pi if geometry == "polygon" else 4, rel=1e-4)

    def test_no_regions(self) -> None:
        assert len(located()) == len(located(geometry="polygon")) == 0

    # Polygons of any shape: nothing is lost without a trace and nothing crashes.
    @settings(max_examples=150, deadline=None)
    @given(
        st.lists(
            st.lists(
                st.tuples(*[st.one_of(st.integers(-3, 3).map(float), st.floats(-1e7, 1e7), st.just(1e-301))] * 2),
                min_size=3,
                max_size=9,
            ),
            max_size=4,
        ),
        st.sampled_from(["rectangle", "polygon"]),
    )
    def test_any_points_are_kept_or_named(self, shapes: list[Corners], geometry: Geometry) -> None:
        regions = located(*shapes, geometry=geometry)
        assert sorted([*regions.positions.tolist(), *regions.dropped]) == list(range(len(shapes)))
        overlaps = measure(regions, regions, [Budget(10**9)])
        assert np.isfinite(overlaps.sigma).all()
        assert np.isfinite(overlaps.tau).all()


class TestManyCorners:
    @settings(max_examples=60, deadline=None)
    @given(st.integers(25, 300), st.integers(0, 10**6), st.booleans())
    def test_the_smallest_rectangle_has_the_area_of_the_best_of_all_sides(
        self, count: int, seed: int, clockwise: bool
    ) -> None:
        draw = np.random.default_rng(seed)
        angles = np.sort(draw.uniform(0, math.tau, count))
        corners = np.stack((50 * np.cos(angles), 9 * np.sin(angles)), axis=1) @ [[0.8, 0.6], [-0.6, 0.8]] + 1e4
        if clockwise:
            corners = corners[::-1]
        sides = np.diff(corners, axis=0, append=corners[:1])
        along = sides / np.linalg.norm(sides, axis=1)[:, None]
        across = np.stack((-along[:, 1], along[:, 0]), axis=1)
        areas = np.ptp(corners @ along.T, axis=0) * np.ptp(corners @ across.T, axis=0)
        boxes, _ = minimum_area_rectangles(np.array([shapely.convex_hull(shapely.linestrings(corners))]))
        assert (boxes[0, 2] - boxes[0, 0]) * (boxes[0, 3] - boxes[0, 1]) == pytest.approx(areas.min(), rel=1e-9)


class TestCrossings:
    def test_where_sides_may_cross_is_counted(self) -> None:
        there = [(float(n), 900.0 * (n % 2)) for n in range(50)]
        zigzag = there + [(x, y + 2) for x, y in reversed(there)]
        across = [(y, x) for x, y in zigzag]
        pair = located(zigzag, geometry="polygon"), located(across, geometry="polygon")
        one = np.array([0])
        # 49 sides there and 49 back of either cross nearly all of the other; the rest are two short ends.
        assert 96 * 96 <= crossings(*pair, one, one) <= 100 * 100
        far = located([(x + 5000, y) for x, y in across], geometry="polygon")
        assert crossings(pair[0], far, one, one) == 0
        with pytest.raises(OutOfBudget):
            measure(*pair, [Budget(96 * 96 * 20)])

    def test_small_polygons_are_not_worth_counting(self) -> None:
        square = located(rectangle(0, 0, 2, 2, 0), geometry="polygon")
        one = np.array([0])
        assert crossings(square, square, one, one) == 0
        assert crossings(square, square, np.zeros(100, dtype=np.intp), np.zeros(100, dtype=np.intp)) == 80
