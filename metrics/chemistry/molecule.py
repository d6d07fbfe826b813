"""The graph of a molecule as it is drawn: atoms with text and position, bonds with type, angle and length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from operator import sub
from typing import NamedTuple

import msgspec

from ..common.budget import Budget
from ..common.text import cached_if_short
from .latex_text import normalize, tokenize

CIRCLE = "\\circle"
"""The text of the atom that represents the circle in an aromatic ring."""
CIRCLE_BOND = "-:"
"""The bond between a circle and an atom of its ring; it also joins two texts at the same position."""

SAME_PLACE = 0.01
"""Atoms closer than this (in bond lengths) are at the same position."""
LINE_BREAKS = ("\\\\", "\\enter")
BOND_ORDER = {"-": 0, "=": 1, "~": 2}
"""Of several bonds between the same atoms, only the highest is visible; all other types rank above these."""

MIRRORED_WEDGE = {"<": ">", ">": "<", "<:": ">:", ">:": "<:", "<|": ">|", ">|": "<|"}
"""The type of a wedge as written from its other end: `<` is narrow at its beginning, `>` at its end."""


class UnreadableMolecule(Exception):
    """Raised if a `\\chemfig` region cannot be read: `offset` in its text, and what was `expected` there."""

    def __init__(self, offset: int, expected: str) -> None:
        super().__init__(offset, expected)
        self.offset = offset
        self.expected = expected


class Bond(NamedTuple):
    """A bond from atom `begin` to atom `end` (indices); `angle` in degrees, counter-clockwise from the right.

    Angle and length are as written; for a bond that closes a ring, they are those between its ends.
    """

    begin: int
    end: int
    type: str
    angle: float
    length: float


class Molecule(msgspec.Struct, frozen=True):
    """The drawing of one `\\chemfig` region: a column for each property of its atoms, and its bonds.

    An atom is a group of atoms drawn at one position; its text is LaTeX without blanks, empty for a plain corner. x
    grows to the right and y downwards, in units of one bond length. Ties are broken by the order of the atoms.
    """

    texts: tuple[str, ...]
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    bonds: tuple[Bond, ...]


def displacement(angle: float, length: float) -> tuple[float, float]:
    """Returns (across, down) from the beginning to the end of a bond, given its angle in degrees and its length."""
    radians = angle * math.pi / 180
    return length * math.cos(radians), -(length * math.sin(radians))


def bond_between(xs: Sequence[float], ys: Sequence[float], begin: int, end: int, kind: str) -> Bond:
    """Returns a bond between two atoms, with the angle and the length between their positions."""
    across, down = xs[end] - xs[begin], ys[end] - ys[begin]
    return Bond(begin, end, kind, math.atan2(-down, across) * 180.0 / math.pi, math.hypot(across, down))


class MoleculeBuilder:
    """Collects the atoms of a molecule, with their source text and position, and its bonds.

    The angle and the length of a bond that closes a ring between two existing atoms are NaN until `finish`.

    numbers: the number of each atom in order of creation; empty if atoms were created in order of writing.
    """

    __slots__ = ("bonds", "numbers", "texts", "xs", "ys")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.xs: list[float] = []
        self.ys: list[float] = []
        self.bonds: list[Bond] = []
        self.numbers: list[int] = []

    def place(self, x: float, y: float, text: str = "") -> int:
        """Adds an atom at (x, y) and returns its index."""
        self.texts.append(text)
        self.xs.append(x)
        self.ys.append(y)
        return len(self.texts) - 1

    def grow(self, begin: int, bond_type: str | None, angle: float, length: float, text: str = "") -> int:
        """Adds an atom at the end of a bond from `begin`, and returns its index; type None adds no bond."""
        across, down = displacement(angle, length)
        end = self.place(self.xs[begin] + across, self.ys[begin] + down, text)
        if bond_type is not None:
            self.bonds.append(Bond(begin, end, bond_type, angle, length))
        return end

    def close(self, begin: int, end: int, bond_type: str) -> None:
        """Adds a bond between two existing atoms."""
        self.bonds.append(Bond(begin, end, bond_type, math.nan, math.nan))

    def write_beside(self, atom: int, text: str) -> int:
        """Adds text after a finished atom, as a second atom at the same position, and returns its index."""
        return self.grow(atom, CIRCLE_BOND, 0.0, 0.0, text)

    def order_by_name(self, first_number: int) -> tuple[int, ...]:
        """Returns the atoms sorted by `first_number` plus their numbers, as strings: 10 before 2."""
        numbers = self.numbers or range(len(self.texts))
        return tuple(sorted(range(len(self.texts)), key=lambda atom: str(first_number + numbers[atom])))

    def finish(self, order: Sequence[int] | None, normalizes: bool, budget: Budget) -> Molecule:
        """Returns the molecule as it appears; the empty molecule if nothing was drawn.

        `order`: the atoms in the order of the molecule; None: in order of writing. `normalizes`: whether texts are
        normalized, and atoms and bonds that do not appear separately are merged or dropped.
        """
        kept: Sequence[int] = range(len(self.texts)) if order is None else order
        if not normalizes:
            return self._molecule([text.replace(" ", "") for text in self.texts], kept, self.bonds)
        texts = [_atom_text(text) for text in self.texts]
        bonds: Sequence[Bond] = self.bonds
        merged = self._merged(texts, budget)
        if merged is not None:
            bonds = [Bond(merged[begin], merged[end], kind, angle, length) for begin, end, kind, angle, length in bonds]
            kept = [atom for atom in kept if merged[atom] == atom]
        bonds = _seen_bonds(bonds)
        joined = {atom for bond in bonds for atom in bond[:2]}
        if joined:
            kept = [atom for atom in kept if atom in joined or texts[atom]]
        return self._molecule(texts, kept, bonds)

    def _molecule(self, texts: Sequence[str], kept: Sequence[int], bonds: Sequence[Bond]) -> Molecule:
        """Returns the molecule of the atoms `kept`, in that order, with these texts and bonds.

        Sets angles and lengths that are NaN to those between the ends of the bond.
        """
        bonds = [bond_between(self.xs, self.ys, *bond[:3]) if math.isnan(bond.angle) else bond for bond in bonds]
        index = {atom: number for number, atom in enumerate(kept)}
        bonds = [Bond(index[begin], index[end], kind, angle, length) for begin, end, kind, angle, length in bonds]
        xs, ys = (tuple([column[atom] for atom in kept]) for column in (self.xs, self.ys))
        return Molecule(tuple([texts[atom] for atom in kept]), xs, ys, tuple(bonds))

    def _merged(self, texts: list[str], budget: Budget) -> list[int] | None:
        """Returns the atom into which each atom is merged: the first at its position, unless both have text.

        Returns None if all positions are clearly distinct. Moves the text of a merged atom to the remaining one.
        """
        # A projection in which few distinct atoms coincide; it stretches distances by at most sqrt(1 + 0.37**2) = 1.07.
        along = sorted([x + 0.37 * y for x, y in zip(self.xs, self.ys, strict=True)])
        if min(map(sub, along[1:], along), default=1.0) > 1.1 * SAME_PLACE:
            return None
        merged = list(range(len(texts)))
        cells: dict[tuple[int, int], list[int]] = {}
        for atom, (x, y) in enumerate(zip(self.xs, self.ys, strict=True)):
            column, row = math.floor(x / SAME_PLACE), math.floor(y / SAME_PLACE)
            cells_around = product((column - 1, column, column + 1), (row - 1, row, row + 1))
            around = [other for cell in cells_around for other in cells.get(cell, ())]
            budget.spend(9 + len(around))
            near = [other for other in around if math.dist((self.xs[other], self.ys[other]), (x, y)) < SAME_PLACE]
            first = min(near, default=None)
            if first is not None and not (texts[atom] and texts[first]):
                merged[atom] = first
                texts[first] = texts[first] or texts[atom]
            else:
                cells.setdefault((column, row), []).append(atom)
        return merged


@cached_if_short
def _atom_text(text: str) -> str:
    """Returns the normalized form of an atom's text, without line breaks, which print nothing there."""
    return "".join(normalize(token for token in tokenize(text) if token not in LINE_BREAKS))


def _seen_bonds(bonds: Sequence[Bond]) -> list[Bond]:
    """Returns the visible bonds.

    Bonds from an atom to itself are dropped. Of several bonds between two atoms, the highest in BOND_ORDER is kept (the
    latest of equals), at the index of the first.
    """
    best: dict[tuple[int, int], Bond] = {}
    for bond in bonds:
        begin, end, kind, _, _ = bond
        pair = (begin, end) if begin < end else (end, begin)
        if begin != end and (pair not in best or BOND_ORDER.get(kind, 3) >= BOND_ORDER.get(best[pair][2], 3)):
            best[pair] = bond
    return list(best.values())
