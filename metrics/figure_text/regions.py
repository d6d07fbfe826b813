"""Located regions of one side as arrays: the rectangles turned upright and, where asked for, the polygons.

A rotated rectangle is turned upright about its centre before it is compared, as the DeTEXT paper says. It has two
upright positions. Each region takes the one at most 45 degrees away, at 45 degrees the one in which it is wider than
high; where two regions that are compared are turned by angles more than 45 degrees apart, the second takes its other
position, so that sides that ran almost the same way still do. (Text at 44 and at 46 degrees would otherwise end up
crosswise.)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
import shapely
from numpy.typing import NDArray

from .arrays import BoolArray, FloatArray, IntArray
from .records import Box, Geometry, Point
from .turning import minimum_area_rectangles

_HALF_A_LINE = 2.0**-21
_LAST_PIXELS = np.array([0.0, 0.0, 1.0, 1.0])


class Located(Protocol):
    """What has a location: a region of either side."""

    @property
    def points(self) -> list[Point] | None:
        """The corners of a polygon."""

    @property
    def box(self) -> Box | None:
        """An upright rectangle."""


@dataclass(frozen=True, slots=True)
class Outlines:
    """The polygons of N regions: their corners as they were written, float [sum of sizes, 2], and polygons [N]."""

    corners: FloatArray
    polygons: NDArray[np.object_]

    def only(self, good: BoolArray, sizes: IntArray) -> Outlines:
        """The outlines that are `good`, bool [N], of polygons with so many corners each."""
        return Outlines(self.corners[np.repeat(good, sizes)], self.polygons[good])


@dataclass(frozen=True, slots=True)
class Regions:
    """N regions with an area above 0; `positions` says where in the record each stood.

    boxes: float [N, 4], as x1, y1, x2, y2: the rectangles turned upright or, of polygons, the bounding boxes.
    quarter_turned_boxes: float [N, 4], the rectangles turned by 90 degrees more about the centre; of polygons, `boxes`.
    angles: float [N], the angle in radians, within 45 degrees of 0, by which a rectangle was turned.
    outlines: the polygons; None under the geometry `rectangle`.
    sizes: int [N], how many corners each polygon has.
    areas, diagonals: float [N]; centres: float [N, 2], under the geometry asked for.
    dropped: the positions left out, each with the reason.
    owners: int [N], to which figure of a group each region belongs, in order.
    """

    positions: IntArray
    boxes: FloatArray
    quarter_turned_boxes: FloatArray
    angles: FloatArray
    outlines: Outlines | None
    sizes: IntArray
    areas: FloatArray
    centres: FloatArray
    diagonals: FloatArray
    dropped: dict[int, str]
    owners: IntArray

    def __len__(self) -> int:
        return len(self.positions)

    def as_rectangles(self) -> Regions:
        """The same regions under the geometry `rectangle`, even those whose rectangle has no area."""
        if self.outlines is None:
            return self
        return _rectangles(self.positions, self.outlines.corners, self.sizes, self.owners)

    def without_bad(self, good: BoolArray, reason: str) -> Regions:
        """The regions that are `good`, bool [N]; the others are dropped for a reason."""
        if good.all():
            return self
        arrays = {name: getattr(self, name)[good] for name in _ARRAYS}
        outlines = None if self.outlines is None else self.outlines.only(good, self.sizes)
        dropped = dict.fromkeys(self.positions[~good].tolist(), reason)
        return Regions(**arrays, outlines=outlines, dropped=dropped)


_ARRAYS = [field.name for field in fields(Regions) if field.name not in ("outlines", "dropped")]


def locate(
    records: Sequence[Located],
    positions: Sequence[int],
    geometry: Geometry,
    owners: IntArray | None = None,
    pixels: bool = False,
) -> Regions:
    """Returns the regions at `positions` of `records`, each of which has `points` or a `box`.

    `owners` says to which figure of a group each belongs; None: all to one. pixels: whether rectangles hold the pixels
    of both their edges, so that one from 0 to 9 is 10 wide.

    A region without area is dropped, as there is no share of it to cover. Under `polygon` a polygon that is not
    valid and simple (its sides cross or touch) is dropped too, as the Python DetEval in common use does; under
    `rectangle` the smallest rectangle around its points counts.
    """
    coordinates, sizes = _corners([records[position] for position in positions])
    where = np.array(positions, dtype=np.intp)
    figures = np.zeros(len(where), dtype=np.intp) if owners is None else owners
    if geometry == "polygon":
        return _polygons(where, coordinates, sizes, figures)
    rectangles = _rectangles(where, coordinates, sizes, figures, pixels)
    return rectangles.without_bad(rectangles.areas > 0, "it has no area")


def locate_dropped(records: Sequence[Located], positions: Sequence[int], owners: IntArray) -> Regions:
    """Returns the rectangles of regions as `locate` does, also of those without area.

    A side of length 0 is made a millionth of a pixel long, so that a line has shares to be covered, too.
    """
    coordinates, sizes = _corners([records[position] for position in positions])
    boxes, quarter_turned_boxes, angles = _upright(coordinates, sizes)
    where = np.array(positions, dtype=np.intp)
    return _of_boxes(where, _thickened(boxes), _thickened(quarter_turned_boxes), angles, sizes, owners)


def _thickened(boxes: FloatArray) -> FloatArray:
    half = np.where(boxes[:, :2] == boxes[:, 2:], _HALF_A_LINE, 0.0)
    thick: FloatArray = boxes + np.hstack((-half, half))
    return thick


def _corners(regions: Sequence[Located]) -> tuple[FloatArray, IntArray]:
    """Returns the corners of all regions, float [sum of sizes, 2], and how many each has, int [N]."""
    numbers: list[float] = []
    sizes: list[int] = []
    for region in regions:
        if region.points is not None:
            sizes.append(len(region.points))
            numbers.extend(itertools.chain.from_iterable(region.points))
        else:
            x1, y1, x2, y2 = region.box or (0.0, 0.0, 0.0, 0.0)
            sizes.append(4)
            numbers += (x1, y1, x2, y1, x2, y2, x1, y2)
    return np.array(numbers, dtype=np.float64).reshape(-1, 2), np.array(sizes, dtype=np.intp)


def _rectangles(
    positions: IntArray, coordinates: FloatArray, sizes: IntArray, owners: IntArray, pixels: bool = False
) -> Regions:
    """Returns the rectangles around `coordinates` [sum of sizes, 2], the corners of one region after the other's.

    pixels: as for `locate`.
    """
    boxes, quarter_turned_boxes, angles = _upright(coordinates, sizes)
    if pixels:
        boxes, quarter_turned_boxes = boxes + _LAST_PIXELS, quarter_turned_boxes + _LAST_PIXELS
    return _of_boxes(positions, boxes, quarter_turned_boxes, angles, sizes, owners)


def _of_boxes(
    positions: IntArray,
    boxes: FloatArray,
    quarter_turned_boxes: FloatArray,
    angles: FloatArray,
    sizes: IntArray,
    owners: IntArray,
) -> Regions:
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return Regions(
        positions=positions,
        boxes=boxes,
        quarter_turned_boxes=quarter_turned_boxes,
        angles=angles,
        outlines=None,
        sizes=sizes,
        areas=width * height,
        centres=(boxes[:, :2] + boxes[:, 2:]) / 2,
        diagonals=np.hypot(width, height),
        dropped={},
        owners=owners,
    )


def _polygons(positions: IntArray, coordinates: FloatArray, sizes: IntArray, owners: IntArray) -> Regions:
    """Returns the polygons with the corners `coordinates` [sum of sizes, 2], without the bad ones."""
    boxes = _bounds(coordinates, sizes)
    rings = shapely.linearrings(coordinates, indices=np.repeat(np.arange(len(sizes)), sizes))
    outlines = Outlines(coordinates, shapely.polygons(rings))
    areas = shapely.area(outlines.polygons)
    with np.errstate(all="ignore"):  # corners within 1e-300 of each other divide by 0 in there
        good = shapely.is_valid(outlines.polygons) & shapely.is_simple(outlines.polygons) & (areas > 0)
    centres = np.empty((0, 2))
    if len(sizes):
        centres = np.add.reduceat(coordinates, np.cumsum(sizes) - sizes) / sizes[:, None]
    regions = Regions(
        positions=positions,
        boxes=boxes,
        quarter_turned_boxes=boxes,
        angles=np.zeros(len(sizes)),
        outlines=outlines,
        sizes=sizes,
        areas=areas,
        centres=centres,
        diagonals=np.hypot(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]),
        dropped={},
        owners=owners,
    )
    return regions.without_bad(good, "its sides cross or touch, or it has no area")


def _bounds(coordinates: FloatArray, sizes: IntArray) -> FloatArray:
    """Returns the upright bounding boxes, float [N, 4]."""
    if not len(sizes):
        return np.empty((0, 4))
    starts = np.cumsum(sizes) - sizes
    return np.hstack((np.minimum.reduceat(coordinates, starts), np.maximum.reduceat(coordinates, starts)))


def _upright(coordinates: FloatArray, sizes: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Returns `boxes`, `quarter_turned_boxes` and `angles` as in `Regions`.

    A region whose corners are the four of an upright rectangle keeps its coordinates to the bit.
    """
    boxes = _bounds(coordinates, sizes)
    angles = np.zeros(len(sizes))
    if not len(sizes):
        return boxes, boxes, angles
    owners = np.repeat(np.arange(len(sizes)), sizes)
    edges = boxes[owners]
    right, bottom = coordinates[:, 0] == edges[:, 2], coordinates[:, 1] == edges[:, 3]
    at_corner = (right | (coordinates[:, 0] == edges[:, 0])) & (bottom | (coordinates[:, 1] == edges[:, 1]))
    corner = np.where(at_corner, 1 << (2 * right + bottom), 16)
    turned = np.flatnonzero(np.bitwise_or.reduceat(corner, np.cumsum(sizes) - sizes) != 15)
    if turned.size:
        places = np.full(len(sizes), -1)
        places[turned] = np.arange(len(turned))
        mine = places[owners] >= 0
        lines = shapely.linestrings(coordinates[mine], indices=places[owners[mine]])
        boxes[turned], angles[turned] = minimum_area_rectangles(shapely.convex_hull(lines))
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    half = (boxes[:, 2:] - boxes[:, :2])[:, ::-1] / 2
    return boxes, np.hstack((centres - half, centres + half)), angles
