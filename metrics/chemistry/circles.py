"""The circle of an aromatic ring, tied to every atom of the ring that it stands in.

A circle is written as an atom that hangs on one atom of its ring. Which atoms the ring has is seen from the drawing:
from that atom on, neighbours are followed counter-clockwise round the circle, those at the most similar distance first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from metrics.chemistry.molecule import CIRCLE_BOND, Atom, Bond, Molecule
from metrics.common.budget import Budget

REACH = 0.5
"""Atoms of the ring are this share of the radius nearer or farther than the radius, at most."""


def tie_circles(atoms: list[Atom], bonds: list[Bond], ties_open_rings: bool, budget: Budget) -> Molecule:
    """Returns the molecule with a bond `-:` from every atom of a ring to its circle.

    A circle that hangs on one atom alone is looked at; one whose ring cannot be seen stays with that atom.
    """
    circles: dict[int, list[int]] = {atom: [] for atom, drawn in enumerate(atoms) if drawn.is_circle}
    if not circles:
        return Molecule(tuple(atoms), tuple(bonds))
    for number, bond in enumerate(bonds):
        for end in (bond.begin, bond.end):
            if end in circles:
                circles[end].append(number)
    neighbours = _neighbours(atoms, bonds)
    untied: set[int] = set()
    ties: list[Bond] = []
    for circle, hanging in circles.items():
        if len(hanging) != 1 or hanging[0] in untied:
            continue
        start = bonds[hanging[0]].begin + bonds[hanging[0]].end - circle
        ring = _Walk(atoms, neighbours, circle, start, budget).ring(ties_open_rings)
        untied.add(hanging[0])
        ties += [_tie(atoms, atom, circle) for atom in ring]
    return Molecule(tuple(atoms), (*(bond for number, bond in enumerate(bonds) if number not in untied), *ties))


def _neighbours(atoms: list[Atom], bonds: list[Bond]) -> list[list[int]]:
    """The neighbours of each atom, first along the bonds that begin at it; circles are left out."""
    begun: list[list[int]] = [[] for _ in atoms]
    ended: list[list[int]] = [[] for _ in atoms]
    for bond in bonds:
        begun[bond.begin].append(bond.end)
        ended[bond.end].append(bond.begin)
    return [
        [other for other in (*first, *second) if not atoms[other].is_circle]
        for first, second in zip(begun, ended, strict=True)
    ]


@dataclass(slots=True)
class _Walk:
    """Walks counter-clockwise round `circle`, from `start` on."""

    atoms: list[Atom]
    neighbours: list[list[int]]
    circle: int
    start: int
    budget: Budget

    def ring(self, ties_open_rings: bool) -> list[int]:
        """The atoms of the first walk that meets itself (or comes back to its start); else the start alone."""
        walk = [self.start]
        on_walk = {self.start}
        untried = [self.onward(self.start, -1)]
        while walk:
            if not untried[-1]:
                on_walk.discard(walk.pop())
                untried.pop()
                continue
            following = untried[-1].pop()
            if following in on_walk:
                if ties_open_rings or following == self.start:
                    return walk
                continue
            untried.append(self.onward(following, walk[-1]))
            walk.append(following)
            on_walk.add(following)
        return [self.start]

    def onward(self, atom: int, came_from: int) -> list[int]:
        """Where the walk can go on from `atom`, the best last."""
        self.budget.spend(3 * len(self.neighbours[atom]) + 3)
        radius = self.distance(self.start)
        here = self.direction(atom)
        choices = []
        for order, other in enumerate(self.neighbours[atom]):
            off = math.fabs(self.distance(other) - radius)
            if other != came_from and (self.direction(other) - here) % 360 < 180 and off <= radius * REACH:
                choices.append((off, order, other))
        return [other for _, _, other in sorted(choices, reverse=True)]

    def direction(self, atom: int) -> float:
        """The angle of `atom` as seen from the circle, in degrees."""
        here, there = self.atoms[self.circle], self.atoms[atom]
        return math.atan2(-there.y + here.y, there.x - here.x) * 180.0 / math.pi

    def distance(self, atom: int) -> float:
        """The distance of `atom` from the circle."""
        here, there = self.atoms[self.circle], self.atoms[atom]
        return math.sqrt((there.y - here.y) ** 2 + (there.x - here.x) ** 2)


def _tie(atoms: list[Atom], atom: int, circle: int) -> Bond:
    across, down = atoms[circle].x - atoms[atom].x, atoms[circle].y - atoms[atom].y
    return Bond(atom, circle, CIRCLE_BOND, math.degrees(math.atan2(-down, across)) % 360, math.hypot(across, down))
