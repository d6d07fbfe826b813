"""Decides whether two drawings are isomorphic: same texts and bonds, and neighbors in the same cyclic order.

Neighbors of an atom in the same direction may come in any order. The search is exact. Atoms are divided into colors
that every isomorphism preserves, so that few starting pairs remain. From a starting pair on, the bond by which an atom
is reached determines which neighbors correspond; only neighbors in the same direction leave a choice, and the search
backtracks if a choice fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations

from .neighbors import SAME_DIRECTION, MoleculePair, Neighbor, Neighbors, angle_between, shifted

MAX_ROUNDS = 30
"""Maximum rounds of color refinement; each round takes in the neighbors one bond farther away."""

NO_BOND = -1
"""The bond index of the first atom of a component, which is reached by no bond."""
Faced = tuple[Neighbor, Neighbor]
"""A neighbor in the truth and the corresponding one in the prediction: two atoms and the bonds that reached them."""


def isomorphism(molecules: MoleculePair) -> dict[int, int] | None:
    """Returns an isomorphism as a map from atoms of the truth to atoms of the prediction; None if there is none.

    Bonds may be turned by at most `max_angle_deviation` of `molecules`. Connected components are mapped one by one.

    Raises OutOfBudget if the search takes too many steps.
    """
    colors = _refine_colors(molecules)
    if colors is None:
        return None
    sizes = Counter(colors[0])
    search = _Search(molecules, *colors)
    for start in sorted(range(len(colors[0])), key=lambda atom: (sizes[colors[0][atom]], atom)):
        if start not in search.pairs and not search.map_part(start):
            return None
    return search.pairs


def _refine_colors(molecules: MoleculePair) -> list[list[int]] | None:
    """Returns a color for each atom of both sides (1-WL); atoms of different colors cannot be mapped to each other.

    Returns None if a color has more atoms on one side: further rounds only subdivide colors.
    """
    sides = molecules.truth_neighbors, molecules.prediction_neighbors
    invariants: list[Sequence[object]] = [molecules.truth.texts, molecules.prediction.texts]
    work = 2 * sum(map(len, sides)) + 4 * (len(molecules.truth.bonds) + len(molecules.prediction.bonds))
    count = 0
    colors: list[list[int]] = []
    for _ in range(MAX_ROUNDS):
        numbers: dict[object, int] = {}
        colors = [[numbers.setdefault(each, len(numbers)) for each in side] for side in invariants]
        if sorted(colors[0]) != sorted(colors[1]):
            return None
        if len(numbers) == count:
            break
        count = len(numbers)
        molecules.budget.spend(work)
        invariants = [
            [
                (color, *sorted([(kind, side[atom]) for _, _, kind, atom, _ in seen]))
                for color, seen in zip(side, neighbors, strict=True)
            ]
            for side, neighbors in zip(colors, sides, strict=True)
        ]
    return colors


class _Search:
    """Maps one connected component after another; `pairs` is the map so far."""

    def __init__(self, molecules: MoleculePair, truth_colors: list[int], prediction_colors: list[int]) -> None:
        self.molecules = molecules
        self.truth_colors = truth_colors
        self.prediction_colors = prediction_colors
        self.pairs: dict[int, int] = {}
        self.taken: set[int] = set()

    def map_part(self, start: int) -> bool:
        """Maps the connected component of `start`; returns False if that is impossible."""
        for pred_atom, color in enumerate(self.prediction_colors):
            self.molecules.budget.spend(1)
            is_open = color == self.truth_colors[start] and pred_atom not in self.taken
            if is_open and self.map_from((_start(start), _start(pred_atom))):
                return True
        return False

    def map_from(self, start: Faced) -> bool:
        """Maps a component from one pair on, backtracking over all alignments; returns False if none fits."""
        visits: list[Faced] = []
        self.add(start, visits)
        tried: list[tuple[Iterator[Sequence[Faced]], int]] = []
        alignments = self.alignments(*start)
        while True:
            before = len(visits)
            if any(self.apply(alignment, visits) for alignment in alignments):
                tried.append((alignments, before))
                if len(tried) == len(visits):
                    return True
                alignments = self.alignments(*visits[len(tried)])
            elif tried:
                alignments, before = tried.pop()
                self.take_back(visits, before)
            else:
                self.take_back(visits, 0)
                return False

    def add(self, visit: Faced, visits: list[Faced]) -> None:
        visits.append(visit)
        self.pairs[visit[0].atom] = visit[1].atom
        self.taken.add(visit[1].atom)

    def take_back(self, visits: list[Faced], length: int) -> None:
        """Truncates the list of visits to `length`, and removes the rest from the map."""
        while len(visits) > length:
            self.taken.discard(self.pairs.pop(visits.pop()[0].atom))

    def apply(self, alignment: Sequence[Faced], visits: list[Faced]) -> bool:
        """Adds the neighbors that an alignment pairs; returns False and adds nothing if a pair does not fit."""
        self.molecules.budget.spend(2 * len(alignment) + 1)
        before = len(visits)
        for neighbor, other in alignment:
            if not self.fits(neighbor, other):
                self.take_back(visits, before)
                return False
            if neighbor.atom not in self.pairs:
                self.add((neighbor, other), visits)
        return True

    def fits(self, neighbor: Neighbor, other: Neighbor) -> bool:
        """Returns whether two neighbors can correspond, given the map so far."""
        if not self.molecules.bonds_agree(neighbor, other):
            return False
        if neighbor.atom in self.pairs:
            return self.pairs[neighbor.atom] == other.atom
        is_free = other.atom not in self.taken
        return is_free and self.truth_colors[neighbor.atom] == self.prediction_colors[other.atom]

    def alignments(self, reached: Neighbor, pred_reached: Neighbor) -> Iterator[Sequence[Faced]]:
        """Yields all ways to pair, in cyclic order, the neighbors of two atoms that were reached by these bonds."""
        neighbors = self.molecules.truth_neighbors[reached.atom]
        others = self.molecules.prediction_neighbors[pred_reached.atom]
        if len(neighbors) != len(others):
            return
        if not neighbors:
            yield ()
            return
        is_start = reached.bond == NO_BOND
        for order in _orders(neighbors):
            aligned = order if is_start else shifted(order, _place(order, reached.bond))
            for pred_order in _orders(others):
                for shift in range(len(pred_order)) if is_start else (_place(pred_order, pred_reached.bond),):
                    self.molecules.budget.spend(len(order))
                    yield list(zip(aligned, shifted(pred_order, shift), strict=True))


def _start(atom: int) -> Neighbor:
    return Neighbor(0.0, NO_BOND, "", atom, 0)


def _place(order: Neighbors, bond: int) -> int:
    return next(number for number, neighbor in enumerate(order) if neighbor.bond == bond)


def _orders(neighbors: Neighbors) -> Iterator[Neighbors]:
    """Yields the neighbors in every order that their directions allow, up to cyclic shifts."""
    groups: list[list[Neighbor]] = []
    for neighbor in neighbors:
        if groups and angle_between(neighbor.angle, groups[-1][-1].angle) < SAME_DIRECTION:
            groups[-1].append(neighbor)
        else:
            groups.append([neighbor])
    if len(groups) > 1 and angle_between(groups[0][0].angle, groups[-1][-1].angle) < SAME_DIRECTION:
        groups[0] = [*groups.pop(), *groups[0]]
    # Not `itertools.product`, which generates all permutations of every group before it yields the first order.
    chosen: list[tuple[Neighbor, ...]] = []
    untried = [permutations(groups[0])]
    while untried:
        order = next(untried[-1], None)
        if order is None:
            untried.pop()
            del chosen[-1:]
        elif len(untried) == len(groups):
            yield tuple(neighbor for group in (*chosen, order) for neighbor in group)
        else:
            chosen.append(order)
            untried.append(permutations(groups[len(untried)]))
