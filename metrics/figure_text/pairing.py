"""Finds the largest one-to-one pairing of two sides among the pairs that are allowed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..common.budget import Budget
from .limits import CANDIDATES_PER_STEP

Candidate = tuple[int, float, int]
"""(ground-truth region, -score, detection), so that sorting puts the best detection of each region first."""

Pair = tuple[int, int]
"""A ground-truth region and a detection, by their positions."""


def largest_pairing(
    candidates: Sequence[Candidate], care: Collection[int], dont_care: Collection[int], budget: Budget
) -> list[Pair]:
    """Returns pairs among the sorted candidates, of regions in `care` and detections that are not in `dont_care`.

    Each region and each detection is used at most once, and as many pairs as possible are chosen. Candidates with
    higher scores are tried first, but the sum of the scores is not maximized.

    Spends a step for every 4 pairs that are examined, and one whenever a search comes to a region.
    """
    allowed: dict[int, list[int]] = {}
    for region, _, detection in candidates:
        if region in care and detection not in dont_care:
            allowed.setdefault(region, []).append(detection)
    partners = maximum_matching(list(allowed.values()), budget)
    return [(region, partner) for region, partner in zip(allowed, partners, strict=True) if partner is not None]


def maximum_matching(neighbors: Sequence[Sequence[int]], budget: Budget) -> list[int | None]:
    """Returns the column of each row in a maximum matching; None for an unmatched row.

    neighbors: the columns that each row may have, the preferred one first.

    A breadth-first search from each row finds a shortest path to a free column, along which partners move (Kuhn 1955).
    The columns of a search without a free one never lead to one later, so no other search enters them.
    """
    partners: list[int | None] = [None] * len(neighbors)
    owners: dict[int, int] = {}
    closed: set[int] = set()
    for start in range(len(neighbors)):
        reached: dict[int, int] = {}
        rows, free = [start], None
        for row in rows:
            budget.spend(1 + len(neighbors[row]) // CANDIDATES_PER_STEP)
            new = [column for column in neighbors[row] if column not in reached and column not in closed]
            reached.update(dict.fromkeys(new, row))
            free = next((column for column in new if column not in owners), None)
            if free is not None:
                break
            rows += [owners[column] for column in new]
        else:
            closed |= reached.keys()
        while free is not None:
            owners[free] = row = reached[free]
            partners[row], free = free, partners[row]
    return partners
