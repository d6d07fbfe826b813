"""The delimiters of displayed formulas in a text, told apart from inline mathematics and verbatim text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ...common.budget import Budget
from .content import DISPLAYED
from .verbatim import COMMANDS, Verbatim

_ENVIRONMENT = r"\\(?P<edge>begin|end)\s*\{\s*(?P<name>[A-Za-z]+\*?)\s*\}"
_MARK = re.compile(rf"{_ENVIRONMENT}|\\(?:[A-Za-z@]+|.)|\$+|\n[ \t\r>]*\n[\s>]*", re.DOTALL)

MAX_MARKDOWN_INLINE = 2_000
"""Inline mathematics of Markdown has at most this many characters; a `$` without a partner may be a price."""

_STEPS_OF_DELIMITER = 20

Role = Literal["dollars", "open", "close", "blank"]


@dataclass(frozen=True, slots=True)
class Delimiter:
    """A delimiter of displayed formulas, or a blank line; one of a quote in Markdown has a `>`.

    role: `dollars` for `$$`, which may open or close; `blank` for a blank line with the white space after it.
    name: `[` for `\\[` and `\\]`, or the name of the environment.
    """

    role: Role
    start: int
    end: int
    name: str = ""


def delimiters(text: str, budget: Budget, start: int = 0, *, markdown: bool = False) -> list[Delimiter]:
    """Returns the delimiters and blank lines of `text` from `start` on, in order.

    A single `$` opens inline mathematics up to the next `$` of its paragraph, unless a displayed formula opens
    before; a `$$` between two such stretches (`$a$$b$`) ends one and begins the next. A `$` without a partner is
    for itself. With `markdown`, inline mathematics has no blank behind its first `$` or before its last, no digit
    after it, and at most 2,000 characters; without, verbatim stretches are passed over. The time is linear in the
    length; each delimiter costs 20 steps of the budget, for all that is to be done with it.
    """
    return _Finder(text, budget, start, markdown).found()


class _Finder:
    def __init__(self, text: str, budget: Budget, start: int, markdown: bool) -> None:
        self._text = text
        self._budget = budget
        self._position = start
        self._markdown = markdown
        self._verbatim = Verbatim(text)
        self._found: list[Delimiter] = []
        self._inline = -1
        """Where the inline mathematics opens that is not closed yet; -1 where none is open."""
        self._doubtful: list[Delimiter] = []
        """The `$$` since then that displayed formulas own if no `$` closes the inline mathematics."""

    def found(self) -> list[Delimiter]:
        while mark := _MARK.search(self._text, self._position):
            self._position = mark.end()
            token = mark.group()
            if token[0] == "$":
                self._dollars(mark.start(), mark.end())
            elif token[0] == "\n":
                self._keep(Delimiter("blank", mark.start(), mark.end()))
            elif mark.group("edge") and mark.group("name") in DISPLAYED:
                role: Role = "open" if mark.group("edge") == "begin" else "close"
                self._keep(Delimiter(role, mark.start(), mark.end(), mark.group("name")))
            elif token in ("\\[", "\\]"):
                self._keep(Delimiter("open" if token == "\\[" else "close", mark.start(), mark.end(), "["))
            elif not self._markdown and (token in COMMANDS or mark.group("edge") == "begin"):
                self._position = self._verbatim.end(mark.start()) or mark.end()
        self._abandon_inline()
        return self._found

    def _keep(self, delimiter: Delimiter) -> None:
        self._budget.spend(_STEPS_OF_DELIMITER)
        self._abandon_inline()
        self._found.append(delimiter)

    def _abandon_inline(self) -> None:
        self._found += self._doubtful
        self._doubtful = []
        self._inline = -1

    def _dollars(self, start: int, end: int) -> None:
        """Takes a run of dollars: closes what is open, and opens what the rest of the run opens."""
        if self._inline >= 0 and self._closes_inline(start, single=end - start == 1):
            if end - start == 2:
                self._budget.spend(_STEPS_OF_DELIMITER)
                self._doubtful.append(Delimiter("dollars", start, end))
                if self._opens_inline(end - 1):
                    self._inline = end - 1
                else:
                    self._abandon_inline()
                return
            self._doubtful = []
            self._inline = -1
            start += 1
        elif self._inline >= 0:
            self._abandon_inline()
        while end - start >= 2:
            self._keep(Delimiter("dollars", start, start + 2))
            start += 2
        if start < end and self._opens_inline(start):
            self._inline = start

    def _opens_inline(self, dollar: int) -> bool:
        after = self._text[dollar + 1 : dollar + 2]
        return not self._markdown or bool(after.strip())

    def _closes_inline(self, dollar: int, single: bool) -> bool:
        if not self._markdown:
            return True
        before, after = self._text[dollar - 1], self._text[dollar + 1 : dollar + 2]
        near = dollar - self._inline <= MAX_MARKDOWN_INLINE
        return near and not before.isspace() and not (single and after.isdigit())
