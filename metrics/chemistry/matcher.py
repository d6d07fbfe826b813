"""Whether two molecules are drawn alike: the competition's rules, from geometry that others prepare.

Start pairs of atoms are tried from the most alike on, four at most, by a guided walk of both drawings. Where none
succeeds, the exact search decides, if the protocol has one; a quick search comes first then, as most pairs are equal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from metrics.chemistry.alignment import Costs, LeastCosts, is_perfect
from metrics.chemistry.isomorphism import isomorphism
from metrics.chemistry.molecule import Molecule
from metrics.chemistry.protocol import Protocol
from metrics.chemistry.rotation_system import quick_isomorphism
from metrics.chemistry.surroundings import Neighbour
from metrics.chemistry.walk import Drawings, Walk
from metrics.common.budget import Budget

MAX_STARTS = 4
FEW_PAIRS = 1_000
"""Costs of so many pairs are computed one by one, as far as they are needed."""
NOISE = 2000.0
"""Added to costs, this takes the noise of rounding off them, so that equal costs are equal."""


@dataclass(frozen=True, slots=True)
class Match:
    """The outcome of a comparison.

    pairs: atoms of the prediction by the atoms of the truth that they stand for, as far as the best walk came.
    difference: the first thing that differs on that walk, in words; None where the molecules are equal.
    truth_atom, prediction_atom: where the walk stood then.
    """

    pairs: Mapping[int, int]
    difference: str | None = None
    truth_atom: int | None = None
    prediction_atom: int | None = None

    @property
    def equal(self) -> bool:
        """Whether the molecules are equal."""
        return self.difference is None


def match_molecules(
    truth: Molecule,
    prediction: Molecule,
    protocol: Protocol,
    budget: Budget,
    max_angle_deviation: float | None = None,
) -> Match:
    """Compares two molecules; two empty ones are equal.

    `max_angle_deviation` (degrees) is how far the directions of bonds that face each other may differ; None: any.
    Where a drawing falls into parts (bonds that are not drawn), each part must have its match.

    Raises OutOfBudget where the work is too much.
    """
    if not truth.atoms or not prediction.atoms:
        return Match({}, None if not truth.atoms and not prediction.atoms else "one of the molecules is empty")
    if truth == prediction:
        # The pairs of an atom with itself are perfect, so the walk starts with one, and no shift is cheaper than none.
        budget.spend(len(truth.atoms))
        return Match({atom: atom for atom in range(len(truth.atoms))})
    if protocol.searches_exactly and max_angle_deviation is None:
        # What the exact search accepts in the end is accepted at once where it is found at once.
        found = quick_isomorphism(truth, prediction)
        if found is not None:
            budget.spend(4 * (len(truth.bonds) + len(prediction.bonds)))
            return Match(found)
    drawings = Drawings(truth, prediction, budget, max_angle_deviation)
    match = _guided(drawings, protocol)
    if not match.equal and protocol.searches_exactly and len(truth.atoms) == len(prediction.atoms):
        pairs = isomorphism(drawings)
        if pairs is not None:
            return Match(pairs)
    return match


def _guided(drawings: Drawings, protocol: Protocol) -> Match:
    """Matches part after part by guided walks; the first part without a match decides."""
    pairs: dict[int, int] = {}
    starts = Starts(drawings)
    while len(pairs) < min(len(drawings.truth.atoms), len(drawings.prediction.atoms)):
        best: Walk | None = None
        taken = set(pairs.values())
        free = ((t, p) for t, p in starts if t not in pairs and p not in taken)
        for _, start in zip(range(MAX_STARTS), free, strict=False):
            walk = drawings.walk(*start, protocol.asks_for_counterparts)
            if walk.difference is None:
                best = walk
                break
            if best is None or len(walk.pairs) > len(best.pairs):
                best = walk
        assert best is not None, "both sides have atoms left, so there is a start"
        pairs.update(best.pairs)
        if best.stopped_at is not None:
            return Match(pairs, best.difference, *best.stopped_at)
    return _leftover(drawings, pairs)


def _leftover(drawings: Drawings, pairs: dict[int, int]) -> Match:
    """The outcome once one side has no atom left."""
    missing, extra = len(drawings.truth.atoms) - len(pairs), len(drawings.prediction.atoms) - len(pairs)
    if missing or extra:
        return Match(pairs, f"{missing} atoms of the ground truth and {extra} of the prediction belong to no match")
    return Match(pairs)


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
                self._others = _imperfect_pairs(self._drawings)
            more = next(self._others, None)
            if more is None:
                return
            self._found += more


def _imperfect_pairs(drawings: Drawings) -> Iterator[list[tuple[int, int]]]:
    """Yields the pairs that are not perfect by growing cost, in portions."""
    if len(drawings.truth.atoms) * len(drawings.prediction.atoms) <= FEW_PAIRS:
        return _few_imperfect_pairs(drawings)
    return _many_imperfect_pairs(drawings)


def _few_imperfect_pairs(drawings: Drawings) -> Iterator[list[tuple[int, int]]]:
    costs = LeastCosts(
        drawings.truth, drawings.prediction, drawings.truth_sees, drawings.prediction_sees, drawings.budget
    )
    left: list[tuple[float, int, int]] = []
    for found, least_left in costs.rounds():
        left += [(cost + NOISE, image, atom) for cost, atom, image in found if cost != 0]
        left.sort()
        end = bisect_left(left, (least_left + NOISE,))
        yield [(atom, image) for _, image, atom in left[:end]]
        del left[:end]


def _many_imperfect_pairs(drawings: Drawings) -> Iterator[list[tuple[int, int]]]:
    costs = Costs(drawings.truth, drawings.prediction, drawings.truth_sees, drawings.prediction_sees, drawings.budget)
    reached = 0.0
    for least_left in costs.rounds():
        ranks = (costs.cost + NOISE).T.ravel()
        limit = least_left + NOISE
        chosen = np.flatnonzero((ranks >= reached) & (ranks < limit) & (costs.cost.T.ravel() != 0))
        pairs = chosen[np.argsort(ranks[chosen], kind="stable")]
        images, atoms = np.divmod(pairs, len(drawings.truth.atoms))
        yield list(zip(atoms.tolist(), images.tolist(), strict=True))
        reached = limit


def _perfect_pairs(drawings: Drawings) -> list[tuple[int, int]]:
    """Returns the perfect pairs in the order of `Starts`.

    Only atoms with the same text, degree and sum of degrees and nearly the same sum of angles are compared.
    """
    truths: dict[tuple[str, int, int, int], list[int]] = defaultdict(list)
    for atom, ((text, _, _), sees) in enumerate(zip(drawings.truth.atoms, drawings.truth_sees, strict=True)):
        degrees, total = _look(sees)
        truths[text, len(sees), degrees, round(total) % _PLACES].append(atom)
    pairs: list[tuple[int, int]] = []
    for image, ((text, _, _), sees) in enumerate(zip(drawings.prediction.atoms, drawings.prediction_sees, strict=True)):
        degrees, total = _look(sees)
        # Sums of a perfect pair differ by a rounding error and whole turns.
        place, next_place = round(total - _ROUNDING) % _PLACES, round(total + _ROUNDING) % _PLACES
        atoms = truths.get((text, len(sees), degrees, place), [])
        if next_place != place:
            atoms = sorted([*atoms, *truths.get((text, len(sees), degrees, next_place), [])])
        drawings.budget.spend(1 + len(sees) * (1 + len(atoms)))
        pairs += [(atom, image) for atom in atoms if is_perfect(drawings.truth_sees[atom], sees)]
    of_truth, of_prediction = Counter([atom for atom, _ in pairs]), Counter([image for _, image in pairs])
    alone = [of_truth[atom] == 1 and of_prediction[image] == 1 for atom, image in pairs]
    return [*compress(pairs, alone), *(pair for pair, unique in zip(pairs, alone, strict=True) if not unique)]


_PLACES = 3600
_ROUNDING = 1e-3


def _look(sees: Sequence[Neighbour]) -> tuple[int, float]:
    """Returns the sum of the neighbours' degrees and the sum of their angles in tenths of a degree."""
    return sum([neighbour[4] for neighbour in sees]), sum([neighbour[0] for neighbour in sees]) * 10
