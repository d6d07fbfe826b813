"""The largest one-to-one pairing of two sides among the pairs that are allowed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from ..common.budget import Budget
from .arrays import BoolArray, FloatArray, IntArray

_PAIRS_PER_STEP = 4


def maximum_matching(
    rows: IntArray,
    columns: IntArray,
    scores: FloatArray,
    allowed: BoolArray,
    budgets: Sequence[Budget],
    figures: IntArray | None = None,
    choices: Sequence[int] | None = None,
) -> BoolArray:
    """Returns which of P pairs (row, column) are chosen, bool [S, P], for each of S choices of `allowed` pairs.

    Each row and each column is used at most once, and as many pairs as possible are chosen. Among pairings of that
    size those with high `scores` are tried first.

    figures: int [P], to which figure of a group a pair belongs (None: all to one). Each has a budget, and of the
    choices only its first `choices` (None: all).

    Spends a step for every 4 pairs that are looked at.
    """
    chosen = np.zeros_like(allowed)
    if not len(rows):
        return chosen
    alone = (np.bincount(rows)[rows] == 1) & (np.bincount(columns)[columns] == 1)
    chosen[:, alone] = allowed[:, alone]
    contested = np.flatnonzero(~alone)
    if contested.size:
        contested = contested[np.lexsort((columns[contested], -scores[contested], rows[contested]))]
        owners = np.zeros(len(contested), dtype=np.intp) if figures is None else figures[contested]
        ends = [*(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(contested)]
        pairs = list(zip(rows[contested].tolist(), columns[contested].tolist(), strict=True))
        parts = [(int(owners[start]), start, end) for start, end in itertools.pairwise([0, *ends])]
        taken: list[tuple[int, int]] = []
        for n in range(len(allowed)):
            mine = allowed[n, contested].tolist()
            for figure, start, end in parts:
                if choices is None or n < choices[figure]:
                    budgets[figure].spend((end - start) // _PAIRS_PER_STEP)
                    part = list(itertools.compress(range(start, end), mine[start:end]))
                    taken += [(n, number) for number in _largest(pairs, part, budgets[figure])]
        if taken:
            chosen[[n for n, _ in taken], contested[[number for _, number in taken]]] = True
    return chosen


def _largest(pairs: Sequence[tuple[int, int]], part: list[int], budget: Budget) -> list[int]:
    """Returns a largest choice among the `pairs` (row, column) whose numbers are in `part`.

    They are ordered by row; the first of a row is tried first.
    """
    if len(part) < 2:
        return part
    of_row: dict[int, list[int]] = {}
    for number in part:
        of_row.setdefault(pairs[number][0], []).append(number)
    firsts = [numbers[0] for numbers in of_row.values()]
    if len({pairs[number][1] for number in firsts}) == len(firsts):
        return firsts  # each row has its own column, and no pairing has more pairs than rows
    columns = {column: place for place, column in enumerate(sorted({pairs[number][1] for number in part}))}
    neighbors = [[columns[pairs[number][1]] for number in numbers] for numbers in of_row.values()]
    partners = hopcroft_karp(neighbors, len(columns), budget)
    return [
        number
        for numbers, partner in zip(of_row.values(), partners, strict=True)
        for number in numbers
        if columns[pairs[number][1]] == partner
    ]


def hopcroft_karp(neighbors: list[list[int]], columns: int, budget: Budget) -> list[int]:
    """Returns the column of each row in a largest matching, -1 for none.

    neighbors: the columns that each row may have, the preferred one first.

    Hopcroft and Karp (1973): each phase finds the distance of every row from the free rows, then as many disjoint
    shortest ways to free columns as there are. A row that leads nowhere is not tried again in a phase. (That of SciPy
    does try it again, which takes exponential time.)
    """
    partner, owner = [-1] * len(neighbors), [-1] * columns
    edges = sum(map(len, neighbors))
    improved = True
    while improved:
        budget.spend(1 + edges // _PAIRS_PER_STEP)
        distances = _distances(neighbors, partner, owner)
        improved = False
        if distances is not None:
            ways = [iter(each) for each in neighbors]
            for row in range(len(neighbors)):
                if partner[row] < 0 and _extend(row, ways, distances, partner, owner):
                    improved = True
    return partner


def _distances(neighbors: list[list[int]], partner: list[int], owner: list[int]) -> list[int] | None:
    """Returns by how many changes of partner each row is reached from a free row; None where no column is left."""
    distances = [0 if column < 0 else -1 for column in partner]
    reached = [row for row, distance in enumerate(distances) if distance == 0]
    free_column = False
    while reached and not free_column:
        following = []
        for row in reached:
            for column in neighbors[row]:
                other = owner[column]
                if other < 0:
                    free_column = True
                elif distances[other] < 0:
                    distances[other] = distances[row] + 1
                    following.append(other)
        reached = following
    return distances if free_column else None


def _extend(start: int, ways: list[Iterator[int]], distances: list[int], partner: list[int], owner: list[int]) -> bool:
    """Moves partners along a shortest way from a free row to a free column; says whether there is one."""
    path = [start]
    taken: list[int] = []
    while path:
        row = path[-1]
        for column in ways[row]:
            other = owner[column]
            if other < 0:
                for mover, column_taken in zip(path, [*taken, column], strict=True):
                    partner[mover], owner[column_taken] = column_taken, mover
                return True
            if distances[other] == distances[row] + 1:
                path.append(other)
                taken.append(column)
                break
        else:
            path.pop()
            if taken:
                taken.pop()
    return False
