"""The pairs of atoms from which a guided walk may start, the most alike first."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import compress, pairwise

from rapidfuzz.distance import Levenshtein

from .alignment import DEGREE_COST, is_perfect, least_cost
from .molecule import Molecule
from .surroundings import Neighbour
from .walk import Drawings

TEXT_COST = 10.0
EDITS_IN_A_STEP = 5_000
"""Pairs of characters that one step of the edit distance compares; it takes 64 of them at once."""
FIRST_PAIRS = 4
"""So many pairs are most often all that is asked for: a dearer one is left where its cost is seen to be too high."""
NOISE = 2000.0
"""Added to costs, this takes the noise of rounding off them, so that equal costs are equal."""
ROUNDING = 1e-6
"""Far more than the noise of rounding in a cost with `NOISE`."""
Look = tuple[str, int]
"""The text and the degree of an atom, by which a pair costs something at least."""


class Starts:
    """All pairs (atom of the truth, atom of the prediction), the most alike first, found as far as they are asked for.

    First those that are perfect and unique on both sides, then those that are perfect, then all others by cost. A pair
    is perfect where text and neighbours are the same, angles included. Pairs that are equally alike come in the order
    of the prediction's atoms, then of the truth's.
    """

    def __init__(self, drawings: Drawings) -> None:
        self._drawings = drawings
        self._found = _perfect_pairs(drawings)
        self._others: Iterator[list[tuple[int, int]]] | None = None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yields the pairs; each that is looked at is a step."""
        position = 0
        while True:
            while position < len(self._found):
                self._drawings.budget.spend(1)
                yield self._found[position]
                position += 1
            if self._others is None:
                self._others = LeastCosts(self._drawings).pairs()
            more = next(self._others, None)
            if more is None:
                return
            self._found += more


class LeastCosts:
    """Pairs of atoms by growing cost; those that cost nothing are left out.

    A pair costs 10 for each character by which the texts differ, 30 for each difference in degree, and what the
    neighbours cost in the cheapest shift of the longer list against the shorter.

    A pair costs at least what its texts and its difference in degree cost. Pairs are looked at in rounds by that, each
    round when no cheaper pair can be left; a round costs the same steps however many of its costs are computed.
    """

    def __init__(self, drawings: Drawings) -> None:
        self._drawings = drawings
        budget = drawings.budget
        budget.spend(len(drawings.truth.texts) * len(drawings.prediction.texts))
        self._atoms = _by_look(drawings.truth, drawings.truth_sees)
        self._images = _by_look(drawings.prediction, drawings.prediction_sees)
        texts, others = ({text for text, _ in side} for side in (self._atoms, self._images))
        characters = sum(map(len, texts)) * sum(map(len, others))
        budget.spend(characters // EDITS_IN_A_STEP + len(texts) * len(others) // 4)
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


def _by_look(molecule: Molecule, sees: Sequence[Sequence[Neighbour]]) -> dict[Look, list[int]]:
    atoms: dict[Look, list[int]] = defaultdict(list)
    for number, look in enumerate(zip(molecule.texts, map(len, sees), strict=True)):
        atoms[look].append(number)
    return atoms


def _perfect_pairs(drawings: Drawings) -> list[tuple[int, int]]:
    """Returns the perfect pairs in the order of `Starts`.

    Only atoms with the same text, degree and sum of degrees and nearly the same sum of angles are compared.
    """
    truths: dict[tuple[str, int, int, int], list[int]] = defaultdict(list)
    for atom, (text, sees) in enumerate(zip(drawings.truth.texts, drawings.truth_sees, strict=True)):
        degrees, total = _neighbour_sums(sees)
        truths[text, len(sees), degrees, round(total) % _PLACES].append(atom)
    pairs: list[tuple[int, int]] = []
    steps, left = 0, drawings.budget.left
    for image, (text, sees) in enumerate(zip(drawings.prediction.texts, drawings.prediction_sees, strict=True)):
        degrees, total = _neighbour_sums(sees)
        # Sums of a perfect pair differ by a rounding error and whole turns.
        place, next_place = round(total - _ROUNDING) % _PLACES, round(total + _ROUNDING) % _PLACES
        atoms = truths.get((text, len(sees), degrees, place), _NO_ATOMS)
        if next_place != place:
            atoms = sorted([*atoms, *truths.get((text, len(sees), degrees, next_place), _NO_ATOMS)])
        steps += 1 + len(sees) * (1 + len(atoms))
        if steps > left:
            break
        if atoms:
            pairs += [(atom, image) for atom in atoms if is_perfect(drawings.truth_sees[atom], sees)]
    drawings.budget.spend(steps)
    if not pairs:
        return pairs
    of_truth, of_prediction = [0] * len(drawings.truth.texts), [0] * len(drawings.prediction.texts)
    for atom, image in pairs:
        of_truth[atom] += 1
        of_prediction[image] += 1
    alone = [of_truth[atom] == of_prediction[image] == 1 for atom, image in pairs]
    return [*compress(pairs, alone), *(pair for pair, unique in zip(pairs, alone, strict=True) if not unique)]


_NO_ATOMS: list[int] = []
_PLACES = 3600
_ROUNDING = 1e-3


def _neighbour_sums(sees: Sequence[Neighbour]) -> tuple[int, float]:
    """Returns the sum of the neighbours' degrees and the sum of their angles in tenths of a degree."""
    degrees, total = 0, 0.0
    for angle, _, _, _, degree in sees:
        degrees += degree
        total += angle
    return degrees, total * 10
