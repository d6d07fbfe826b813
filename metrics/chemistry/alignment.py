"""How alike two atoms look, and which of their neighbours face each other.

The neighbours of both atoms are in order of their angles. They are laid against each other in every cyclic shift;
a pair of neighbours costs its angle in degrees, 10 where the kinds of the bonds differ, and 30 for each difference
of the neighbours' degrees. The first cheapest shift counts. Sums are taken in one fixed order, so that a cost is the
same to the last bit wherever it is computed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from ..common.budget import Budget
from .molecule import Molecule
from .surroundings import Neighbour, turn

TEXT_COST = 10.0
DEGREE_COST = 30.0
KIND_COST = 10.0
MAX_BLOCK_CELLS = 500_000
EDITS_IN_A_STEP = 5_000
"""Pairs of characters that one step of the edit distance compares; it takes 64 of them at once."""
Floats = NDArray[np.float64]


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


class Costs:
    """What it costs to take an atom of the truth for one of the prediction, for all pairs of atoms.

    The cost is 10 for each character by which the texts differ, 30 for each difference in degree, and the cost of the
    cheapest shift of the longer list of neighbours against the shorter. It is computed in rounds, for pairs of growing
    difference in degree, since the pairs that are left cost at least 30 for each.

    cost: `[T, P]`, 0 is perfect; infinite where it is not computed yet.
    """

    def __init__(
        self,
        truth: Molecule,
        prediction: Molecule,
        truth_sees: Sequence[Sequence[Neighbour]],
        prediction_sees: Sequence[Sequence[Neighbour]],
        budget: Budget,
    ) -> None:
        self._budget = budget
        budget.spend(len(truth.texts) * len(prediction.texts))
        self._text_cost = TEXT_COST * _text_distances(truth, prediction, budget)
        kinds = {
            kind: number
            for number, kind in enumerate({n.kind for sees in (*truth_sees, *prediction_sees) for n in sees})
        }
        self._truths, self._predictions = (
            {degree: (np.array(atoms), _values(sees, atoms, kinds)) for degree, atoms in _by_degree(sees).items()}
            for sees in (truth_sees, prediction_sees)
        )
        self.cost: Floats = np.full(self._text_cost.shape, np.inf)

    def rounds(self) -> Iterator[float]:
        """Computes the costs in rounds; yields after each what the pairs that are left cost at least."""
        classes: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for truth_degree in self._truths:
            for prediction_degree in self._predictions:
                classes[abs(truth_degree - prediction_degree)].append((truth_degree, prediction_degree))
        for difference, following in pairwise([*sorted(classes), None]):
            assert difference is not None
            for degrees in classes[difference]:
                self._compute(*degrees)
            yield np.inf if following is None else DEGREE_COST * following

    def _compute(self, truth_degree: int, prediction_degree: int) -> None:
        """Computes the costs of the atoms of two degrees."""
        truth_atoms, truth_values = self._truths[truth_degree]
        prediction_atoms, prediction_values = self._predictions[prediction_degree]
        pairs = len(truth_atoms) * len(prediction_atoms)
        self._budget.spend(50 * max(truth_degree, prediction_degree) + pairs * truth_degree * prediction_degree // 8)
        if truth_degree >= prediction_degree:
            least = _least_cost(truth_values, prediction_values)
        else:
            least = _least_cost(prediction_values, truth_values).T
        difference = DEGREE_COST * abs(truth_degree - prediction_degree)
        rows, columns = truth_atoms[:, None], prediction_atoms
        self.cost[rows, columns] = (self._text_cost[rows, columns] + difference) + least


def unlikeness(
    truth: Molecule,
    prediction: Molecule,
    truth_sees: Sequence[Sequence[Neighbour]],
    prediction_sees: Sequence[Sequence[Neighbour]],
    budget: Budget,
) -> Floats:
    """Returns the cost of every atom of the truth against every atom of the prediction, `[T, P]`; see `Costs`."""
    costs = Costs(truth, prediction, truth_sees, prediction_sees, budget)
    for _ in costs.rounds():
        pass
    return costs.cost


def _text_distances(truth: Molecule, prediction: Molecule, budget: Budget) -> Floats:
    """The number of characters to edit between the texts of all pairs, each different pair of texts measured once."""
    truth_texts = list(dict.fromkeys(truth.texts))
    prediction_texts = list(dict.fromkeys(prediction.texts))
    charge_texts(truth_texts, prediction_texts, budget)
    distances = cdist(truth_texts, prediction_texts, scorer=Levenshtein.distance, dtype=np.float64)
    rows = {text: number for number, text in enumerate(truth_texts)}
    columns = {text: number for number, text in enumerate(prediction_texts)}
    by_atom = distances[[rows[text] for text in truth.texts]][:, [columns[text] for text in prediction.texts]]
    return np.asarray(by_atom, dtype=np.float64)


def charge_texts(texts: Collection[str], others: Collection[str], budget: Budget) -> None:
    """Spends what the distances between all pairs of these texts cost."""
    characters = sum(map(len, texts)) * sum(map(len, others))
    budget.spend(characters // EDITS_IN_A_STEP + len(texts) * len(others) // 4)


def _by_degree(sees: Sequence[Sequence[Neighbour]]) -> dict[int, list[int]]:
    atoms: dict[int, list[int]] = defaultdict(list)
    for atom, neighbours in enumerate(sees):
        atoms[len(neighbours)].append(atom)
    return dict(atoms)


def _values(sees: Sequence[Sequence[Neighbour]], atoms: list[int], kinds: dict[str, int]) -> Floats:
    """Angle, kind and degree of each neighbour, `[3, A, D]`."""
    rows = [[(n.angle, kinds[n.kind], n.degree) for n in sees[atom]] for atom in atoms]
    values: Floats = np.array(rows, dtype=np.float64).reshape(len(atoms), -1, 3).transpose(2, 0, 1)
    return values


def _least_cost(longer: Floats, shorter: Floats) -> Floats:
    """The least cost over all shifts of the longer lists `[3, L, D]` against the shorter `[3, S, E]`: `[L, S]`."""
    count, compared = longer.shape[2], shorter.shape[2]
    if compared == 0:
        return np.zeros((longer.shape[1], shorter.shape[1]))
    rows = max(1, MAX_BLOCK_CELLS // (shorter.shape[1] * compared * count))
    if rows >= longer.shape[1] or count < rows:
        blocks = [_least_cost_of_block(longer[:, row : row + rows], shorter) for row in range(0, longer.shape[1], rows)]
    else:
        blocks = [_least_cost_by_shift(longer[:, row : row + 1], shorter) for row in range(longer.shape[1])]
    return np.concatenate(blocks)


def _least_cost_of_block(longer: Floats, shorter: Floats) -> Floats:
    """All shifts at once: arrays of `[L, S, shifts, E]`."""
    count, compared = longer.shape[2], shorter.shape[2]
    shifted = (np.arange(count)[:, None] + np.arange(compared)) % count
    least: Floats = _costs(longer[:, :, None, shifted], shorter[:, None, :, None]).min(axis=2)
    return least


def _least_cost_by_shift(longer: Floats, shorter: Floats) -> Floats:
    """One shift after the other, for lists so long that all at once would not fit."""
    count, compared = longer.shape[2], shorter.shape[2]
    least = np.full((longer.shape[1], shorter.shape[1]), np.inf)
    for shift in range(count):
        shifted = (np.arange(compared) + shift) % count
        np.minimum(least, _costs(longer[:, :, None, shifted], shorter[:, None]), out=least)
    return least


def _costs(some: Floats, others: Floats) -> Floats:
    """The cost of lists `[3, ..., E]` against lists that face them, `[...]`, summed in the one fixed order."""
    angle = some[0] - others[0]
    angle[angle < 0] += 360
    np.minimum(angle, 360 - angle, out=angle)
    kind = KIND_COST * (some[1] != others[1])
    degree = DEGREE_COST * np.abs(some[2] - others[2])
    cost: Floats = angle[..., 0] + kind[..., 0]
    cost += degree[..., 0]
    for place in range(1, angle.shape[-1]):
        cost += angle[..., place]
        cost += kind[..., place]
        cost += degree[..., place]
    return cost
