"""Locations: rectangles turned upright, polygons, and what is left out."""

import itertools
import math

import numpy as np
import pytest
import shapely
from hypothesis import assume, example, given, strategies as st

from beamscore.metrics.common.budget import Budget
from beamscore.metrics.figure_text.limits import charge_intersections, crossings
from beamscore.metrics.figure_text.overlaps import measure
from beamscore.metrics.figure_text.records import Geometry, PredictedRegion
from beamscore.metrics.figure_text.regions import Region, convex_hull, locate, minimum_area_rectangle
from tests.generate.figure_text import turned
from tests.laws import tries

Corners = list[tuple[float, float]]


def rectangle(x: float, y: float, width: float, height: float, degrees: float) -> Corners:
    """The corners of a rectangle about the centre (x, y), turned by `degrees`."""
    return turned([x - width / 2, y - height / 2, x + width / 2, y + height / 2], degrees)


def located(*shapes: Corners, geometry: Geometry = "rectangle") -> tuple[dict[int, Region], dict[int, str]]:
    return locate([PredictedRegion(points=shape) for shape in shapes], range(len(shapes)), geometry, pixels=False)


def only(shape: Corners, geometry: Geometry = "rectangle") -> Region:
    return located(shape, geometry=geometry)[0][0]


def shares(truth: Corners, detection: Corners, geometry: Geometry = "rectangle") -> tuple[float, float]:
    overlaps = measure([only(truth, geometry)], [only(detection, geometry)], Budget(10**9))
    return (overlaps[0].sigma, overlaps[0].tau) if overlaps else (0.0, 0.0)


DEGREES = st.floats(-180, 180) | st.sampled_from((45, -45, 135, -135))
SIZES, PLACE = st.floats(5, 80), st.tuples(st.floats(-2000, 2000), st.floats(-2000, 2000))


def test_boxes_and_points_keep_their_coordinates_whichever_corner_comes_first() -> None:
    points = [(0.7, 0.9), (0.1, 0.9), (0.1, 0.2), (0.7, 0.2)]
    records = [PredictedRegion(box=(0.1, 0.9, 0.7, 0.2)), PredictedRegion(points=points)]
    regions, _ = locate(records, [0, 1], "rectangle", pixels=False)
    assert regions[0].box == regions[1].box == (0.1, 0.2, 0.7, 0.9)


@tries(150)
@given(DEGREES, SIZES, SIZES, PLACE, st.integers(0, 3), st.booleans())
@example(45, 9, 8, (0.1, 1000.1), 1, True)
@example(90, 40, 10, (50, 20), 0, False)
def test_a_turned_rectangle_is_turned_back_about_its_centre(
    degrees: float, width: float, height: float, centre: tuple[float, float], first: int, backwards: bool
) -> None:
    corners = rectangle(*centre, width, height, degrees)
    ordered = corners[first:] + corners[:first]
    region = only(ordered[::-1] if backwards else ordered)
    x1, y1, x2, y2 = region.box
    assert region.center == pytest.approx(centre, abs=1e-6)
    assert ((x1 + x2) / 2, (y1 + y2) / 2, region.area) == pytest.approx((*region.center, width * height))
    assert sorted([x2 - x1, y2 - y1]) == pytest.approx(sorted([width, height]))
    # It turns by at most 45 degrees: text near 0 or 180 keeps its sides, text near 90 has them exchanged.
    upright = round(degrees / 90) % 2
    if abs(degrees % 90 - 45) > 1e-6:
        assert (x2 - x1, y2 - y1) == pytest.approx((height, width) if upright else (width, height))
    elif degrees % 90 == 45:
        # Text at 45 degrees is wider than high, whatever its place and first corner.
        assert (x2 - x1, y2 - y1) == pytest.approx((max(width, height), min(width, height)), rel=2e-9)
    assert abs(math.degrees(region.angle)) <= 45 + 1e-6
    # An exact copy is covered, whatever the order of its corners.
    crossed = [corners[0], corners[2], corners[1], corners[3]]
    for other in (ordered, crossed):
        assert shares(corners, other) == pytest.approx((1, 1))


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=3, max_size=6), PLACE)
@example([(0, 0), (4, 0), (0, 3)], (0.3, 1000.1))
@example([(2, 0), (4, 2), (2, 4), (0, 2)], (0.1, 1000.1))
def test_a_shape_has_the_same_upright_rectangle_anywhere(points: Corners, shift: tuple[float, float]) -> None:
    here = [(x / 3, y / 3) for x, y in points]
    (found, _), (moved, _) = located(here), located([(x + shift[0], y + shift[1]) for x, y in here])
    assume(len(found) == len(moved))  # A shape without area may have one by rounding.
    for one, other in zip(found.values(), moved.values(), strict=True):
        (x1, y1, x2, y2), (left, top, right, bottom) = one.box, other.box
        assert (right - left, bottom - top) == pytest.approx((x2 - x1, y2 - y1), rel=1e-6, abs=1e-9)


