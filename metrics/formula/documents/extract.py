"""Displayed formulas of a text, in reading order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...common.budget import Budget
from .comments import strip_comments, without_comments
from .content import DISPLAYED, bare, without_labels
from .macros import expanded
from .markdown import quote_depth, without_quote_marks
from .pairing import Display, displays
from .verbatim import COMMANDS, Verbatim

_DOCUMENT_EDGE = re.compile(r"\\(?P<edge>begin|end)[ \t]*\{document\}|\\(?:[A-Za-z@]+|.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Formula:
    """One displayed formula.

    latex: what to typeset, without delimiters, labels and tags; rows are in `aligned` or `gathered`.
    content: the same without that environment, to compare with.
    offset: where its opening delimiter is in the source; for one that a macro made, where the macro was called.
    closed: whether its closing delimiter was found.
    """

    latex: str
    content: str
    offset: int
    closed: bool = True


def latex_formulas(source: str, budget: Budget) -> list[Formula]:
    """Returns the displayed formulas of a LaTeX source, its comments stripped and its author's macros expanded.

    Only what is between `\\begin{document}` and `\\end{document}` counts; a source without them counts whole.

    Raises OutOfBudget where its macros grow too long.
    """
    budget.spend(len(source))
    uncommented = without_comments(source)
    text = expanded(uncommented.text, budget)
    start, end = document_body(text.text)
    found = displayed_formulas(text.text[:end], budget, start)
    return [
        Formula(each.latex, each.content, uncommented.origin(text.origin(each.offset)), each.closed) for each in found
    ]


def document_body(text: str) -> tuple[int, int]:
    """Returns where the body of a LaTeX text begins and ends; all of it where it has no `\\begin{document}`."""
    verbatim = Verbatim(text)
    position, start = 0, 0
    while command := _DOCUMENT_EDGE.search(text, position):
        edge, position = command.group("edge"), command.end()
        if edge == "begin" and not start:
            start = position
        elif edge == "end":
            return start, command.start()
        elif edge is None and command.group() in COMMANDS:
            position = verbatim.end(command.start()) or position
    return start, len(text)


def displayed_formulas(text: str, budget: Budget, start: int = 0, *, markdown: bool = False) -> list[Formula]:
    """Returns the displayed formulas of `text` from `start` on; those without content are left out.

    Displayed are the environments of `metrics.formula.documents.content.DISPLAYED`, `\\[ \\]` and `$$ $$`. One within
    another (`$$\\begin{align}..\\end{align}$$`, not LaTeX but common) is part of it. Which delimiters belong together,
    and where a formula ends that is not closed, see `metrics.formula.documents.pairing`. With `markdown`, nothing
    is verbatim, and of each formula its `%` comments are stripped here, and the marks of the quote that it opens in.
    """
    found: list[Formula] = []
    spans = displays(text, budget, start, markdown=markdown)
    for display, raw in _markdown_contents(text, spans) if markdown else _contents(text, spans):
        content = without_labels(raw)
        content, latex = bare(content, display.name if display.name in DISPLAYED else "")
        if content:
            found.append(Formula(latex, content, display.offset, display.closed))
    return found


def _contents(text: str, spans: Iterable[Display]) -> Iterator[tuple[Display, str]]:
    return ((display, text[display.start : display.end]) for display in spans)


def _markdown_contents(text: str, spans: Iterable[Display]) -> Iterator[tuple[Display, str]]:
    """Yields displayed formulas with what they contain, without comments and the marks of the quote they open in.

    A line that begins within a formula is in the quote that the formula opens in: its further `>` is a relation.
    """
    depth, after = quote_depth(text, 0), 0
    for display, raw in _contents(text, spans):
        line = text.rfind("\n", after, display.offset) + 1
        depth = quote_depth(text, line) if line else depth
        yield display, strip_comments(without_quote_marks(raw, depth))
        after = display.after
