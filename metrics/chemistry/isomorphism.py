"""Whether two drawings are isomorphic: texts and bonds the same, and neighbors in the same cyclic order.

Where neighbors of an atom lie in one direction, any order of them will do. The search is exact. Atoms are sorted into
colors that every isomorphism keeps, so that few starts are left. From a start, the bond by which an atom is reached
fixes which neighbors face each other; only neighbors in one direction leave a choice, and choices are taken back
where they lead nowhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations

from .neighbors import SAME_DIRECTION, MoleculePair, Neighbor, Neighbors, angle_between, shifted

MAX_ROUNDS = 30
"""Rounds in which colors of atoms are refined; each takes in the neighbors one bond farther away."""

NO_BOND = -1
"""The bond by which the first atom of a part is reached."""
Faced = tuple[Neighbor, Neighbor]
"""A neighbor in the truth and the one in the prediction that faces it: a pair of atoms, and how they were reached."""


def isomorphism(molecules: MoleculePair) -> dict[int, int] | None:
    """Returns atoms of the prediction by the atoms of the truth that they stand for; None if there is no such map.

    Bonds may be turned by `max_angle_deviation` of `molecules` at most. Parts that no bond joins are mapped one by one.

    Raises OutOfBudget if the work is too much.
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
    """A color for each atom of both sides (1-WL); atoms of different colors cannot stand for each other.

    None if a color has more atoms on one side: further rounds only divide colors.
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
    """Maps part after part; `pairs` is the map so far."""

    def __init__(self, molecules: MoleculePair, truth_colors: list[int], prediction_colors: list[int]) -> None:
        self.molecules = molecules
        self.truth_colors = truth_colors
        self.prediction_colors = prediction_colors
        self.pairs: dict[int, int] = {}
        self.taken: set[int] = set()

    def map_part(self, start: int) -> bool:
        """Maps all atoms that hang together with `start`; False if that cannot be."""
        for pred_atom, color in enumerate(self.prediction_colors):
            self.molecules.budget.spend(1)
            is_open = color == self.truth_colors[start] and pred_atom not in self.taken
            if is_open and self.map_from((_start(start), _start(pred_atom))):
                return True
        return False

    def map_from(self, start: Faced) -> bool:
        """Maps a part from one pair on, trying all alignments where there is a choice."""
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
        """Shortens the list of visits, and the map with it."""
        while len(visits) > length:
            self.taken.discard(self.pairs.pop(visits.pop()[0].atom))

    def apply(self, alignment: Sequence[Faced], visits: list[Faced]) -> bool:
        """Adds the neighbors that an alignment pairs; False, and nothing added, where a pair cannot be."""
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
        """Whether two neighbors can face each other."""
        if not self.molecules.bonds_agree(neighbor, other):
            return False
        if neighbor.atom in self.pairs:
            return self.pairs[neighbor.atom] == other.atom
        is_free = other.atom not in self.taken
        return is_free and self.truth_colors[neighbor.atom] == self.prediction_colors[other.atom]

    def alignments(self, reached: Neighbor, pred_reached: Neighbor) -> Iterator[Sequence[Faced]]:
        """All ways to lay the neighbors of two atoms, reached by these bonds, against each other in cyclic order."""
        neighbors = self.molecules.truth_neighbors[reached.atom]
        others = self.molecules.prediction_neighbors[pred_reached.atom]
        if len(neighbors) != len(others):
            return
        if not neighbors:
            yield ()
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
    """The neighbors in every order that their directions allow, up to cyclic shifts."""
    groups: list[list[Neighbor]] = []
    for neighbor in neighbors:
        if groups and angle_between(neighbor.angle, groups[-1][-1].angle) < SAME_DIRECTION:
            groups[-1].append(neighbor)
        else:
            groups.append([neighbor])
    if len(groups) > 1 and angle_between(groups[0][0].angle, groups[-1][-1].angle) < SAME_DIRECTION:
        groups[0] = [*groups.pop(), *groups[0]]
    if all(len(group) == 1 for group in groups):
        yield neighbors
        return
    # Not `itertools.product`, which makes all permutations of every group before the first order.
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
