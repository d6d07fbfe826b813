"""Convex quadrangles without GEOS: their hulls, and the area that two have in common where that is beyond doubt."""

from __future__ import annotations

import numpy as np

from .arrays import BoolArray, FloatArray

DOUBT = 1e-6
"""Areas computed here are off by less than this share of the smaller area, or are not answered for."""


def hulls_of_quadrangles(corners: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Returns the closed rings of quadrangles float [N, 4, 2] as GEOS writes their hulls, and which are clearly convex.

    A ring begins at the lowest, then leftmost corner and runs clockwise. Where all turns go one way, by more than they
    may be rounded, a quadrangle is convex; of any other the ring means nothing.
    """
    sides = np.roll(corners, -1, axis=1) - corners
    following = np.roll(sides, -1, axis=1)
    one, other = sides[..., 0] * following[..., 1], sides[..., 1] * following[..., 0]
    cross = one - other
    clear = np.abs(cross) > 1e-9 * (np.abs(one) + np.abs(other)) + 1e-200
    clockwise: BoolArray = np.all(cross < 0, axis=1)
    convex: BoolArray = np.all(clear, axis=1) & (clockwise | np.all(cross > 0, axis=1))
    x, y = corners[..., 0], corners[..., 1]
    lowest = y == y.min(axis=1, keepdims=True)
    first = np.argmin(np.where(lowest, x, np.inf), axis=1)
    steps = np.where(clockwise[:, None], np.arange(5), -np.arange(5))
    rings = corners[np.arange(len(corners))[:, None], (first[:, None] + steps) % 4]
    return rings, convex


def areas_of_rings(rings: FloatArray) -> FloatArray:
    """Returns the areas of closed clockwise rings float [N, 5, 2], `[N]`, rounded otherwise than by GEOS."""
    points = rings[:, :-1] - rings[:, :1]
    following = np.roll(points, -1, axis=1)
    areas: FloatArray = -np.sum(_cross(points, following), axis=1) / 2
    return areas


def areas_in_common(some: FloatArray, others: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Returns the areas that pairs of closed clockwise rings float [P, 5, 2] share, `[P]`, and which are beyond doubt.

    The boundary of the common part is made of what the sides of each have within the other; its area is the sum of
    cross(begin, end) / 2 over those pieces (Green). In doubt are pairs with a side along a side of the other, since its
    piece may count twice or not at all, pairs that may only touch, and shapes so small or thin beside their
    coordinates that the rounding of the coordinates matters.
    """
    origin = some[:, :1]
    one, other = (some - origin)[:, ::-1], (others - origin)[:, ::-1]  # now counterclockwise
    smaller = np.minimum(areas_of_rings(some), areas_of_rings(others))
    first_pieces, first_apart, first_along = _pieces_within(one, other)
    second_pieces, second_apart, second_along = _pieces_within(other, one)
    common = np.maximum(first_pieces + second_pieces, 0.0)
    apart = first_apart | second_apart
    common[apart] = 0.0
    size = np.maximum(*(np.ptp(ring, axis=1).sum(axis=1) for ring in (one, other)))
    magnitude = np.maximum(*(np.abs(ring).max(axis=(1, 2)) for ring in (some, others)))
    beyond_doubt: BoolArray = _are_large_enough(smaller, size, magnitude) & (
        apart | ~(first_along | second_along) & (common > DOUBT * smaller)
    )
    return common, beyond_doubt


def upright_areas_in_common(some: FloatArray, others: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Does `areas_in_common` for upright rectangles float [P, 4], whose sides may run along each other."""
    low, high = np.maximum(some[:, :2], others[:, :2]), np.minimum(some[:, 2:], others[:, 2:])
    sides = np.maximum(high - low, 0.0)
    common: FloatArray = sides[:, 0] * sides[:, 1]
    extents, other_extents = some[:, 2:] - some[:, :2], others[:, 2:] - others[:, :2]
    smaller = np.minimum(extents[:, 0] * extents[:, 1], other_extents[:, 0] * other_extents[:, 1])
    size = np.maximum(extents[:, 0] + extents[:, 1], other_extents[:, 0] + other_extents[:, 1])
    magnitude = np.maximum(np.abs(some), np.abs(others)).max(axis=1)
    beyond_doubt: BoolArray = _are_large_enough(smaller, size, magnitude) & (common > DOUBT * smaller)
    return common, beyond_doubt


def _are_large_enough(smaller: FloatArray, size: FloatArray, magnitude: FloatArray) -> BoolArray:
    """Says of which pairs the rounding of coordinates does not matter.

    By the smaller area, the larger sum of width and height, and the largest coordinate of each pair.
    """
    large_enough: BoolArray = smaller > 1e-7 * size * (magnitude + size)
    return large_enough


def _pieces_within(one: FloatArray, other: FloatArray) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Returns what the pieces of the sides of `one` within `other` add to the common area; both counterclockwise.

    Also whether a side of `other` has all of `one` clearly outside, and whether any two sides run along each other.
    A point p is within where cross(side, p - begin) >= 0 for each side of `other` (Cyrus and Beck 1978).
    """
    begins, directions = one[:, :-1], np.diff(one, axis=1)  # [P, 4, 2]
    other_begins, other_directions = other[:, None, :-1], np.diff(other, axis=1)[:, None]
    offset = _cross(other_directions, begins[:, :, None] - other_begins)  # [P, side of one, side of other]
    slope = _cross(other_directions, directions[:, :, None])
    lengths, other_lengths = (np.hypot(d[..., 0], d[..., 1]) for d in (directions, other_directions))
    size = (np.ptp(one, axis=1).sum(axis=1) + np.ptp(other, axis=1).sum(axis=1))[:, None, None]
    near = DOUBT * size * other_lengths
    apart: BoolArray = np.any(np.all(offset < -near, axis=1), axis=1)
    along = np.abs(slope) <= DOUBT * lengths[:, :, None] * other_lengths
    along &= np.minimum(np.abs(offset), np.abs(offset + slope)) <= near
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = -offset / slope
    entry = np.max(np.where(slope > 0, crossing, 0.0), axis=2).clip(min=0.0)
    leave = np.min(np.where(slope < 0, crossing, 1.0), axis=2).clip(max=1.0)
    leave[np.any((slope == 0) & (offset < 0), axis=2)] = -1.0
    inside = leave > entry
    start = begins + entry[..., None] * directions
    stop = begins + leave[..., None] * directions
    pieces: FloatArray = np.sum(np.where(inside, _cross(start, stop), 0.0), axis=1) / 2
    return pieces, apart, np.any(along, axis=(1, 2))


def _cross(first: FloatArray, second: FloatArray) -> FloatArray:
    product: FloatArray = first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0]
    return product
