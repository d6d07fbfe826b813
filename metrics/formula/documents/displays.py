"""Finds the displayed formulas of a text, even if delimiters are missing or stray.

`\\[ \\]` and environments say whether they open or close, `$$` does not. An even number of `$$` is paired in order,
whatever is between them. An odd number has one that is forgotten or stray, which would turn all the rest inside out.
The stray one is then the one that leaves the most mathematics between the pairs.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ...common.budget import Budget
from ..latex.commands import LAYOUT, POSITIONED, words

ALIGNED = words("align alignat xalignat xxalignat flalign eqnarray aligned alignedat split")
GATHERED = words("gather multline gathered multlined")
SINGLE = words("equation displaymath")
DISPLAYED = (ALIGNED | GATHERED | SINGLE) - words("aligned alignedat split gathered multlined")
"""The environments that are displayed formulas, with or without a star."""
MAX_MARKDOWN_INLINE = 2_000
"""Inline mathematics of Markdown has at most this many characters; a `$` without a partner may be a price."""
_WORDS_OF_PROSE = 3
_MAX_SCORE = 12
_SCORE_OF_DISPLAY_WITHIN = 4
_SCORE_OF_BLANK_LINE = -40
_STEPS_PER_DELIMITER = 20

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


def displays(text: str, budget: Budget, start: int = 0, *, markdown: bool = False) -> list[Display]:
    """Returns the displayed formulas of `text` from `start` on, in order; one within another is part of it.

    `\\[` and environments nest and are closed by the next `\\]` or `\\end` of their kind, with or without a star (if
    none of the kind is open, by the end of any). An open one counts as never closed if a `\\[` opens within a `\\[`, or
    if any delimiter opens after a blank line or three words in a row. It then ends at the next blank line
    after some content, at the next delimiter, at three words in a row, or at the end of the text, whichever comes
    first; after a `$$` it is not a formula if it reads as prose.

    In Markdown (`markdown`), inline mathematics has no blank after its first `$` or before its last, no digit after the
    last, and at most 2,000 characters. The time is that of sorting the delimiters; each costs 20 steps of the budget.
    """
    marks = [mark for mark in (_MARKDOWN if markdown else _LATEX).finditer(text, start) if mark.lastgroup]
    budget.spend(_STEPS_PER_DELIMITER * len(marks))
    dollars: list[re.Match[str]] = []
    opened: list[re.Match[str]] = []
    unclosed: list[re.Match[str]] = []
    closed: list[Display] = []
    kinds: Counter[str] = Counter()
    previous = start
    for mark in marks:
        name = _name(mark)
        if mark["edge"] == "end" or mark["bracket"] == "]":
            if kinds[name] or (opened and "[" not in (name, _name(opened[-1]))):
                wanted = name if kinds[name] else _name(opened[-1])
                while opening := opened.pop():
                    kinds[_name(opening)] -= 1
                    if _name(opening) == wanted:
                        closed.append(_between(opening, mark))
                        break
        else:
            if opened and (name == "[" == _name(opened[-1]) or _is_text(text[previous : mark.start()])):
                unclosed += opened
                opened.clear()
                kinds.clear()
            (dollars if mark["dollars"] else opened).append(mark)
            kinds[name] += not mark["dollars"]
        previous = mark.end()
    closed = _outermost(closed)
    ends = [0, *(each.after for each in closed)]
    offsets = [each.offset for each in closed]
    dollars = [each for each in dollars if each.start() >= ends[bisect_right(offsets, each.start())]]
    edges = [mark.start() for mark in marks]
    cut = [_cut(text, each, edges) for each in (*unclosed, *opened)]
    if len(dollars) % 2:
        alone = _cut(text, dollars.pop(_stray(text, dollars, closed)), edges)
        cut += [alone] if math_score(text[alone.start : alone.end]) >= 0 else []
    pairs = [_between(*each) for each in zip(dollars[::2], dollars[1::2], strict=True)]
    return _outermost([*closed, *pairs, *cut])


def _name(mark: re.Match[str]) -> str:
    """Returns the kind of a delimiter: `$$`, `[` or the name of its environment without a star."""
    return mark["dollars"] or mark["name"] or "["


def _between(opening: re.Match[str], closing: re.Match[str]) -> Display:
    return Display(_name(opening), opening.start(), opening.end(), closing.start(), closing.end())


def _is_text(text: str) -> bool:
    """Returns whether three words in a row, or a blank line after content, show that text is not in a formula."""
    text = text.lstrip(_BLANKS)
    return bool(text) and (_BLANK_LINE.search(text) is not None or prose_start(text) < len(text))


def _outermost(spans: Sequence[Display]) -> list[Display]:
    """Returns the displays that are not within another, in order."""
    result: list[Display] = []
    for display in sorted(spans, key=lambda each: (each.offset, -each.after)):
        if not result or display.offset >= result[-1].after:
            result.append(display)
    return result


def _stray(text: str, dollars: Sequence[re.Match[str]], closed: Sequence[Display]) -> int:
    """Returns which of an odd number of `$$` to leave out so that the others pair best; on ties, the last.

    The pairs before it begin at even indices, those after it at odd ones.
    """
    offsets = [each.offset for each in closed]
    scores: list[int] = []
    for left, right in pairwise(dollars):
        inside = closed[bisect_left(offsets, left.end()) : bisect_left(offsets, right.start())]
        edges = [left.end(), *(edge for each in inside for edge in (each.offset, each.after)), right.start()]
        own = " ".join(text[i:j] for i, j in zip(edges[::2], edges[1::2], strict=True)).strip(_BLANKS)
        score = math_score(own) if own or not inside else _SCORE_OF_DISPLAY_WITHIN
        scores.append(_SCORE_OF_BLANK_LINE if _BLANK_LINE.search(own) else max(-_MAX_SCORE, min(score, _MAX_SCORE)))
    stray = best = total = 0
    for index in range(0, len(scores), 2):
        total += scores[index] - scores[index + 1]
        if total >= best:
            stray, best = index + 2, total
    return stray


def _cut(text: str, opening: re.Match[str], edges: Sequence[int]) -> Display:
    """Returns the formula after an unclosed opening delimiter; `edges` are the sorted starts of all delimiters."""
    start = opening.end()
    following = bisect_left(edges, start)
    end = edges[following] if following < len(edges) else len(text)
    blanks = end - start - len(text[start:end].lstrip(_BLANKS))
    blank_line = _BLANK_LINE.search(text, start + blanks, end)
    end = start + prose_start(text[start : blank_line.start() if blank_line else end])
    return Display(_name(opening), opening.start(), start, end, end)


def math_score(text: str) -> int:
    """Returns how much `text` looks like mathematics: the number of signs minus the number of words.

    Words are runs of three or more letters outside commands, scripts and the arguments of `\\text` and its kin; a
    heading, a citation or inline mathematics counts as two. Signs are commands, relations, `+`, `&`, scripts and line
    breaks. Without either, it is 1 if there is a letter or a digit and no word of two letters, else -1; 0 for blank
    text. The time is linear in the length.
    """
    weights = [weight for _, weight in _pieces(text)]
    if any(weights) or not text.strip():
        return -sum(weights)
    return 1 if any(map(str.isalnum, text)) and not weights else -1


def prose_start(text: str) -> int:
    """Returns where the first three words without a sign between them begin; the length of `text` if none do."""
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
    """Yields (position, weight) of each word (above 0, or 0 if it has two letters) and each sign (-1)."""
    for piece in _PIECE.finditer(text):
        kind = piece.lastgroup
        if kind == "sign":
            yield piece.start(), -1
        elif kind == "running":
            yield piece.start(), 2
        elif kind == "word":
            word = piece.group()
            yield piece.start(), len(word) // 2 if word[0] >= _FIRST_IDEOGRAPH else min(len(word) - 2, 1)


_WHITE_SPACE = re.compile(r"\s+")
_BRACES = r"\{(?:[^{}\\]|\\.|\{(?:[^{}\\]|\\.|\{[^{}]*\})*\})*\}"
_WITHOUT_INK = re.compile(
    rf"(?P<kept>\\\\)|\\(?:label|tag)(?![A-Za-z@])\*?\s*(?:{_BRACES})?|\\l?eqno(?![A-Za-z@]).*"
    rf"|\\(?:notag|nonumber|ensuremath|xspace|protect)(?![A-Za-z@])|{LAYOUT}",
    re.DOTALL,
)
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{\s*([A-Za-z]+)\*?\s*\}")
_ROWS = re.compile(r"\\(?P<edge>begin|end)\s*\{|(?P<row>\\\\|&)|\\.", re.DOTALL)
_COLUMN_PAIRS = re.compile(r"\A\s*\{\s*\d*\s*\}")
_POSITION = re.compile(r"\A\s*\[[tbc]\]")
MAX_LAYERS = 4
"""At most this many directly nested environments are removed."""


def bare(formula: str, environment: str) -> tuple[str, str]:
    """Returns the content of a formula as it is compared, and in a form that can be typeset by itself.

    environment: the one around the formula, without a star; "" for `\\[` and `$$`. Removed are its arguments,
    `\\label{..}`, `\\tag{..}`, `\\notag` and `\\nonumber`, `\\eqno` and `\\leqno` with all after them, and
    `\\ensuremath`, `\\xspace` and `\\protect`, which mean nothing in a formula but may be in the body of a macro, and
    commands of layout with their arguments.
    Blanks become single spaces. Up to MAX_LAYERS displaying environments around the whole formula are removed, too. In
    the form to typeset, rows (a `&` or `\\\\` outside other environments) are put into `aligned` or `gathered`.

    >>> bare("a &= b \\\\label{x}", "align")
    ('a &= b', '\\\\begin{aligned} a &= b \\\\end{aligned}')
    """
    kind = environment
    content = _without_arguments(_WITHOUT_INK.sub(lambda mark: mark["kept"] or " ", formula), kind)
    for _layer in range(MAX_LAYERS):
        inner = _only_environment(content)
        if inner is None:
            break
        kind, content = inner
    wrapper = "aligned" if kind in ALIGNED else "gathered" if kind in GATHERED else ""
    if wrapper and _has_rows(content):
        start = "{}" if _POSITION.match(content) else ""  # which is ink in `align`, and a position in `aligned`
        return content, f"\\begin{{{wrapper}}} {start}{content} \\end{{{wrapper}}}"
    return content, content


def _without_arguments(content: str, kind: str) -> str:
    """Returns the content of an environment without its leading arguments, runs of blanks as single spaces."""
    if kind in POSITIONED:
        content = _POSITION.sub("", content)
    if kind.endswith("at"):
        content = _COLUMN_PAIRS.sub("", content)
    return stripped(_WHITE_SPACE.sub(" ", content))


def stripped(formula: str) -> str:
    """Returns a formula without blanks around it, but for the one of a control space at its end."""
    formula = formula.strip()
    backslashes = len(formula) - len(formula.rstrip("\\"))
    return f"{formula} " if backslashes % 2 else formula


def _only_environment(formula: str) -> tuple[str, str] | None:
    """Returns the name and content of the environment that spans all of `formula`; None if none does."""
    first = _ENVIRONMENT.match(formula)
    if not first or first[1] != "begin" or first[2] not in ALIGNED | GATHERED | SINGLE:
        return None
    depth = 0
    for mark in _ENVIRONMENT.finditer(formula):
        depth += 1 if mark[1] == "begin" else -1
        if depth == 0:
            whole = mark.end() == len(formula) and mark[2] == first[2]
            return (first[2], _without_arguments(formula[first.end() : mark.start()], first[2])) if whole else None
    return None


def _has_rows(formula: str) -> bool:
    depth = 0
    for token in _ROWS.finditer(formula):
        depth += (token["edge"] == "begin") - (token["edge"] == "end")
        if token["row"] and depth == 0:
            return True
    return False