def test_shares() -> None:
    assert shares([(0, 0), (10, 0), (10, 10), (0, 10)], [(0, 0), (10, 0), (0, 10)], "polygon") == (0.5, 1)
    # An arc of text is not its bounding rectangle.
    arc: Corners = [(0, 0), (10, 0), (10, 10), (9, 10), (9, 1), (0, 1)]
    inner: Corners = [(0, 2), (8, 2), (8, 10), (0, 10)]
    assert (shares(arc, inner, "polygon"), shares(arc, inner)) == ((0, 0), (0.64, 1))
    # Text on either side of 45 degrees does not end up crosswise.
    assert shares(rectangle(50, 50, 60, 10, 44), rectangle(50, 50, 60, 10, 46)) == pytest.approx((1, 1))
    # An upright box is not turned to meet text at 45 degrees:
    # 10 x 60 about the same centre as 60 x 10 turned upright: they share the square of 10 x 10 in the middle.
    upright = rectangle(50, 50, 10, 60, 0)
    for degrees, size in itertools.product((45, -45, 135, -135), ((60, 10), (10, 60))):
        text = rectangle(50, 50, *size, degrees)
        assert [*shares(text, upright), *shares(upright, text)] == pytest.approx([1 / 6] * 4)


def test_what_has_no_area_is_left_out_with_the_reason() -> None:
    bow_tie: Corners = [(0, 0), (10, 10), (10, 0), (0, 10)]
    good: Corners = [(0, 0), (10, 0), (10, 10)]
    line: Corners = [(0, 0), (5, 5), (10, 10)]
    shapes = bow_tie, good, line, [(3.0, 3.0)] * 3
    regions, dropped = located(*shapes)
    assert (list(regions), dropped) == ([0, 1], dict.fromkeys((2, 3), "it has no area"))
    assert only(bow_tie).box == (0, 0, 10, 10)
    regions, dropped = located(*shapes, geometry="polygon")
    assert dropped == dict.fromkeys((0, 2, 3), "its sides cross or touch, or it has no area")
    assert regions[1]._replace(polygon=None) == Region(1, (0, 0, 10, 10), 0, 50, (20 / 3, 10 / 3))
    assert located() == located(geometry="polygon") == ({}, {})


@tries(40)
@given(st.integers(25, 300), st.integers(0, 10**6), st.booleans())
def test_the_smallest_rectangle_has_the_area_of_the_best_of_all_sides(count: int, seed: int, clockwise: bool) -> None:
    angles = np.sort(np.random.default_rng(seed).uniform(0, math.tau, count))
    corners = np.stack((50 * np.cos(angles), 9 * np.sin(angles)), axis=1) @ [[0.8, 0.6], [-0.6, 0.8]] + 1e4
    corners = corners[::-1] if clockwise else corners
    sides = np.diff(corners, axis=0, append=corners[:1])
    along = sides / np.linalg.norm(sides, axis=1)[:, None]
    across = np.stack((-along[:, 1], along[:, 0]), axis=1)
    areas = np.ptp(corners @ along.T, axis=0) * np.ptp(corners @ across.T, axis=0)
    # Points within change nothing.
    points = np.concatenate((corners, (corners + corners.mean(axis=0)) / 2))
    (x1, y1, x2, y2), _ = minimum_area_rectangle(convex_hull(set(map(tuple, points.tolist()))))
    assert (x2 - x1) * (y2 - y1) == pytest.approx(areas.min(), rel=1e-9)


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=12))
def test_the_hull_is_that_of_geos_from_the_same_corner_on(points: set[tuple[int, int]]) -> None:
    """Of rectangles that are equally small, that of the first side is taken."""
    hull = shapely.convex_hull(shapely.multipoints(list(points)))
    assume(hull.geom_type == "Polygon")
    assert convex_hull({(float(x), float(y)) for x, y in points}) == list(hull.exterior.coords)[:-1]


@given(
    st.lists(st.integers(-500, 500), min_size=3, max_size=6, unique=True),
    st.sampled_from([(-26.0, -62.0), (0.7, 0.3), (90.3, -32.2), (1e-3, 2.0), (1e5, 1.0)]),
    st.sampled_from([1.0, 0.1, 1 / 3]),
)
def test_corners_on_a_line_have_no_area_whatever_rounding_says(
    steps: list[int], direction: tuple[float, float], scale: float
) -> None:
    corners = [(7.1 + scale * step * direction[0], 28.5 + scale * step * direction[1]) for step in steps]
    for lines in (corners, [(7.0, 28.5), (97.3, -3.7), (32.8, 19.3)]):
        assert located(lines)[0] == located(lines, geometry="polygon")[0] == {}


def test_where_sides_may_cross_is_counted() -> None:
    there = [(float(n), 900.0 * (n % 2)) for n in range(50)]
    zigzag = there + [(x, y + 2) for x, y in reversed(there)]
    one, other = shapely.Polygon(zigzag), shapely.Polygon([(y, x) for x, y in zigzag])
    # 49 sides there and 49 back of either cross nearly all of the other; the rest are two short ends.
    assert 96 * 96 <= crossings(one, other) <= 100 * 100
    assert crossings(one, shapely.Polygon([(y + 5000, x) for x, y in zigzag])) == 0
    # The long sides of a bar cross one side of a square.
    assert crossings(shapely.box(0, 0, 1, 1), shapely.box(-1, 0.4, 0.5, 0.6)) == 2
    budget, corners = Budget(10**9), 100 * 100
    charge_intersections([one], [other], budget)
    assert budget.steps == 30 + corners // 4 + 20 * crossings(one, other)
    # In small polygons, of up to 8 x 8 corners, every two sides may cross: of each pair 30 steps, all pairs of corners,
    # and a quarter of them.
    for count in (4, 8):
        budget, edge = Budget(10**9), [(-1.0, 0.5 - n / 9) for n in range(count - 4)]
        polygon = shapely.Polygon(rectangle(0, 0, 2, 2, 0) + edge)
        charge_intersections([polygon] * 100, [polygon] * 100, budget)
        assert budget.steps == 100 * (30 + count * count + count * count // 4)
