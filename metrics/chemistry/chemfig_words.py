"""The words of raw Chemfig: a group of atoms with its hooks, and a bond with what is in its brackets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..common.budget import Budget
from .chemfig_source import ChemfigSource
from .fields import NO_FIELDS, read_hook, split_fields
from .molecule import CIRCLE
from .unreadable import UnreadableMolecule

BOND_STARTS = "-=~<>"
ENDS_OF_GROUP = frozenset(("", "(", ")", "*", *BOND_STARTS))
"""What ends a group of atoms."""
SIMPLE_BOND = re.compile(r"([-=~<>])(?:\[([^\[\]{}\\%]*)\]|(?![\s\[^_:|#@]))")
"""A bond without decorations: its brackets with nothing in them that could hide their end, or without brackets."""
PLAIN_TEXT = re.compile(r"[A-Za-z0-9_^,.+]+")
"""Characters of a group of atoms that mean themselves."""
DECORATIONS = frozenset("^_:|#@")
"""What may follow the first character of a bond, before its brackets."""
OPTIONAL_ARGUMENT = ("\\chemabove", "\\Chemabove", "\\chembelow", "\\Chembelow", "\\charge", "\\Charge")
DRAWN_CIRCLE = "\\mcfcringle"
Hook = tuple[str, str]
"""The name and the bond of a hook."""


def take_atoms(source: ChemfigSource, angle: float, budget: Budget) -> tuple[str, Sequence[Hook]]:
    """Takes a group of atoms: its text, a blank between its pieces, and the hooks on it.

    `angle` is the direction of the bond before it, in degrees.

    Raises UnreadableMolecule where something in it is malformed.
    """
    text: list[str] = []
    hooks: list[Hook] = []
    plain = PLAIN_TEXT.match(source.text, source.position)
    if plain is not None and budget.left >= len(plain[0]):
        budget.spend(len(plain[0]))
        source.position = end = plain.end()
        if source.text[end : end + 1] in ENDS_OF_GROUP:
            return " ".join(plain[0]), ()
        text += plain[0]
    while (character := source.peek()) not in ENDS_OF_GROUP:
        budget.spend(1)
        if character == "!":
            budget.spend(len(source.text))
            source.expand_submolecule(90 < angle % 360 < 270)
        elif character == "{":
            text.append(f"{{{source.take_enclosed()}}}")
        elif character == "\\":
            text += _command(source, budget)
        elif character == "?":
            hooks.append(_hook(source))
        elif character == "@":
            _take_mark(source)
        elif character == "}":
            raise UnreadableMolecule(source.offset, "a '{' that this '}' closes")
        elif source.take() != "|":
            text.append(character)
    return " ".join(text), hooks


def _command(source: ChemfigSource, budget: Budget) -> list[str]:
    """Takes a command with its arguments, as text; `\\chemfig{...}` stands for its content."""
    start = source.position
    command = source.take_command()
    if command in OPTIONAL_ARGUMENT and source.peek() == "[":
        source.take_enclosed()
    if command == "\\chemfig" and source.peek() == "{":
        budget.spend(len(source.text))
        source.splice(start, source.take_enclosed())
        return []
    if command == DRAWN_CIRCLE:
        if source.peek() == "{":
            source.take_enclosed()
        return [CIRCLE]
    return [] if command == "\\chemskipalign" else [command]


def _hook(source: ChemfigSource) -> Hook:
    """Takes a hook `?` or `?[...]`: its name and its bond."""
    offset = source.offset
    source.position += 1
    inside = source.take_enclosed() if source.peek() == "[" else ""
    return read_hook(f"?[{inside}]", offset)


def _take_mark(source: ChemfigSource) -> None:
    """Takes `@{name}`, a mark for arrows, which draws nothing."""
    offset = source.offset
    source.position += 1
    if source.peek() != "{":
        raise UnreadableMolecule(offset, "a name in braces after '@'")
    source.take_enclosed()


def take_bond(source: ChemfigSource) -> tuple[str, int, Sequence[str]]:
    """Takes a bond with its brackets: its type, where the brackets are, and the fields in them.

    Raises UnreadableMolecule where they are not closed.
    """
    simple = SIMPLE_BOND.match(source.text, source.position)
    if simple is not None:
        source.position += 1
        offset = source.offset
        source.position = simple.end()
        return simple[1], offset, NO_FIELDS if simple[2] is None else split_fields(simple[2])
    kind = _bond_type(source)
    offset = source.offset
    return kind, offset, split_fields(source.take_enclosed()) if source.peek() == "[" else NO_FIELDS


def _bond_type(source: ChemfigSource) -> str:
    kind = source.take()
    following = source.peek()
    if following not in DECORATIONS:
        return kind
    if kind == "=" and following and following in "^_":
        source.take()
    elif kind in "<>" and following and following in ":|":
        kind += source.take()
    if source.peek() == "#" and source.text[source.position + 1 :].lstrip().startswith("("):
        source.take()
        source.skip_blanks()
        source.take_enclosed()
    if source.peek() == "@":
        _take_mark(source)
    return kind
