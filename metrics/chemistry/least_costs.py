"""The cheapest pairs of atoms of two small drawings, by the costs of `alignment`, with few costs computed."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rapidfuzz.distance import Levenshtein

from .alignment import DEGREE_COST, KIND_COST, TEXT_COST, charge_texts
from .molecule import Molecule
from .surroundings import Neighbour
from .walk import Drawings

FIRST_PAIRS = 4
"""So many pairs are most often all that is asked for: a dearer one is left where its cost is seen to be too high."""
NOISE = 2000.0
"""Added to costs, this takes the noise of rounding off them, so that equal costs are equal."""
ROUNDING = 1e-6
"""Far more than the noise of rounding in a cost with `NOISE`."""
Look = tuple[str, int]
"""The text and the degree of an atom, by which a pair costs something at least."""


class LeastCosts:
    """Pairs of atoms by growing cost; the cost is that of `alignment.Costs` to the last bit.

    A pair costs at least what its texts and its difference in degree cost. Pairs are looked at in rounds by that, each
    round when no cheaper pair can be left; a round costs the same steps however many of its costs are computed.
    """

    def __init__(self, drawings: Drawings) -> None:
        self._drawings = drawings
        budget = drawings.budget
        budget.spend(len(drawings.truth.texts) * len(drawings.prediction.texts))
        self._atoms = _by_look(drawings.truth, drawings.truth_sees)
        self._images = _by_look(drawings.prediction, drawings.prediction_sees)
        charge_texts({text for text, _ in self._atoms}, {text for text, _ in self._images}, budget)
        self._rounds: dict[float, list[tuple[Look, Look]]] = defaultdict(list)
        for look in self._atoms:
            for other in self._images:
                edits = 0 if look[0] == other[0] else Levenshtein.distance(look[0], other[0])
                least = TEXT_COST * edits + DEGREE_COST * abs(look[1] - other[1])
                self._rounds[least].append((look, other))

    def pairs(self) -> Iterator[list[tuple[int, int]]]:
        """Yields the pairs (atom of the truth, atom of the prediction) that cost something, in portions."""
        found: list[tuple[float, int, int]] = []
        left_out: list[tuple[float, int, int]] = []
        yielded = 0
        for least, following in pairwise([*sorted(self._rounds), float("inf")]):
            left_out += self._look_at(least, found, FIRST_PAIRS - yielded)
            found.sort()
            end = bisect_left(found, (following + NOISE,))
            if left_out:
                first = min(end, FIRST_PAIRS - yielded)
                yield [(atom, image) for _, image, atom in found[:first]]
                del found[:first]
                yielded += first
                if yielded < FIRST_PAIRS:
                    continue
                found += [self._ranked(*pair) for pair in left_out]
                left_out.clear()
                found.sort()
                end = bisect_left(found, (following + NOISE,))
            yield [(atom, image) for _, image, atom in found[:end]]
            del found[:end]
            yielded = min(yielded + end, FIRST_PAIRS)

    def _look_at(self, least: float, found: list[tuple[float, int, int]], wanted: int) -> list[tuple[float, int, int]]:
        """Adds (rank, image, atom) of a round's pairs to `found`; returns those that are not among the first `wanted`.

        Where nothing is wanted in particular, no pair is left out.
        """
        truth_sees, prediction_sees = self._drawings.truth_sees, self._drawings.prediction_sees
        first = sorted(rank for rank, _, _ in found)[:wanted]
        slack = ROUNDING - NOISE - least
        limit = first[-1] + slack if 0 < wanted == len(first) else float("inf")
        left_out = []
        work = 0
        for look, other in self._rounds[least]:
            atoms, images = self._atoms[look], self._images[other]
            work += look[1] * other[1] * len(atoms) * len(images)
            for atom in atoms:
                sees = truth_sees[atom]
                for image in images:
                    cost = least_cost(sees, prediction_sees[image], limit)
                    if cost is None:
                        left_out.append((least, image, atom))
                    elif least + cost != 0:
                        rank = least + cost + NOISE
                        found.append((rank, image, atom))
                        if wanted:
                            insort(first, rank)
                            del first[wanted:]
                            limit = first[-1] + slack if len(first) == wanted else limit
        self._drawings.budget.spend(work // 8)
        return left_out

    def _ranked(self, least: float, image: int, atom: int) -> tuple[float, int, int]:
        cost = least_cost(self._drawings.truth_sees[atom], self._drawings.prediction_sees[image])
        assert cost is not None, "there is no limit"
        return least + cost + NOISE, image, atom


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


def _by_look(molecule: Molecule, sees: Sequence[Sequence[Neighbour]]) -> dict[Look, list[int]]:
    atoms: dict[Look, list[int]] = defaultdict(list)
    for number, look in enumerate(zip(molecule.texts, map(len, sees), strict=True)):
        atoms[look].append(number)
    return atoms
