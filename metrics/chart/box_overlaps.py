"""Where the boxes of many charts overlap: all charts of a batch at once, and only the pairs that do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import astuple

from ..common.geometry import Array, box_areas
from .records import Box

Indexes = npt.NDArray[np.intp]

# So many pairs of boxes are compared at once, which bounds the memory.
MAX_CELLS = 1 << 17


class Sides(NamedTuple):
    """The boxes of all charts on one side, one chart after the other.

    corners: (x0, y0, x1, y1) `[N, 4]`. areas: `[N]`. starts: where the boxes of each chart start, and the end of all.
    """

    corners: Array
    areas: Array
    starts: Indexes

    @classmethod
    def of(cls, charts: Sequence[Sequence[Box]]) -> Sides:
        """Returns the boxes of the charts."""
        flat = list(chain.from_iterable([astuple(box) for boxes in charts for box in boxes]))
        corners = np.array(flat, dtype=np.float64).reshape(-1, 4)
        corners[:, 2:] += corners[:, :2]
        starts = np.zeros(len(charts) + 1, dtype=np.intp)
        np.cumsum([len(boxes) for boxes in charts], out=starts[1:])
        return cls(corners, box_areas(corners), starts)


class Overlaps(NamedTuple):
    """The pairs of a box of `truths` and one of `predictions` of the same chart that overlap, or are equal.

    rows, columns: places of the boxes among those of all charts, in order of the rows, then of the columns.
    shared: area of the intersection. ious: intersection over union, 1 for equal boxes without area too.
    """

    rows: Indexes
    columns: Indexes
    shared: Array
    ious: Array


def overlaps_of(truths: Sides, predictions: Sides) -> Overlaps:
    """Returns the overlapping pairs of boxes of all charts."""
    parts = [_overlaps_of_rows(truths, predictions, *rows) for rows in _blocks_of_rows(truths, predictions)]
    if not parts:
        nothing = np.zeros(0, dtype=np.intp)
        return Overlaps(nothing, nothing, np.zeros(0), np.zeros(0))
    if len(parts) == 1:
        return parts[0]
    return Overlaps(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _blocks_of_rows(truths: Sides, predictions: Sides) -> Iterator[tuple[int, int]]:
    """Yields ranges of truths with at most `MAX_CELLS` pairs, or of one truth alone."""
    widths = np.repeat(np.diff(predictions.starts), np.diff(truths.starts))
    ends = np.cumsum(widths)
    start = 0
    while start < len(widths):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + MAX_CELLS, side="right")))
        yield start, stop
        start = stop


def _overlaps_of_rows(truths: Sides, predictions: Sides, start: int, stop: int) -> Overlaps:
    """Returns the overlapping pairs of the truths from `start` to `stop`."""
    charts = np.repeat(np.arange(len(truths.starts) - 1), np.diff(truths.starts))[start:stop]
    firsts = predictions.starts[charts]
    widths = predictions.starts[charts + 1] - firsts
    rows = np.repeat(np.arange(start, stop), widths)
    columns = np.arange(len(rows)) + np.repeat(firsts - (np.cumsum(widths) - widths), widths)
    backwards = _run_backwards(truths.corners[start:stop]) or _run_backwards(predictions.corners)
    widths_shared = _shared_sides(truths.corners, predictions.corners, rows, columns, 0)
    if not backwards:  # Equal boxes whose sides run backwards have IoU 1, though they share a negative side.
        near = np.flatnonzero(widths_shared >= 0)
        rows, columns, widths_shared = rows[near], columns[near], widths_shared[near]
    heights_shared = _shared_sides(truths.corners, predictions.corners, rows, columns, 1)
    if not backwards:
        near = np.flatnonzero(heights_shared >= 0)
        rows, columns = rows[near], columns[near]
        widths_shared, heights_shared = widths_shared[near], heights_shared[near]
    shared = np.maximum(widths_shared, 0.0) * np.maximum(heights_shared, 0.0)
    union = truths.areas[rows] + predictions.areas[columns] - shared
    ious = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    ious[(truths.corners[rows] == predictions.corners[columns]).all(axis=1)] = 1.0
    return Overlaps(rows, columns, shared, ious)


def _run_backwards(corners: Array) -> bool:
    return bool((corners[:, 2:] < corners[:, :2]).any())


def _shared_sides(truths: Array, predictions: Array, rows: Indexes, columns: Indexes, axis: int) -> Array:
    """Returns how long the sides are that pairs of boxes share; negative where there is a gap."""
    high = np.minimum(truths[:, axis + 2][rows], predictions[:, axis + 2][columns])
    return np.asarray(high - np.maximum(truths[:, axis][rows], predictions[:, axis][columns]))
