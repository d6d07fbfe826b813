"""The geometry that matching needs: for each atom its neighbours, counter-clockwise by angle."""

from __future__ import annotations

import math
from dataclasses import dataclass

from metrics.chemistry.molecule import Molecule


@dataclass(frozen=True, slots=True)
class Neighbour:
    """What an atom sees in one direction: the angle in degrees, the bond and the atom by index, its degree."""

    angle: float
    bond: int
    kind: str
    atom: int
    degree: int


def surroundings(molecule: Molecule) -> list[tuple[Neighbour, ...]]:
    """Returns for each atom its neighbours by growing angle; an atom bonded to itself sees itself twice.

    Neighbours at one angle come in order of writing, those whose bonds end at the atom first.
    """
    ended: list[list[tuple[int, int]]] = [[] for _ in molecule.atoms]
    begun: list[list[tuple[int, int]]] = [[] for _ in molecule.atoms]
    for number, bond in enumerate(molecule.bonds):
        ended[bond.end].append((number, bond.begin))
        begun[bond.begin].append((number, bond.end))
    ends = [[*first, *second] for first, second in zip(ended, begun, strict=True)]
    kinds = [bond.kind for bond in molecule.bonds]
    return [
        tuple(
            sorted(
                (
                    Neighbour(_angle(molecule, atom, other), number, kinds[number], other, len(ends[other]))
                    for number, other in ends[atom]
                ),
                key=lambda neighbour: neighbour.angle,
            )
        )
        for atom in range(len(molecule.atoms))
    ]


def _angle(molecule: Molecule, atom: int, other: int) -> float:
    here, there = molecule.atoms[atom], molecule.atoms[other]
    return math.atan2(-there.y + here.y, there.x - here.x) * 180.0 / math.pi % 360


def turn(first: float, second: float) -> float:
    """Returns the angle between two directions, 0 to 180 degrees."""
    angle = (first - second) % 360
    return 360 - angle if angle > 180 else angle
