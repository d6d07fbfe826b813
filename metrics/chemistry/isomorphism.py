"""Whether two drawings are isomorphic: texts and bonds the same, and neighbours in the same cyclic order.

Where neighbours of an atom lie in one direction, any order of them will do. The search is exact. Atoms are sorted into
classes that every isomorphism keeps, so that few starts are left. From a start, the bond by which an atom is reached
fixes which neighbours face each other; only neighbours in one direction leave a choice, and choices are taken back
where they lead nowhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from .surroundings import SAME_DIRECTION, Neighbour, turn
from .walk import Drawings

MAX_ROUNDS = 30
"""Rounds in which classes of atoms are told apart; each takes in the neighbours one bond farther away."""


@dataclass(frozen=True, slots=True)
class _Visit:
    """A pair of atoms, and the bonds by which they were reached (None at the start)."""

    atom: int
    image: int
    bond: int | None = None
    image_bond: int | None = None


def isomorphism(drawings: Drawings) -> dict[int, int] | None:
    """Returns atoms of the prediction by the atoms of the truth that they stand for; None where there is no such map.

    Bonds may be turned by `max_angle_deviation` of `drawings` at most. Parts that no bond joins are mapped one by one.

    Raises OutOfBudget where the work is too much.
    """
    classes = _classes(drawings)
    if classes is None:
        return None
    truth_classes, prediction_classes = classes
    sizes = Counter(truth_classes)
    search = _Search(drawings, truth_classes, prediction_classes)
    for start in sorted(range(len(truth_classes)), key=lambda atom: (sizes[truth_classes[atom]], atom)):
        if start not in search.images and not search.map_part(start):
            return None
    return search.images


def _classes(drawings: Drawings) -> tuple[list[int], list[int]] | None:
    """A class for each atom of both sides; atoms of different classes cannot stand for each other.

    None where a class has more atoms on one side: further rounds only divide classes.
    """
    truth, prediction = drawings.truth, drawings.prediction
    atoms = len(truth.texts) + len(prediction.texts)
    work = 2 * atoms + 4 * (len(truth.types) + len(prediction.types))
    looks: list[Sequence[object]] = [truth.texts, prediction.texts]
    around: list[list[list[tuple[int, int]]]] = []
    count = 0
    for _ in range(MAX_ROUNDS):
        numbers: dict[object, int] = {}
        classes = [[numbers.setdefault(look, len(numbers)) for look in side] for side in looks]
        if sorted(classes[0]) != sorted(classes[1]):
            return None
        if len(numbers) == count:
            break
        count = len(numbers)
        drawings.budget.spend(work)
        around = around or _around((drawings.truth_sees, drawings.prediction_sees), atoms)
        looks = [
            [
                (of_atom, *sorted([kind + side_classes[other] for kind, other in sees]))
                for of_atom, sees in zip(side_classes, side, strict=True)
            ]
            for side_classes, side in zip(classes, around, strict=True)
        ]
    return classes[0], classes[1]


def _around(sides: Sequence[Sequence[Sequence[Neighbour]]], classes: int) -> list[list[list[tuple[int, int]]]]:
    """The neighbours of each atom: a number for the kind of the bond, to which a class is added, and the atom."""
    kinds: dict[str, int] = {}
    return [
        [[(classes * kinds.setdefault(kind, len(kinds)), atom) for _, _, kind, atom, _ in sees] for sees in side]
        for side in sides
    ]


class _Search:
    """Maps part after part; `images` is the map so far."""

    def __init__(self, drawings: Drawings, truth_classes: list[int], prediction_classes: list[int]) -> None:
        self.drawings = drawings
        self.truth_classes = truth_classes
        self.prediction_classes = prediction_classes
        self.images: dict[int, int] = {}
        self.taken: set[int] = set()

    def map_part(self, start: int) -> bool:
        """Maps all atoms that hang together with `start`; False where that cannot be."""
        wanted = self.truth_classes[start]
        for image, found in enumerate(self.prediction_classes):
            self.drawings.budget.spend(1)
            if found == wanted and image not in self.taken and self.map_from(_Visit(start, image)):
                return True
        return False

    def map_from(self, start: _Visit) -> bool:
        """Maps a part from one pair on, trying all alignments where there is a choice."""
        visits = [start]
        self.add(start)
        tried: list[tuple[Iterator[Sequence[tuple[Neighbour, Neighbour]]], int]] = []
        alignments = self.alignments(start)
        while True:
            before = len(visits)
            if any(self.apply(alignment, visits) for alignment in alignments):
                tried.append((alignments, before))
                if len(tried) == len(visits):
                    return True
                alignments = self.alignments(visits[len(tried)])
            elif tried:
                alignments, before = tried.pop()
                self.take_back(visits, before)
            else:
                self.take_back(visits, 0)
                return False

    def add(self, visit: _Visit) -> None:
        self.images[visit.atom] = visit.image
        self.taken.add(visit.image)

    def take_back(self, visits: list[_Visit], length: int) -> None:
        """Shortens the list of visits, and the map with it."""
        while len(visits) > length:
            visit = visits.pop()
            del self.images[visit.atom]
            self.taken.discard(visit.image)

    def apply(self, alignment: Sequence[tuple[Neighbour, Neighbour]], visits: list[_Visit]) -> bool:
        """Adds the neighbours that an alignment pairs; False, and nothing added, where a pair cannot be."""
        self.drawings.budget.spend(2 * len(alignment) + 1)
        before = len(visits)
        for neighbour, other in alignment:
            if not self.fits(neighbour, other):
                self.take_back(visits, before)
                return False
            if neighbour.atom not in self.images:
                visit = _Visit(neighbour.atom, other.atom, neighbour.bond, other.bond)
                visits.append(visit)
                self.add(visit)
        return True

    def fits(self, neighbour: Neighbour, other: Neighbour) -> bool:
        """Whether two neighbours can face each other."""
        if neighbour.kind != other.kind or self.drawings.turned_too_far(neighbour, other):
            return False
        if neighbour.atom in self.images:
            return self.images[neighbour.atom] == other.atom
        return (
            other.atom not in self.taken and self.truth_classes[neighbour.atom] == self.prediction_classes[other.atom]
        )

    def alignments(self, visit: _Visit) -> Iterator[Sequence[tuple[Neighbour, Neighbour]]]:
        """All ways to lay the neighbours of two atoms against each other in cyclic order."""
        sees, image_sees = self.drawings.truth_sees[visit.atom], self.drawings.prediction_sees[visit.image]
        if len(sees) != len(image_sees):
            return
        if not sees:
            yield ()
        for order in _orders(sees):
            for image_order in _orders(image_sees):
                if visit.bond is not None:
                    self.drawings.budget.spend(len(order))
                    yield list(zip(_from(order, visit.bond), _from(image_order, visit.image_bond), strict=True))
                    continue
                for shift in range(len(image_order)):
                    self.drawings.budget.spend(len(order))
                    yield list(zip(order, (*image_order[shift:], *image_order[:shift]), strict=True))


def _orders(sees: Sequence[Neighbour]) -> Iterator[tuple[Neighbour, ...]]:
    """The neighbours in every order that their directions allow, up to cyclic shifts."""
    groups: list[list[Neighbour]] = []
    for neighbour in sees:
        if groups and turn(neighbour.angle, groups[-1][-1].angle) < SAME_DIRECTION:
            groups[-1].append(neighbour)
        else:
            groups.append([neighbour])
    if len(groups) > 1 and turn(groups[0][0].angle, groups[-1][-1].angle) < SAME_DIRECTION:
        groups[0] = [*groups.pop(), *groups[0]]
    if all(len(group) == 1 for group in groups):
        yield tuple(sees)
        return
    chosen: list[tuple[Neighbour, ...]] = []
    untried = [permutations(groups[0])]
    while untried:
        order = next(untried[-1], None)
        if order is None:
            untried.pop()
            del chosen[-1:]
        elif len(untried) == len(groups):
            yield tuple(neighbour for group in (*chosen, order) for neighbour in group)
        else:
            chosen.append(order)
            untried.append(permutations(groups[len(untried)]))


def _from(order: Sequence[Neighbour], bond: int | None) -> Sequence[Neighbour]:
    """The cyclic order, beginning with a bond."""
    place = next(number for number, neighbour in enumerate(order) if neighbour.bond == bond)
    return (*order[place:], *order[:place])
