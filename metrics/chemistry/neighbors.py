"""The geometry of matching: the neighbors of each atom by angle, and the cost of aligning two lists of neighbors.

Two lists are aligned in every cyclic shift; a pair of neighbors costs the angle between them in degrees, plus 10 if
the bonds differ in kind, plus 30 times the difference of the neighbors' degrees. The first cheapest shift is used.
Terms are added in one fixed order, so that a cost is the same to the last bit wherever it is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import atan2, pi
from operator import itemgetter
from typing import Final, NamedTuple

from ..common.budget import Budget
from .molecule import MIRRORED_WEDGE, Molecule

KIND_COST = 10.0
DEGREE_COST = 30.0
SAME_DIRECTION: Final = 1e-6
"""Directions that differ by less, in degrees, are equal: positions are sums of many bonds, each rounded."""


class Neighbor(NamedTuple):
    """A neighbor of an atom: its direction in degrees, the indices of the bond and the neighbor, its degree.

    kind: the type of the bond as written from this atom to the neighbor.
    """

    angle: float
    bond: int
    kind: str
    atom: int
    degree: int


Neighbors = Sequence[Neighbor]
_angle = itemgetter(0)
_ONE_WEDGE = {">": "<", ">:": "<:", ">|": "<|"}


@dataclass(slots=True)
class MoleculePair:
    """The two molecules of a comparison with the neighbors of their atoms.

    `max_angle_deviation` is the largest difference in direction between corresponding bonds, in degrees; None: no
    limit. `compares_narrow_ends`: whether a wedge differs from its mirror image.
    """

    truth: Molecule
    prediction: Molecule
    budget: Budget
    max_angle_deviation: float | None = None
    compares_narrow_ends: bool = True
    truth_neighbors: Sequence[Neighbors] = field(init=False)
    prediction_neighbors: Sequence[Neighbors] = field(init=False)

    def __post_init__(self) -> None:
        """Computes the neighbors of both molecules; raises OutOfBudget."""
        self.budget.spend(4 * (len(self.truth.bonds) + len(self.prediction.bonds)))
        self.truth_neighbors = neighbors_by_angle(self.truth, self.compares_narrow_ends)
        self.prediction_neighbors = neighbors_by_angle(self.prediction, self.compares_narrow_ends)

    def bonds_agree(self, neighbor: Neighbor, other: Neighbor) -> bool:
        """Returns whether two bonds have the same kind, and directions within `max_angle_deviation` of each other.

        Rounding errors of angles are tolerated.
        """
        if neighbor.kind != other.kind:
            return False
        limit = self.max_angle_deviation
        return limit is None or angle_between(neighbor.angle, other.angle) <= limit + SAME_DIRECTION


def neighbors_by_angle(molecule: Molecule, compares_narrow_ends: bool) -> list[tuple[Neighbor, ...]]:
    """Returns the neighbors of each atom by increasing angle; an atom bonded to itself is its own neighbor twice.

    Neighbors at the same angle are in order of writing, those whose bonds end at the atom first. Unless
    `compares_narrow_ends` is set, a wedge and its mirror image have one kind: that of the one with a narrow beginning.
    """
    xs, ys = molecule.xs, molecule.ys
    degrees = [0] * len(xs)
    for begin, end, _, _, _ in molecule.bonds:
        degrees[begin] += 1
        degrees[end] += 1
    mirrored = MIRRORED_WEDGE if compares_narrow_ends else _ONE_WEDGE
    seen: list[list[Neighbor]] = [[] for _ in degrees]
    begun: list[Neighbor] = []
    for number, (begin, end, kind, _, _) in enumerate(molecule.bonds):
        up, across = ys[begin] - ys[end], xs[end] - xs[begin]
        forwards = atan2(up, across) * 180.0 / pi % 360
        backwards = atan2(0.0 - up, 0.0 - across) * 180.0 / pi % 360
        kind_back = mirrored.get(kind, kind)
        kind = kind if compares_narrow_ends else kind_back
        begun.append(Neighbor(forwards, number, kind, end, degrees[end]))
        seen[end].append(Neighbor(backwards, number, kind_back, begin, degrees[begin]))
    for bond, neighbor in zip(molecule.bonds, begun, strict=True):
        seen[bond[0]].append(neighbor)
    for neighbors in seen:
        neighbors.sort(key=_angle)
    return list(map(tuple, seen))


def angle_between(first: float, second: float) -> float:
    """Returns the angle between two directions, 0 to 180 degrees."""
    angle = (first - second) % 360
    return 360 - angle if angle > 180 else angle


def cheapest_shift(first: Neighbors, second: Neighbors) -> tuple[float, int]:
    """Returns the cost of the first cheapest shift of the longer list against the shorter, and that shift.

    If the lengths are equal, `first` is shifted. Returns (0.0, 0) if a list is empty.
    """
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    if not shorter:
        return 0.0, 0
    least, best = float("inf"), 0
    for shift in range(len(longer)):
        cost = 0.0
        # Places start negative and so wrap around: after -1 comes 0.
        for place, (other_angle, _, other_kind, _, other_degree) in enumerate(shorter, shift - len(longer)):
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
            least, best = cost, shift
            if cost == 0:
                break
    return least, best


def shifted(neighbors: Neighbors, shift: int) -> Neighbors:
    """Returns the neighbors in cyclic order, starting at index `shift`."""
    return (*neighbors[shift:], *neighbors[:shift]) if shift else neighbors
