"""Where the displayed formulas of a text are, also where delimiters are missing or stray.

`\\[ \\]` and environments say whether they open or close, `$$` does not. An even number of `$$` is paired in order,
whatever is between them. An odd number has one that is forgotten or stray, which would turn all the rest inside out.
The stray one is then the one that leaves the most evidence for mathematics between the pairs.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ...common.budget import Budget
from .content import DISPLAYED

MAX_MARKDOWN_INLINE = 2_000
"""Inline mathematics of Markdown has at most this many characters; a `$` without a partner may be a price."""
MAX_EVIDENCE = 300
_EVIDENCE_OF_PIECE = 25
_EVIDENCE_OF_DISPLAY_WITHIN = 100
_EVIDENCE_OF_BLANK_LINE = -1_000
_RUNNING_WORDS = 2
_WORDS_OF_PROSE = 3
_STEPS_OF_DELIMITER = 20

_NAMES = "|".join(sorted(DISPLAYED))
_BLANK_LINE = re.compile(r"(?<![^\\]\\)\n[ \t\r>]*\n")
_BLANKS = " \t\r\n>"
_QUOTING = (
    "text|textrm|textbf|textit|textsf|texttt|textsc|textup|textnormal|mbox|hbox|intertext|shortintertext|mathrm|mathbf|"
    "mathit|mathsf|mathtt|operatorname|label|tag|begin|end"
)
_RUNNING = "(?:sub)*section|paragraph|cite[a-z]*|ref|eqref|item|footnote|caption|emph|url|href|noindent|par"
_LETTER = r"[^\W\d_]"
_PIECE = re.compile(
    rf"(?P<quoted>\\(?:{_QUOTING})\*?\s*\{{[^{{}}]*\}})"
    rf"|(?P<running>\\(?:{_RUNNING})(?![A-Za-z])|\$[^$]+\$|^[ \t]*\#{{1,6}}[ \t])"
    r"|(?P<sign>\\[A-Za-z]+|\\\\|[=+<>&]|[_^](?=\s*[{\\\w]))"
    r"|\\."
    rf"|(?P<word>(?<![\w\\{{^_@]){_LETTER}{{2,}}(?![\w}}^_{{(]))",
    re.DOTALL | re.MULTILINE,
)
_FIRST_IDEOGRAPH = "\u2e80"


def _delimiters(opening: str, closing: str, length: str, no_digit: str) -> re.Pattern[str]:
    """Matches delimiters, inline mathematics as a whole, and commands.

    A single `$` opens inline mathematics up to the next `$` of its paragraph, unless a displayed formula opens before;
    a `$$` between two such stretches (`$a$$b$`) ends one and begins the next.
    """
    inside = rf"(?:[^$\\\n]|\n(?![ \t\r>]*\n)|\\(?![\[\]]|(?:begin|end)\s*\{{\s*(?:{_NAMES})\*?\s*\}}).){length}"
    first, last = rf"\$(?!\$){opening}{inside}", rf"{closing}\$"
    return re.compile(
        rf"{first}(?:{last}{first})*{last}(?:(?!\$){no_digit}|(?=\$\$))"
        rf"|(?P<dollars>\$\$)|\\(?P<edge>begin|end)\s*\{{\s*(?P<name>{_NAMES})\*?\s*\}}|\\(?P<bracket>[\[\]])|\\.",
        re.DOTALL,
    )


_LATEX = _delimiters("", "", "*", "")
_MARKDOWN = _delimiters(r"(?!\s)", r"(?<!\s)", f"{{1,{MAX_MARKDOWN_INLINE}}}", r"(?!\d)")


class Display(NamedTuple):
    """A displayed formula: where it opens, where its content begins and ends, and where the text goes on.

    name: `$$`, `[` or the name of its environment without a star.
    """

    name: str
    offset: int
    start: int
    end: int
    after: int


class _Delimiter(NamedTuple):
    name: str
    start: int
    end: int


def displays(text: str, budget: Budget, start: int = 0, *, markdown: bool = False) -> list[Display]:
    """Returns the displayed formulas of `text` from `start` on, in order; one within another is part of it.

    `\\[` and environments nest and are closed by the next `\\]` or `\\end` of their kind, with or without a star (where
    none of the kind is open, by the end of any). One that is open is never closed if a `\\[` opens within a `\\[`, or
    if any delimiter opens after a blank line or three words in a row. What is not closed ends at the next blank line
    behind some content, at the next delimiter, at three words in a row, or at the end of the text, whichever comes
    first; behind a `$$` it is no formula where it reads as prose.

    In Markdown (`markdown`) inline mathematics has no blank behind its first `$` or before its last, no digit after it,
    and at most 2,000 characters. The time is that of sorting the delimiters; each costs 20 steps of the budget.
    """
    edges: list[int] = []
    dollars: list[_Delimiter] = []
    opened: list[_Delimiter] = []
    unclosed: list[_Delimiter] = []
    closed: list[Display] = []
    kinds: Counter[str] = Counter()
    previous = start
    for mark in (_MARKDOWN if markdown else _LATEX).finditer(text, start):
        name = mark["dollars"] or mark["name"] or (mark["bracket"] and "[")
        if not name:
            continue
        budget.spend(_STEPS_OF_DELIMITER)
        delimiter = _Delimiter(name, mark.start(), mark.end())
        edges.append(delimiter.start)
        if mark["edge"] == "end" or mark["bracket"] == "]":
            if kinds[name] or (opened and "[" not in (name, opened[-1].name)):
                wanted = name if kinds[name] else opened[-1].name
                while opening := opened.pop():
                    kinds[opening.name] -= 1
                    if opening.name == wanted:
                        closed.append(_between(opening, delimiter))
                        break
        else:
            if opened and (name == "[" == opened[-1].name or _is_text(text[previous : delimiter.start])):
                unclosed += opened
                opened.clear()
                kinds.clear()
            if mark["dollars"]:
                dollars.append(delimiter)
            else:
                opened.append(delimiter)
                kinds[name] += 1
        previous = delimiter.end
    closed = _outermost(closed)
    ends = [0, *(each.after for each in closed)]
    offsets = [each.offset for each in closed]
    dollars = [each for each in dollars if each.start >= ends[bisect_right(offsets, each.start)]]
    cut = [_cut(text, each, edges) for each in (*unclosed, *opened)]
    if len(dollars) % 2:
        stray = dollars.pop(_stray(text, dollars, closed))
        alone = _cut(text, stray, edges)
        cut += [alone] if evidence(text[alone.start : alone.end]) >= 0 else []
    pairs = [_between(*each) for each in zip(dollars[::2], dollars[1::2], strict=True)]
    return _outermost([*closed, *pairs, *cut])


def _between(left: _Delimiter, right: _Delimiter) -> Display:
    return Display(left.name, left.start, left.end, right.start, right.end)


def _is_text(text: str) -> bool:
    """Whether three words in a row or a blank line behind something show that text is no part of a formula."""
    text = text.lstrip(_BLANKS)
    return bool(text) and (_BLANK_LINE.search(text) is not None or prose_start(text) < len(text))


def _outermost(spans: Sequence[Display]) -> list[Display]:
    """The displays that are not within another, in order."""
    result: list[Display] = []
    for display in sorted(spans, key=lambda each: (each.offset, -each.after)):
        if not result or display.offset >= result[-1].after:
            result.append(display)
    return result


def _stray(text: str, dollars: Sequence[_Delimiter], closed: Sequence[Display]) -> int:
    """The index of the one of an odd number of `$$` without which the others pair best; of equals, the last.

    The pairs before it begin at even places, those behind it at odd ones.
    """
    offsets = [each.offset for each in closed]
    gains: list[int] = []
    for left, right in pairwise(dollars):
        inside = closed[bisect_left(offsets, left.end) : bisect_left(offsets, right.start)]
        edges = [left.end, *(edge for each in inside for edge in (each.offset, each.after)), right.start]
        own = " ".join(text[i:j] for i, j in zip(edges[::2], edges[1::2], strict=True)).strip(_BLANKS)
        if _BLANK_LINE.search(own):
            gains.append(_EVIDENCE_OF_BLANK_LINE)
        elif inside:
            words = sum(weight for _, weight in _pieces(own) if weight > 0)
            gains.append(max(-MAX_EVIDENCE, -_EVIDENCE_OF_PIECE * words) if words else _EVIDENCE_OF_DISPLAY_WITHIN)
        else:
            gains.append(evidence(own))
    stray = best = total = 0
    for index in range(0, len(gains), 2):
        total += gains[index] - gains[index + 1]
        if total >= best:
            stray, best = index + 2, total
    return stray


def _cut(text: str, opening: _Delimiter, edges: Sequence[int]) -> Display:
    """The formula behind an opening delimiter without an end."""
    following = bisect_left(edges, opening.end)
    end = edges[following] if following < len(edges) else len(text)
    blanks = len(text[opening.end : end]) - len(text[opening.end : end].lstrip(_BLANKS))
    blank_line = _BLANK_LINE.search(text, opening.end + blanks, end)
    end = opening.end + prose_start(text[opening.end : blank_line.start() if blank_line else end])
    return Display(opening.name, opening.start, opening.end, end, end)


def evidence(text: str) -> int:
    """Returns how far `text` reads as mathematics: from -300 for prose to 300.

    Words `w` are runs of three or more letters outside commands, scripts and the arguments of `\\text` and its kin; a
    heading, a citation or inline mathematics counts as two. Signs `s` are commands, relations, `+`, `&`, scripts and
    line breaks. The result is `25 min(s + w, 12) (s - w) / (s + w)`; without either, 25 where there is a letter or a
    digit and no word of two letters, else -25; 0 for blank text. The time is linear in the length.
    """
    weights = [weight for _, weight in _pieces(text)]
    signs, words = weights.count(-1), sum(weight for weight in weights if weight > 0)
    count = signs + words
    if not text.strip():
        return 0
    if not count:
        return _EVIDENCE_OF_PIECE if any(map(str.isalnum, text)) and not weights else -_EVIDENCE_OF_PIECE
    strength = min(_EVIDENCE_OF_PIECE * count, MAX_EVIDENCE) * abs(signs - words) // count
    return strength if signs > words else -strength


def prose_start(text: str) -> int:
    """Returns where the first three words without a sign between them begin; the length of `text` where none do."""
    start, words = 0, 0
    for position, weight in _pieces(text):
        if weight <= 0:
            words = 0 if weight else words
            continue
        start = start if words else position
        words += weight
        if words >= _WORDS_OF_PROSE:
            return start
    return len(text)


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Where each word (its weight above 0, or 0 if it has two letters) and each sign (-1) is."""
    for piece in _PIECE.finditer(text):
        kind = piece.lastgroup
        if kind == "sign":
            yield piece.start(), -1
        elif kind == "running":
            yield piece.start(), _RUNNING_WORDS
        elif kind == "word":
            word = piece.group()
            yield piece.start(), len(word) // 2 if word[0] >= _FIRST_IDEOGRAPH else min(len(word) - 2, 1)
