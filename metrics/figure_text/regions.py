"""Locates regions as rectangles turned upright or as polygons.

A rotated rectangle is turned upright about its center before it is compared, as the DeTEXT paper says. It has two
upright positions. Each region takes the one at most 45 degrees away, at 45 degrees the one in which it is wider than
high. If two regions that are compared are turned by angles more than 45 degrees apart, the second takes its other
position, so that sides that ran almost the same way still do. (Text at 44 and at 46 degrees would otherwise end up
crosswise.)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, floor, hypot, pi
from typing import Any, NamedTuple

import numpy as np
import shapely

from ..common.boxes import bounding_box, corner_points
from ..statistics.ratios import plain_sum
from .records import Box, Geometry, Point, PredictedRegion, TruthRegion

TIE = 1e-9
"""Values that differ by less are equal, so rounding does not decide: angles (as shares of a right angle, or in
radians), lengths and areas (as shares of themselves)."""

HALF_A_LINE = 2.0**-21

Record = TruthRegion | PredictedRegion


class Region(NamedTuple):
    """A region with an area above 0.

    position: its index in the record. box: the rectangle (x1, y1, x2, y2) turned upright or, for a polygon, the
    bounding box. angle: the angle in radians by which the rectangle was turned, within 45 degrees of 0. polygon: None
    under the geometry `rectangle`.
    """

    position: int
    box: Box
    angle: float
    area: float
    center: Point
    polygon: Any = None

    def beside(self, other: Region) -> Box:
        """Returns the upright box of this region in the position in which it is compared with `other`."""
        if abs(other.angle - self.angle) > pi / 4 + TIE:
            return quarter_turned(self.box)
        return self.box

    def reach(self) -> Box:
        """Returns a box that contains the region in both positions in which it may be compared."""
        if not self.angle:
            return self.box
        (x1, y1, x2, y2), (left, top, right, bottom) = self.box, quarter_turned(self.box)
        return min(x1, left), min(y1, top), max(x2, right), max(y2, bottom)


def locate(
    records: Sequence[Record], positions: Sequence[int], geometry: Geometry, pixels: bool
) -> tuple[dict[int, Region], dict[int, str]]:
    """Returns the regions at `positions` of `records`, which have `points` or a `box`, and why others were dropped.

    A region without area is dropped, since no share of it can be covered. Under `polygon`, a polygon that is not
    valid and simple (its sides cross or touch) is dropped too, as in the commonly used Python DetEval; under
    `rectangle`, the smallest rectangle around the points is used.

    pixels: whether rectangles include the pixels at both edges, so that one from 0 to 9 is 10 wide.
    """
    if geometry == "polygon":
        return _polygons(records, positions)
    regions: dict[int, Region] = {}
    dropped: dict[int, str] = {}
    for position in positions:
        (x1, y1, x2, y2), angle = upright(records[position])
        if pixels:
            x2, y2 = x2 + 1, y2 + 1
        region = _turned_upright(position, (x1, y1, x2, y2), angle)
        if region.area > 0:
            regions[position] = region
        else:
            dropped[position] = "it has no area"
    return regions, dropped


def rectangle(record: Record, position: int) -> Region:
    """Returns the rectangle of a region, even of one without area.

    A side of length 0 becomes a millionth of a pixel long, so that a share of a line can be covered, too.
    """
    (x1, y1, x2, y2), angle = upright(record)
    if x1 == x2:
        x1, x2 = x1 - HALF_A_LINE, x2 + HALF_A_LINE
    if y1 == y2:
        y1, y2 = y1 - HALF_A_LINE, y2 + HALF_A_LINE
    return _turned_upright(position, (x1, y1, x2, y2), angle)


def _turned_upright(position: int, box: Box, angle: float) -> Region:
    x1, y1, x2, y2 = box
    return Region(position, box, angle, (x2 - x1) * (y2 - y1), ((x1 + x2) / 2, (y1 + y2) / 2))


def quarter_turned(box: Box) -> Box:
    """Returns a box turned by 90 degrees about its center."""
    x1, y1, x2, y2 = box
    x, y, half_width, half_height = (x1 + x2) / 2, (y1 + y2) / 2, (x2 - x1) / 2, (y2 - y1) / 2
    return x - half_height, y - half_width, x + half_height, y + half_width


def _polygons(records: Sequence[Record], positions: Sequence[int]) -> tuple[dict[int, Region], dict[int, str]]:
    """Returns the result of `locate` for polygons; the center of a polygon is the mean of its corners."""
    corners = [corners_of(records[position]) for position in positions]
    owners = np.repeat(np.arange(len(corners)), [len(each) for each in corners])
    coordinates = np.array([point for each in corners for point in each], dtype=np.float64).reshape(-1, 2)
    polygons = shapely.polygons(shapely.linearrings(coordinates, indices=owners))
    areas, lengths = shapely.area(polygons), shapely.length(polygons)
    with np.errstate(all="ignore"):  # corners within 1e-300 of each other cause a division by 0
        good = shapely.is_valid(polygons) & shapely.is_simple(polygons) & (areas > TIE * lengths**2)
    regions: dict[int, Region] = {}
    dropped: dict[int, str] = {}
    for position, each, polygon, area, is_good in zip(
        positions, corners, polygons, areas.tolist(), good.tolist(), strict=True
    ):
        if is_good:
            xs, ys = zip(*each, strict=True)
            center = plain_sum(xs) / len(xs), plain_sum(ys) / len(ys)
            box = min(xs), min(ys), max(xs), max(ys)
            regions[position] = Region(position, box, 0.0, area, center, polygon)
        else:
            dropped[position] = "its sides cross or touch, or it has no area"
    return regions, dropped


def corners_of(record: Record) -> Sequence[Point]:
    """Returns the corners of a region that has `points` or a `box`."""
    return corner_points(record.box or (0.0, 0.0, 0.0, 0.0)) if record.points is None else record.points


def box_around(record: Record) -> Box:
    """Returns the smallest upright box around a region."""
    return bounding_box([(x, y, x, y) for x, y in corners_of(record)])


def lie_apart(record: Record, other: Record) -> bool | None:
    """Returns whether the bounding boxes of two regions do not even touch; None if one has no location."""
    if any(each.points is None and each.box is None for each in (record, other)):
        return None
    left, top, right, bottom = box_around(record)
    other_left, other_top, other_right, other_bottom = box_around(other)
    along_x = left <= other_right and other_left <= right
    return not (along_x and top <= other_bottom and other_top <= bottom)


def upright(record: Record) -> tuple[Box, float]:
    """Returns the smallest rectangle around a region, turned upright, and the angle in radians.

    If the corners are those of an upright rectangle, the coordinates are returned unchanged.
    """
    corners = set(corners_of(record))
    xs, ys = zip(*corners, strict=True)
    left, top, right, bottom = box = min(xs), min(ys), max(xs), max(ys)
    if corners == {(left, top), (right, top), (right, bottom), (left, bottom)}:
        return box, 0.0
    return minimum_area_rectangle(convex_hull(corners))


def convex_hull(points: set[Point]) -> list[Point]:
    """Returns the corners of the convex hull, from the lowest, clockwise if y points up (Andrew 1979)."""
    placed = sorted([(y, x) for x, y in points])
    if len(placed) < 3:
        return [(x, y) for y, x in placed]
    hull: list[Point] = []
    for way in (placed, placed[::-1]):
        start = len(hull)
        for y, x in way:
            while len(hull) > start + 1 and _turns_left(hull[-2], hull[-1], (x, y)):
                hull.pop()
            hull.append((x, y))
        hull.pop()
    return hull


def _turns_left(first: Point, second: Point, third: Point) -> bool:
    """Returns whether a path turns left, or not at all, if y points up."""
    (x, y), (x1, y1), (x2, y2) = first, second, third
    return (y1 - y) * (x2 - x) - (x1 - x) * (y2 - y) <= 0


def minimum_area_rectangle(hull: Sequence[Point]) -> tuple[Box, float]:
    """Returns the smallest rectangle around a convex hull, turned upright about its center, and the angle in radians.

    The smallest rectangle around a convex polygon has a side along one of the polygon's (Freeman and Shapira 1975). If
    several are equally small, as around a right triangle, the first side decides. As the sides are visited in order,
    the farthest corners along, across and against each side advance, too (rotating calipers, Toussaint 1983).
    """
    first_x, first_y = hull[0]
    if len(hull) == 1:
        return (first_x, first_y, first_x, first_y), 0.0
    # Merges corners whose offsets from the first corner round to the same values.
    corners = list(dict.fromkeys((x - first_x, y - first_y) for x, y in hull))
    count = len(corners)
    along = across = against = 1
    rectangles = []
    for side in range(count):
        (x, y), (next_x, next_y) = corners[side], corners[(side + 1) % count]
        length = hypot(next_x - x, next_y - y)
        u, v = (next_x - x) / length, (next_y - y) / length
        along, ahead = _farthest(corners, max(along, side + 1), u, v)
        across, beside = _farthest(corners, max(across, along), v, -u)
        against, behind = _farthest(corners, max(against, across), -u, -v)
        here = y * u - x * v
        if here + beside <= TIE * (ahead + behind):
            # All corners are on the line of this side, up to rounding, which may even give a negative area.
            beside = -here
        rectangles.append(((ahead + behind) * (here + beside), u, v, -behind, ahead, -beside, here))
    least = min(rectangles)[0] * (1 + TIE)
    _, u, v, low, high, near, far = next(each for each in rectangles if each[0] <= least)
    x, y = (low + high) / 2, (near + far) / 2
    width, height, direction = high - low, far - near, atan2(v, u)
    quarters = _quarters(direction, width, height)
    if quarters % 2:
        width, height = height, width
    x, y = first_x + x * u - y * v, first_y + x * v + y * u
    return (x - width / 2, y - height / 2, x + width / 2, y + height / 2), direction - quarters * (pi / 2)


def _farthest(corners: Sequence[Point], place: int, u: float, v: float) -> tuple[int, float]:
    """Returns the first corner from `place` on whose successor is not farther in direction (u, v), and its distance."""
    count = len(corners)
    x, y = corners[place % count]
    distance = x * u + y * v
    while True:
        x, y = corners[(place + 1) % count]
        if (farther := x * u + y * v) <= distance:
            return place, distance
        place, distance = place + 1, farther


def _quarters(direction: float, width: float, height: float) -> int:
    """Returns the number of quarter turns that is closest to a direction in radians.

    A rectangle halfway between two upright positions, up to rounding, takes the one in which it is wider than high, so
    that neither its location nor its first corner decides; width: the side along the direction.
    """
    turns = direction / (pi / 2)
    lower = floor(turns)
    if abs(turns - lower - 0.5) >= TIE:
        return round(turns)
    if lower % 2:
        width, height = height, width
    return lower + (height > width * (1 + TIE))
