"""Brackets of LaTeX text: where they are, and where each one is closed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .molecule import UnreadableMolecule

_BRACKET = re.compile(r"\\.?|([{}()\[\]])", re.DOTALL)
_BRACKET_OR_COMMENT = re.compile(rf"%[^\n]*\n|{_BRACKET.pattern}", re.DOTALL)
_TEXT = r"[^{}\\]*(?:\\[^{}][^{}\\]*)*"
_FLAT_GROUP = re.compile(rf"\[[^\[\]{{}}\\]*\]|\{{{_TEXT}(?:\{{{_TEXT}\}}{_TEXT})*\}}")
"""In a text without comments, brackets that hide none of their kind, and at most one more level of braces."""
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_OPENING = {"]": "[", ")": "("}


def brackets(text: str) -> Iterator[tuple[str, int]]:
    """Yields each bracket of `text` with its index; those that are escaped or in comments are hidden.

    A comment runs from `%` to the end of its line; without such an end, `%` begins none.

    >>> list(brackets(r"{\\{}%[\n]"))
    [('{', 0), ('}', 3), (']', 7)]
    """
    # Beyond the last line end there is no comment: looking for one at each `%` would be quadratic.
    last_line = text.rfind("\n") + 1 if "%" in text else 0
    start = 0
    for match in _BRACKET_OR_COMMENT.finditer(text, 0, last_line):
        start = match.end()
        if match.lastindex:
            yield match[1], match.start()
    for match in _BRACKET.finditer(text, start):
        if match.lastindex:
            yield match[1], match.start()


def bracket_ends(text: str) -> dict[int, int]:
    """Returns for each bracket that is closed the index after what closes it; braces hide brackets of other kinds."""
    ends: dict[int, int] = {}
    groups: list[tuple[int, dict[str, list[int]]]] = [(-1, {"[": [], "(": []})]
    for character, index in brackets(text):
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
        elif opened[_OPENING[character]]:
            ends[opened[_OPENING[character]].pop()] = index + 1
    return ends


class BracketEnds:
    """Where the brackets of a text end, found as far as they are asked for; `offsets` are the places of characters."""

    def __init__(self, text: str, offsets: Sequence[int]) -> None:
        self._text = text
        self._offsets = offsets
        self._ends = bracket_ends(text) if "%" in text else None

    def of(self, start: int) -> int:
        """Returns the index after what closes the bracket at `start`; raises UnreadableMolecule where nothing does."""
        if self._ends is None:
            flat = _FLAT_GROUP.match(self._text, start)
            if flat is not None:
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
