"""LaTeX text without its comments, and its brackets: where they are, and where each one is closed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .molecule import UnreadableMolecule

_BRACKET = re.compile(r"\\.|[{}()\[\]]", re.DOTALL)
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*|\\[A-Za-z]+)%[^\n]*\n")
_TEXT = r"[^{}\\]*(?:\\[^{}][^{}\\]*)*"
_FLAT_GROUP = re.compile(rf"\[[^\[\]{{}}\\]*\]|\{{{_TEXT}(?:\{{{_TEXT}\}}{_TEXT})*\}}")
"""Brackets that hide none of their kind, and at most one more level of braces; most are found by this alone."""
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_OPENING = {"]": "[", ")": "("}


def without_comments(text: str) -> tuple[str, Sequence[int]]:
    r"""Returns the text without its comments, and the index in `text` of each character that is left and of the end.

    A comment runs from `%` to the end of its line and takes that with it; without such an end, `%` begins none. A
    command before it does not run into what follows.

    >>> without_comments("a%b\n\\c%d\ne")
    ('a\\c e', [0, 4, 5, 6, 9, 10])
    """
    if "%" not in text:
        return text, range(len(text) + 1)
    kept: list[str] = []
    offsets: list[int] = []
    position = 0
    # Beyond the last line end there is no comment: looking for one at each `%` would be quadratic.
    for match in _COMMENT.finditer(text, 0, text.rfind("\n") + 1):
        kept.append(text[position : match.end(1)])
        offsets += range(position, match.end(1))
        if match[1][-1:].isalpha():
            kept.append(" ")
            offsets.append(match.end(1))
        position = match.end()
    return "".join(kept) + text[position:], [*offsets, *range(position, len(text) + 1)]


def bracket_ends(text: str) -> dict[int, int]:
    """Returns for each bracket that is closed the index after what closes it.

    Braces hide brackets of other kinds; an escaped bracket is none.
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
    """The ends of the brackets of a text, computed on demand; `offsets` are the positions of characters."""

    def __init__(self, text: str, offsets: Sequence[int]) -> None:
        self._text = text
        self._offsets = offsets
        self._ends: dict[int, int] | None = None

    def of(self, start: int) -> int:
        """Returns the index after what closes the bracket at `start`; raises UnreadableMolecule if nothing does."""
        if self._ends is None:
            if flat := _FLAT_GROUP.match(self._text, start):
                return flat.end()
            self._ends = bracket_ends(self._text)
        if start not in self._ends:
            opening = self._text[start]
            raise UnreadableMolecule(self._offsets[start], f"a {_CLOSING[opening]!r} that closes this {opening!r}")
        return self._ends[start]


def match_end(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Returns where the match of `pattern` at `position` ends; `position` where there is none."""
    match = pattern.match(text, position)
    return match.end() if match else position
