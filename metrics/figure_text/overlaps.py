"""Finds which regions of two sides overlap, and by how much."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

import msgspec
import numpy as np
import shapely

from ..benchmark import RejectedRecord
from ..common.boxes import shared_area
from ..common.budget import Budget
from .limits import BOX_PAIRS_PER_STEP, MAX_PAIRS, STEPS_PER_OVERLAP, charge_intersections
from .records import Box
from .regions import Region


class Overlap(msgspec.Struct, frozen=True, gc=False):
    """A ground-truth region and a detection that have area in common, identified by position.

    common: the area in common. sigma, tau: the shares of the ground-truth and of the detected region that are covered.
    dice: 2 common / (area of one + area of the other).
    """

    truth: int
    detection: int
    common: float
    sigma: float
    tau: float
    dice: float


def measure(truths: Collection[Region], detections: Collection[Region], budget: Budget) -> list[Overlap]:
    """Returns the overlaps in order of truth, then detection: of polygons if the regions have them, else of rectangles.

    sigma = common / area of the ground truth; tau = common / area of the detection (Wolf and Jolion 2006).

    Spends two steps for each pair whose boxes meet, a step for every 16 pairs compared, and for polygons the steps of
    `charge_intersections`. Raises RejectedRecord if too many pairs overlap.
    """
    pairs = near_pairs(truths, [*detections], budget)
    budget.spend(STEPS_PER_OVERLAP * len(pairs[0]))
    if pairs[0] and pairs[0][0].polygon is not None:
        some, others = ([each.polygon for each in side] for side in pairs)
        charge_intersections(some, others, budget)
        with np.errstate(all="ignore"):  # corners within 1e-300 of each other cause a division by 0
            areas = shapely.area(shapely.intersection(some, others)).tolist()
    else:
        areas = [shared_area(truth.box, detection.beside(truth)) for truth, detection in zip(*pairs, strict=True)]
    return [
        Overlap(
            truth.position,
            detection.position,
            common,
            common / truth.area,
            common / detection.area,
            2 * common / (truth.area + detection.area),
        )
        for truth, detection, common in zip(*pairs, areas, strict=True)
        if common > 0
    ]


def near_pairs(
    truths: Iterable[Region], detections: Sequence[Region], budget: Budget
) -> tuple[list[Region], list[Region]]:
    """Returns both sides of the pairs whose bounding boxes overlap, in order of truth, then detection.

    Sorts the detections along one axis, to compare each truth only with those in its range on that axis.
    """
    boxes = [(detection.reach(), number) for number, detection in enumerate(detections)]
    axis = _longer_axis([box for box, _ in boxes])
    boxes.sort(key=lambda each: each[0][axis])
    starts = [box[axis] for box, _ in boxes]
    ends = list(accumulate([box[axis + 2] for box, _ in boxes], max))
    some: list[Region] = []
    others: list[Region] = []
    for truth in truths:
        left, top, right, bottom = reach = truth.reach()
        first, last = bisect_right(ends, reach[axis]), bisect_left(starts, reach[axis + 2])
        budget.spend((last - first) // BOX_PAIRS_PER_STEP)
        near = [
            number
            for (x1, y1, x2, y2), number in boxes[first:last]
            if x1 < right and left < x2 and y1 < bottom and top < y2
        ]
        some += [truth] * len(near)
        others += [detections[number] for number in sorted(near)]
        if len(some) > MAX_PAIRS:
            raise RejectedRecord("prediction", f"more than {MAX_PAIRS} pairs of regions overlap")
    return some, others


def _longer_axis(boxes: Sequence[Box]) -> int:
    """Returns the axis, 0 or 1, along which the boxes are spread more widely; 0 without boxes."""
    if not boxes:
        return 0
    lefts, tops, _, _ = zip(*boxes, strict=True)
    return int(max(tops) - min(tops) > max(lefts) - min(lefts))
