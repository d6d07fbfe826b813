"""Whether two molecules are drawn alike: the competition's rules, from geometry that others prepare.

Start pairs of atoms are tried from the most alike on, four at most, by a guided walk of both molecules. Where none
succeeds, the exact search decides, if the protocol has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import tee

import msgspec

from ..common.budget import Budget
from .isomorphism import isomorphism
from .molecule import Molecule
from .protocol import Protocol
from .seeds import seed_pairs
from .walk import MoleculePair, Walk

MAX_STARTS = 4


class Match(msgspec.Struct, frozen=True):
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
    if not truth.texts or not prediction.texts:
        return Match({}, None if not truth.texts and not prediction.texts else "one of the molecules is empty")
    if truth == prediction:
        # The pairs of an atom with itself are perfect, so the walk starts with one, and no shift is cheaper than none.
        budget.spend(len(truth.texts))
        return Match({atom: atom for atom in range(len(truth.texts))})
    molecules = MoleculePair(truth, prediction, budget, max_angle_deviation, protocol.compares_narrow_ends)
    match = _guided(molecules, protocol)
    if not match.equal and protocol.searches_exactly and len(truth.texts) == len(prediction.texts):
        pairs = isomorphism(molecules)
        if pairs is not None:
            return Match(pairs)
    return match


def _guided(molecules: MoleculePair, protocol: Protocol) -> Match:
    """Matches part after part by guided walks; the first part without a match decides."""
    atoms, pred_atoms = len(molecules.truth.texts), len(molecules.prediction.texts)
    pairs: dict[int, int] = {}
    seeds = seed_pairs(molecules)
    while len(pairs) < min(atoms, pred_atoms):
        best: Walk | None = None
        taken = set(pairs.values())
        seeds, candidates = tee(seeds)
        starts = 0
        for atom, pred_atom in candidates:
            molecules.budget.spend(1)
            if atom in pairs or pred_atom in taken:
                continue
            walk = molecules.walk(atom, pred_atom, protocol.asks_for_counterparts)
            if best is None or walk.stopped_at is None or len(walk.pairs) > len(best.pairs):
                best = walk
            starts += 1
            if walk.stopped_at is None or starts == MAX_STARTS:
                break
        assert best is not None, "both sides have atoms left, so there is a start"
        pairs.update(best.pairs)
        if best.difference is not None and best.stopped_at is not None:
            return Match(pairs, best.difference(), *best.stopped_at)
    missing, extra = atoms - len(pairs), pred_atoms - len(pairs)
    if missing or extra:
        return Match(pairs, f"{missing} atoms of the ground truth and {extra} of the prediction belong to no match")
    return Match(pairs)
