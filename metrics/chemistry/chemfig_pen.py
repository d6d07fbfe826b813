"""The pen of the reader of raw Chemfig: the state that a group of it starts from and restores."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Last(Enum):
    """What was drawn last."""

    NOTHING = 0
    ATOM = 1
    BOND = 2
    RING_ATOM = 3
    """An atom of a ring, from which a branch or another ring sets out."""


NOTHING, ATOM, BOND, RING_ATOM = Last
"""As names of the module: members are looked up slowly in the class."""


@dataclass(slots=True)
class Ring:
    """A ring while it is drawn: its number of sides, where it closes, the sides so far, the turn of its first side."""

    sides: int
    root: int
    drawn: int = 0
    turn: float = 0.0

    def copy(self) -> Ring:
        """A ring in the same state."""
        return Ring(self.sides, self.root, self.drawn, self.turn)


@dataclass(slots=True)
class Pen:
    """The state that a group inherits: atom, angles in degrees, length, and the ring that is around.

    `ring` stays set within the branches of the ring, where `in_ring` is False.
    """

    atom: int | None = None
    last: Last = NOTHING
    angle: float = 0.0
    default_angle: float = 0.0
    default_length: float = 1.0
    ring: Ring | None = None
    in_ring: bool = False

    def copy(self) -> Pen:
        """A pen in the same state, with the same ring."""
        return Pen(self.atom, self.last, self.angle, self.default_angle, self.default_length, self.ring, self.in_ring)
