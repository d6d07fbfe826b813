"""Removes the comments of LaTeX text, and finds where each of its brackets is closed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .molecule import UnreadableMolecule

_BRACKET = re.compile(r"\\.|[{}()\[\]]", re.DOTALL)
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*|\\[A-Za-z]+)%[^\n]*\n")
_TEXT = r"[^{}\\]*(?:\\[^{}][^{}\\]*)*"
_FLAT_GROUP = re.compile(rf"\[[^\[\]{{}}\\]*\]|\{{{_TEXT}(?:\{{{_TEXT}\}}{_TEXT})*\}}")
"""Matches `[...]` without nested brackets, or `{...}` with at most one nested level of braces: most groups."""
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_OPENING = {"]": "[", ")": "("}


def without_comments(text: str) -> tuple[str, Sequence[int]]:
    r"""Returns the text without its comments, and the index in `text` of each remaining character and of the end.

    A comment runs from `%` through the line break; on the last line, which has none, `%` begins no comment. A blank
    replaces a comment right after a command, which keeps the command apart from what follows.

    >>> without_comments("a%b\n\\c%d\ne")
    ('a\\c e', [0, 4, 5, 6, 9, 10])
    """
    if "%" not in text:
        return text, range(len(text) + 1)
    kept: list[str] = []
    offsets: list[int] = []
    position = 0
    # There is no comment after the last line break: looking for one at each `%` would be quadratic.
    for match in _COMMENT.finditer(text, 0, text.rfind("\n") + 1):
        kept.append(text[position : match.end(1)])
        offsets += range(position, match.end(1))
        if match[1][-1:].isalpha():
            kept.append(" ")
            offsets.append(match.end(1))
        position = match.end()
    return "".join(kept) + text[position:], [*offsets, *range(position, len(text) + 1)]


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
