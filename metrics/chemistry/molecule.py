"""The graph of a molecule as it is drawn: atoms with text and place, bonds with type, angle and length."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

CIRCLE = "\\circle"
"""The text of the atom that stands for the circle within an aromatic ring."""
CIRCLE_BOND = "-:"
"""The bond between a circle and the atoms of its ring; also what joins two texts at one place."""

MIRRORED_WEDGE = {"<": ">", ">": "<", "<:": ">:", ">:": "<:", "<|": ">|", ">|": "<|"}
"""The type of a wedge as it is written from its other end: `<` is narrow where it begins, `>` where it ends."""


class UnreadableMolecule(Exception):
    """A `\\chemfig` region that cannot be read: where in the region's text, and what was expected there."""

    def __init__(self, offset: int, expected: str) -> None:
        super().__init__(offset, expected)
        self.offset = offset
        self.expected = expected


class Bond(NamedTuple):
    """A bond from atom `begin` to atom `end` (indices); `angle` in degrees, counter-clockwise from the right.

    Angle and length are those that were written, or, where a bond closes a ring, those between its ends.
    """

    begin: int
    end: int
    type: str
    angle: float
    length: float


class Molecule(msgspec.Struct, frozen=True):
    """What one `\\chemfig` region draws, in columns: three for the atoms, and one for each field of `Bond`.

    An atom is a group of atoms drawn at one place; its text is LaTeX without blanks, empty for a plain corner. x grows
    to the right and y downwards, in units of one bond length. The order of the atoms decides between equal choices.
    """

    texts: tuple[str, ...]
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    types: tuple[str, ...]
    angles: tuple[float, ...]
    lengths: tuple[float, ...]

    @property
    def bonds(self) -> tuple[Bond, ...]:
        """The bonds, made anew each time."""
        return tuple(map(Bond, self.begins, self.ends, self.types, self.angles, self.lengths))
