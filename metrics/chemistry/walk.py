"""The guided walk: two molecules walked together along the neighbors that face each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..common.budget import Budget
from ..common.text import truncated
from .molecule import MIRRORED_WEDGE, Molecule
from .neighbors import SAME_DIRECTION, Neighbor, Neighbors, angle_between, best_cyclic_shift, neighbors_by_angle


@dataclass(slots=True)
class Walk:
    """Pairs in the order in which they were met, where the walk stopped, and what says in words why."""

    pairs: dict[int, int]
    stopped_at: tuple[int, int] | None = None
    difference: Callable[[], str] | None = None


_Facing = tuple[Sequence[tuple[int, int, int]], "tuple[Neighbor, Neighbor] | None"]
"""Pairs of atoms to visit, each with the atom from which they are reached; and the first neighbors that differ."""


@dataclass(slots=True)
class MoleculePair:
    """The two molecules of a comparison with the neighbors of their atoms.

    `max_angle_deviation` (degrees) is how far the directions of bonds that face each other may differ; None: any.
    `compares_narrow_ends` is the protocol's.
    """

    truth: Molecule
    prediction: Molecule
    budget: Budget
    max_angle_deviation: float | None = None
    compares_narrow_ends: bool = True
    truth_neighbors: Sequence[Neighbors] = field(init=False)
    prediction_neighbors: Sequence[Neighbors] = field(init=False)
    _facing: dict[tuple[int, int], _Facing] = field(init=False, default_factory=dict)
    """What faces each other at the pairs of atoms that were met: walks from other starts come by again."""

    def __post_init__(self) -> None:
        """Looks at the neighbors."""
        self.budget.spend(4 * (len(self.truth.types) + len(self.prediction.types)))
        self.truth_neighbors = neighbors_by_angle(self.truth, self.compares_narrow_ends)
        self.prediction_neighbors = neighbors_by_angle(self.prediction, self.compares_narrow_ends)

    def walk(self, truth_start: int, prediction_start: int, asks_for_counterparts: bool) -> Walk:
        """Walks both molecules from a pair of atoms until something differs or both are done.

        Texts, numbers of neighbors and kinds of bonds must agree. A bond that leads to an atom that was met before
        must do so in both molecules, and where `asks_for_counterparts` is set, to atoms that were met together.
        """
        pairs: dict[int, int] = {}
        met: set[int] = set()
        texts, pred_texts = self.truth.texts, self.prediction.texts
        neighbors, pred_neighbors = self.truth_neighbors, self.prediction_neighbors
        to_visit = [(truth_start, prediction_start, -1)]
        while to_visit:
            atom, pred_atom, came_from = to_visit.pop()
            degree = len(neighbors[atom])
            self.budget.spend(1 + degree**2)
            if atom in pairs or pred_atom in met:
                is_known = atom in pairs and pred_atom in met
                if pairs.get(atom) == pred_atom if asks_for_counterparts else is_known:
                    continue
                difference = partial(self.closing_words, atom, came_from, atom in pairs)
            elif texts[atom] != pred_texts[pred_atom] or degree != len(pred_neighbors[pred_atom]):
                difference = partial(self.atoms_differ, atom, pred_atom)
            else:
                pairs[atom] = pred_atom
                met.add(pred_atom)
                facing = self._facing.get((atom, pred_atom))
                if facing is None:
                    facing = self._facing[atom, pred_atom] = self.facing(atom, pred_atom)
                visits, bonds = facing
                if bonds is None:
                    to_visit += visits
                    continue
                difference = partial(self.bonds_differ, atom, *bonds)
            return Walk(pairs, (atom, pred_atom), difference)
        return Walk(pairs)

    def facing(self, atom: int, pred_atom: int) -> _Facing:
        """Returns where two atoms' neighbors lead that face each other, or the first two whose bonds differ."""
        visits = []
        neighbors = self.truth_neighbors[atom]
        others = best_cyclic_shift(neighbors, self.prediction_neighbors[pred_atom])
        for neighbor, other in zip(neighbors, others, strict=True):
            if neighbor.kind != other.kind or self.turned_too_far(neighbor, other):
                return (), (neighbor, other)
            visits.append((neighbor.atom, other.atom, atom))
        return visits, None

    def turned_too_far(self, neighbor: Neighbor, other: Neighbor) -> bool:
        """Whether a bond is turned by more than `max_angle_deviation`; what rounding adds does not count."""
        limit = self.max_angle_deviation
        return limit is not None and angle_between(neighbor.angle, other.angle) > limit + SAME_DIRECTION

    def atoms_differ(self, atom: int, pred_atom: int) -> str:
        """How two atoms differ, by their texts or their numbers of bonds, in words."""
        pred_text = self.prediction.texts[pred_atom]
        if self.truth.texts[atom] != pred_text:
            return f"{self.name(atom)}: the prediction has {_quoted(pred_text)} there"
        degree, pred_degree = len(self.truth_neighbors[atom]), len(self.prediction_neighbors[pred_atom])
        return f"{self.name(atom)}: {degree} bonds in the ground truth, {pred_degree} in the prediction"

    def bonds_differ(self, atom: int, neighbor: Neighbor, other: Neighbor) -> str:
        """How two bonds differ, by their types or else by how far one is turned, in words."""
        where = f"the bond from {self.name(atom)} to {self.name(neighbor.atom)}"
        if neighbor.kind == other.kind:
            angle = angle_between(neighbor.angle, other.angle)
            return f"{where}: turned by {angle:.0f} degrees in the prediction"
        kind, pred_kind = _seen_type(self.truth, neighbor), _seen_type(self.prediction, other)
        return f"{where}: {kind!r} in the ground truth, {pred_kind!r} in the prediction"

    def closing_words(self, atom: int, came_from: int, closes_in_truth: bool) -> str:
        """What differs where only one of the molecules closes a ring, or they close different ones."""
        where = f"the bond from {self.name(came_from)} to {self.name(atom)}"
        if closes_in_truth:
            return f"{where} closes a ring; in the prediction it leads to another atom"
        return f"{where} leads on; in the prediction it closes a ring"

    def name(self, atom: int) -> str:
        """The atom in words: its number in order of writing, from 1, its text or its neighbors' texts."""
        texts = self.truth.texts
        if texts[atom]:
            return f"atom {atom + 1} {_quoted(texts[atom])}"
        beside = next((texts[each.atom] for each in self.truth_neighbors[atom] if texts[each.atom]), "")
        return f"atom {atom + 1} (a corner{f' beside {_quoted(beside)}' if beside else ''})"


def _seen_type(molecule: Molecule, neighbor: Neighbor) -> str:
    """The type of the bond to a neighbor, as it would be written from the atom that sees it."""
    bond_type = molecule.types[neighbor.bond]
    return MIRRORED_WEDGE.get(bond_type, bond_type) if molecule.begins[neighbor.bond] == neighbor.atom else bond_type


def _quoted(text: str) -> str:
    return repr(truncated(text, 40)) if text else "no text"
