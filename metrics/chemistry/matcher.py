"""Decides by the competition's rules whether two molecules are drawn alike.

Up to four starting pairs of atoms are tried, the most similar first, by a guided walk: both molecules are walked
together along corresponding neighbors. If no walk succeeds, the exact search decides, if the protocol has one; in that
case the pair of first atoms, at which most predictions begin, is tried before all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import tee

import msgspec

from ..common.budget import Budget
from ..common.text import quoted, truncated
from .isomorphism import isomorphism
from .molecule import MIRRORED_WEDGE, Molecule
from .neighbors import MoleculePair, Neighbor, angle_between, cheapest_shift, shifted
from .seeds import seed_pairs

MAX_STARTS = 4


class Match(msgspec.Struct, frozen=True):
    """The result of a walk or of a comparison.

    pairs: maps atoms of the truth to atoms of the prediction, as far as the best walk came.
    difference: the first difference on that walk, in words; None if the molecules are equal.
    truth_atom, prediction_atom: the atoms at which the walk found it; None if it is not about two atoms.
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
    truth: Molecule, prediction: Molecule, released: bool, budget: Budget, max_angle_deviation: float | None
) -> Match:
    """Compares two molecules, neither of them empty.

    Under `released`, a wedge equals its mirror image, a bond that closes a ring may lead to any visited atom, and
    molecules without a successful walk differ. `max_angle_deviation` is the largest difference in direction between
    corresponding bonds, in degrees; None: no limit. If a drawing has several parts (because some bonds are not drawn),
    each part must have its match.

    Raises OutOfBudget if matching takes too many steps.
    """
    if truth == prediction:
        # An atom and itself are a perfect pair: the walk would start at one, and shift 0 would always be the cheapest.
        budget.spend(len(truth.texts))
        return Match({atom: atom for atom in range(len(truth.texts))})
    molecules = MoleculePair(truth, prediction, budget, max_angle_deviation, compares_narrow_ends=not released)
    may_be_isomorphic = not released and len(truth.texts) == len(prediction.texts)
    if may_be_isomorphic:
        # Most predictions begin at the same atom as the truth, and an isomorphism needs no more similar start.
        match = walk(molecules, 0, 0, released)
        if match.equal and len(match.pairs) == len(truth.texts):
            return match
    match = _guided(molecules, released)
    if not match.equal and may_be_isomorphic:
        pairs = isomorphism(molecules)
        if pairs is not None:
            return Match(pairs)
    return match


def _guided(molecules: MoleculePair, released: bool) -> Match:
    """Matches one part after another by guided walks; stops at the first part without a match."""
    atoms, pred_atoms = len(molecules.truth.texts), len(molecules.prediction.texts)
    pairs: dict[int, int] = {}
    seeds = seed_pairs(molecules)
    while len(pairs) < min(atoms, pred_atoms):
        best: Match | None = None
        taken = set(pairs.values())
        seeds, candidates = tee(seeds)
        starts = 0
        for atom, pred_atom in candidates:
            molecules.budget.spend(1)
            if atom in pairs or pred_atom in taken:
                continue
            match = walk(molecules, atom, pred_atom, released)
            if best is None or match.equal or len(match.pairs) > len(best.pairs):
                best = match
            starts += 1
            if match.equal or starts == MAX_STARTS:
                break
        assert best is not None, "both sides have atoms left, so there is a start"
        pairs.update(best.pairs)
        if not best.equal:
            return msgspec.structs.replace(best, pairs=pairs)
    missing, extra = atoms - len(pairs), pred_atoms - len(pairs)
    if missing or extra:
        return Match(pairs, f"{missing} atoms of the ground truth and {extra} of the prediction belong to no match")
    return Match(pairs)


