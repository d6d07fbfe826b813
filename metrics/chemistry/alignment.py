"""How alike two atoms look, and which of their neighbours face each other.

The neighbours of both atoms stand in order of their angles. They are laid against each other in every cyclic shift;
a pair of neighbours costs its angle in degrees, 10 where the kinds of the bonds differ, and 30 for each difference
of the neighbours' degrees. The first cheapest shift counts. Sums are taken in one fixed order, so that a cost is the
same to the last bit wherever it is computed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from metrics.chemistry.molecule import Molecule
from metrics.chemistry.surroundings import Neighbour, turn
from metrics.common.budget import Budget

TEXT_COST = 10.0
DEGREE_COST = 30.0
KIND_COST = 10.0
MAX_BLOCK_CELLS = 500_000
EDITS_IN_A_STEP = 5_000
"""Pairs of characters that one step of the edit distance compares; it takes 64 of them at once."""
Floats = NDArray[np.float64]


def aligned(first: Sequence[Neighbour], second: Sequence[Neighbour], budget: Budget) -> Sequence[Neighbour]:
    """Returns `second`, of the same length as `first`, in the cheapest cyclic shift against it."""
    count = len(first)
    budget.spend(count * count)
    best_cost, best_shift = float("inf"), 0
    for shift in range(count):
        cost = 0.0
        for number, neighbour in enumerate(first):
            facing = second[(number + shift) % count]
            cost += turn(facing.angle, neighbour.angle)
            cost += KIND_COST * (neighbour.kind != facing.kind)
            cost += DEGREE_COST * abs(neighbour.degree - facing.degree)
        if cost < best_cost:
            best_cost, best_shift = cost, shift
    return [*second[best_shift:], *second[:best_shift]]


def unlikeness(
    truth: Molecule,
    prediction: Molecule,
    truth_sees: Sequence[Sequence[Neighbour]],
    prediction_sees: Sequence[Sequence[Neighbour]],
    budget: Budget,
) -> Floats:
    """Returns the cost of every atom of the truth against every atom of the prediction, `[T, P]`; 0 is perfect.

    The cost is 10 for each character by which the texts differ, 30 for each difference in degree, and the cost of the
    cheapest shift of the longer list of neighbours against the shorter.
    """
    budget.spend(len(truth.atoms) * len(prediction.atoms))
    cost = TEXT_COST * _text_distances(truth, prediction, budget)
    truth_kinds = _by_degree(truth_sees)
    prediction_kinds = _by_degree(prediction_sees)
    kinds = {
        kind: number
        for number, kind in enumerate(sorted({n.kind for sees in (*truth_sees, *prediction_sees) for n in sees}))
    }
    for truth_degree, truth_atoms in truth_kinds.items():
        truth_values = _values(truth_sees, truth_atoms, kinds)
        for prediction_degree, prediction_atoms in prediction_kinds.items():
            pairs = len(truth_atoms) * len(prediction_atoms)
            budget.spend(50 * max(truth_degree, prediction_degree) + pairs * truth_degree * prediction_degree // 8)
            prediction_values = _values(prediction_sees, prediction_atoms, kinds)
            if truth_degree >= prediction_degree:
                least = _least_cost(truth_values, prediction_values)
            else:
                least = _least_cost(prediction_values, truth_values).T
            difference = DEGREE_COST * abs(truth_degree - prediction_degree)
            block = np.ix_(truth_atoms, prediction_atoms)
            cost[block] = (cost[block] + difference) + least
    return cost


def _text_distances(truth: Molecule, prediction: Molecule, budget: Budget) -> Floats:
    """The number of characters to edit between the texts of all pairs, each different pair of texts measured once."""
    truth_texts = list(dict.fromkeys(atom.text for atom in truth.atoms))
    prediction_texts = list(dict.fromkeys(atom.text for atom in prediction.atoms))
    characters = sum(map(len, truth_texts)) * sum(map(len, prediction_texts))
    budget.spend(characters // EDITS_IN_A_STEP + len(truth_texts) * len(prediction_texts) // 4)
    distances = cdist(truth_texts, prediction_texts, scorer=Levenshtein.distance, dtype=np.float64)
    rows = {text: number for number, text in enumerate(truth_texts)}
    columns = {text: number for number, text in enumerate(prediction_texts)}
    by_atom = distances[[rows[atom.text] for atom in truth.atoms]][:, [columns[a.text] for a in prediction.atoms]]
    return np.asarray(by_atom, dtype=np.float64)


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
    compared = shorter.shape[2]
    if compared == 0:
        return np.zeros((longer.shape[1], shorter.shape[1]))
    rows = max(1, MAX_BLOCK_CELLS // (shorter.shape[1] * compared))
    blocks = [_least_cost_of_block(longer[:, row : row + rows], shorter) for row in range(0, longer.shape[1], rows)]
    least: Floats = np.concatenate(blocks)
    return least


def _least_cost_of_block(longer: Floats, shorter: Floats) -> Floats:
    count, compared = longer.shape[2], shorter.shape[2]
    least = np.full((longer.shape[1], shorter.shape[1]), np.inf)
    facing_angle, facing_kind, facing_degree = shorter[:, None]
    terms = np.empty((*least.shape, compared, 3))
    for shift in range(count):
        order = (np.arange(compared) + shift) % count
        angle, kind, degree = longer[:, :, None, order]
        off = (angle - facing_angle) % 360
        terms[..., 0] = np.where(off > 180, 360 - off, off)
        terms[..., 1] = KIND_COST * (kind != facing_kind)
        terms[..., 2] = DEGREE_COST * np.abs(degree - facing_degree)
        # A running sum adds one after the other; numpy's own sum pairs them up, which rounds otherwise.
        cost = np.cumsum(terms.reshape(*least.shape, -1), axis=2)[:, :, -1]
        np.minimum(least, cost, out=least)
    return least
