"""Finds the largest one-to-one pairing of two sides among the pairs that are allowed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

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

    Spends a step for every 4 pairs that are examined.
    """
    if not candidates:
        return []
    budget.spend(len(candidates) // CANDIDATES_PER_STEP)
    allowed: dict[int, list[int]] = {}
    for region, _, detection in candidates:
        if region in care and detection not in dont_care:
            allowed.setdefault(region, []).append(detection)
    firsts = [detections[0] for detections in allowed.values()]
    if len(set(firsts)) == len(firsts):
        return list(zip(allowed, firsts, strict=True))  # no pairing has more pairs than regions
    partners = hopcroft_karp(list(allowed.values()), budget)
    return [(region, partner) for region, partner in zip(allowed, partners, strict=True) if partner is not None]


def hopcroft_karp(neighbors: Sequence[Sequence[int]], budget: Budget) -> list[int | None]:
    """Returns the column of each row in a maximum matching; None for an unmatched row.

    neighbors: the columns that each row may have, the preferred one first.

    Hopcroft and Karp (1973): each phase computes the distances of the rows from the free rows, then a maximal set of
    disjoint shortest paths to free columns. A dead end is not tried again in the same phase. (SciPy's implementation
    does try it again, which takes exponential time.)
    """
    partners: list[int | None] = [None] * len(neighbors)
    owners: dict[int, int] = {}
    edges = sum(map(len, neighbors))
    improved = True
    while improved:
        budget.spend(1 + edges // CANDIDATES_PER_STEP)
        improved = False
        distances = _distances(neighbors, partners, owners)
        ways = [iter(each) for each in neighbors]
        for row in range(len(neighbors)):
            if distances and partners[row] is None and _extend(row, ways, distances, partners, owners):
                improved = True
    return partners


def _distances(
    neighbors: Sequence[Sequence[int]], partners: Sequence[int | None], owners: dict[int, int]
) -> dict[int, int]:
    """Returns how many changes of partner each row is away from a free row; empty if no free column is reachable."""
    reached = [row for row, partner in enumerate(partners) if partner is None]
    distances = dict.fromkeys(reached, 0)
    free_column = False
    while reached and not free_column:
        following = []
        for row in reached:
            for column in neighbors[row]:
                other = owners.get(column)
                if other is None:
                    free_column = True
                elif other not in distances:
                    distances[other] = distances[row] + 1
                    following.append(other)
        reached = following
    return distances if free_column else {}


def _extend(
    start: int,
    ways: Sequence[Iterator[int]],
    distances: dict[int, int],
    partners: list[int | None],
    owners: dict[int, int],
) -> bool:
    """Moves partners along a shortest path from a free row to a free column; returns whether there is one."""
    path = [start]
    taken: list[int] = []
    while path:
        row = path[-1]
        for column in ways[row]:
            other = owners.get(column)
            if other is None:
                for mover, column_taken in zip(path, [*taken, column], strict=True):
                    partners[mover], owners[column_taken] = column_taken, mover
                return True
            if distances.get(other) == distances[row] + 1:
                path.append(other)
                taken.append(column)
                break
        else:
            path.pop()
            if taken:
                taken.pop()
    return False
