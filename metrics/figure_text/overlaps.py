"""Which regions of two sides overlap and by how much: only the pairs that do, as parallel arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely

from ..common.budget import Budget
from .arrays import BoolArray, FloatArray, IntArray
from .limits import (
    CORNER_PAIRS_NOT_COUNTED,
    MAX_CORNER_PAIRS,
    MAX_PAIRS,
    STEPS_PER_CROSSING,
    STEPS_PER_PAIR,
    charge,
    too_many,
)
from .regions import Regions
from .turning import TIE

_CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class Overlaps:
    """The P pairs of G ground-truth and D detected regions that have area in common, ordered by row, then column.

    rows, columns: int [P], the ground-truth and the detected region of each pair.
    common: float [P], the area in common.
    sigma, tau: float [P], the shares of the ground-truth and of the detected region that are covered.
    dice: float [P], 2 common / (area of one + area of the other).
    """

    truths: Regions
    detections: Regions
    rows: IntArray
    columns: IntArray
    common: FloatArray
    sigma: FloatArray
    tau: FloatArray
    dice: FloatArray

    def __len__(self) -> int:
        return len(self.rows)


def measure(truths: Regions, detections: Regions, budgets: Sequence[Budget]) -> Overlaps:
    """Returns the overlaps of all pairs, of polygons where both sides have them and of upright rectangles otherwise.

    Both sides may hold the regions of several figures, one after the other, each with a budget; only regions of one
    figure are paired.

    sigma = common / area of the ground truth; tau = common / area of the detection (Wolf and Jolion 2006).

    Spends a step for each pair whose boxes meet and for every 200 that do not; of polygons also 30 for each pair, one
    for every 4 pairs of corners, and 20 for each place where sides of the two may cross.

    Raises RejectedRecord above a million pairs of rectangles, or four million pairs of corners of polygons.
    """
    truth_counts, detection_counts = (np.bincount(side.owners, minlength=len(budgets)) for side in (truths, detections))
    charge(budgets, truth_counts * detection_counts // 200)
    if len(budgets) == 1:
        rows, columns = _touching(truths, detections)
    else:
        rows, columns = _touching_within_figures(truths, detections, truth_counts, detection_counts)
    figures = truths.owners[rows]
    pairs = np.bincount(figures, minlength=len(budgets))
    charge(budgets, pairs)
    if truths.outlines is not None and detections.outlines is not None:
        corner_pairs = _sums(truths.sizes[rows] * detections.sizes[columns], figures, len(budgets))
        if corner_pairs.max() > MAX_CORNER_PAIRS:
            raise too_many(f"{corner_pairs.max()} pairs of corners to intersect, at most {MAX_CORNER_PAIRS}")
        charge(budgets, STEPS_PER_PAIR * pairs + corner_pairs // 4)
        charge(budgets, STEPS_PER_CROSSING * crossings(truths, detections, rows, columns, len(budgets)))
        some, others = truths.outlines.polygons[rows], detections.outlines.polygons[columns]
        with np.errstate(all="ignore"):  # corners within 1e-300 of each other divide by 0 in there
            common = shapely.area(shapely.intersection(some, others))
    else:
        common = rectangles_in_common(truths, detections, rows, columns)
    kept = common > 0
    common, areas, other_areas = common[kept], truths.areas[rows[kept]], detections.areas[columns[kept]]
    return Overlaps(
        truths=truths,
        detections=detections,
        rows=rows[kept],
        columns=columns[kept],
        common=common,
        sigma=common / areas,
        tau=common / other_areas,
        dice=2 * common / (areas + other_areas),
    )


def _sums(numbers: IntArray, figures: IntArray, count: int) -> IntArray:
    """Returns the sum of the numbers of each figure, int [count]."""
    sums: IntArray = np.bincount(figures, weights=numbers, minlength=count).astype(np.intp)
    return sums


def crossings(truths: Regions, detections: Regions, rows: IntArray, columns: IntArray, figures: int = 1) -> IntArray:
    """Returns by figure in how many places the sides of the pairs' polygons may cross: where boxes around two meet.

    Of small polygons it is not worth counting: there every two sides may.
    """
    corner_pairs = truths.sizes[rows] * detections.sizes[columns]
    large = corner_pairs > CORNER_PAIRS_NOT_COUNTED
    count = _sums(np.where(large, 0, corner_pairs), truths.owners[rows], figures) // STEPS_PER_CROSSING
    if not large.any():
        return count
    rows, columns = rows[large], columns[large]
    sides, other_sides = _side_boxes(truths, rows), _side_boxes(detections, columns)
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        count[truths.owners[row]] += int(np.count_nonzero(_meet(sides[row], other_sides[column])))
    return count


def _side_boxes(regions: Regions, numbers: IntArray) -> dict[int, FloatArray]:
    """Returns the bounding boxes of the sides of some polygons, float [M, 4] each, widened a little where flat."""
    boxes = {}
    for number in np.unique(numbers).tolist():
        assert regions.outlines is not None
        corners = shapely.get_coordinates(regions.outlines.polygons[number])
        low, high = np.minimum(corners[:-1], corners[1:]), np.maximum(corners[:-1], corners[1:])
        boxes[number] = np.hstack((low, np.nextafter(high, np.inf)))
    return boxes


def rectangles_in_common(truths: Regions, detections: Regions, rows: IntArray, columns: IntArray) -> FloatArray:
    """Returns the areas that the upright rectangles of the pairs have in common, float [P]."""
    one, other = pair_boxes(truths, detections, rows, columns)
    sides = np.minimum(one[:, 2:], other[:, 2:]) - np.maximum(one[:, :2], other[:, :2])
    common: FloatArray = np.prod(np.maximum(sides, 0.0), axis=1)
    return common


def pair_boxes(
    truths: Regions, detections: Regions, rows: IntArray, columns: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Returns the upright rectangles of each pair, float [P, 4] each, in the positions in which they are compared."""
    other = detections.boxes[columns]
    crosswise = np.abs(truths.angles[rows] - detections.angles[columns]) > np.pi / 4 + TIE
    if crosswise.any():
        other = np.where(crosswise[:, None], detections.quarter_turned_boxes[columns], other)
    return truths.boxes[rows], other


