"""The geometry that matching needs: for each atom its neighbours, counter-clockwise by angle."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import NamedTuple

from metrics.chemistry.molecule import MIRRORED_WEDGE, Molecule


class Neighbour(NamedTuple):
    """What an atom sees in one direction: the angle in degrees, the bond and the atom by index, its degree."""

    angle: float
    bond: int
    kind: str
    atom: int
    degree: int


_angle = itemgetter(0)


def surroundings(molecule: Molecule) -> list[tuple[Neighbour, ...]]:
    """Returns for each atom its neighbours by growing angle; an atom bonded to itself sees itself twice.

    Neighbours at one angle come in order of writing, those whose bonds end at the atom first.
    """
    atoms = molecule.atoms
    degrees = [0] * len(atoms)
    for begin, end, *_ in molecule.bonds:
        degrees[begin] += 1
        degrees[end] += 1
    ended: list[list[Neighbour]] = [[] for _ in atoms]
    begun: list[list[Neighbour]] = [[] for _ in atoms]
    for number, (begin, end, bond_type, _, _) in enumerate(molecule.bonds):
        kind = MIRRORED_WEDGE.get(bond_type, bond_type)
        _, x, y = atoms[begin]
        _, end_x, end_y = atoms[end]
        forwards = math.atan2(-end_y + y, end_x - x) * 180.0 / math.pi % 360
        backwards = math.atan2(-y + end_y, x - end_x) * 180.0 / math.pi % 360
        begun[begin].append(Neighbour(forwards, number, kind, end, degrees[end]))
        ended[end].append(Neighbour(backwards, number, kind, begin, degrees[begin]))
    return [tuple(sorted(first + second, key=_angle)) for first, second in zip(ended, begun, strict=True)]


def turn(first: float, second: float) -> float:
    """Returns the angle between two directions, 0 to 180 degrees."""
    angle = (first - second) % 360
    return 360 - angle if angle > 180 else angle
