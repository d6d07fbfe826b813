"""Limits the cost of scoring one figure. Steps are charged before the work, from sizes and overlaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from ..benchmark import Side
from ..common.budget import Budget
from .records import PredictedRegion, TruthRegion

STEPS_PER_CORNER = 4
STEPS_PER_CROSSING = 20
STEPS_PER_PAIR = 30
STEPS_PER_OVERLAP = 2
CORNER_PAIRS_NOT_COUNTED = 64
OVERLAPS_PER_CARE_STEP = 2
BOX_PAIRS_PER_STEP = 16
CANDIDATES_PER_STEP = 4
MAX_PAIRS = 1_000_000


def charge_reading(budget: Budget, side: Side, regions: Iterable[TruthRegion | PredictedRegion]) -> None:
    """Charges 4 steps for each corner of the regions of one side, the cost of locating them."""
    corners = sum([4 if region.points is None else len(region.points) for region in regions])
    with budget.reading(side):
        budget.spend(corners * STEPS_PER_CORNER)


def charge_intersections(some: Sequence[Any], others: Sequence[Any], budget: Budget) -> None:
    """Charges the intersections of pairs of polygons.

    A pair takes 30 steps and one for every 4 pairs of corners; above 64 pairs of corners, also 20 for each pair of
    sides that may cross, else one for each pair of corners.
    """
    corner_pairs = (shapely.get_num_coordinates(some) - 1) * (shapely.get_num_coordinates(others) - 1)
    total = int(corner_pairs.sum())
    budget.spend(STEPS_PER_PAIR * len(some) + total // 4)
    # In small polygons, any two sides may cross.
    large = np.flatnonzero(corner_pairs > CORNER_PAIRS_NOT_COUNTED).tolist()
    budget.spend(total - int(corner_pairs[large].sum()))
    for place in large:
        budget.spend(STEPS_PER_CROSSING * crossings(some[place], others[place]))


def crossings(one: Any, other: Any) -> int:
    """Returns the number of pairs of sides, one of each polygon, that may cross because their bounding boxes meet."""
    (low, high), (other_low, other_high) = _sides(one), _sides(other)
    meet = (low[:, None] < other_high) & (other_low < high[:, None])
    return int(np.count_nonzero(meet.all(axis=2)))


def _sides(polygon: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Returns the lower and upper corners of the sides' bounding boxes, [M, 2] each; the upper are one float larger."""
    corners = shapely.get_coordinates(polygon)
    low, high = np.minimum(corners[:-1], corners[1:]), np.maximum(corners[:-1], corners[1:])
    return low, np.nextafter(high, np.inf)