def _touching(truths: Regions, detections: Regions) -> tuple[IntArray, IntArray]:
    """Returns the pairs whose bounding boxes meet: rows and columns, ordered by row, then column."""
    reach, detection_reach = _reach(truths), _reach(detections)
    step = max(1, _CELLS_AT_ONCE // max(1, len(detections)))
    parts: list[tuple[IntArray, IntArray]] = []
    count = 0
    for start in range(0, len(truths), step):
        rows, columns = np.nonzero(_meet(reach[start : start + step], detection_reach))
        count += len(rows)
        if count > MAX_PAIRS:
            raise too_many(f"more than {MAX_PAIRS} pairs of regions overlap")
        parts.append((rows + start, columns))
    if len(parts) == 1:
        return parts[0]
    empty = np.empty(0, dtype=np.intp)
    return np.concatenate([empty, *(rows for rows, _ in parts)]), np.concatenate([empty, *(cols for _, cols in parts)])


def _touching_within_figures(
    truths: Regions, detections: Regions, truth_counts: IntArray, detection_counts: IntArray
) -> tuple[IntArray, IntArray]:
    """Returns the same as `_touching` for each of several figures, which have few regions."""
    partners = detection_counts[truths.owners]  # [G], how many detections may face each ground-truth region
    rows = np.repeat(np.arange(len(truths)), partners)
    first_detections = np.cumsum(detection_counts) - detection_counts
    shifts = first_detections[truths.owners] - (np.cumsum(partners) - partners)
    columns = np.arange(len(rows)) + np.repeat(shifts, partners)
    some, others = _reach(truths)[rows], _reach(detections)[columns]
    meet = (some[:, :2] < others[:, 2:]) & (others[:, :2] < some[:, 2:])
    kept = meet[:, 0] & meet[:, 1]
    return rows[kept], columns[kept]


def _meet(some: FloatArray, others: FloatArray) -> BoolArray:
    """Says which of the boxes [N, 4] and [D, 4] meet, bool [N, D]."""
    x1, y1, x2, y2 = some.T[:, :, None]
    left, top, right, bottom = others.T
    meet: BoolArray = (x1 < right) & (left < x2) & (y1 < bottom) & (top < y2)
    return meet


def _reach(regions: Regions) -> FloatArray:
    """Returns boxes that hold each region in every position in which it may be compared, float [N, 4]."""
    if not regions.angles.any():
        return regions.boxes
    return np.hstack(
        (
            np.minimum(regions.boxes[:, :2], regions.quarter_turned_boxes[:, :2]),
            np.maximum(regions.boxes[:, 2:], regions.quarter_turned_boxes[:, 2:]),
        )
    )
