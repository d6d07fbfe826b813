"""The circle of an aromatic ring, tied to every atom of the ring that it stands in.

A circle is written as an atom that hangs on one atom of its ring. Which atoms the ring has is seen from the drawing:
from that atom on, neighbours are followed counter-clockwise round the circle, those at the most similar distance first.
"""

from __future__ import annotations

import math

from metrics.budget import Budget
from metrics.chemistry.molecule import CIRCLE_BOND, Atom, Bond, Molecule


def tie_circles(atoms: list[Atom], bonds: list[Bond], budget: Budget) -> Molecule:
    """Returns the molecule with a bond `-:` from every atom of a ring to its circle.

    A circle that hangs on one atom alone is looked at; one whose ring cannot be seen keeps its one bond.
    """
    circles: dict[int, list[int]] = {atom: [] for atom, drawn in enumerate(atoms) if drawn.is_circle}
    for number, bond in enumerate(bonds):
        for end in {bond.begin, bond.end} & circles.keys():
            circles[end].append(number)
    neighbours = _neighbours(atoms, bonds)
    untied: set[int] = set()
    ties: list[Bond] = []
    for circle, hanging in circles.items():
        start = bonds[hanging[0]].begin + bonds[hanging[0]].end - circle if len(hanging) == 1 else circle
        if start == circle:
            continue
        ring = _ring_around(atoms, neighbours, circle, start, budget)
        anchor = min(ring, key=lambda atom: (round(atoms[atom].x, 6), -round(atoms[atom].y, 6)))
        ring = _ring_around(atoms, neighbours, circle, anchor, budget)
        untied.add(hanging[0])
        ties += [_tie(atoms, atom, circle) for atom in ring]
    return Molecule(tuple(atoms), (*(bond for number, bond in enumerate(bonds) if number not in untied), *ties))


def _neighbours(atoms: list[Atom], bonds: list[Bond]) -> list[list[int]]:
    """The neighbours of each atom, circles left out."""
    neighbours: list[list[int]] = [[] for _ in atoms]
    for bond in bonds:
        for atom, other in ((bond.begin, bond.end), (bond.end, bond.begin)):
            if not atoms[other].is_circle:
                neighbours[atom].append(other)
    return neighbours


def _ring_around(atoms: list[Atom], neighbours: list[list[int]], circle: int, start: int, budget: Budget) -> list[int]:
    """The atoms on the first walk from `start` round the circle that comes back upon itself; else `start` alone."""

    def direction(atom: int) -> float:
        return math.degrees(math.atan2(atoms[circle].y - atoms[atom].y, atoms[atom].x - atoms[circle].x))

    def distance(atom: int) -> float:
        return math.hypot(atoms[atom].x - atoms[circle].x, atoms[atom].y - atoms[circle].y)

    radius = distance(start)

    def onward(atom: int, came_from: int) -> list[int]:
        """Where a walk can go on, the best last."""
        choices = [
            (round(abs(distance(other) - radius), 6), order, other)
            for order, other in enumerate(neighbours[atom])
            if other != came_from
            and round((direction(other) - direction(atom)) % 360, 6) < 180
            and abs(distance(other) - radius) <= radius
        ]
        budget.spend(len(neighbours[atom]) + 1)
        return [other for _, _, other in sorted(choices, reverse=True)]

    walk = [start]
    on_walk = {start}
    untried = [onward(start, -1)]
    while walk:
        if not untried[-1]:
            on_walk.discard(walk.pop())
            untried.pop()
            continue
        following = untried[-1].pop()
        if following in on_walk:
            return walk
        untried.append(onward(following, walk[-1]))
        walk.append(following)
        on_walk.add(following)
    return [start]


def _tie(atoms: list[Atom], atom: int, circle: int) -> Bond:
    across, down = atoms[circle].x - atoms[atom].x, atoms[circle].y - atoms[atom].y
    return Bond(atom, circle, CIRCLE_BOND, math.degrees(math.atan2(-down, across)) % 360, math.hypot(across, down))
