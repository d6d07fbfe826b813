"""Located regions of one side as arrays: the rectangles turned upright and, where asked for, the polygons.

A rotated rectangle is turned upright about its centre before it is compared, as the DeTEXT paper says. It has two
upright positions. Each region takes the one at most 45 degrees away; where two regions that are compared are turned
by angles more than 45 degrees apart, the second takes its other position, so that sides that ran almost the same way
still do. (Text at 44 and at 46 degrees would otherwise end up crosswise.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
import shapely
from numpy.typing import NDArray

from metrics.figure_text.records import Box, Point

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

Geometry = Literal["rectangle", "polygon"]

_CELLS_AT_ONCE = 2_000_000


class Located(Protocol):
    """What has a location: a region of either side."""

    @property
    def points(self) -> list[Point] | None:
        """The corners of a polygon."""

    @property
    def box(self) -> Box | None:
        """An upright rectangle."""


@dataclass(frozen=True, slots=True)
class Regions:
    """N regions with an area above 0; `positions` says where in the record each stood.

    boxes: float [N, 4], the rectangles turned upright, as x1, y1, x2, y2.
    other_boxes: float [N, 4], the same turned by a further 90 degrees about the centre.
    angles: float [N], the angle in radians, within 45 degrees of 0, by which the rectangle was turned.
    polygons: object [N], shapely polygons; None under the geometry `rectangle`.
    sizes: int [N], how many corners each polygon has.
    areas, diagonals: float [N]; centres: float [N, 2], under the geometry asked for.
    dropped: the positions left out, each with the reason.
    """

    positions: IntArray
    boxes: FloatArray
    other_boxes: FloatArray
    angles: FloatArray
    polygons: NDArray[np.object_] | None
    sizes: IntArray
    areas: FloatArray
    centres: FloatArray
    diagonals: FloatArray
    dropped: dict[int, str]

    def __len__(self) -> int:
        return len(self.positions)

    def as_rectangles(self) -> Regions:
        """The same regions under the geometry `rectangle`."""
        if self.polygons is None:
            return self
        width, height = self.boxes[:, 2] - self.boxes[:, 0], self.boxes[:, 3] - self.boxes[:, 1]
        centres = (self.boxes[:, :2] + self.boxes[:, 2:]) / 2
        return replace(self, polygons=None, areas=width * height, centres=centres, diagonals=np.hypot(width, height))


def locate(records: Sequence[Located], positions: Sequence[int], geometry: Geometry) -> Regions:
    """Returns the regions at `positions` of `records`, each of which has `points` or a `box`.

    A region without area is dropped, as there is no share of it to cover. Under `polygon` a polygon that is not
    valid and simple (its sides cross or touch) is dropped too, as the Python DetEval in common use does; under
    `rectangle` the smallest rectangle around its points counts.
    """
    corners: list[Point] = []
    sizes = np.empty(len(positions), dtype=np.intp)
    for n, position in enumerate(positions):
        region = records[position]
        shape = region.points or _corners(region.box or (0.0, 0.0, 0.0, 0.0))
        corners.extend(shape)
        sizes[n] = len(shape)
    coordinates = np.array(corners, dtype=np.float64).reshape(-1, 2)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1])) if len(positions) else np.empty(0, dtype=np.intp)
    return _measured(np.array(positions, dtype=np.intp), coordinates, starts, sizes, geometry)


def _corners(box: Box) -> list[Point]:
    x1, y1, x2, y2 = box
    return [(x1, y1), (x2, y1), (x2, y2), (x1, y2)]


def _measured(
    positions: IntArray, coordinates: FloatArray, starts: IntArray, sizes: IntArray, geometry: Geometry
) -> Regions:
    """Returns the regions whose corners are `coordinates` [sum of sizes, 2], one region after the other."""
    owners = np.repeat(np.arange(len(sizes)), sizes)
    boxes, other_boxes, angles = _upright(coordinates, starts, owners)
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    polygons = None
    if geometry == "polygon":
        polygons = _polygons(coordinates, owners, len(sizes))
        bounds = _bounds(coordinates, starts)
        areas = shapely.area(polygons)
        with np.errstate(all="ignore"):  # corners within 1e-300 of each other divide by 0 in there
            good = shapely.is_valid(polygons) & shapely.is_simple(polygons) & (areas > 0)
        centres = np.add.reduceat(coordinates, starts) / sizes[:, None] if len(sizes) else np.empty((0, 2))
        diagonals = np.hypot(bounds[:, 2] - bounds[:, 0], bounds[:, 3] - bounds[:, 1])
        reason = "its sides cross or touch, or it has no area"
    else:
        areas = width * height
        good = areas > 0
        centres = (boxes[:, :2] + boxes[:, 2:]) / 2
        diagonals = np.hypot(width, height)
        reason = "it has no area"
    return Regions(
        positions=positions[good],
        boxes=boxes[good],
        other_boxes=other_boxes[good],
        angles=angles[good],
        polygons=None if polygons is None else polygons[good],
        sizes=sizes[good],
        areas=areas[good],
        centres=centres[good],
        diagonals=diagonals[good],
        dropped=dict.fromkeys(positions[~good].tolist(), reason),
    )


def _bounds(coordinates: FloatArray, starts: IntArray) -> FloatArray:
    """Returns the upright bounding boxes, float [N, 4]."""
    if not len(starts):
        return np.empty((0, 4))
    return np.hstack((np.minimum.reduceat(coordinates, starts), np.maximum.reduceat(coordinates, starts)))


def _polygons(coordinates: FloatArray, owners: IntArray, count: int) -> NDArray[np.object_]:
    if not count:
        return np.empty(0, dtype=object)
    polygons: NDArray[np.object_] = shapely.polygons(shapely.linearrings(coordinates, indices=owners))
    return polygons


def _upright(coordinates: FloatArray, starts: IntArray, owners: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Returns `boxes`, `other_boxes` and `angles` as in `Regions`.

    A region whose corners are the four of an upright rectangle keeps its coordinates to the bit.
    """
    boxes = _bounds(coordinates, starts)
    angles = np.zeros(len(starts))
    if not len(starts):
        return boxes, boxes, angles
    edges = boxes[owners]
    right, bottom = coordinates[:, 0] == edges[:, 2], coordinates[:, 1] == edges[:, 3]
    at_corner = (right | (coordinates[:, 0] == edges[:, 0])) & (bottom | (coordinates[:, 1] == edges[:, 1]))
    corner = np.where(at_corner, 1 << (2 * right + bottom), 16)
    turned = np.flatnonzero(np.bitwise_or.reduceat(corner, starts) != 15)
    if turned.size:
        is_turned = np.zeros(len(starts), dtype=np.bool_)
        is_turned[turned] = True
        mine = is_turned[owners]
        outlines = shapely.linestrings(coordinates[mine], indices=(np.cumsum(is_turned) - 1)[owners[mine]])
        boxes[turned], angles[turned] = turn(shapely.convex_hull(outlines))
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    half = (boxes[:, 2:] - boxes[:, :2])[:, ::-1] / 2
    return boxes, np.hstack((centres - half, centres + half)), angles


