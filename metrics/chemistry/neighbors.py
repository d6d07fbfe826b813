"""The geometry that matching needs: the neighbors of each atom by angle, and how lists of them lie on each other.

Two lists are laid on each other in every cyclic shift; a pair of neighbors costs its angle in degrees, 10 where the
kinds of the bonds differ, and 30 for each difference of the neighbors' degrees. The first cheapest shift counts. Sums
are taken in one fixed order, so that a cost is the same to the last bit wherever it is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import atan2, pi
from operator import itemgetter
from typing import Final, NamedTuple

from .molecule import MIRRORED_WEDGE, Molecule

KIND_COST = 10.0
DEGREE_COST = 30.0
SAME_DIRECTION: Final = 1e-6
"""Directions that differ by less, in degrees, are one: places are sums of many bonds, each rounded."""


class Neighbor(NamedTuple):
    """What an atom sees in one direction: the angle in degrees, the bond and the atom by index, its degree.

    kind: the type of the bond as it would be written from this atom on.
    """

    angle: float
    bond: int
    kind: str
    atom: int
    degree: int


Neighbors = Sequence[Neighbor]
_angle = itemgetter(0)
_neighbor: Callable[[tuple[float, int, str, int, int]], Neighbor] = partial(tuple.__new__, Neighbor)
_AS_WRITTEN: dict[str, str] = {}
_ONE_WEDGE = {">": "<", ">:": "<:", ">|": "<|"}


def neighbors_by_angle(molecule: Molecule, compares_narrow_ends: bool = True) -> list[tuple[Neighbor, ...]]:
    """Returns for each atom its neighbors by growing angle; an atom bonded to itself sees itself twice.

    Neighbors at one angle come in order of writing, those whose bonds end at the atom first. Unless
    `compares_narrow_ends` is set, a wedge and its mirror image are one kind, that of the wedge narrow where it begins.
    """
    begins, ends, xs, ys = molecule.begins, molecule.ends, molecule.xs, molecule.ys
    degrees = [0] * len(xs)
    for atom in (*begins, *ends):
        degrees[atom] += 1
    seen: list[list[Neighbor]] = [[] for _ in degrees]
    begun: list[Neighbor] = []
    kind_of, kind_back = (
        (_AS_WRITTEN.get, MIRRORED_WEDGE.get) if compares_narrow_ends else (_ONE_WEDGE.get, _ONE_WEDGE.get)
    )
    for number, (begin, end, bond_type) in enumerate(zip(begins, ends, molecule.types, strict=True)):
        up, across = ys[begin] - ys[end], xs[end] - xs[begin]
        forwards = atan2(up, across) * 180.0 / pi % 360
        backwards = atan2(0.0 - up, 0.0 - across) * 180.0 / pi % 360
        begun.append(_neighbor((forwards, number, kind_of(bond_type, bond_type), end, degrees[end])))
        seen[end].append(_neighbor((backwards, number, kind_back(bond_type, bond_type), begin, degrees[begin])))
    for begin, neighbor in zip(begins, begun, strict=True):
        seen[begin].append(neighbor)
    for neighbors in seen:
        neighbors.sort(key=_angle)
    return list(map(tuple, seen))


def angle_between(first: float, second: float) -> float:
    """Returns the angle between two directions, 0 to 180 degrees."""
    angle = (first - second) % 360
    return 360 - angle if angle > 180 else angle


def best_cyclic_shift(first: Neighbors, second: Neighbors) -> Neighbors:
    """Returns `second`, of the same length as `first`, in the cheapest cyclic shift against it."""
    count = len(first)
    if count < 2:
        return second
    best_cost, best = float("inf"), second
    for shift in range(count):
        shifted = [*second[shift:], *second[:shift]] if shift else second
        cost = 0.0
        for (angle, _, kind, _, degree), (other_angle, _, other_kind, _, other_degree) in zip(
            first, shifted, strict=True
        ):
            off = (other_angle - angle) % 360
            cost += 360 - off if off > 180 else off
            if kind != other_kind:
                cost += KIND_COST
            if degree != other_degree:
                cost += DEGREE_COST * abs(degree - other_degree)
            if cost >= best_cost:
                break
        else:
            best_cost, best = cost, shifted
            if cost == 0:
                break
    return best


def same_environment(first: Neighbors, second: Neighbors) -> bool:
    """Says whether the cheapest shift of `second`, of the same length, against `first` costs nothing."""
    for shift in range(max(1, len(first))):
        for number, (angle, _, kind, _, degree) in enumerate(first, start=shift):
            other = second[number % len(second)]
            if kind != other.kind or degree != other.degree or angle_between(angle, other.angle) != 0:
                break
        else:
            return True
    return False


def least_cost(first: Neighbors, second: Neighbors) -> float:
    """Returns the cost of the cheapest shift of the longer list against the shorter; of equal lengths, of the first."""
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    if not shorter:
        return 0.0
    least = float("inf")
    (first_angle, _, first_kind, _, first_degree), *others = shorter
    # The first pair rules most shifts out. An index from the end on goes round once: after -1 comes 0.
    for next_place, (angle, _, kind, _, degree) in enumerate(longer, 1 - len(longer)):
        off = angle - first_angle
        if off < 0:
            off += 360
        cost = 360 - off if off > 180 else off
        if kind != first_kind:
            cost += KIND_COST
        if degree != first_degree:
            cost += DEGREE_COST * abs(degree - first_degree)
        if cost >= least:
            continue
        for place, (other_angle, _, other_kind, _, other_degree) in enumerate(others, next_place):
            angle, _, kind, _, degree = longer[place]
            off = angle - other_angle
            if off < 0:
                off += 360
            cost += 360 - off if off > 180 else off
            if kind != other_kind:
                cost += KIND_COST
            if degree != other_degree:
                cost += DEGREE_COST * abs(degree - other_degree)
            if cost >= least:
                break
        else:
            least = cost
    return least
