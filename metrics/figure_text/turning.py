"""The smallest rectangles around convex shapes, turned upright."""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

from .arrays import FloatArray, IntArray

_CELLS_AT_ONCE = 2_000_000

TIE = 1e-9
"""What differs by less is equal, so that rounding does not decide: angles (as shares of a right angle, or in radians),
lengths and areas (as shares of themselves)."""


def minimum_area_rectangles(hulls: NDArray[np.object_]) -> tuple[FloatArray, FloatArray]:
    """Returns the smallest rectangles around convex hulls, turned upright, float [N, 4], and by what angle, [N].

    The smallest rectangle around a convex polygon has a side along one of the polygon's (Freeman and Shapira 1975). Of
    several, as around a right triangle, it is the one along the first side.
    A hull without area gives a box without area, turned about its centre, too. (shapely.oriented_envelope fails on
    coordinates very close to 0.)
    """
    boxes, angles = np.zeros((len(hulls), 4)), np.zeros(len(hulls))
    corners = shapely.get_num_coordinates(hulls) - 1
    kinds = shapely.get_type_id(hulls)
    corners[kinds != shapely.GeometryType.POLYGON] = 0
    points = kinds == shapely.GeometryType.POINT
    boxes[points] = np.tile(shapely.get_coordinates(hulls[points]), 2)
    lines = kinds == shapely.GeometryType.LINESTRING
    boxes[lines], angles[lines] = _turn_lines(shapely.get_coordinates(hulls[lines]).reshape(-1, 2, 2))
    for count in np.unique(corners[corners > 0]).tolist():
        alike = np.flatnonzero(corners == count)
        step = max(1, _CELLS_AT_ONCE // count**2)
        for part in np.split(alike, range(step, len(alike), step)):
            rings = shapely.get_coordinates(hulls[part]).reshape(len(part), count + 1, 2)
            boxes[part], angles[part] = turn_rings(rings)
    return boxes, angles


def turn_rings(rings: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Does `minimum_area_rectangles` for closed rings of M corners, float [N, M + 1, 2]."""
    first = rings[:, :1]
    sides = np.diff(rings, axis=1)
    along = sides / np.hypot(sides[..., 0], sides[..., 1])[..., None]  # [N, M sides, 2]
    points = np.swapaxes(rings[:, :-1] - first, 1, 2)  # [N, 2, M corners]
    across = np.stack((-along[..., 1], along[..., 0]), axis=-1)
    reach = np.stack((along @ points, across @ points), axis=-1)  # [N, sides, M corners, 2]
    low, high = reach.min(axis=2), reach.max(axis=2)
    areas = np.prod(high - low, axis=-1)
    best = _first_smallest(areas)
    chosen = np.arange(len(rings)), best
    extent, middle, axis = (high - low)[chosen], ((high + low) / 2)[chosen], along[chosen]
    centres = first[:, 0] + middle[:, :1] * axis + middle[:, 1:] * across[chosen]
    return _upright(centres, np.arctan2(axis[:, 1], axis[:, 0]), extent)


def _turn_lines(ends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Does `minimum_area_rectangles` for lines, float [N, 2 ends, 2]."""
    along = ends[:, 1] - ends[:, 0]
    extent = np.stack((np.hypot(along[:, 0], along[:, 1]), np.zeros(len(along))), axis=-1)
    return _upright(ends.mean(axis=1), np.arctan2(along[:, 1], along[:, 0]), extent)


def _upright(centres: FloatArray, directions: FloatArray, extent: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Returns rectangles turned upright, float [N, 4], and by what angle; extent: along and across, float [N, 2]."""
    quarters = _quarters(directions, extent)
    half = np.where((quarters % 2 == 0)[:, None], extent, extent[:, ::-1]) / 2
    return np.hstack((centres - half, centres + half)), directions - quarters * (np.pi / 2)


def _first_smallest(areas: FloatArray) -> IntArray:
    """Returns the first place along the last axis of an area that is the smallest, but for rounding."""
    places: IntArray = np.argmax(areas <= areas.min(axis=-1, keepdims=True) * (1 + TIE), axis=-1)
    return places


def _quarters(directions: FloatArray, extent: FloatArray) -> FloatArray:
    """Returns by how many quarter turns each direction, float [N], is off its nearest upright position, `[N]`.

    A rectangle halfway between two positions, but for rounding, takes the one in which it is wider than high, so that
    neither its place nor its first corner decides; extent: along the direction and across it, float [N, 2].
    """
    turns = directions / (np.pi / 2)
    lower = np.floor(turns)
    is_odd = lower % 2 != 0
    width, height = np.where(is_odd[:, None], extent[:, ::-1], extent).T
    halfway = np.abs(turns - lower - 0.5) < TIE
    return np.where(halfway, lower + (height > width * (1 + TIE)), np.round(turns))
