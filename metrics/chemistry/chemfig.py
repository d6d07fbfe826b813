"""Reads raw Chemfig as LaTeX does: it draws what the package (version 1.6) draws.

Every `(...)`, ring and branch alike, is a group that starts from the pen's state and restores it at its end. A
branch of a ring points along the bisector, a ring after a bond is symmetric about it, a ring at an atom of another
ring shares the next side of that ring, and a ring that starts the molecule has its last side vertical. Within a
ring, the angles and lengths of bonds are ignored. Text after a branch or ring is written where the last bond ended.
Departure and arrival atoms select letters within a group of atoms, which is a single atom here, so they are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Literal

import msgspec

from ..common.budget import Budget
from .chemfig_source import BOND_STARTS, COMMAND, ENDS_OF_GROUP, ChemfigSource, Submolecule, read_number, split_fields
from .molecule import CIRCLE, CIRCLE_BOND, MoleculeBuilder, UnreadableMolecule

MAX_GROUP_DEPTH = 150
MAX_RING_SIDES = 500
MAX_ANGLE = 1e6
MAX_LENGTH = 1e3

Style = Literal["plain", "none", "wavy"]
"""How a bond is drawn: as its type says, not at all, or as a wavy line."""
Last = Literal["nothing", "atom", "bond", "ring atom"]
"""What was drawn last; `ring atom` is an atom of a ring, at which a branch or another ring starts."""


class Ring(msgspec.Struct):
    """A ring being drawn: its number of sides, the atom where it closes, its first side's turn, the sides drawn."""

    sides: int
    root: int
    turn: float
    drawn: int = 0


class Pen(msgspec.Struct):
    """The state that a group inherits: atom, angles in degrees, length, style, and the surrounding ring.

    `ring` remains set in the branches of the ring, where `in_ring` is False. `heading` chooses the alternative of a
    submolecule: it is the angle of the last bond of the group, before its first bond the default.
    """

    atom: int = -1
    last: Last = "nothing"
    angle: float = 0.0
    heading: float = 0.0
    default_angle: float = 0.0
    default_length: float = 1.0
    default_style: Style = "plain"
    ring: Ring | None = None
    in_ring: bool = False


def read_chemfig(
    text: str, submolecules: Mapping[str, Submolecule], angle_increment: float, budget: Budget
) -> MoleculeBuilder:
    """Returns the drawing of a region's content.

    `angle_increment` is the unit of predefined angles, in degrees (45 in the package).

    Raises UnreadableMolecule if the package would stop, too, or if a limit of this reader is exceeded.
    """
    reader = _ChemfigReader(ChemfigSource(text, submolecules, budget), angle_increment)
    reader.group(Pen(), 0)
    if reader.source.peek():
        raise UnreadableMolecule(reader.source.offset, "a '(' that this ')' closes")
    return reader.drawing


