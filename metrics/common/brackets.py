"""Brackets of LaTeX text: where they are, and where each one is closed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_COMMENT = r"%[^\n]*\n"
_SHIELDED = r"\\.?"
_BRACKET = re.compile(rf"{_SHIELDED}|([{{}}()\[\]])", re.DOTALL)
_BRACKET_OR_COMMENT = re.compile(rf"{_SHIELDED}|{_COMMENT}|([{{}}()\[\]])", re.DOTALL)
_BRACE = re.compile(rf"{_SHIELDED}|([{{}}])", re.DOTALL)
_BRACE_OR_COMMENT = re.compile(rf"{_SHIELDED}|{_COMMENT}|([{{}}])", re.DOTALL)
_BARE_BRACE = re.compile(r"[{}]")

CLOSING = {"{": "}", "[": "]", "(": ")"}


def brackets(text: str, start: int = 0) -> Iterator[tuple[str, int]]:
    """Yields each bracket of `text` from `start` on with its index; those that are escaped or in comments are hidden.

    A comment runs from `%` to the end of its line; without such an end, `%` begins none.

    >>> list(brackets(r"{\\{}%[\n]"))
    [('{', 0), ('}', 3), (']', 7)]
    """
    return _found(text, start, _BRACKET_OR_COMMENT, _BRACKET)


def _found(
    text: str, start: int, beside_comments: re.Pattern[str], pattern: re.Pattern[str]
) -> Iterator[tuple[str, int]]:
    position = start
    if "%" in text:
        # Beyond the last line end there is no comment: looking for one at each `%` would be quadratic.
        for match in beside_comments.finditer(text, start, text.rfind("\n") + 1):
            position = match.end()
            if match.lastindex:
                yield match[1], match.start()
    for match in pattern.finditer(text, position):
        if match.lastindex:
            yield match[1], match.start()


def brace_ends(text: str) -> dict[int, int]:
    """Returns for the index of each `{` that is closed the index after the `}` that closes it.

    >>> brace_ends("{a{b}")
    {2: 5}
    """
    ends: dict[int, int] = {}
    opened: list[int] = []
    if "%" in text or "\\{" in text or "\\}" in text:
        braces: Iterable[tuple[str, int]] = _found(text, 0, _BRACE_OR_COMMENT, _BRACE)
    else:
        braces = [(match[0], match.start()) for match in _BARE_BRACE.finditer(text)]
    for character, index in braces:
        if character == "{":
            opened.append(index)
        elif opened:
            ends[opened.pop()] = index + 1
    return ends


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
