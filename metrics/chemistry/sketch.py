"""A drawing in the making: what both readers draw into, and how it becomes a molecule.

Readers place atoms and join them with bonds. `finish` then ties circles to their rings. For a comparison with raw
Chemfig, which writes one drawing in many ways, it also brings texts into one form, makes atoms drawn at one place one,
and keeps the highest of several bonds between two atoms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from operator import eq, sub

from ..common.budget import Budget
from .circles import tie_circles
from .latex_text import normalize, tokenize
from .molecule import CIRCLE_BOND, Molecule
from .protocol import Protocol

SAME_PLACE = 0.01
"""Atoms closer than this (in bond lengths) are drawn at one place."""
LARGEST_EXACT = 1e9
"""Up to here coordinates are rounded by much less than `SAME_PLACE`."""

LINE_BREAKS = ("\\\\", "\\enter")
MAX_CACHED_LENGTH = 64

BOND_ORDER = {"-": 0, "=": 1, "~": 2}
"""Of several bonds between the same atoms the highest is seen; every other type hides these."""


_Bonds = tuple[Sequence[int], Sequence[int], Sequence[str], Sequence[float], Sequence[float]]
"""Bonds as the columns of `molecule.Bond`."""


class Sketch:
    """Atoms by index with their source text and place, and bonds by index, a column for each field of `molecule.Bond`.

    A sketch is equal to itself alone, so that what is made of it can be known by it.
    A bond that closes a ring between two placed atoms has the angle and the length NaN until the drawing is finished.

    numbers: in what order the atoms were made; empty where that is the order in which they were written.
    """

    __slots__ = ("angles", "begins", "ends", "lengths", "numbers", "texts", "types", "xs", "ys")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.xs: list[float] = []
        self.ys: list[float] = []
        self.begins: list[int] = []
        self.ends: list[int] = []
        self.types: list[str] = []
        self.angles: list[float] = []
        self.lengths: list[float] = []
        self.numbers: list[int] = []

    def place(self, x: float, y: float, text: str = "") -> int:
        """Draws an atom and returns its index."""
        self.texts.append(text)
        self.xs.append(x)
        self.ys.append(y)
        return len(self.texts) - 1

    def grow(self, begin: int, bond_type: str | None, angle: float, length: float) -> int:
        """Draws a bond from `begin` and a textless atom at its end, which it returns; None draws no line."""
        across, down = displacement(angle, length)
        if bond_type is None:
            return self.place(self.xs[begin] + across, self.ys[begin] + down)
        return self.grow_by(begin, across, down, bond_type, angle, length)

    def grow_by(self, begin: int, across: float, down: float, bond_type: str, angle: float, length: float) -> int:
        """The same as `grow`, where it is known how far across and down the bond leads."""
        texts, xs, ys = self.texts, self.xs, self.ys
        end = len(texts)
        texts.append("")
        xs.append(xs[begin] + across)
        ys.append(ys[begin] + down)
        self.begins.append(begin)
        self.ends.append(end)
        self.types.append(bond_type)
        self.angles.append(angle)
        self.lengths.append(length)
        return end

    def close(self, begin: int, end: int, bond_type: str) -> None:
        """Draws a bond between two atoms that have their places."""
        self.begins.append(begin)
        self.ends.append(end)
        self.types.append(bond_type)
        self.angles.append(math.nan)
        self.lengths.append(math.nan)

    def undo_bond(self) -> int:
        """Takes the last bond back, though not the atoms at its ends; returns where it began."""
        for column in (self.ends, self.types, self.angles, self.lengths):
            column.pop()
        return self.begins.pop()

    def write_beside(self, atom: int, text: str) -> int:
        """Writes text after a finished atom, as a second atom at the same place, which it returns."""
        beside = self.grow(atom, CIRCLE_BOND, 0.0, 0.0)
        self.texts[beside] = text
        return beside

    def order(self, first_number: int) -> tuple[int, ...]:
        """Returns the atoms in the order of their numbers, counted on from `first_number`, as strings: 10 before 2."""
        numbers = self.numbers or range(len(self.texts))
        return tuple(sorted(range(len(self.texts)), key=lambda atom: str(first_number + numbers[atom])))

    def finish(self, order: Sequence[int] | None, beside_chemfig: bool, budget: Budget) -> Molecule:
        """Returns the molecule that is seen; the empty molecule where nothing was drawn.

        `order`: the atoms in the order in which the molecule has them; None: in order of writing. `beside_chemfig` says
        that this side or the other is raw Chemfig.
        """
        budget.spend(2 * (len(self.texts) + len(self.types)))
        bonds = self.begins, self.ends, self.types, self.angles, self.lengths
        if beside_chemfig:
            return self._in_one_form(order, bonds, budget)
        return self._molecule([text.replace(" ", "") for text in self.texts], order, bonds)

    def _in_one_form(self, order: Sequence[int] | None, bonds: _Bonds, budget: Budget) -> Molecule:
        """The molecule in which one is left of what is drawn at one place, and no atom is apart from the drawing."""
        texts = _normalized(self.texts, budget)
        kept: Sequence[int] = order or range(len(texts))
        begins, ends, types, angles, lengths = bonds
        merged = self._merged(texts, budget)
        if merged is not None:
            begins, ends = [merged[atom] for atom in begins], [merged[atom] for atom in ends]
            kept = [atom for atom in kept if merged[atom] == atom]
        seen = _seen_bonds(begins, ends, types)
        if seen is not None:
            begins, ends, types = [begins[n] for n in seen], [ends[n] for n in seen], [types[n] for n in seen]
            angles, lengths = [angles[n] for n in seen], [lengths[n] for n in seen]
        joined = {*begins, *ends}
        if joined and len(joined) < len(kept):
            kept = [atom for atom in kept if atom in joined]
        unchanged = order is None and len(kept) == len(texts)
        return self._molecule(texts, None if unchanged else kept, (begins, ends, types, angles, lengths))

    def _molecule(self, texts: Sequence[str], kept: Sequence[int] | None, bonds: _Bonds) -> Molecule:
        """The molecule of the atoms `kept`, in that order (None: of all), with these texts and bonds.

        A bond between two placed atoms, which has no angle and no length yet, has those between its ends.
        """
        xs: Sequence[float] = self.xs
        ys: Sequence[float] = self.ys
        begins, ends, types, angles, lengths = bonds
        if kept is not None:
            index = {atom: number for number, atom in enumerate(kept)}
            texts, xs, ys = [texts[atom] for atom in kept], [xs[atom] for atom in kept], [ys[atom] for atom in kept]
            begins, ends = [index[atom] for atom in begins], [index[atom] for atom in ends]
        if not all(map(eq, angles, angles)):
            angles, lengths = list(angles), list(lengths)
            for number in [number for number, angle in enumerate(angles) if angle != angle]:
                begin, end = begins[number], ends[number]
                across, down = xs[end] - xs[begin], ys[end] - ys[begin]
                angles[number] = math.atan2(-down, across) * 180.0 / math.pi
                lengths[number] = math.hypot(across, down)
        return Molecule(
            tuple(texts),
            tuple(xs),
            tuple(ys),
            tuple(begins),
            tuple(ends),
            tuple(types),
            tuple(angles),
            tuple(lengths),
        )

    def _merged(self, texts: list[str], budget: Budget) -> list[int] | None:
        """The atom that each atom is seen as: the first one at its place, unless both have text; None: each as itself.

        Moves a text onto the atom that stays.
        """
        if _are_apart(self.xs, self.ys):
            budget.spend(9 * len(texts))
            return None
        merged = list(range(len(texts)))
        cells: dict[tuple[int, int], list[int]] = {}
        for atom, (x, y) in enumerate(zip(self.xs, self.ys, strict=True)):
            column, row = math.floor(x / SAME_PLACE), math.floor(y / SAME_PLACE)
            around = [
                other
                for across in (column - 1, column, column + 1)
                for down in (row - 1, row, row + 1)
                if (across, down) in cells
                for other in cells[across, down]
            ]
            budget.spend(9 + len(around))
            near = sorted(other for other in around if math.dist((self.xs[other], self.ys[other]), (x, y)) < SAME_PLACE)
            if near and not (texts[atom] and texts[near[0]]):
                merged[atom] = near[0]
                texts[near[0]] = texts[near[0]] or texts[atom]
            else:
                cells.setdefault((column, row), []).append(atom)
        return merged


def tied(molecule: Molecule, protocol: Protocol, budget: Budget) -> Molecule:
    """Returns the molecule with its circles tied to their rings."""
    return tie_circles(molecule, protocol.ties_open_rings, budget)


def _are_apart(xs: Sequence[float], ys: Sequence[float]) -> bool:
    """Whether no two places are one, for certain: they are apart along a line on which few drawings have any two.

    On that line's scale places are at most sqrt(1 + 0.37**2) = 1.07 times as far apart.
    """
    if not xs:
        return True
    if max(max(xs), max(ys)) > LARGEST_EXACT or min(min(xs), min(ys)) < -LARGEST_EXACT:
        return False
    along = sorted([x + 0.37 * y for x, y in zip(xs, ys, strict=True)])
    return len(along) < 2 or min(map(sub, along[1:], along)) > 1.1 * SAME_PLACE


def _normalized(texts: list[str], budget: Budget) -> list[str]:
    budget.spend(4 * sum(map(len, texts)))
    return [_short_text(text) if len(text) <= MAX_CACHED_LENGTH else _atom_text(text) for text in texts]


def _atom_text(text: str) -> str:
    """The comparable form of an atom's text; line breaks print nothing there."""
    return "".join(normalize(token for token in tokenize(text) if token not in LINE_BREAKS))


_short_text = lru_cache(maxsize=10_000)(_atom_text)
"""The same texts come again and again: most atoms are one of a few dozen."""


def _seen_bonds(begins: Sequence[int], ends: Sequence[int], types: Sequence[str]) -> list[int] | None:
    """The numbers of the bonds that are seen, None: of all.

    A bond from an atom to itself is not seen. Of those between two atoms the highest is, the latest of equals, at the
    place of the first.
    """
    pairs = [(begin, end) if begin < end else (end, begin) for begin, end in zip(begins, ends, strict=True)]
    if len(set(pairs)) == len(pairs) and not any(map(eq, begins, ends)):
        return None
    best: dict[tuple[int, int], int] = {}
    for number, (pair, bond_type) in enumerate(zip(pairs, types, strict=True)):
        if pair[0] != pair[1] and (
            pair not in best or BOND_ORDER.get(bond_type, 3) >= BOND_ORDER.get(types[best[pair]], 3)
        ):
            best[pair] = number
    return list(best.values())


def displacement(angle: float, length: float) -> tuple[float, float]:
    """Returns how far across and down a bond leads, of an angle in degrees and a length."""
    radians = angle * math.pi / 180
    return length * math.cos(radians), -(length * math.sin(radians))
