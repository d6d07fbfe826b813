"""The pairs of atoms from which a guided walk may start, the most alike first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import compress

import numpy as np

from .alignment import Costs, is_perfect
from .least_costs import NOISE, LeastCosts
from .surroundings import Neighbour
from .walk import Drawings

FEW_PAIRS = 1_000
"""Costs of so many pairs are computed one by one, as far as they are needed."""


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
    if len(drawings.truth.texts) * len(drawings.prediction.texts) <= FEW_PAIRS:
        return LeastCosts(drawings).pairs()
    return _many_imperfect_pairs(drawings)


def _many_imperfect_pairs(drawings: Drawings) -> Iterator[list[tuple[int, int]]]:
    costs = Costs(drawings.truth, drawings.prediction, drawings.truth_sees, drawings.prediction_sees, drawings.budget)
    reached = 0.0
    for least_left in costs.rounds():
        ranks = (costs.cost + NOISE).T.ravel()
        limit = least_left + NOISE
        chosen = np.flatnonzero((ranks >= reached) & (ranks < limit) & (costs.cost.T.ravel() != 0))
        pairs = chosen[np.argsort(ranks[chosen], kind="stable")]
        images, atoms = np.divmod(pairs, len(drawings.truth.texts))
        yield list(zip(atoms.tolist(), images.tolist(), strict=True))
        reached = limit


def _perfect_pairs(drawings: Drawings) -> list[tuple[int, int]]:
    """Returns the perfect pairs in the order of `Starts`.

    Only atoms with the same text, degree and sum of degrees and nearly the same sum of angles are compared.
    """
    truths: dict[tuple[str, int, int, int], list[int]] = defaultdict(list)
    for atom, (text, sees) in enumerate(zip(drawings.truth.texts, drawings.truth_sees, strict=True)):
        degrees, total = _look(sees)
        truths[text, len(sees), degrees, round(total) % _PLACES].append(atom)
    pairs: list[tuple[int, int]] = []
    steps, left = 0, drawings.budget.left
    for image, (text, sees) in enumerate(zip(drawings.prediction.texts, drawings.prediction_sees, strict=True)):
        degrees, total = _look(sees)
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


def _look(sees: Sequence[Neighbour]) -> tuple[int, float]:
    """Returns the sum of the neighbours' degrees and the sum of their angles in tenths of a degree."""
    degrees, total = 0, 0.0
    for angle, _, _, _, degree in sees:
        degrees += degree
        total += angle
    return degrees, total * 10
