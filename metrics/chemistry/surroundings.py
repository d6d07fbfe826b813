"""The geometry that matching needs: for each atom its neighbours, counter-clockwise by angle."""

from __future__ import annotations

import math
from dataclasses import dataclass

from metrics.chemistry.molecule import Molecule

ANGLE_DIGITS = 6
"""Angles are rounded to this many decimals of a degree, so that the noise of coordinates decides nothing."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """What an atom sees in one direction: the angle in degrees, the bond and the atom by index, its degree."""

    angle: float
    bond: int
    kind: str
    atom: int
    degree: int


def surroundings(molecule: Molecule) -> list[tuple[Neighbour, ...]]:
    """Returns for each atom its neighbours by growing angle; an atom bonded to itself sees itself twice."""
    ends: list[list[tuple[int, int]]] = [[] for _ in molecule.atoms]
    for number, bond in enumerate(molecule.bonds):
        ends[bond.begin].append((number, bond.end))
        ends[bond.end].append((number, bond.begin))
    return [
        tuple(
            sorted(
                (
                    Neighbour(
                        _angle(molecule, atom, other), number, molecule.bonds[number].kind, other, len(ends[other])
                    )
                    for number, other in ends[atom]
                ),
                key=lambda neighbour: (neighbour.angle, neighbour.bond),
            )
        )
        for atom in range(len(molecule.atoms))
    ]


def _angle(molecule: Molecule, atom: int, other: int) -> float:
    here, there = molecule.atoms[atom], molecule.atoms[other]
    return round(math.degrees(math.atan2(here.y - there.y, there.x - here.x)), ANGLE_DIGITS) % 360


def turn(first: float, second: float) -> float:
    """Returns the angle between two directions, 0 to 180 degrees."""
    return abs((first - second + 180) % 360 - 180)