class _ChemfigReader:
    def __init__(self, source: ChemfigSource, angle_increment: float) -> None:
        self.source = source
        self.angle_increment = angle_increment
        self.drawing = MoleculeBuilder()
        self.bond_arrived = False
        """Whether a bond has reached an atom yet: until then, rings are oriented like one that starts the molecule."""
        self.last_start = 0
        """The atom from which the last bond was drawn."""
        self.last_end = 0
        """The atom at which the last bond ended, even within a finished group; at first, the first atom."""
        self.hooks: dict[str, int] = {}
        """The first atom with a hook of each name; later hooks of that name are bonded to it."""

    def group(self, pen: Pen, depth: int, circle: bool = False) -> None:
        """Draws until the group ends, leaving its `)` unread; `circle`: the group is a ring `**n`."""
        source = self.source
        if depth > MAX_GROUP_DEPTH:
            raise UnreadableMolecule(source.offset, f"at most {MAX_GROUP_DEPTH} groups within each other")
        self.enter(pen)
        if circle:
            self.draw_circle(pen)
        while True:
            if source.peek() not in ENDS_OF_GROUP:
                text, hooks = source.take_atoms(pen.heading)
                if text is not None:
                    self.draw_atom(pen, text)
                    self.draw_hooks(pen.atom, hooks)
                    continue
            following = source.peek()
            if following in ("", ")"):
                return
            if pen.last == "nothing":
                self.draw_atom(pen, "")
            elif following not in BOND_STARTS:
                self.branch(pen, following, depth)
            elif self.bond(pen):
                return

    def enter(self, pen: Pen) -> None:
        """Sets the angles, the length and the style with which a group starts, from its `[...]` if it has one."""
        if pen.last == "ring atom" and pen.in_ring:
            pen.default_angle = 0.0
        elif pen.last == "ring atom" and pen.ring is not None:
            half = 180 / pen.ring.sides
            at_root = 180 + (0.0 if self.bond_arrived else half)
            pen.default_angle = pen.angle % 360 + (half - 90 if pen.ring.drawn else at_root)
        if self.expand(pen) == "[":
            offset = self.source.offset
            angle, length, _, _, style = split_fields(self.source.take_enclosed())
            pen.angle = pen.default_angle = self.read_angle(angle, offset, pen)
            pen.default_length = self.read_length(length, offset, pen)
            pen.default_style = self.read_style(style, pen)
            self.expand(pen)
        if pen.last == "nothing":
            pen.angle = pen.default_angle
        pen.heading = pen.angle % 360 if pen.in_ring else pen.default_angle

    def expand(self, pen: Pen) -> str:
        """Expands the submolecules with which a group starts; returns the character after them."""
        while (following := self.source.peek()) == "!":
            self.source.expand_submolecule(pen.default_angle)
        return following

    def draw_hooks(self, atom: int, hooks: Sequence[tuple[str, str]]) -> None:
        """Registers the first hook of each name, and draws the bonds of later ones to it."""
        for name, kind in hooks:
            first = self.hooks.setdefault(name, atom)
            if first != atom:
                self.drawing.close(first, atom, kind)

    def draw_atom(self, pen: Pen, text: str) -> None:
        """Draws an atom at the pen: at the start, at the end of a bond, or where the last bond ended."""
        if pen.last == "nothing":
            pen.atom = self.drawing.place(0.0, 0.0, text)
        elif pen.last == "bond":
            self.bond_arrived = True
            self.drawing.texts[pen.atom] = text
            if text == CIRCLE:
                # The bond to a drawn circle, usually invisible, becomes the one that ties the circle to its ring.
                bonds = self.drawing.bonds
                start = bonds.pop()[0] if bonds and bonds[-1][1] == pen.atom else self.last_start
                self.drawing.close(start, pen.atom, CIRCLE_BOND)
        else:
            pen.atom = self.drawing.write_beside(self.last_end, text)
        pen.last = "atom"

    def bond(self, pen: Pen) -> bool:
        """Draws a bond; returns True if it closes its ring, which ends the group."""
        if pen.last == "bond":
            self.draw_atom(pen, "")
        kind, offset, fields = self.source.take_bond()
        style = self.read_style(fields[4], pen)
        drawn = None if style == "none" else "~/" if style == "wavy" else kind
        if pen.in_ring and pen.ring is not None:
            ring = pen.ring
            ring.drawn += 1
            angle, length = pen.angle + 360 / ring.sides + ring.turn, pen.default_length
            ring.turn = 0.0
            if ring.drawn == ring.sides:
                if drawn is not None:
                    self.drawing.close(pen.atom, ring.root, drawn)
                self.skip_to_end()
                return True
        else:
            angle = self.read_angle(fields[0], offset, pen)
            length = self.read_length(fields[1], offset, pen)
        self.last_start = pen.atom
        pen.atom = self.last_end = self.drawing.grow(pen.atom, drawn, angle, length)
        pen.angle, pen.heading, pen.last = angle, angle % 360, "bond"
        if self.source.peek() in ("", ")"):
            self.draw_atom(pen, "")
        return False

    def branch(self, pen: Pen, following: str, depth: int) -> None:
        """Draws the branch or ring that `(` or `*` starts, with a copy of the pen."""
        if pen.last == "bond":
            self.draw_atom(pen, "")
        inner = copy(pen)
        if pen.in_ring:
            inner.last = "ring atom"
            inner.ring = copy(pen.ring)
        inner.in_ring = following == "*"
        circle = self.ring_head(inner) if following == "*" else False
        offset = self.source.offset
        if not self.source.take_if("("):
            raise UnreadableMolecule(offset, "a '(' after the number of sides of a ring")
        self.group(inner, depth + 1, circle)
        if not self.source.take_if(")"):
            raise UnreadableMolecule(offset, "a ')' that closes this '('")

    def ring_head(self, pen: Pen) -> bool:
        """Takes `*n`, `**n` or `**[a,b]n` and sets the pen's ring; returns True if the ring has a circle."""
        self.source.take()
        circle = bool(self.source.take_if("*"))
        if circle:
            self.source.take_option()
        offset = self.source.offset
        number = self.source.take_number()
        if not number.isdecimal() or len(number) > 4 or not 3 <= int(number) <= MAX_RING_SIDES:
            raise UnreadableMolecule(offset, f"the number of sides of a ring, 3 to {MAX_RING_SIDES}")
        if pen.last == "ring atom" and pen.ring is not None:
            turn = 360 / pen.ring.sides - 180
        else:
            turn = -90.0 if not self.bond_arrived else -180 / int(number) - 90
        pen.ring = Ring(int(number), pen.atom, turn)
        return circle

    def draw_circle(self, pen: Pen) -> None:
        """Draws the circle of a ring that has no sides yet, bonded to the atom where the ring starts."""
        assert pen.ring is not None
        half = 180 / pen.ring.sides
        radius = pen.default_length / (2 * math.sin(math.radians(half)))
        self.drawing.grow(pen.ring.root, CIRCLE_BOND, pen.angle + pen.ring.turn + half + 90, radius, CIRCLE)

    def skip_to_end(self) -> None:
        """Skips what follows the last side of a ring, which the package does not draw."""
        while (character := self.source.peek()) not in ("", ")"):
            if character in "({":
                self.source.take_enclosed()
            elif character == "\\":
                self.source.take_match(COMMAND)
            else:
                self.source.take()

    def read_angle(self, text: str, offset: int, pen: Pen) -> float:
        """Returns degrees: `:a` is absolute, `::a` relative to the last bond, `n` predefined; empty: the default."""
        if not text:
            return pen.default_angle
        if text.startswith("::"):
            return (pen.angle + read_number(text[2:], offset, "an angle", MAX_ANGLE)) % 360
        if text.startswith(":"):
            return read_number(text[1:], offset, "an angle", MAX_ANGLE) % 360
        return read_number(text, offset, "a predefined angle", MAX_ANGLE) * self.angle_increment % 360

    def read_length(self, text: str, offset: int, pen: Pen) -> float:
        """Returns the length of a bond, 0 or more; empty: the default."""
        length = read_number(text, offset, "a length", MAX_LENGTH) if text else pen.default_length
        if length < 0:
            raise UnreadableMolecule(offset, f"a length of 0 or more instead of {text[:40]!r}")
        return length

    def read_style(self, text: str, pen: Pen) -> Style:
        """Returns how a bond of that style is drawn; empty: the default."""
        if not text:
            return pen.default_style
        return "none" if "draw=none" in text.replace(" ", "") else "wavy" if "mcfwavy" in text else "plain"
