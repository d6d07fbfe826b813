"""Converts a line to comparable form: its molecules as they appear, and the text around them as tokens.

The form depends on both sides: unless one has raw Chemfig or `normalize_text` is set, texts are compared as written.
"""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec

from ..common.budget import Budget
from ..common.text import cached_if_short, normalized
from .circles import tie_circles
from .latex_text import normalize, tokenize
from .molecule import CIRCLE_BOND, Bond, Molecule
from .regions import Reading, Region

LITERAL = re.compile(r"\\[A-Za-z]+|\\[^ \t\r\n\f\v]|[^ \t\r\n\f\v]")
"""Matches a token of text that is compared as written; an ideographic space is a character."""
TIE = re.compile(r"(?<!\\)((?:\\\\)*)~")
"""Matches `~`, a blank in the text around molecules, and the line breaks before it; `\\~` is an accent."""
PRINTED_BONDS = {"-": "-", "=": "=", "~": "\\equiv", CIRCLE_BOND: ""}
MAX_HORIZONTAL_ANGLE = 15.0
"""Bonds within this many degrees of the x axis are horizontal."""
MAX_UNPRINTED_LENGTH = 0.25
"""Bonds up to this length (in bond lengths) join texts without being printed."""


class Line(msgspec.Struct, frozen=True):
    """A line in comparable form: its regions in order, and the text around them as tokens.

    In `tokens`, region number k (from 1) is the token `\\chemfigk`. Molecules that are straight text are part of the
    tokens, not of the regions.
    """

    regions: tuple[Region, ...]
    tokens: tuple[str, ...]


def comparable_line(reading: Reading, released: bool, normalizes: bool, budget: Budget, first_number: int = 0) -> Line:
    """Returns the line in comparable form: `normalizes` (for both sides alike) says whether texts are normalized.

    Otherwise only blanks are ignored. Under `released`, atoms are in the order of their numbers, which start at
    `first_number`, as strings (10 before 2), and their texts are compared by code points; otherwise atoms are in order
    of writing, with texts in Unicode normalization form C.
    """
    regions: list[Region] = []
    tokens: list[str] = []
    for piece in reading.pieces:
        if isinstance(piece, str):
            tokens += _tokens(TIE.sub(r"\1 ", piece) if normalizes else piece, normalizes)
            continue
        seen = _seen(piece, released, normalizes, budget, first_number)
        if not isinstance(seen, str):
            regions.append(msgspec.structs.replace(piece, molecule=seen))
            written = [f"\\chemfig{len(regions)}"]
        else:
            written = _tokens(seen, normalizes)
        if piece.is_in_text:
            tokens += written
    return Line(tuple(regions), normalize(tokens) if normalizes else tuple(tokens))


@cached_if_short
def _tokens(text: str, normalizes: bool) -> list[str]:
    return tokenize(text) if normalizes else LITERAL.findall(text)


def _seen(region: Region, released: bool, normalizes: bool, budget: Budget, first_number: int) -> Molecule | str | None:
    """Returns the molecule of a region, its text if it is a straight chain, or None if the region has no drawing."""
    if region.drawing is None:
        return None
    order = region.drawing.order_by_name(0 if region.is_chemfig else first_number) if released else None
    molecule = region.drawing.finish(order, normalizes, budget)
    if not released and not all(map(str.isascii, molecule.texts)):
        molecule = msgspec.structs.replace(molecule, texts=tuple(map(normalized, molecule.texts)))
    text = flat_text(molecule)
    return tie_circles(molecule, released, budget) if text is None else text


def flat_text(molecule: Molecule) -> str | None:
    """Returns the text of a straight chain, left to right; None if the molecule is a drawing.

    A chain has no branch and no ring, and all its bonds are within 15 degrees of the x axis and of the types
    `- = ~ -:` (bonds up to length 0.25 may have any type). A single atom is a chain; an empty molecule returns "".
    """
    if len(molecule.bonds) != max(0, len(molecule.texts) - 1):
        return None
    order = sorted(range(len(molecule.texts)), key=molecule.xs.__getitem__)
    between = {frozenset((bond.begin, bond.end)): bond for bond in molecule.bonds}
    pieces = [molecule.texts[order[0]]] if order else []
    for left, right in pairwise(order):
        bond = between.get(frozenset((left, right)))
        if bond is None or not _is_horizontal(bond, left):
            return None
        if bond.length > MAX_UNPRINTED_LENGTH:
            if bond.type not in PRINTED_BONDS:
                return None
            pieces.append(PRINTED_BONDS[bond.type])
        pieces.append(molecule.texts[right])
    return " ".join(pieces)


def _is_horizontal(bond: Bond, left: int) -> bool:
    off = abs(bond.angle if bond.begin == left else bond.angle - 180) % 360
    return min(off, 360 - off) <= MAX_HORIZONTAL_ANGLE
