"""How alike two atoms look, and which of their neighbours face each other.

The neighbours of both atoms are in order of their angles. They are laid against each other in every cyclic shift;
a pair of neighbours costs its angle in degrees, 10 where the kinds of the bonds differ, and 30 for each difference
of the neighbours' degrees. The first cheapest shift counts. Sums are taken in one fixed order, so that a cost is the
same to the last bit wherever it is computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from .surroundings import Neighbour, turn

KIND_COST = 10.0
DEGREE_COST = 30.0


def aligned(first: Sequence[Neighbour], second: Sequence[Neighbour]) -> Sequence[Neighbour]:
    """Returns `second`, of the same length as `first`, in the cheapest cyclic shift against it."""
    count = len(first)
    if count < 2:
        return second
    best_cost, best = float("inf"), second
    for shift in range(count):
        shifted = [*second[shift:], *second[:shift]] if shift else second
        cost = 0.0
        for (angle, _, kind, _, degree), (facing_angle, _, facing_kind, _, facing_degree) in zip(
            first, shifted, strict=True
        ):
            off = (facing_angle - angle) % 360
            cost += 360 - off if off > 180 else off
            if kind != facing_kind:
                cost += KIND_COST
            if degree != facing_degree:
                cost += DEGREE_COST * abs(degree - facing_degree)
            if cost >= best_cost:
                break
        else:
            best_cost, best = cost, shifted
            if cost == 0:
                break
    return best


def is_perfect(first: Sequence[Neighbour], second: Sequence[Neighbour]) -> bool:
    """Says whether the cheapest shift of `second`, of the same length, against `first` costs nothing."""
    for shift in range(max(1, len(first))):
        for number, (angle, _, kind, _, degree) in enumerate(first, start=shift):
            facing = second[number % len(second)]
            if kind != facing.kind or degree != facing.degree or turn(angle, facing.angle) != 0:
                break
        else:
            return True
    return False


def least_cost(first: Sequence[Neighbour], second: Sequence[Neighbour], limit: float = float("inf")) -> float | None:
    """Returns the cost of the cheapest shift of the longer list against the shorter; of equal lengths, of the first.

    None where it is seen to be above `limit`.
    """
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    if not shorter:
        return 0.0
    least = limit
    found = None
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
        for place, (facing_angle, _, facing_kind, _, facing_degree) in enumerate(others, next_place):
            angle, _, kind, _, degree = longer[place]
            off = angle - facing_angle
            if off < 0:
                off += 360
            cost += 360 - off if off > 180 else off
            if kind != facing_kind:
                cost += KIND_COST
            if degree != facing_degree:
                cost += DEGREE_COST * abs(degree - facing_degree)
            if cost >= least:
                break
        else:
            least = found = cost
    return found
