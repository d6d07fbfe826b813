"""The pairs of atoms from which a guided walk may start, the most similar first."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rapidfuzz.distance import Levenshtein

from .limits import EDITS_PER_STEP
from .molecule import Molecule
from .neighbors import DEGREE_COST, MoleculePair, Neighbors, cheapest_shift

TEXT_COST = 10.0
NOISE = 2000.0
"""Added to costs, this absorbs rounding errors, so that equal costs compare equal."""
TENTHS = 3600
ROUNDING = 1e-3
AtomInvariant = tuple[str, int]
"""The text and the degree of an atom, which give a lower bound for the cost of a pair."""


def seed_pairs(molecules: MoleculePair) -> Iterator[tuple[int, int]]:
    """Yields all pairs (atom of the truth, atom of the prediction), lazily, the most similar first.

    Perfect pairs whose atoms are in no other perfect pair come first, then the other perfect pairs, then all others by
    cost. A pair is perfect if text and neighbors are the same, angles included. Ties are in the order of the
    prediction's atoms, then of the truth's.
    """
    perfect = _perfect_pairs(molecules)
    of_truth, of_prediction = Counter([atom for atom, _ in perfect]), Counter([atom for _, atom in perfect])
    yield from sorted(perfect, key=lambda pair: not of_truth[pair[0]] == of_prediction[pair[1]] == 1)
    yield from _pairs_by_cost(molecules)


def _perfect_pairs(molecules: MoleculePair) -> list[tuple[int, int]]:
    """Returns the perfect pairs in order of the prediction's atoms.

    Compares only atoms with the same text, degree and sum of neighbor degrees, and nearly the same sum of angles.
    """
    truths: dict[tuple[str, int, int, int], list[int]] = defaultdict(list)
    for atom, (text, neighbors) in enumerate(zip(molecules.truth.texts, molecules.truth_neighbors, strict=True)):
        degrees, angles = _sums(neighbors)
        truths[text, len(neighbors), degrees, round(angles) % TENTHS].append(atom)
    pairs: list[tuple[int, int]] = []
    for pred_atom, text in enumerate(molecules.prediction.texts):
        neighbors = molecules.prediction_neighbors[pred_atom]
        degrees, angles = _sums(neighbors)
        # The sums of a perfect pair differ only by rounding errors and full turns.
        places = {round(angles - ROUNDING) % TENTHS, round(angles + ROUNDING) % TENTHS}
        atoms = sorted([atom for place in places for atom in truths.get((text, len(neighbors), degrees, place), ())])
        molecules.budget.spend(1 + len(neighbors) * (1 + len(atoms)))
        pairs += [
            (atom, pred_atom) for atom in atoms if cheapest_shift(molecules.truth_neighbors[atom], neighbors)[0] == 0
        ]
    return pairs


def _sums(neighbors: Neighbors) -> tuple[int, float]:
    """Returns the sum of the neighbors' degrees and the sum of their angles in tenths of a degree."""
    degrees, angles = 0, 0.0
    for angle, _, _, _, degree in neighbors:
        degrees += degree
        angles += angle
    return degrees, angles * 10


def _pairs_by_cost(molecules: MoleculePair) -> Iterator[tuple[int, int]]:
    """Yields the pairs of nonzero cost by increasing cost.

    A pair costs 10 times the edit distance of the texts, plus 30 times the difference in degree, plus the cost of the
    neighbors (see `cheapest_shift`). Texts and degrees give a lower bound: pairs are evaluated in rounds of equal
    bound, and a pair is yielded once the next bound exceeds its cost.
    """
    budget = molecules.budget
    budget.spend(len(molecules.truth.texts) * len(molecules.prediction.texts))
    atoms = _by_invariant(molecules.truth, molecules.truth_neighbors)
    pred_atoms = _by_invariant(molecules.prediction, molecules.prediction_neighbors)
    texts, others = ({text for text, _ in side} for side in (atoms, pred_atoms))
    characters = sum(map(len, texts)) * sum(map(len, others))
    budget.spend(characters // EDITS_PER_STEP + len(texts) * len(others) // 4)
    rounds: dict[float, list[tuple[AtomInvariant, AtomInvariant]]] = defaultdict(list)
    for first in atoms:
        for second in pred_atoms:
            edits = Levenshtein.distance(first[0], second[0])
            rounds[TEXT_COST * edits + DEGREE_COST * abs(first[1] - second[1])].append((first, second))
    ranked: list[tuple[float, int, int]] = []
    for least, next_least in pairwise([*sorted(rounds), float("inf")]):
        for first, second in rounds[least]:
            budget.spend(first[1] * second[1] * len(atoms[first]) * len(pred_atoms[second]) // 8)
            for atom in atoms[first]:
                neighbors = molecules.truth_neighbors[atom]
                for pred_atom in pred_atoms[second]:
                    cost = least + cheapest_shift(neighbors, molecules.prediction_neighbors[pred_atom])[0]
                    if cost != 0:
                        ranked.append((cost + NOISE, pred_atom, atom))
        ranked.sort()
        end = bisect_left(ranked, (next_least + NOISE,))
        yield from [(atom, pred_atom) for _, pred_atom, atom in ranked[:end]]
        del ranked[:end]


def _by_invariant(molecule: Molecule, neighbors: Sequence[Neighbors]) -> dict[AtomInvariant, list[int]]:
    atoms: dict[AtomInvariant, list[int]] = defaultdict(list)
    for atom, invariant in enumerate(zip(molecule.texts, map(len, neighbors), strict=True)):
        atoms[invariant].append(atom)
    return atoms
