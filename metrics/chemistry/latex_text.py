"""LaTeX text made comparable: one sequence of tokens for all ways to write what prints the same.

Blanks, spacing and changes of style are dropped, braces stay only around arguments, `_2` is `_ { 2 }`, a subscript
comes before a superscript, and text above and below an arrow is written in one way. Both sides of a comparison go
through it, so molecules and lines in the competition's normalised form (which is such a form already) keep the
competition tool's verdicts, and hand-written LaTeX can be compared with them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Union

from . import symbols

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\S", re.DOTALL)
STACKS = ("\\overset", "\\underset", "\\stackrel")
MAX_GROUP_DEPTH = 60
"""Braces nested deeper than this are text; nobody writes them, and they must not exhaust the stack."""

Node = Union[str, "list[Node]"]


def tokenize(text: str) -> list[str]:
    """Returns the tokens of LaTeX text: commands and single characters, without blanks; full-width forms narrowed."""
    return [_narrow(token) for token in TOKEN.findall(text)]


def normalize(tokens: Iterable[str]) -> tuple[str, ...]:
    """Returns the comparable form of `tokens`; nothing of nothing. It never fails: stray braces are dropped."""
    return tuple(_written(_tree(tokens)))


def _narrow(token: str) -> str:
    return unicodedata.normalize("NFKC", token) if "！" <= token <= "～" else token


def _tree(tokens: Iterable[str]) -> list[Node]:
    root: list[Node] = []
    open_groups = [root]
    for token in tokens:
        for part in symbols.SYNONYMS[token].split() if token in symbols.SYNONYMS else (token,):
            if part == "{" and len(open_groups) <= MAX_GROUP_DEPTH:
                group: list[Node] = []
                open_groups[-1].append(group)
                open_groups.append(group)
            elif part == "}":
                if len(open_groups) > 1:
                    open_groups.pop()
            else:
                open_groups[-1].append(part)
    return root


@dataclass(slots=True)
class _Reader:
    """A place in a list of nodes."""

    nodes: Sequence[Node]
    position: int = 0
    option_ends: dict[int, int] | None = None

    def argument(self) -> list[Node]:
        """Takes the next node as an argument; the empty list where there is none."""
        if self.position >= len(self.nodes):
            return []
        node = self.nodes[self.position]
        self.position += 1
        return node if isinstance(node, list) else [node]

    def option(self) -> list[Node]:
        """Takes `[...]` where it is next; else the empty list."""
        if self.position >= len(self.nodes) or self.nodes[self.position] != "[":
            return []
        if self.option_ends is None:
            self.option_ends = _option_ends(self.nodes)
        if self.position not in self.option_ends:
            return []
        end = self.option_ends[self.position]
        inside = list(self.nodes[self.position + 1 : end])
        self.position = end + 1
        return inside


def _option_ends(nodes: Sequence[Node]) -> dict[int, int]:
    """The index of the `]` for each `[` that is closed."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for number, node in enumerate(nodes):
        if node == "[":
            opened.append(number)
        elif node == "]" and opened:
            ends[opened.pop()] = number
    return ends


def _written(nodes: Sequence[Node]) -> list[str]:
    written: list[str] = []
    superscripts: list[str] = []
    for piece in _pieces(nodes):
        if piece[0] == "^":
            superscripts += piece
        elif piece[0] == "_":
            written += piece
        else:
            written += superscripts + piece
            superscripts = []
    return written + superscripts


def _pieces(nodes: Sequence[Node]) -> Iterator[list[str]]:
    """Yields symbols and commands with their arguments; those of a group as if it had no braces."""
    reader = _Reader(nodes)
    while reader.position < len(nodes):
        node = nodes[reader.position]
        reader.position += 1
        if isinstance(node, list):
            yield from _pieces(node)
        elif piece := _written_token(node, reader):
            yield piece


def _written_token(token: str, reader: _Reader) -> list[str]:
    if token in symbols.UNPRINTED:
        return []
    if token in symbols.SPACING_WITH_LENGTH or token == symbols.COLOUR:
        reader.argument()
        return []
    if token == symbols.COLOURED:
        reader.argument()
        return _written(reader.argument())
    if token in STACKS or token in symbols.STACKED_ARROWS:
        return _stack(token, reader)
    if token in symbols.ABOVE or token in symbols.BELOW:
        reader.option()
        first, second = _braced(reader.argument()), _braced(reader.argument())
        return ["\\Chemabove", *(second + first if token in symbols.BELOW else first + second)]
    if token in symbols.CHARGES:
        reader.option()
        return ["\\charge", "{", *_charges(reader.argument()), "}", *_braced(reader.argument())]
    return [token, *(part for _ in range(symbols.ARGUMENTS.get(token, 0)) for part in _braced(reader.argument()))]


def _braced(argument: Sequence[Node]) -> list[str]:
    return ["{", *_written(argument), "}"]


def _charges(argument: Sequence[Node]) -> list[str]:
    """The charges around an atom, `ANGLE[:DISTANCE]=SIGN`, by growing text: their order prints the same."""
    text = " ".join(_flat(argument))
    return [token for charge in sorted(text.split(" , ")) for token in (*charge.split(" "), ",")][:-1]


def _flat(nodes: Sequence[Node]) -> list[str]:
    return [token for node in nodes for token in (_flat(node) if isinstance(node, list) else [node])]


def _stack(token: str, reader: _Reader) -> list[str]:
    """Writes a symbol with text above and below as `\\underset { below } { \\overset { above } { symbol } }`."""
    above, below, base = _layers(token, reader)
    if above:
        base = ["\\overset", "{", *above, "}", "{", *base, "}"]
    if below:
        base = ["\\underset", "{", *below, "}", "{", *base, "}"]
    return base


def _layers(token: str, reader: _Reader) -> tuple[list[str], list[str], list[str]]:
    """What is above, below and in the middle of a stack; a stack in the middle is taken apart, too."""
    if token in symbols.STACKED_ARROWS:
        below = _written(reader.option())
        return _written(reader.argument()), below, [symbols.STACKED_ARROWS[token]]
    outer = _written(reader.argument())
    middle: Node = _tree(_written(reader.argument()))
    under, middle = _peeled(middle, "\\underset")
    above, middle = _peeled(middle, "\\overset")
    base = _serialized(middle)
    return (above, outer + under, base) if token == "\\underset" else (outer + above, under, base)


def _peeled(nodes: Node, command: str) -> tuple[list[str], Node]:
    """What `nodes` put above or below their middle, and the middle, where they are `command` and nothing else."""
    if len(nodes) == 3 and nodes[0] == command:
        return _serialized(nodes[1]), nodes[2]
    return [], nodes


def _serialized(node: Node) -> list[str]:
    """The tokens of what has been written before, a group in its braces; the outermost group without."""
    if isinstance(node, str):
        return [node]
    tokens: list[str] = []
    for inner in node:
        tokens += ["{", *_serialized(inner), "}"] if isinstance(inner, list) else [inner]
    return tokens
