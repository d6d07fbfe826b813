"""The circle of an aromatic ring, tied to every atom of the ring that it is in.

A circle is written as an atom that hangs on one atom of its ring. Which atoms the ring has is seen from the drawing:
from that atom on, neighbours are followed counter-clockwise round the circle, those at the most similar distance first.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from metrics.chemistry.molecule import CIRCLE, CIRCLE_BOND, Atom, Bond, Molecule
from metrics.common.budget import Budget

REACH = 0.5
"""Atoms of the ring are this share of the radius nearer or farther than the radius, at most."""


def tie_circles(molecule: Molecule, ties_open_rings: bool, budget: Budget) -> Molecule:
    """Returns the molecule with a bond `-:` from every atom of a ring to its circle.

    A circle that hangs on one atom alone is looked at; one whose ring cannot be seen stays with that atom.
    """
    atoms, bonds = molecule.atoms, molecule.bonds
    circles: dict[int, list[int]] = {atom: [] for atom, drawn in enumerate(atoms) if drawn[0] == CIRCLE}
    if not circles:
        return molecule
    for number, (begin, end, _, _, _) in enumerate(bonds):
        if begin in circles:
            circles[begin].append(number)
        if end in circles:
            circles[end].append(number)
    neighbours = _neighbours(molecule, circles)
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


def _neighbours(molecule: Molecule, circles: Container[int]) -> list[list[int]]:
    """The neighbours of each atom, first along the bonds that begin at it; circles are left out."""
    neighbours: list[list[int]] = [[] for _ in molecule.atoms]
    for begin, end, _, _, _ in molecule.bonds:
        if end not in circles:
            neighbours[begin].append(end)
    for begin, end, _, _, _ in molecule.bonds:
        if begin not in circles:
            neighbours[end].append(begin)
    return neighbours


@dataclass(slots=True)
class _Walk:
    """Walks counter-clockwise round `circle`, from `start` on."""

    atoms: Sequence[Atom]
    neighbours: list[list[int]]
    circle: int
    start: int
    budget: Budget
    seen: dict[int, tuple[float, float]] = field(default_factory=dict)
    """What `look` returned for each atom."""

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
        neighbours = self.neighbours[atom]
        self.budget.spend(3 * len(neighbours) + 3)
        radius, here = self.look(self.start)[0], self.look(atom)[1]
        choices = []
        for order, other in enumerate(neighbours):
            if other == came_from:
                continue
            distance, direction = self.look(other)
            off = math.fabs(distance - radius)
            if off <= radius * REACH and (direction - here) % 360 < 180:
                choices.append((off, order, other))
        if len(choices) > 1:
            choices.sort(reverse=True)
        return [other for _, _, other in choices]

    def look(self, atom: int) -> tuple[float, float]:
        """The distance of `atom` from the circle, and its angle as seen from there, in degrees."""
        seen = self.seen.get(atom)
        if seen is None:
            _, here_x, here_y = self.atoms[self.circle]
            _, x, y = self.atoms[atom]
            distance = math.sqrt((y - here_y) ** 2 + (x - here_x) ** 2)
            seen = self.seen[atom] = distance, math.atan2(-y + here_y, x - here_x) * 180.0 / math.pi
        return seen


def _tie(atoms: Sequence[Atom], atom: int, circle: int) -> Bond:
    across, down = atoms[circle].x - atoms[atom].x, atoms[circle].y - atoms[atom].y
    return Bond(atom, circle, CIRCLE_BOND, math.degrees(math.atan2(-down, across)) % 360, math.hypot(across, down))
