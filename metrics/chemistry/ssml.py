"""The reader of SSML, the normalised way of writing: tokens with blanks between them, every angle absolute.

    C H _ { 3 } -[:30.0,1.0] ?[a] branch( =[:90.0] O branch) -[:330.0] O H

Pieces of text join into the text of the current atom; `TYPE[:angle,length]` is a bond to a new atom; `branch(` and
`branch)` come back to the atom where they began; `?[a]` marks the current atom and `?[a,{-}]` closes a ring to it.
"""

from __future__ import annotations

import re

from metrics.budget import Budget
from metrics.chemistry.fields import LARGEST_ANGLE, read_length, read_number
from metrics.chemistry.molecule import Molecule
from metrics.chemistry.sketch import Hook, Sketch
from metrics.chemistry.unreadable import UnreadableMolecule

OPEN, CLOSE = "branch(", "branch)"
BOND_TYPES = (">:", "<:", ">|", "<|", "-:", "=_", "=^", "~/", "-", "=", "~", ">", "<")
BOND_TYPE = "|".join(re.escape(kind) for kind in BOND_TYPES)
BRACKETED_BOND = re.compile(rf"({BOND_TYPE})\[([^\[\]]*)\]\Z")
HOOK = re.compile(r"\?\[\s*([^,\[\]{}\s]*)\s*(?:,\s*([^\[\]]*))?\]\Z")
HOOK_BONDS = ("-", "=", "~", ">", "<", ">:", "<:", ">|", "<|")
"""Bonds of hooks by number, from 1."""
PIECE = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)
TOKEN = re.compile(rf"branch[()]|\?(?:\[[^\[\]]*\])?|(?:{BOND_TYPE})(?:\[[^\[\]]*\]?)?|\\[A-Za-z]+|\\.|\S", re.DOTALL)


def is_ssml(text: str) -> bool:
    """Whether the content of a region looks like SSML: its own words, or nothing that only raw Chemfig has.

    Raw Chemfig with blanks everywhere shows in bonds without brackets of their own, in `(`, `*` and `[` that
    start a branch, a ring and options, and in tokens of several characters.
    """
    tokens = text.split()
    if any(token in (OPEN, CLOSE, "\\circle") for token in tokens):
        return True
    depth = 0
    for number, token in enumerate(tokens):
        depth += (token == "{") - (token == "}")
        if depth > 0 or BRACKETED_BOND.match(token) or HOOK.match(token):
            continue
        following = tokens[number + 1] if number + 1 < len(tokens) else ""
        if token in BOND_TYPES or token in "*[" or (token == "(" and re.match(r"[-=~<>*(\[]", following)):
            return False
        if not PIECE.fullmatch(token):
            return False
    return True


def read_ssml(text: str, budget: Budget) -> Molecule:
    """Returns the molecule of a region's content; branches that are still open at the end are closed.

    Raises UnreadableMolecule where a branch is closed that none opened, or a bond or a hook is malformed.
    """
    reader = _SsmlReader()
    for match in TOKEN.finditer(text):
        budget.spend(len(match.group()))
        reader.take(match.group(), match.start())
    return reader.sketch.finish(budget)


class _SsmlReader:
    def __init__(self) -> None:
        self.sketch = Sketch()
        self.atom: int | None = None
        self.finished = False
        self.branches: list[int] = []
        self.braces = 0

    def take(self, token: str, offset: int) -> None:
        """Draws what one token says."""
        self.braces += (token == "{") - (token == "}")
        if token == OPEN:
            self.branches.append(self.current())
        elif token == CLOSE:
            if not self.branches:
                raise UnreadableMolecule(offset, f"a {OPEN!r} before this {CLOSE!r}")
            self.atom = self.branches.pop()
            self.finished = True
        elif self.braces <= 0 and token.startswith("?"):
            self.hook(token, offset)
        elif self.braces <= 0 and (token in BOND_TYPES or re.match(rf"({BOND_TYPE})\[", token)):
            self.bond(token, offset)
        else:
            atom = self.writable()
            self.sketch.texts[atom] += f" {token}"

    def current(self) -> int:
        """The current atom; at the start, a new one."""
        if self.atom is None:
            self.atom = self.sketch.place(0.0, 0.0)
        return self.atom

    def writable(self) -> int:
        """The atom that takes text and hooks: the current one, or beside it a new one once its branches are done."""
        if self.finished:
            self.atom = self.sketch.write_beside(self.current(), "")
            self.finished = False
        return self.current()

    def bond(self, token: str, offset: int) -> None:
        """Draws a bond and goes to the new atom at its end."""
        match = BRACKETED_BOND.match(token)
        if not match and token not in BOND_TYPES:
            raise UnreadableMolecule(offset, f"a bond such as -[:30.0,1.0] instead of {token[:40]!r}")
        angle, length = 0.0, 1.0
        kind = match.group(1) if match else token
        if match:
            numbers = match.group(2).split(",")
            angle_text = numbers[0].strip().removeprefix(":")
            if angle_text:
                angle = read_number(angle_text, offset, "an angle in degrees", LARGEST_ANGLE)
            if len(numbers) > 1 and numbers[1].strip():
                length = read_length(numbers[1], offset)
        self.atom = self.sketch.grow(self.current(), kind.rstrip("_^"), angle, length)
        self.finished = False

    def hook(self, token: str, offset: int) -> None:
        """Sets a hook on the current atom."""
        name, kind = read_hook(token, offset)
        self.sketch.hooks.append(Hook(name, self.writable(), kind))


def read_hook(token: str, offset: int) -> tuple[str, str]:
    """Returns the name and the bond type of `?`, `?[name]`, `?[name,bond]` or `?[name,bond,style]`.

    The name is `a` and the bond `-` where none is given; a bond may be a number from 1 to 9.

    Raises UnreadableMolecule where it is no hook.
    """
    match = HOOK.match(token) if token != "?" else HOOK.match("?[]")
    if not match:
        raise UnreadableMolecule(offset, f"a hook such as ?[a] or ?[a,{{-}}] instead of {token[:40]!r}")
    kind = (match.group(2) or "").split(",")[0].strip().strip("{}").strip().rstrip("_^") or "-"
    if kind.isdecimal() and 1 <= int(kind) <= len(HOOK_BONDS):
        kind = HOOK_BONDS[int(kind) - 1]
    if kind not in BOND_TYPES:
        raise UnreadableMolecule(offset, f"a bond or a number from 1 to 9 in the hook instead of {kind[:40]!r}")
    return match.group(1) or "a", kind
