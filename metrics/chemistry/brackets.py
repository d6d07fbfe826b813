"""Brackets of LaTeX text: where they are, and where each one is closed."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BRACKET = re.compile(r"\\.?|([{}()\[\]])", re.DOTALL)
_BRACKET_OR_COMMENT = re.compile(rf"%[^\n]*\n|{_BRACKET.pattern}", re.DOTALL)
_FLAT_GROUP = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
"""A pair of braces with at most one more level of braces within."""

CLOSING = {"{": "}", "[": "]", "(": ")"}


def brackets(text: str, start: int = 0) -> Iterator[tuple[str, int]]:
    """Yields each bracket of `text` from `start` on with its index; those that are escaped or in comments are hidden.

    A comment runs from `%` to the end of its line; without such an end, `%` begins none.

    >>> list(brackets(r"{\\{}%[\n]"))
    [('{', 0), ('}', 3), (']', 7)]
    """
    # Beyond the last line end there is no comment: looking for one at each `%` would be quadratic.
    last_line = text.rfind("\n") + 1 if "%" in text else 0
    for match in _BRACKET_OR_COMMENT.finditer(text, start, last_line):
        start = match.end()
        if match.lastindex:
            yield match[1], match.start()
    for match in _BRACKET.finditer(text, start):
        if match.lastindex:
            yield match[1], match.start()


class BracketEnds:
    """Where the braces and square brackets of a line end, found as far as they are asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_plain = not ("%" in text or "\\{" in text or "\\}" in text)
        self._ends: dict[int, int] | None = None

    def of(self, start: int) -> int | None:
        """Returns the index after what closes the bracket at `start`; None where nothing does."""
        flat = _FLAT_GROUP.match(self._text, start) if self._is_plain else None
        if flat is not None:
            return flat.end()
        if self._ends is None:
            self._ends = bracket_ends(self._text)
        return self._ends.get(start)


def bracket_ends(text: str) -> dict[int, int]:
    """Returns for each `{` and `[` that is closed the index after what closes it; braces hide square brackets.

    The same as `end_of_enclosed` for each of them, in one pass, but where a `}` closes no brace: here a square bracket
    that is open ends there without being closed, there the next `{` makes up for it.
    """
    ends: dict[int, int] = {}
    opened: list[tuple[str, int]] = []
    for character, index in brackets(text):
        if character in "{[":
            opened.append((character, index))
        elif character == "]" and opened and opened[-1][0] == "[":
            ends[opened.pop()[1]] = index + 1
        elif character == "}":
            while opened and opened[-1][0] == "[":
                opened.pop()
            if opened:
                ends[opened.pop()[1]] = index + 1
    return ends


def end_of_enclosed(text: str, start: int) -> int | None:
    """Returns the index after the bracket that closes the one at `start`; None where nothing closes it.

    Braces hide brackets of the other kinds.
    """
    opening = text[start]
    closing = CLOSING[opening]
    depth = braces = 0
    for character, index in brackets(text, start):
        if opening != "{" and character in "{}":
            braces += 1 if character == "{" else -1
        elif not braces and character in (opening, closing):
            depth += 1 if character == opening else -1
            if depth == 0:
                return index + 1
    return None
