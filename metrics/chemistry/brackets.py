"""Finds where each bracket of LaTeX text is closed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .molecule import UnreadableMolecule

_BRACKET = re.compile(r"\\.|[{}()\[\]]", re.DOTALL)
_TEXT = r"[^{}\\]*(?:\\[^{}][^{}\\]*)*"
_FLAT_GROUP = re.compile(rf"\[[^\[\]{{}}\\]*\]|\{{{_TEXT}(?:\{{{_TEXT}\}}{_TEXT})*\}}")
"""Matches `[...]` without nested brackets, or `{...}` with at most one nested level of braces: most groups."""
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_OPENING = {"]": "[", ")": "("}


def bracket_ends(text: str) -> dict[int, int]:
    """Returns the index after the closing bracket, by the index of the opening one; unclosed brackets are left out.

    Square brackets and parentheses only pair up within the same braces; escaped brackets are ignored.
    """
    ends: dict[int, int] = {}
    groups: list[tuple[int, dict[str, list[int]]]] = [(-1, {"[": [], "(": []})]
    for match in _BRACKET.finditer(text):
        character, index = match[0], match.start()
        begin, opened = groups[-1]
        if character == "{":
            groups.append((index, {"[": [], "(": []}))
        elif character == "}":
            groups.pop()
            if begin < 0:
                groups.append((-1, {"[": [], "(": []}))
            else:
                ends[begin] = index + 1
        elif character in opened:
            opened[character].append(index)
        elif character in _OPENING and opened[_OPENING[character]]:
            ends[opened[_OPENING[character]].pop()] = index + 1
    return ends


class BracketEnds:
    """Finds the ends of a text's brackets on demand; `offsets` has each character's position, for errors."""

    def __init__(self, text: str, offsets: Sequence[int]) -> None:
        self._text = text
        self._offsets = offsets
        self._ends: dict[int, int] | None = None

    def of(self, start: int) -> int:
        """Returns the index after the bracket that closes the one at `start`; UnreadableMolecule if none does."""
        if self._ends is None:
            if flat := _FLAT_GROUP.match(self._text, start):
                return flat.end()
            self._ends = bracket_ends(self._text)
        if start not in self._ends:
            opening = self._text[start]
            raise UnreadableMolecule(self._offsets[start], f"a {_CLOSING[opening]!r} that closes this {opening!r}")
        return self._ends[start]


def match_end(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Returns the end of the match of `pattern` at `position`; `position` if there is no match."""
    match = pattern.match(text, position)
    return match.end() if match else position
