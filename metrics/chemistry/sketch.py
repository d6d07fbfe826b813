"""A drawing in the making: what both readers draw into, and how it becomes a molecule.

Readers place atoms and join them with bonds. `finish` then ties circles to their rings. For a comparison with raw
Chemfig, which writes one drawing in many ways, it also brings texts into one form, makes atoms drawn at one place one,
and keeps the highest of several bonds between two atoms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import pairwise

from metrics.chemistry.circles import tie_circles
from metrics.chemistry.latex_text import normalize, tokenize
from metrics.chemistry.molecule import CIRCLE_BOND, Atom, Bond, Molecule
from metrics.chemistry.protocol import Protocol
from metrics.common.budget import Budget

SAME_PLACE = 0.01
"""Atoms closer than this (in bond lengths) are drawn at one place."""
LARGEST_EXACT = 1e9
"""Up to here coordinates are rounded by much less than `SAME_PLACE`."""

LINE_BREAKS = ("\\\\", "\\enter")
MAX_CACHED_LENGTH = 64

BOND_ORDER = {"-": 0, "=": 1, "~": 2}
"""Of several bonds between the same atoms the highest is seen; every other type hides these."""


@dataclass(slots=True, eq=False)
class Sketch:
    """Atoms by index with their source text and place, the numbers in whose order they were made, and bonds.

    A sketch is equal to itself alone, so that what is made of it can be known by it.
    A bond that closes a ring between two placed atoms has the angle and the length NaN until the drawing is finished.
    """

    texts: list[str] = field(default_factory=list)
    xs: list[float] = field(default_factory=list)
    ys: list[float] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    bonds: list[Bond] = field(default_factory=list)

    def place(self, x: float, y: float, text: str = "", number: int | None = None) -> int:
        """Draws an atom and returns its index, which is also its number where none is given."""
        self.numbers.append(len(self.texts) if number is None else number)
        self.texts.append(text)
        self.xs.append(x)
        self.ys.append(y)
        return len(self.texts) - 1

    def grow(self, begin: int, bond_type: str | None, angle: float, length: float, number: int | None = None) -> int:
        """Draws a bond from `begin` and a textless atom at its end, which it returns; None draws no line."""
        return self.grow_by(begin, bond_type, angle, length, *displacement(angle, length), number)

    def grow_by(
        self,
        begin: int,
        bond_type: str | None,
        angle: float,
        length: float,
        across: float,
        down: float,
        number: int | None = None,
    ) -> int:
        """The same as `grow`, where it is known how far across and down the bond leads."""
        end = len(self.texts)
        self.numbers.append(end if number is None else number)
        self.texts.append("")
        self.xs.append(self.xs[begin] + across)
        self.ys.append(self.ys[begin] + down)
        if bond_type is not None:
            self.bonds.append(_bond((begin, end, bond_type, angle, length)))
        return end

    def close(self, begin: int, end: int, bond_type: str) -> None:
        """Draws a bond between two atoms that have their places."""
        self.bonds.append(Bond(begin, end, bond_type, math.nan, math.nan))

    def write_beside(self, atom: int, text: str) -> int:
        """Writes text after a finished atom, as a second atom at the same place, which it returns."""
        beside = self.grow(atom, CIRCLE_BOND, 0.0, 0.0)
        self.texts[beside] = text
        return beside

    def order(self, first_number: int) -> tuple[int, ...]:
        """Returns the atoms in the order of their numbers, counted on from `first_number`, as strings: 10 before 2."""
        return tuple(sorted(range(len(self.texts)), key=lambda atom: str(first_number + self.numbers[atom])))

    def finish(self, order: Sequence[int] | None, beside_chemfig: bool, budget: Budget) -> Molecule:
        """Returns the molecule that is seen; the empty molecule where nothing was drawn.

        `order`: the atoms in the order in which the molecule has them; None: in order of writing. `beside_chemfig` says
        that this side or the other is raw Chemfig.
        """
        budget.spend(2 * (len(self.texts) + len(self.bonds)))
        texts, bonds = [text.replace(" ", "") for text in self.texts], self.bonds
        kept: Sequence[int] = order or range(len(texts))
        if beside_chemfig:
            texts = _normalized(self.texts, budget)
            merged = self._merged(texts, budget)
            if merged is None:
                bonds = [bond for bond in bonds if bond[0] != bond[1]]
            else:
                bonds = [_moved(bond, merged) for bond in bonds if merged[bond[0]] != merged[bond[1]]]
                kept = [atom for atom in kept if merged[atom] == atom]
            bonds = _highest(bonds)
            joined = {atom for bond in bonds for atom in bond[:2]}
            if joined and len(joined) < len(kept):
                kept = [atom for atom in kept if atom in joined]
        if order is None and len(kept) == len(texts):
            return self._written(texts, bonds)
        index = {atom: number for number, atom in enumerate(kept)}
        atoms = [_atom((texts[atom], self.xs[atom], self.ys[atom])) for atom in kept]
        finished = [
            _bond((index[begin], index[end], bond_type, angle, length))
            if angle == angle
            else _measured(atoms, index[begin], index[end], bond_type)
            for begin, end, bond_type, angle, length in bonds
        ]
        return Molecule(tuple(atoms), tuple(finished))

    def _written(self, texts: list[str], bonds: list[Bond]) -> Molecule:
        """The molecule of all atoms in order of writing, with these texts and bonds."""
        atoms = tuple(map(_atom, zip(texts, self.xs, self.ys, strict=True)))
        return Molecule(atoms, tuple([bond if bond[3] == bond[3] else _measured(atoms, *bond[:3]) for bond in bonds]))

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


_atom: Callable[[tuple[str, float, float]], Atom] = partial(tuple.__new__, Atom)
_bond: Callable[[tuple[int, int, str, float, float]], Bond] = partial(tuple.__new__, Bond)


def _are_apart(xs: Sequence[float], ys: Sequence[float]) -> bool:
    """Whether no two places are one, for certain: they are apart along a line on which few drawings have any two.

    On that line's scale places are at most sqrt(1 + 0.37**2) = 1.07 times as far apart.
    """
    if not xs:
        return True
    if max(max(xs), max(ys)) > LARGEST_EXACT or min(min(xs), min(ys)) < -LARGEST_EXACT:
        return False
    along = sorted([x + 0.37 * y for x, y in zip(xs, ys, strict=True)])
    return all(after - before > 1.1 * SAME_PLACE for before, after in pairwise(along))


def _normalized(texts: list[str], budget: Budget) -> list[str]:
    budget.spend(4 * sum(map(len, texts)))
    return [_short_text(text) if len(text) <= MAX_CACHED_LENGTH else _atom_text(text) for text in texts]


def _atom_text(text: str) -> str:
    """The comparable form of an atom's text; line breaks print nothing there."""
    return "".join(normalize(token for token in tokenize(text) if token not in LINE_BREAKS))


