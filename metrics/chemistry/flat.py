"""A molecule that is a straight horizontal chain is no drawing but text, and is compared as text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .molecule import CIRCLE_BOND, Atom, Bond, Molecule

PRINTED_BONDS = {"-": "-", "=": "=", "~": "\\equiv", CIRCLE_BOND: ""}
STEEPEST = 15.0
"""Bonds at most this many degrees from the x axis are horizontal."""
SHORTEST_PRINTED = 0.25
"""Bonds up to this length join texts without being seen."""


def flat_text(molecule: Molecule) -> str | None:
    """Returns the text of a straight chain, left to right; None where the molecule is a drawing.

    A chain has no branch and no ring, all its bonds run within 15 degrees of the x axis and are of the types
    `- = ~` (a shorter bond than 0.25 may be of any type); a single atom is one. An empty molecule has no text.
    """
    if len(molecule.types) != max(0, len(molecule.texts) - 1):
        return None
    for angle in molecule.angles:
        off = abs(angle) % 180
        # The remainders of `_horizontal` may round otherwise: what is near the limit is left to it.
        if STEEPEST + 1e-3 < off < 180 - STEEPEST - 1e-3:
            return None
    return _chain_text(molecule.atoms, molecule.bonds)


def _chain_text(atoms: Sequence[Atom], bonds: Sequence[Bond]) -> str | None:
    """The text of a chain whose bonds run across, left to right; None where it is a drawing."""
    order = sorted(range(len(atoms)), key=lambda atom: atoms[atom].x)
    between = {(min(bond.begin, bond.end), max(bond.begin, bond.end)): bond for bond in bonds}
    pieces = [atoms[order[0]].text] if order else []
    for left, right in pairwise(order):
        bond = between.get((min(left, right), max(left, right)))
        if bond is None or not _horizontal(bond, left):
            return None
        if bond.length > SHORTEST_PRINTED:
            if bond.type not in PRINTED_BONDS:
                return None
            pieces.append(PRINTED_BONDS[bond.type])
        pieces.append(atoms[right].text)
    return " ".join(pieces)


def _horizontal(bond: Bond, left: int) -> bool:
    off = abs(bond.angle if bond.begin == left else bond.angle - 180) % 360
    return min(off, 360 - off) <= STEEPEST
