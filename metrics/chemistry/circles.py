"""The circle of an aromatic ring, tied to every atom of the ring that it is in.

A circle is written as an atom that hangs on one atom of its ring. Which atoms the ring has is seen from the drawing:
from that atom on, neighbours are followed counter-clockwise round the circle, those at the most similar distance first.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from itertools import compress

from ..common.budget import Budget
from .molecule import CIRCLE, CIRCLE_BOND, Molecule

REACH = 0.5
"""Atoms of the ring are this share of the radius nearer or farther than the radius, at most."""


def tie_circles(molecule: Molecule, ties_open_rings: bool, budget: Budget) -> Molecule:
    """Returns the molecule with a bond `-:` from every atom of a ring to its circle.

    A circle that hangs on one atom alone is looked at; one whose ring cannot be seen stays with that atom.
    """
    if CIRCLE not in molecule.texts:
        return molecule
    begins, ends = molecule.begins, molecule.ends
    circles: dict[int, list[int]] = {atom: [] for atom, text in enumerate(molecule.texts) if text == CIRCLE}
    for number, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        if begin in circles:
            circles[begin].append(number)
        if end in circles:
            circles[end].append(number)
    neighbours = _neighbours(molecule, circles)
    untied: set[int] = set()
    ties: list[tuple[int, int]] = []
    for circle, hanging in circles.items():
        if len(hanging) != 1 or hanging[0] in untied:
            continue
        start = begins[hanging[0]] + ends[hanging[0]] - circle
        ring = _Walk(molecule, neighbours, circle, start, budget).ring(ties_open_rings)
        untied.add(hanging[0])
        ties += [(atom, circle) for atom in ring]
    return _with_ties(molecule, untied, ties) if ties else molecule


def _neighbours(molecule: Molecule, circles: Container[int]) -> list[list[int]]:
    """The neighbours of each atom, first along the bonds that begin at it; circles are left out."""
    neighbours: list[list[int]] = [[] for _ in molecule.texts]
    for begin, end in zip(molecule.begins, molecule.ends, strict=True):
        if end not in circles:
            neighbours[begin].append(end)
    for begin, end in zip(molecule.begins, molecule.ends, strict=True):
        if begin not in circles:
            neighbours[end].append(begin)
    return neighbours


class _Walk:
    """Walks counter-clockwise round `circle`, from `start` on."""

    __slots__ = ("_budget", "_neighbours", "_place", "_radius", "_reach", "_seen", "_start", "_xs", "_ys")

    def __init__(
        self, molecule: Molecule, neighbours: Sequence[Sequence[int]], circle: int, start: int, budget: Budget
    ) -> None:
        self._xs = molecule.xs
        self._ys = molecule.ys
        self._place = self._xs[circle], self._ys[circle]
        self._neighbours = neighbours
        self._start = start
        self._budget = budget
        self._seen: dict[int, tuple[float, float]] = {}
        """What `look` returned for each atom."""
        self._radius = self.look(start)[0]
        self._reach = self._radius * REACH

    def ring(self, ties_open_rings: bool) -> list[int]:
        """The atoms of the first walk that meets itself (or comes back to its start); else the start alone."""
        start = self._start
        walk = [start]
        on_walk = {start}
        untried = [self.onward(start, -1)]
        while walk:
            if not untried[-1]:
                on_walk.discard(walk.pop())
                untried.pop()
                continue
            following = untried[-1].pop()
            if following in on_walk:
                if ties_open_rings or following == start:
                    return walk
                continue
            untried.append(self.onward(following, walk[-1]))
            walk.append(following)
            on_walk.add(following)
        return [start]

    def onward(self, atom: int, came_from: int) -> list[int]:
        """Where the walk can go on from `atom`, the best last."""
        neighbours = self._neighbours[atom]
        self._budget.spend(3 * len(neighbours) + 3)
        seen, radius, reach = self._seen, self._radius, self._reach
        here = (seen.get(atom) or self.look(atom))[1]
        choices = []
        for order, other in enumerate(neighbours):
            if other == came_from:
                continue
            distance, direction = seen.get(other) or self.look(other)
            off = math.fabs(distance - radius)
            if off <= reach and (direction - here) % 360 < 180:
                choices.append((off, order, other))
        if len(choices) > 1:
            choices.sort(reverse=True)
        return [other for _, _, other in choices]

    def look(self, atom: int) -> tuple[float, float]:
        """The distance of `atom` from the circle, and its angle as seen from there, in degrees."""
        x, y = self._place
        across, up = self._xs[atom] - x, y - self._ys[atom]
        seen = self._seen[atom] = math.sqrt(up**2 + across**2), math.atan2(up, across) * 180.0 / math.pi
        return seen


def _with_ties(molecule: Molecule, untied: Container[int], ties: Sequence[tuple[int, int]]) -> Molecule:
    """The molecule without the bonds `untied`, and after its others those between atoms and circles."""
    xs, ys = molecule.xs, molecule.ys
    kept = [number not in untied for number in range(len(molecule.types))]
    begins, ends = list(compress(molecule.begins, kept)), list(compress(molecule.ends, kept))
    angles, lengths = list(compress(molecule.angles, kept)), list(compress(molecule.lengths, kept))
    for atom, circle in ties:
        across, down = xs[circle] - xs[atom], ys[circle] - ys[atom]
        begins.append(atom)
        ends.append(circle)
        angles.append(math.degrees(math.atan2(-down, across)) % 360)
        lengths.append(math.hypot(across, down))
    types = *compress(molecule.types, kept), *(CIRCLE_BOND,) * len(ties)
    return Molecule(molecule.texts, xs, ys, tuple(begins), tuple(ends), types, tuple(angles), tuple(lengths))
