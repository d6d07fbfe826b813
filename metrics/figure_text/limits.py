"""What scoring one figure may cost. Steps are charged before the work, figure by figure, from sizes and overlaps."""

from __future__ import annotations

from collections.abc import Sequence

from ..benchmark import RejectedRecord, Side
from ..common.budget import Budget
from .arrays import IntArray
from .records import Geometry
from .regions import Located

MAX_GROUP_REGIONS = 2_000
MAX_GROUP_PAIRS = 50_000
MAX_GROUP_SUBSETS = 16
"""Larger figures are scored by themselves: there is nothing to share."""

MAX_PAIRS = 1_000_000
MAX_CORNER_PAIRS = 4_000_000
STEPS_PER_CROSSING = 20
STEPS_PER_PAIR = 30
CORNER_PAIRS_NOT_COUNTED = 64


def too_many(what: str) -> RejectedRecord:
    """Returns the error of a figure that is beyond what any budget covers."""
    return RejectedRecord("prediction", f"the predicted regions overlap too often: {what}")


def charge(budgets: Sequence[Budget], steps: IntArray) -> None:
    """Spends each figure's steps, int [F]; raises OutOfBudget for the first figure whose budget they exceed."""
    for budget, count in zip(budgets, steps.tolist(), strict=True):
        budget.spend(count)


def charge_locating(
    budgets: Sequence[Budget],
    side: Side,
    figures: Sequence[int],
    regions: Sequence[Located],
    geometry: Geometry,
) -> None:
    """Charges what it costs to locate the regions of one side, each of one of the figures, by their corners."""
    a_corner = 4 if geometry == "polygon" else 3
    steps = [0] * len(budgets)
    for figure, region in zip(figures, regions, strict=True):
        corners = 4 if region.points is None else len(region.points)
        steps[figure] += corners * a_corner + corners**2 // 50
    for budget, of_figure in zip(budgets, steps, strict=True):
        budget.spend_reading(side, of_figure)
