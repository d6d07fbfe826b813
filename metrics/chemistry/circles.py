"""The circle of an aromatic ring, tied to every atom of the ring that it is in.

A circle is written as an atom that hangs on one atom of its ring. Which atoms the ring has is seen from the drawing:
from that atom on, neighbors are followed counter-clockwise round the circle, those at the most similar distance first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from itertools import compress

from ..common.budget import Budget
from .molecule import CIRCLE, CIRCLE_BOND, Bond, Molecule

REACH = 0.5
"""Atoms of the ring are this share of the radius nearer or farther than the radius, at most."""


def tie_circles(molecule: Molecule, ties_open_rings: bool, budget: Budget) -> Molecule:
    """Returns the molecule with a bond `-:` from every atom of a ring to its circle.

    A circle that hangs on one atom alone is looked at; one whose ring cannot be seen stays with that atom.
    """
    if CIRCLE not in molecule.texts:
        return molecule
    circles: dict[int, list[int]] = {atom: [] for atom, text in enumerate(molecule.texts) if text == CIRCLE}
    # The neighbors of each atom without circles, first along the bonds that begin at it.
    neighbors: dict[int, list[int]] = defaultdict(list)
    backwards: list[tuple[int, int]] = []
    for number, (begin, end) in enumerate(zip(molecule.begins, molecule.ends, strict=True)):
        if end in circles:
            circles[end].append(number)
        else:
            neighbors[begin].append(end)
        if begin in circles:
            circles[begin].append(number)
        else:
            backwards.append((end, begin))
    for end, begin in backwards:
        neighbors[end].append(begin)
    untied: set[int] = set()
    ties: list[tuple[int, int]] = []
    for circle, hanging in circles.items():
        if len(hanging) != 1 or hanging[0] in untied:
            continue
        start = molecule.begins[hanging[0]] + molecule.ends[hanging[0]] - circle
        untied.add(hanging[0])
        ring = _Walk(molecule, neighbors, circle, start, budget).ring(ties_open_rings)
        ties += [(atom, circle) for atom in ring]
    return _with_ties(molecule, untied, ties) if ties else molecule


class _Walk:
    """Walks counter-clockwise round `circle`, from `start` on."""

    def __init__(
        self, molecule: Molecule, neighbors: Mapping[int, list[int]], circle: int, start: int, budget: Budget
    ) -> None:
        self.molecule = molecule
        self.neighbors = neighbors
        self.circle = circle
        self.start = start
        self.budget = budget
        self.seen: dict[int, tuple[float, float]] = {}
        """What `look` returned for each atom."""
        self.radius = self.look(start)[0]

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
            if following not in on_walk:
                untried.append(self.onward(following, walk[-1]))
                walk.append(following)
                on_walk.add(following)
            elif ties_open_rings or following == self.start:
                return walk
        return [self.start]

    def onward(self, atom: int, came_from: int) -> list[int]:
        """Where the walk can go on from `atom`, the best last."""
        neighbors = self.neighbors.get(atom, [])
        self.budget.spend(3 * len(neighbors) + 3)
        here = self.look(atom)[1]
        choices = []
        for order, other in enumerate(neighbors):
            if other == came_from:
                continue
            distance, direction = self.look(other)
            off = math.fabs(distance - self.radius)
            if off <= self.radius * REACH and (direction - here) % 360 < 180:
                choices.append((off, order, other))
        return [other for _, _, other in sorted(choices, reverse=True)]

    def look(self, atom: int) -> tuple[float, float]:
        """The distance of `atom` from the circle, and its angle as seen from there, in degrees."""
        if atom not in self.seen:
            xs, ys = self.molecule.xs, self.molecule.ys
            across, up = xs[atom] - xs[self.circle], ys[self.circle] - ys[atom]
            self.seen[atom] = math.sqrt(up**2 + across**2), math.atan2(up, across) * 180.0 / math.pi
        return self.seen[atom]


def _with_ties(molecule: Molecule, untied: Container[int], ties: Sequence[tuple[int, int]]) -> Molecule:
    """The molecule without the bonds `untied`, and after its others those between atoms and circles."""
    xs, ys = molecule.xs, molecule.ys
    bonds = list(compress(molecule.bonds, [number not in untied for number in range(len(molecule.types))]))
    for atom, circle in ties:
        across, down = xs[circle] - xs[atom], ys[circle] - ys[atom]
        angle = math.degrees(math.atan2(-down, across)) % 360
        bonds.append(Bond(atom, circle, CIRCLE_BOND, angle, math.hypot(across, down)))
    return Molecule(molecule.texts, xs, ys, *zip(*bonds, strict=True))
