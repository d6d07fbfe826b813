"""The geometry that matching needs: for each atom its neighbours, counter-clockwise by angle."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import atan2, pi
from operator import itemgetter
from typing import Final, NamedTuple

from .molecule import MIRRORED_WEDGE, Molecule


class Neighbour(NamedTuple):
    """What an atom sees in one direction: the angle in degrees, the bond and the atom by index, its degree.

    kind: the type of the bond as it would be written from this atom on.
    """

    angle: float
    bond: int
    kind: str
    atom: int
    degree: int


_angle = itemgetter(0)
_neighbour: Callable[[tuple[float, int, str, int, int]], Neighbour] = partial(tuple.__new__, Neighbour)


SAME_DIRECTION: Final = 1e-6
"""Directions that differ by less, in degrees, are one: places are sums of many bonds, each rounded."""

_AS_WRITTEN: dict[str, str] = {}
_ONE_WEDGE = {">": "<", ">:": "<:", ">|": "<|"}


def surroundings(molecule: Molecule, compares_narrow_ends: bool = True) -> list[tuple[Neighbour, ...]]:
    """Returns for each atom its neighbours by growing angle; an atom bonded to itself sees itself twice.

    Neighbours at one angle come in order of writing, those whose bonds end at the atom first. Unless
    `compares_narrow_ends` is set, a wedge and its mirror image are one kind, that of the wedge narrow where it begins.
    """
    begins, ends, xs, ys = molecule.begins, molecule.ends, molecule.xs, molecule.ys
    degrees = [0] * len(xs)
    for begin, end in zip(begins, ends, strict=True):
        degrees[begin] += 1
        degrees[end] += 1
    seen: list[list[Neighbour]] = [[] for _ in degrees]
    begun: list[Neighbour] = []
    kind_of, kind_back = (
        (_AS_WRITTEN.get, MIRRORED_WEDGE.get) if compares_narrow_ends else (_ONE_WEDGE.get, _ONE_WEDGE.get)
    )
    for number, (begin, end, bond_type) in enumerate(zip(begins, ends, molecule.types, strict=True)):
        up, across = ys[begin] - ys[end], xs[end] - xs[begin]
        forwards = atan2(up, across) * 180.0 / pi % 360
        backwards = atan2(0.0 - up, 0.0 - across) * 180.0 / pi % 360
        begun.append(_neighbour((forwards, number, kind_of(bond_type, bond_type), end, degrees[end])))
        seen[end].append(_neighbour((backwards, number, kind_back(bond_type, bond_type), begin, degrees[begin])))
    for begin, neighbour in zip(begins, begun, strict=True):
        seen[begin].append(neighbour)
    for neighbours in seen:
        if len(neighbours) > 1:
            neighbours.sort(key=_angle)
    return list(map(tuple, seen))


def turn(first: float, second: float) -> float:
    """Returns the angle between two directions, 0 to 180 degrees."""
    angle = (first - second) % 360
    return 360 - angle if angle > 180 else angle