_short_text = lru_cache(maxsize=10_000)(_atom_text)
"""The same texts come again and again: most atoms are one of a few dozen."""


def _moved(bond: Bond, merged: list[int]) -> Bond:
    begin, end, bond_type, angle, length = bond
    return _bond((merged[begin], merged[end], bond_type, angle, length))


def _highest(bonds: list[Bond]) -> list[Bond]:
    """Keeps one bond between two atoms, at the place of the first: the highest, the latest of equals."""
    if len({(bond[0], bond[1]) if bond[0] < bond[1] else (bond[1], bond[0]) for bond in bonds}) == len(bonds):
        return bonds
    best: dict[tuple[int, int], Bond] = {}
    for bond in bonds:
        ends = min(bond.begin, bond.end), max(bond.begin, bond.end)
        if ends not in best or BOND_ORDER.get(bond.type, 3) >= BOND_ORDER.get(best[ends].type, 3):
            best[ends] = bond
    return list(best.values())


def _measured(atoms: Sequence[Atom], begin: int, end: int, bond_type: str) -> Bond:
    """The bond between two placed atoms, with the angle and the length that it has between them."""
    across, down = atoms[end].x - atoms[begin].x, atoms[end].y - atoms[begin].y
    return Bond(begin, end, bond_type, math.atan2(-down, across) * 180.0 / math.pi, math.hypot(across, down))


def displacement(angle: float, length: float) -> tuple[float, float]:
    """Returns how far across and down a bond leads, of an angle in degrees and a length."""
    radians = angle * math.pi / 180
    return length * math.cos(radians), -(length * math.sin(radians))
