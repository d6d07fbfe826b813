"""The guided walk: two drawings walked together along the neighbours that face each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..common.budget import Budget
from ..common.text import truncated
from .alignment import aligned
from .molecule import MIRRORED_WEDGE, Molecule
from .surroundings import SAME_DIRECTION, Neighbour, surroundings, turn


@dataclass(slots=True)
class Walk:
    """Pairs in the order in which they were met, where the walk stopped, and what says in words why."""

    pairs: dict[int, int]
    stopped_at: tuple[int, int] | None = None
    difference: Callable[[], str] | None = None


_Facing = tuple[Sequence[tuple[int, int, int]], "tuple[Neighbour, Neighbour] | None"]
"""Pairs of atoms to visit, each with the atom from which they are reached; and the first neighbours that differ."""


@dataclass(slots=True)
class Drawings:
    """The two molecules of a comparison with their surroundings.

    `max_angle_deviation` (degrees) is how far the directions of bonds that face each other may differ; None: any.
    `compares_narrow_ends` is the protocol's.
    """

    truth: Molecule
    prediction: Molecule
    budget: Budget
    max_angle_deviation: float | None = None
    compares_narrow_ends: bool = True
    truth_sees: Sequence[tuple[Neighbour, ...]] = field(init=False)
    prediction_sees: Sequence[tuple[Neighbour, ...]] = field(init=False)
    _facing: dict[tuple[int, int], _Facing] = field(init=False, default_factory=dict)
    """What faces each other at the pairs of atoms that were met: walks from other starts come by again."""

    def __post_init__(self) -> None:
        """Looks at the surroundings."""
        self.budget.spend(4 * (len(self.truth.types) + len(self.prediction.types)))
        self.truth_sees = surroundings(self.truth, self.compares_narrow_ends)
        self.prediction_sees = surroundings(self.prediction, self.compares_narrow_ends)

    def walk(self, truth_start: int, prediction_start: int, asks_for_counterparts: bool) -> Walk:
        """Walks both drawings from a pair of atoms until something differs or both are done.

        Texts, numbers of neighbours and kinds of bonds must agree. A bond that leads to an atom that was met before
        must do so in both drawings, and where `asks_for_counterparts` is set, to atoms that were met together.
        """
        pairs: dict[int, int] = {}
        stopped_at: tuple[int, int] | None = None
        difference: Callable[[], str] | None = None
        seen: set[int] = set()
        truths, images = self.truth.texts, self.prediction.texts
        truth_sees, prediction_sees, facing = self.truth_sees, self.prediction_sees, self._facing
        to_visit = [(truth_start, prediction_start, -1)]
        steps, left = 0, self.budget.left  # Steps are spent at the end: calls would cost more than the visits.
        while to_visit:
            steps += 1
            if steps > left:
                break
            atom, image, came_from = to_visit.pop()
            if atom in pairs or image in seen:
                as_good = pairs.get(atom) == image if asks_for_counterparts else atom in pairs and image in seen
                if as_good:
                    continue
                difference = partial(self.closing_words, atom, came_from, atom in pairs)
            elif truths[atom] != images[image] or len(truth_sees[atom]) != len(prediction_sees[image]):
                difference = partial(self.atoms_differ, atom, image)
            else:
                pairs[atom] = image
                seen.add(image)
                steps += len(truth_sees[atom]) ** 2
                if steps > left:
                    break
                known = facing.get((atom, image))
                if known is None:
                    known = facing[atom, image] = self.look(atom, image)
                visits, bonds = known
                if bonds is None:
                    to_visit += visits
                    continue
                difference = partial(self.bonds_differ, atom, *bonds)
            stopped_at = atom, image
            break
        self.budget.spend(steps)
        return Walk(pairs, stopped_at, difference)

    def look(self, atom: int, image: int) -> _Facing:
        """Returns where two atoms' neighbours lead that face each other, or the first two whose bonds differ."""
        visits = []
        sees = self.truth_sees[atom]
        for neighbour, other in zip(sees, aligned(sees, self.prediction_sees[image]), strict=True):
            if neighbour[2] != other[2] or self.turned_too_far(neighbour, other):
                return (), (neighbour, other)
            visits.append((neighbour[3], other[3], atom))
        return visits, None

    def atoms_differ(self, atom: int, image: int) -> str:
        """How two atoms differ, by their texts or their numbers of bonds, in words."""
        truth_text, prediction_text = self.truth.texts[atom], self.prediction.texts[image]
        if truth_text != prediction_text:
            return f"{self.name(atom)}: the prediction has {_quoted(prediction_text)} there"
        truth_degree, prediction_degree = len(self.truth_sees[atom]), len(self.prediction_sees[image])
        return f"{self.name(atom)}: {truth_degree} bonds in the ground truth, {prediction_degree} in the prediction"

    def bonds_differ(self, atom: int, neighbour: Neighbour, other: Neighbour) -> str:
        """How two bonds differ, by their types or else by how far one is turned, in words."""
        where = self.bond_name(atom, neighbour.atom)
        if neighbour.kind == other.kind:
            return f"{where}: turned by {turn(neighbour.angle, other.angle):.0f} degrees in the prediction"
        truth_type, prediction_type = _seen_type(self.truth, neighbour), _seen_type(self.prediction, other)
        return f"{where}: {truth_type!r} in the ground truth, {prediction_type!r} in the prediction"

    def turned_too_far(self, neighbour: Neighbour, other: Neighbour) -> bool:
        """Whether a bond is turned by more than `max_angle_deviation`; what rounding adds does not count."""
        limit = self.max_angle_deviation
        return limit is not None and turn(neighbour.angle, other.angle) > limit + SAME_DIRECTION

    def closing_words(self, atom: int, came_from: int, closes_in_truth: bool) -> str:
        """What differs where only one of the drawings closes a ring, or they close different ones."""
        where = self.bond_name(came_from, atom)
        if closes_in_truth:
            return f"{where} closes a ring; in the prediction it leads to another atom"
        return f"{where} leads on; in the prediction it closes a ring"

    def bond_name(self, begin: int, end: int) -> str:
        """A bond in words."""
        return f"the bond from {self.name(begin)} to {self.name(end)}"

    def name(self, atom: int) -> str:
        """The atom in words: its number in order of writing, from 1, its text or its neighbours' texts."""
        text = self.truth.texts[atom]
        if text:
            return f"atom {atom + 1} {_quoted(text)}"
        beside = [self.truth.texts[n.atom] for n in self.truth_sees[atom] if self.truth.texts[n.atom]]
        at = f" beside {_quoted(beside[0])}" if beside else ""
        return f"atom {atom + 1} (a corner{at})"


def _seen_type(molecule: Molecule, neighbour: Neighbour) -> str:
    """The type of the bond to a neighbour, as it would be written from the atom that sees it."""
    bond_type = molecule.types[neighbour.bond]
    return MIRRORED_WEDGE.get(bond_type, bond_type) if molecule.begins[neighbour.bond] == neighbour.atom else bond_type


def _quoted(text: str) -> str:
    return repr(truncated(text, 40)) if text else "no text"
