"""What scoring one figure may cost. Steps are charged before the work, from sizes and overlaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from ..benchmark import RejectedRecord, Side
from ..common.budget import Budget
from .records import PredictedRegion, TruthRegion

MAX_PAIRS = 1_000_000
MAX_CORNER_PAIRS = 4_000_000
STEPS_PER_CORNER = 4
STEPS_PER_CROSSING = 20
STEPS_PER_PAIR = 30
CORNER_PAIRS_NOT_COUNTED = 64
PAIRS_PER_CHOICE_STEP = 2


def too_many(what: str) -> RejectedRecord:
    """Returns the error of a figure that is beyond what any budget covers."""
    return RejectedRecord("prediction", f"the predicted regions overlap too often: {what}")


def charge_reading(budget: Budget, side: Side, regions: Iterable[TruthRegion | PredictedRegion]) -> None:
    """Charges what it costs to locate the regions of one side, by their corners."""
    corners = sum([4 if region.points is None else len(region.points) for region in regions])
    with budget.reading(side):
        budget.spend(corners * STEPS_PER_CORNER)


def charge_intersections(some: Sequence[Any], others: Sequence[Any], budget: Budget) -> None:
    """Charges the intersections of pairs of polygons.

    A pair takes 30 steps, one for every 4 pairs of corners, and 20 for each place where sides of the two may cross.

    Raises RejectedRecord above four million pairs of corners.
    """
    corner_pairs = (shapely.get_num_coordinates(some) - 1) * (shapely.get_num_coordinates(others) - 1)
    total = int(corner_pairs.sum())
    if total > MAX_CORNER_PAIRS:
        raise too_many(f"{total} pairs of corners to intersect, at most {MAX_CORNER_PAIRS}")
    budget.spend(STEPS_PER_PAIR * len(some) + total // 4)
    # In small polygons every two sides may cross.
    large = np.flatnonzero(corner_pairs > CORNER_PAIRS_NOT_COUNTED).tolist()
    budget.spend(total - int(corner_pairs[large].sum()))
    for place in large:
        budget.spend(STEPS_PER_CROSSING * crossings(some[place], others[place]))


def crossings(one: Any, other: Any) -> int:
    """Returns in how many places the sides of two polygons may cross: where the boxes around two meet."""
    (low, high), (other_low, other_high) = _sides(one), _sides(other)
    meet = (low[:, None] < other_high) & (other_low < high[:, None])
    return int(np.count_nonzero(meet.all(axis=2)))


def _sides(polygon: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Returns the lower and upper corners of the boxes around the sides, [M, 2] each, a little wider where flat."""
    corners = shapely.get_coordinates(polygon)
    low, high = np.minimum(corners[:-1], corners[1:]), np.maximum(corners[:-1], corners[1:])
    return low, np.nextafter(high, np.inf)