def turn(hulls: NDArray[np.object_]) -> tuple[FloatArray, FloatArray]:
    """Returns the smallest rectangles around convex hulls, turned upright, float [N, 4], and by what angle, [N].

    The smallest rectangle around a convex polygon has a side along one of the polygon's (Freeman and Shapira 1975).
    A hull without area gives a box without area. (shapely.oriented_envelope fails on coordinates very close to 0.)
    """
    boxes, angles = np.zeros((len(hulls), 4)), np.zeros(len(hulls))
    corners = shapely.get_num_coordinates(hulls) - 1
    corners[shapely.get_type_id(hulls) != shapely.GeometryType.POLYGON] = 0
    for count in np.unique(corners[corners > 0]).tolist():
        alike = np.flatnonzero(corners == count)
        step = max(1, _CELLS_AT_ONCE // count**2)
        for part in np.split(alike, range(step, len(alike), step)):
            rings = shapely.get_coordinates(hulls[part]).reshape(len(part), count + 1, 2)
            boxes[part], angles[part] = _turn_rings(rings)
    return boxes, angles


def _turn_rings(rings: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Does `turn` for closed rings of M corners, float [N, M + 1, 2]."""
    first = rings[:, :1]
    sides = np.diff(rings, axis=1)
    along = sides / np.hypot(sides[..., 0], sides[..., 1])[..., None]  # [N, M sides, 2]
    across = np.stack((-along[..., 1], along[..., 0]), axis=-1)
    points = np.swapaxes(rings[:, :-1] - first, 1, 2)  # [N, 2, M corners]
    reach = np.stack((along @ points, across @ points), axis=-1)  # [N, M sides, M corners, 2]
    low, high = reach.min(axis=2), reach.max(axis=2)
    best = np.argmin(np.prod(high - low, axis=-1), axis=1)
    chosen = np.arange(len(rings)), best
    extent, middle, axis = (high - low)[chosen], ((high + low) / 2)[chosen], along[chosen]
    centres = first[:, 0] + middle[:, :1] * axis + middle[:, 1:] * across[chosen]
    directions = np.arctan2(axis[:, 1], axis[:, 0])
    quarters = np.round(directions / (np.pi / 2))
    half = np.where((quarters % 2 == 0)[:, None], extent, extent[:, ::-1]) / 2
    return np.hstack((centres - half, centres + half)), directions - quarters * (np.pi / 2)
