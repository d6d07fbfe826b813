"""Ties the circle of an aromatic ring to every atom of that ring.

A circle is written as an atom bonded to one atom of its ring. The other atoms of the ring are found in the drawing: a
walk from that atom goes counter-clockwise around the circle, trying neighbors at the most similar distance first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from ..common.budget import Budget
from .molecule import CIRCLE, CIRCLE_BOND, Bond, Molecule, bond_between

REACH = 0.5
"""The largest difference between the distance of a ring atom and the radius, as a fraction of the radius."""


def tie_circles(molecule: Molecule, released: bool, budget: Budget) -> Molecule:
    """Returns the molecule with a bond `-:` from every atom of a ring to its circle, after its other bonds.

    Only circles with exactly one bond are tied; a circle whose ring is not found stays bonded to that one atom. Under
    `released`, the first walk around it that returns to any of its own atoms counts as the ring.
    """
    if CIRCLE not in molecule.texts:
        return molecule
    bonds = dict(enumerate(molecule.bonds))
    circles: dict[int, list[int]] = {atom: [] for atom, text in enumerate(molecule.texts) if text == CIRCLE}
    # The neighbors of each atom, excluding circles; those along bonds that begin at the atom come first.
    neighbors: dict[int, list[int]] = defaultdict(list)
    for ends in ([bond[:2] for bond in molecule.bonds], [bond[1::-1] for bond in molecule.bonds]):
        for number, (atom, other) in enumerate(ends):
            if other in circles:
                circles[other].append(number)
            else:
                neighbors[atom].append(other)
    ties: list[Bond] = []
    for circle, hanging in circles.items():
        if len(hanging) == 1 and hanging[0] in bonds:
            bond = bonds.pop(hanging[0])
            start = bond.begin + bond.end - circle
            ring = [start]
            # Where the circle is off its center, the ring is not at one distance.
            for reach in (REACH,) if released else (REACH, math.inf):
                found = _ring(molecule, neighbors, circle, start, released, reach, budget)
                if len(found) > 1 and (released or _is_round(molecule, found)):
                    ring = found
                    break
            ties += [bond_between(molecule.xs, molecule.ys, atom, circle, CIRCLE_BOND) for atom in ring]
    return Molecule(molecule.texts, molecule.xs, molecule.ys, (*bonds.values(), *ties))


def _ring(
    molecule: Molecule,
    neighbors: Mapping[int, list[int]],
    circle: int,
    start: int,
    released: bool,
    reach: float,
    budget: Budget,
) -> list[int]:
    """Returns the first walk around `circle` back to `start` (`released`: to any of its atoms), or `[start]`.

    reach: the largest difference of a distance from the radius, as a fraction of it.
    """

    def look(atom: int) -> tuple[float, float]:
        """Returns the distance of `atom` from the circle, and its direction from there in degrees."""
        across, up = molecule.xs[atom] - molecule.xs[circle], molecule.ys[circle] - molecule.ys[atom]
        return math.sqrt(up**2 + across**2), math.atan2(up, across) * 180.0 / math.pi

    def onward(atom: int, came_from: int) -> list[int]:
        """Returns the atoms to which the walk can continue from `atom`, the best last."""
        around = neighbors.get(atom, [])
        budget.spend(3 * len(around) + 3)
        here = look(atom)[1]
        choices = []
        for order, other in enumerate(around):
            if other == came_from:
                continue
            distance, direction = look(other)
            off = math.fabs(distance - radius)
            if off <= radius * reach and (direction - here) % 360 < 180:
                choices.append((off, order, other))
        return [other for _, _, other in sorted(choices, reverse=True)]

    radius = look(start)[0]
    walk = [start]
    # Those on the walk; `published`: also those that were, as no walk returns from them.
    visited = {start}
    untried = [onward(start, -1)]
    while walk:
        if not untried[-1]:
            left = walk.pop()
            untried.pop()
            if released:
                visited.discard(left)
            continue
        following = untried[-1].pop()
        if following not in visited:
            untried.append(onward(following, walk[-1]))
            walk.append(following)
            visited.add(following)
        elif released or following == start:
            return walk
    return [start]


def _is_round(molecule: Molecule, ring: Sequence[int]) -> bool:
    """Returns whether the atoms are about as far from their center, as in a ring that no wrong bond angle opened."""
    x, y = (sum(places[atom] for atom in ring) / len(ring) for places in (molecule.xs, molecule.ys))
    radii = [math.hypot(molecule.xs[atom] - x, molecule.ys[atom] - y) for atom in ring]
    radius = sum(radii) / len(radii)
    return all(math.fabs(each - radius) <= radius * REACH for each in radii)
