"""A drawing in the making: what both readers draw into, and how it becomes a molecule.

Readers place atoms, join them with bonds and set hooks. `finish` then does what the competition's tool does after
reading: atoms drawn at one place become one, of several bonds between two atoms the highest stays, hooks become
bonds, and circles are tied to their rings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

from metrics.budget import Budget
from metrics.chemistry.circles import tie_circles
from metrics.chemistry.latex_text import normalize, tokenize
from metrics.chemistry.molecule import CIRCLE_BOND, Atom, Bond, Molecule

SAME_PLACE = 0.01
"""Atoms closer than this (in bond lengths) are drawn at one place."""

LINE_BREAKS = ("\\\\", "\\enter")
LONGEST_CACHED = 64

BOND_ORDER = {"-": 0, "=": 1, "~": 2}
"""Of several bonds between the same atoms the highest is seen; every other type hides these."""


@dataclass(slots=True)
class Hook:
    """A mark `?[name]` on an atom; the first of a name is where the bonds of the later ones lead."""

    name: str
    atom: int
    bond_type: str


@dataclass(slots=True)
class Sketch:
    """Atoms by index with their source text and place, bonds between them, and hooks, in order of writing."""

    texts: list[str] = field(default_factory=list)
    places: list[tuple[float, float]] = field(default_factory=list)
    bonds: list[tuple[int, int, str]] = field(default_factory=list)
    hooks: list[Hook] = field(default_factory=list)

    def place(self, x: float, y: float, text: str = "") -> int:
        """Draws an atom and returns its index."""
        self.texts.append(text)
        self.places.append((x, y))
        return len(self.texts) - 1

    def grow(self, begin: int, bond_type: str | None, angle: float, length: float) -> int:
        """Draws a bond from `begin` and a textless atom at its end, which it returns; None draws no line."""
        x, y = self.places[begin]
        radians = math.radians(angle)
        end = self.place(x + length * math.cos(radians), y - length * math.sin(radians))
        if bond_type is not None:
            self.bonds.append((begin, end, bond_type))
        return end

    def write_beside(self, atom: int, text: str) -> int:
        """Writes text after a finished atom, as a second atom at the same place, which it returns."""
        beside = self.grow(atom, CIRCLE_BOND, 0.0, 0.0)
        self.texts[beside] = text
        return beside

    def finish(self, budget: Budget) -> Molecule:
        """Returns the molecule that is seen; the empty molecule where nothing was drawn."""
        budget.spend(len(self.texts) + len(self.bonds))
        texts = [_short_text(text) if len(text) <= LONGEST_CACHED else _atom_text(text) for text in self.texts]
        merged = self._merged(texts, budget)
        bonds = _highest([(merged[a], merged[b], kind) for a, b, kind in self.bonds if merged[a] != merged[b]])
        bonds += self._hooked(merged)
        joined = {atom for begin, end, _ in bonds for atom in (begin, end)}
        kept = [atom for atom in range(len(texts)) if merged[atom] == atom and (atom in joined or not joined)]
        index = {atom: number for number, atom in enumerate(kept)}
        atoms = [Atom(texts[atom], *self.places[atom]) for atom in kept]
        return tie_circles(atoms, [_bond(atoms, index[a], index[b], kind) for a, b, kind in bonds], budget)

    def _merged(self, texts: list[tuple[str, ...]], budget: Budget) -> list[int]:
        """The atom that each atom is seen as: the first one at its place, unless both have text.

        Moves a text onto the atom that stays.
        """
        cells: dict[tuple[int, int], list[int]] = {}
        merged = list(range(len(texts)))
        for atom, (x, y) in enumerate(self.places):
            column, row = math.floor(x / SAME_PLACE), math.floor(y / SAME_PLACE)
            around = [(column + across, row + down) for across in (-1, 0, 1) for down in (-1, 0, 1)]
            budget.spend(sum(len(cells.get(cell, ())) for cell in around))
            near = sorted(
                other
                for cell in around
                for other in cells.get(cell, ())
                if math.dist(self.places[other], (x, y)) < SAME_PLACE
            )
            if near and not (texts[atom] and texts[near[0]]):
                merged[atom] = near[0]
                texts[near[0]] = texts[near[0]] or texts[atom]
            else:
                cells.setdefault((column, row), []).append(atom)
        return merged

    def _hooked(self, merged: list[int]) -> list[tuple[int, int, str]]:
        first: dict[str, int] = {}
        bonds = []
        for hook in self.hooks:
            atom = merged[hook.atom]
            if hook.name in first:
                bonds.append((atom, first[hook.name], hook.bond_type))
            else:
                first[hook.name] = atom
        return bonds


def _atom_text(text: str) -> tuple[str, ...]:
    """The comparable tokens of an atom; line breaks print nothing there."""
    return normalize(token for token in tokenize(text) if token not in LINE_BREAKS)


_short_text = lru_cache(maxsize=10_000)(_atom_text)
"""The same texts come again and again: most atoms are one of a few dozen."""


def _highest(bonds: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Keeps one bond between two atoms, at the place of the first: the highest, the latest of equals."""
    best: dict[tuple[int, int], tuple[int, int, str]] = {}
    for bond in bonds:
        ends = min(bond[:2]), max(bond[:2])
        if ends not in best or BOND_ORDER.get(bond[2], 3) >= BOND_ORDER.get(best[ends][2], 3):
            best[ends] = bond
    return list(best.values())


def _bond(atoms: list[Atom], begin: int, end: int, bond_type: str) -> Bond:
    across, down = atoms[end].x - atoms[begin].x, atoms[end].y - atoms[begin].y
    angle = math.degrees(math.atan2(-down, across)) % 360
    return Bond(begin, end, bond_type, angle, math.hypot(across, down))
