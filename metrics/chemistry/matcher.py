"""Whether two molecules are drawn alike: the competition's rules, from geometry that others prepare.

Start pairs of atoms are tried from the most alike on, four at most. From a start both drawings are walked together
along the neighbours that face each other. The texts, the numbers of neighbours and the kinds of bonds must agree
everywhere, and a bond that leads back to an atom that was seen before must do so in both drawings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from metrics.chemistry.alignment import aligned, unlikeness
from metrics.chemistry.budget import Budget
from metrics.chemistry.molecule import Molecule
from metrics.chemistry.surroundings import Neighbour, surroundings, turn

MOST_STARTS = 4
NOT_UNIQUE = 1000.0
NOT_PERFECT = 2000.0


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
    truth: Molecule, prediction: Molecule, budget: Budget, max_angle_deviation: float | None = None
) -> Match:
    """Compares two molecules; two empty ones are equal.

    `max_angle_deviation` (degrees) is how far the directions of bonds that face each other may differ; None: any.
    Where a drawing falls into parts (bonds that are not drawn), each part must have its match.

    Raises OutOfBudget where the work is too much.
    """
    if not truth.atoms or not prediction.atoms:
        return Match({}, None if not truth.atoms and not prediction.atoms else "one of the molecules is empty")
    comparison = _Comparison(truth, prediction, budget, max_angle_deviation)
    return comparison.outcome()


@dataclass(slots=True)
class _Walk:
    """Pairs in the order in which they were met, and what stopped the walk."""

    pairs: dict[int, int] = field(default_factory=dict)
    difference: str | None = None
    stopped_at: tuple[int, int] | None = None

    def stop(self, truth_atom: int, prediction_atom: int, difference: str) -> _Walk:
        self.difference = difference
        self.stopped_at = truth_atom, prediction_atom
        return self


class _Comparison:
    def __init__(
        self, truth: Molecule, prediction: Molecule, budget: Budget, max_angle_deviation: float | None
    ) -> None:
        self.truth = truth
        self.prediction = prediction
        self.budget = budget
        self.max_angle_deviation = max_angle_deviation
        self.truth_sees: Sequence[tuple[Neighbour, ...]] = surroundings(truth)
        self.prediction_sees: Sequence[tuple[Neighbour, ...]] = surroundings(prediction)

    def outcome(self) -> Match:
        """Matches part after part; the first part without a match decides."""
        starts = self.starts()
        pairs: dict[int, int] = {}
        while True:
            best: _Walk | None = None
            taken = set(pairs.values())
            free = ((t, p) for t, p in starts if t not in pairs and p not in taken)
            for _, start in zip(range(MOST_STARTS), free, strict=False):
                walk = self.walk(*start)
                if walk.difference is None:
                    best = walk
                    break
                if best is None or len(walk.pairs) > len(best.pairs):
                    best = walk
            if best is None:
                return self.leftover(pairs)
            pairs.update(best.pairs)
            if best.difference is not None and best.stopped_at is not None:
                return Match(pairs, best.difference, *best.stopped_at)

    def leftover(self, pairs: dict[int, int]) -> Match:
        """The outcome once one side has no atom left."""
        missing, extra = len(self.truth.atoms) - len(pairs), len(self.prediction.atoms) - len(pairs)
        if missing or extra:
            return Match(pairs, f"{missing} atoms of the ground truth and {extra} of the prediction belong to no match")
        return Match(pairs)

    def starts(self) -> list[tuple[int, int]]:
        """All pairs of atoms, the most alike first: perfect and unique on both sides, perfect, then by cost.

        Pairs that are equally alike stand in the order of writing of the prediction, then of the truth.
        """
        cost = unlikeness(self.truth, self.prediction, self.truth_sees, self.prediction_sees, self.budget)
        perfect = cost == 0
        unique = (perfect.sum(axis=1, keepdims=True) == 1) & (perfect.sum(axis=0, keepdims=True) == 1)
        rank = np.where(perfect, np.where(unique, 0.0, NOT_UNIQUE), NOT_PERFECT + cost)
        order = np.argsort(rank.T, axis=None, kind="stable")
        return [(int(flat) % len(cost), int(flat) // len(cost)) for flat in order]

    def walk(self, truth_start: int, prediction_start: int) -> _Walk:
        """Walks both drawings from a pair of atoms until something differs or both are done."""
        walk = _Walk()
        seen: set[int] = set()
        to_visit = [(truth_start, prediction_start, -1)]
        while to_visit:
            self.budget.spend(1)
            atom, image, came_from = to_visit.pop()
            if atom in walk.pairs or image in seen:
                if (atom in walk.pairs) != (image in seen):
                    return walk.stop(atom, image, self.closing_words(atom, image, came_from, atom in walk.pairs))
                continue
            difference = self.atoms_differ(atom, image)
            if difference is not None:
                return walk.stop(atom, image, difference)
            walk.pairs[atom] = image
            seen.add(image)
            facing = aligned(self.truth_sees[atom], self.prediction_sees[image], self.budget)
            for neighbour, other in zip(self.truth_sees[atom], facing, strict=True):
                difference = self.bonds_differ(atom, neighbour, other)
                if difference is not None:
                    return walk.stop(atom, image, difference)
                to_visit.append((neighbour.atom, other.atom, atom))
        return walk

    def atoms_differ(self, atom: int, image: int) -> str | None:
        truth_text, prediction_text = self.truth.atoms[atom].text, self.prediction.atoms[image].text
        if truth_text != prediction_text:
            return f"{self.name(atom)}: the prediction has {_quoted(prediction_text)} there"
        truth_degree, prediction_degree = len(self.truth_sees[atom]), len(self.prediction_sees[image])
        if truth_degree != prediction_degree:
            return f"{self.name(atom)}: {truth_degree} bonds in the ground truth, {prediction_degree} in the prediction"
        return None

    def bonds_differ(self, atom: int, neighbour: Neighbour, other: Neighbour) -> str | None:
        where = f"the bond from {self.name(atom)} to {self.name(neighbour.atom)}"
        if neighbour.kind != other.kind:
            truth_type = self.truth.bonds[neighbour.bond].type
            prediction_type = self.prediction.bonds[other.bond].type
            return f"{where}: {truth_type!r} in the ground truth, {prediction_type!r} in the prediction"
        deviation = turn(neighbour.angle, other.angle)
        if self.max_angle_deviation is not None and deviation > self.max_angle_deviation:
            return f"{where}: turned by {deviation:.0f} degrees in the prediction"
        return None

    def closing_words(self, atom: int, image: int, came_from: int, closes_in_truth: bool) -> str:
        where = f"the bond from {self.name(came_from)} to {self.name(atom)}"
        if closes_in_truth:
            return f"{where} closes a ring; in the prediction it leads to an atom that was not reached yet"
        return f"{where} leads on; in the prediction it closes a ring"

    def name(self, atom: int) -> str:
        """The atom in words: its number in order of writing, from 1, its text or its neighbours' texts."""
        text = self.truth.atoms[atom].text
        if text:
            return f"atom {atom + 1} {_quoted(text)}"
        beside = [self.truth.atoms[n.atom].text for n in self.truth_sees[atom] if self.truth.atoms[n.atom].text]
        at = f" beside {_quoted(beside[0])}" if beside else ""
        return f"atom {atom + 1} (a corner{at})"


def _quoted(text: Sequence[str]) -> str:
    if not text:
        return "no text"
    written = "".join(text)
    return repr(written if len(written) <= 40 else f"{written[:39]}…")