def walk(molecules: MoleculePair, truth_start: int, prediction_start: int, released: bool) -> Match:
    """Walks both molecules from a pair of atoms until something differs or nothing is left to visit.

    Texts, numbers of neighbors and kinds of bonds must agree. A bond that leads back to a visited atom must do so in
    both molecules and, unless `released` is set, to two atoms that are paired.
    """
    pairs: dict[int, int] = {}
    met: set[int] = set()
    texts, pred_texts = molecules.truth.texts, molecules.prediction.texts
    neighbors, pred_neighbors = molecules.truth_neighbors, molecules.prediction_neighbors
    to_visit = [(truth_start, prediction_start, -1)]
    while to_visit:
        atom, pred_atom, came_from = to_visit.pop()
        degree = len(neighbors[atom])
        molecules.budget.spend(1 + degree**2)
        if atom in pairs or pred_atom in met:
            is_known = atom in pairs and pred_atom in met
            if is_known if released else pairs.get(atom) == pred_atom:
                continue
            bond = f"the bond from {_name(molecules, came_from)} to {_name(molecules, atom)}"
            if atom in pairs:
                difference = f"{bond} closes a ring; in the prediction it leads to another atom"
            else:
                difference = f"{bond} leads on; in the prediction it closes a ring"
        elif texts[atom] != pred_texts[pred_atom]:
            difference = f"{_name(molecules, atom)}: the prediction has {_quoted(pred_texts[pred_atom])} there"
        elif degree != len(pred_neighbors[pred_atom]):
            bonds = f"{degree} bonds in the ground truth, {len(pred_neighbors[pred_atom])} in the prediction"
            difference = f"{_name(molecules, atom)}: {bonds}"
        else:
            pairs[atom] = pred_atom
            met.add(pred_atom)
            visits = _facing(molecules, atom, pred_atom)
            if not isinstance(visits, str):
                to_visit += visits
                continue
            difference = visits
        return Match(pairs, difference, atom, pred_atom)
    return Match(pairs)


def _facing(molecules: MoleculePair, atom: int, pred_atom: int) -> list[tuple[int, int, int]] | str:
    """Returns the corresponding pairs of neighbors, each with `atom`, or the first difference of their bonds."""
    neighbors, others = molecules.truth_neighbors[atom], molecules.prediction_neighbors[pred_atom]
    if len(others) > 1:
        others = shifted(others, cheapest_shift(others, neighbors)[1])
    visits = []
    for neighbor, other in zip(neighbors, others, strict=True):
        if not molecules.bonds_agree(neighbor, other):
            bond = f"the bond from {_name(molecules, atom)} to {_name(molecules, neighbor.atom)}"
            return f"{bond}: {_bonds_differ(molecules, neighbor, other)}"
        visits.append((neighbor.atom, other.atom, atom))
    return visits


def _bonds_differ(molecules: MoleculePair, neighbor: Neighbor, other: Neighbor) -> str:
    """Returns how two bonds differ, in words: by type as seen from the atoms here, or else by direction."""
    if neighbor.kind == other.kind:
        return f"turned by {round(angle_between(neighbor.angle, other.angle), 1):g} degrees in the prediction"
    kinds = []
    for molecule, seen in ((molecules.truth, neighbor), (molecules.prediction, other)):
        begin, _, kind, _, _ = molecule.bonds[seen.bond]
        kinds.append(MIRRORED_WEDGE.get(kind, kind) if begin == seen.atom else kind)
    return f"{kinds[0]!r} in the ground truth, {kinds[1]!r} in the prediction"


def _name(molecules: MoleculePair, atom: int) -> str:
    """Returns an atom of the truth in words: its number, from 1, with its text or else that of a neighbor."""
    texts = molecules.truth.texts
    if texts[atom]:
        return f"atom {atom + 1} {_quoted(texts[atom])}"
    beside = next((texts[each.atom] for each in molecules.truth_neighbors[atom] if texts[each.atom]), "")
    return f"atom {atom + 1} (a corner{f' beside {_quoted(beside)}' if beside else ''})"


def _quoted(text: str) -> str:
    return quoted(truncated(text, 40)) if text else "no text"
