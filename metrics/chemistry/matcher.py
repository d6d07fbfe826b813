"""Whether two molecules are drawn alike: the competition's rules, from geometry that others prepare.

Start pairs of atoms are tried from the most alike on, four at most. From a start both drawings are walked together
along the neighbours that face each other. The texts, the numbers of neighbours and the kinds of bonds must agree
everywhere, and a bond that leads back to an atom that was seen before must lead back to its counterpart in the other
drawing. (The tool asks only that both atoms were seen before. So it takes two five-membered rings joined by a bond for
two fused six-membered ones where the angles allow it, against its own rule that all connections must be right.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from metrics.budget import Budget
from metrics.chemistry.alignment import aligned, unlikeness
from metrics.chemistry.molecule import Molecule
from metrics.chemistry.surroundings import Neighbour, surroundings, turn

MOST_STARTS = 4


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
        pairs: dict[int, int] = {}
        while len(pairs) < min(len(self.truth.atoms), len(self.prediction.atoms)):
            best: _Walk | None = None
            taken = set(pairs.values())
            free = ((t, p) for t, p in self.starts() if t not in pairs and p not in taken)
            for _, start in zip(range(MOST_STARTS), free, strict=False):
                walk = self.walk(*start)
                if walk.difference is None:
                    best = walk
                    break
                if best is None or len(walk.pairs) > len(best.pairs):
                    best = walk
            assert best is not None, "both sides have atoms left, so there is a start"
            pairs.update(best.pairs)
            if best.stopped_at is not None:
                return Match(pairs, best.difference, *best.stopped_at)
        return self.leftover(pairs)

    def leftover(self, pairs: dict[int, int]) -> Match:
        """The outcome once one side has no atom left."""
        missing, extra = len(self.truth.atoms) - len(pairs), len(self.prediction.atoms) - len(pairs)
        if missing or extra:
            return Match(pairs, f"{missing} atoms of the ground truth and {extra} of the prediction belong to no match")
        return Match(pairs)

    def starts(self) -> Iterator[tuple[int, int]]:
        """All pairs of atoms, the most alike first: perfect and unique on both sides, perfect, then by cost.

        A pair is perfect where text and neighbours are the same, angles included. Pairs that are equally alike come
        in the order of writing of the prediction, then of the truth. The costs are only computed once they matter.
        """
        perfect = self.perfect_pairs()
        yield from (pair for pair, unique in perfect if unique)
        yield from (pair for pair, unique in perfect if not unique)
        cost = unlikeness(self.truth, self.prediction, self.truth_sees, self.prediction_sees, self.budget)
        tried = {pair for pair, _ in perfect}
        for flat in np.argsort(cost.T, axis=None, kind="stable").tolist():
            pair = flat % len(cost), flat // len(cost)
            if pair not in tried:
                yield pair

    def perfect_pairs(self) -> list[tuple[tuple[int, int], bool]]:
        """The pairs of atoms that look the same, each with whether no other atom of either side does."""
        truth_looks, prediction_looks = (
            _looks(self.truth, self.truth_sees),
            _looks(self.prediction, self.prediction_sees),
        )
        alike: dict[object, list[int]] = {}
        for atom, look in enumerate(truth_looks):
            alike.setdefault(look, []).append(atom)
        images = Counter(prediction_looks)
        self.budget.spend(sum(len(alike.get(look, ())) * count for look, count in images.items()))
        return [
            ((atom, image), len(alike[look]) == 1 and images[look] == 1)
            for image, look in enumerate(prediction_looks)
            for atom in alike.get(look, ())
        ]

    def walk(self, truth_start: int, prediction_start: int) -> _Walk:
        """Walks both drawings from a pair of atoms until something differs or both are done."""
        walk = _Walk()
        seen: set[int] = set()
        to_visit = [(truth_start, prediction_start, -1)]
        while to_visit:
            self.budget.spend(1)
            atom, image, came_from = to_visit.pop()
            if atom in walk.pairs or image in seen:
                if walk.pairs.get(atom) != image:
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
        if neighbour.kind != other.kind:
            where = self.bond_name(atom, neighbour.atom)
            truth_type = self.truth.bonds[neighbour.bond].type
            prediction_type = self.prediction.bonds[other.bond].type
            return f"{where}: {truth_type!r} in the ground truth, {prediction_type!r} in the prediction"
        deviation = turn(neighbour.angle, other.angle)
        if self.max_angle_deviation is not None and deviation > self.max_angle_deviation:
            where = self.bond_name(atom, neighbour.atom)
            return f"{where}: turned by {deviation:.0f} degrees in the prediction"
        return None

    def closing_words(self, atom: int, image: int, came_from: int, closes_in_truth: bool) -> str:
        where = self.bond_name(came_from, atom)
        if closes_in_truth:
            return f"{where} closes a ring; in the prediction it leads to another atom"
        return f"{where} leads on; in the prediction it closes a ring"

    def bond_name(self, begin: int, end: int) -> str:
        """A bond in words."""
        return f"the bond from {self.name(begin)} to {self.name(end)}"

    def name(self, atom: int) -> str:
        """The atom in words: its number in order of writing, from 1, its text or its neighbours' texts."""
        text = self.truth.atoms[atom].text
        if text:
            return f"atom {atom + 1} {_quoted(text)}"
        beside = [self.truth.atoms[n.atom].text for n in self.truth_sees[atom] if self.truth.atoms[n.atom].text]
        at = f" beside {_quoted(beside[0])}" if beside else ""
        return f"atom {atom + 1} (a corner{at})"


def _looks(molecule: Molecule, sees: Sequence[Sequence[Neighbour]]) -> list[object]:
    """What matching sees of each atom: its text, and angle, bond and degree of its neighbours."""
    return [
        (atom.text, tuple((neighbour.angle, neighbour.kind, neighbour.degree) for neighbour in neighbours))
        for atom, neighbours in zip(molecule.atoms, sees, strict=True)
    ]


def _quoted(text: Sequence[str]) -> str:
    if not text:
        return "no text"
    written = "".join(text)
    return repr(written if len(written) <= 40 else f"{written[:39]}…")
