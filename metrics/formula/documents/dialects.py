"""Displayed formulas of LaTeX sources, and of what systems predict for them in the dialects that they write.

A parser of CommonMark does not serve for Markdown: it knows no formulas, and takes a line of one that begins with `+`,
`-`, `=`, `>` or `#` for a list, a heading or a quote. So only what formulas must be kept from is read here.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...common.budget import Budget
from .displays import bare, displays
from .source import expand_macros, visible_source

MAX_QUOTE_DEPTH = 4
"""Quotes within one another are told apart to this depth."""

_LATEX_FENCES = ("latex", "tex", "math", "katex")
_BEGIN_DOCUMENT = re.compile(r"\\begin[ \t]*\{document\}")
_END_DOCUMENT = re.compile(r"\\end[ \t]*\{document\}")
_MISSING_PAGE = re.compile(r"\[MISSING_PAGE[A-Z_]{0,20}(?::[0-9]{1,9})?\]")
_WITHIN_FORMULAS = r"aligned|gathered|multlined|split|[a-z]?cases|(?:sub)?array|CD|math\}|[a-zA-Z]?(?:small)?matrix"
_PROSE = re.compile(
    r"\\(?:documentclass|usepackage|(?:sub)*section|title|item|caption)(?![a-zA-Z])"
    rf"|\\begin\s*\{{(?!{_WITHIN_FORMULAS})|\\\(|(?<!\\)\$|\n[ \t\r]*\n"
)
_TEXT_WITHIN_FORMULAS = re.compile(r"\\(?:text[a-z]*|[mh]box)\s*\{(?:[^{}\\]|\\.)*\}", re.DOTALL)

_FENCE = (
    r"^(?P<list>[ \t]*(?:>[ \t]*|(?:[-*+]|[0-9]{1,9}[.)])[ \t]+){0,4})(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n`]*)$"
)
_PARAGRAPH_END = re.compile(rf"\n[ \t\r>]*$|{_FENCE}", re.MULTILINE)
_MARK = re.compile(rf"{_FENCE}|\\.|(?P<ticks>`+)", re.MULTILINE | re.DOTALL)
_TICKS = re.compile(r"`+")
_VISIBLE = re.compile(r"[^\n]")
_TRANSPARENT = frozenset({"", "markdown", "md", "mmd"})


class Formula(NamedTuple):
    """One displayed formula.

    content: the formula without delimiters, labels and tags, to compare with.
    latex: what to typeset, the same with its rows in `aligned` or `gathered`.
    offset: where its opening delimiter is in the source; for one that a macro made, where the macro was called.
    """

    content: str
    latex: str
    offset: int


def latex_formulas(source: str, budget: Budget) -> list[Formula]:
    """Returns the displayed formulas of a LaTeX source, its author's macros expanded, in reading order.

    Only what is between `\\begin{document}` and `\\end{document}` counts; a source without them counts whole. Displayed
    are the environments of `metrics.formula.documents.content.DISPLAYED`, `\\[ \\]` and `$$ $$`. One within another
    (`$$\\begin{align}..\\end{align}$$`, not LaTeX but common) is part of it; those without content are left out. Which
    delimiters belong together, and where a formula ends that is not closed, see `metrics.formula.documents.displays`.

    Raises OutOfBudget where its macros grow too long.
    """
    budget.spend(len(source))
    expansion = expand_macros(visible_source(source), budget)
    text = expansion.text
    begin = _BEGIN_DOCUMENT.search(text)
    start = begin.end() if begin else 0
    end = _END_DOCUMENT.search(text, start)
    text = text[: end.start()] if end else text
    formulas = (
        Formula(*bare(text[each.start : each.end], each.name), expansion.origins[each.offset])
        for each in displays(text, budget, start)
    )
    return [formula for formula in formulas if formula.content]


class Stretch(NamedTuple):
    """A stretch of a Markdown text.

    language: the word after the opening fence, in small letters; "" for what is not fenced.
    start: where it is in the text.
    text: its text; inline code and, in a fenced block within a quote, the marks of the quote are blank.
    """

    language: str
    start: int
    text: str


def stretches(text: str) -> Iterator[Stretch]:
    """Yields the fenced blocks of a Markdown text and what is between them, in order, without the fences.

    - A fence may be indented, in a list or by a quote. One without a word, or with `markdown` or `md`, fences no
      block: a model often puts its whole answer, page by page, into such fences. A block that is never closed runs to
      the end.
    - Inline code is between equal runs of backticks within a paragraph; `quotes' and ``quotes'' of LaTeX are none.

    The time is that of sorting the backticks.
    """
    runs: dict[int, list[int]] = {}
    for run in re.finditer("`+", text):
        runs.setdefault(run.end() - run.start(), []).append(run.start())
    paragraph_ends = [end.start() for end in _PARAGRAPH_END.finditer(text)]
    language, closing, depth = "", "", 0
    parts: list[str] = []
    start = kept_to = position = 0
    while mark := _MARK.search(text, position):
        position = mark.end()
        if fence := mark["fence"]:
            word = "".join(mark["info"].split()[:1]).lower()
            if language and (word or not fence.startswith(closing) or mark["list"].strip(" \t>")):
                continue
            yield Stretch(language, start, without_quote_marks("".join([*parts, text[kept_to : mark.start()]]), depth))
            language = "" if language or word in _TRANSPARENT else word
            closing, depth = fence, min(mark["list"].count(">"), MAX_QUOTE_DEPTH) if language else 0
            start = kept_to = mark.end()
            parts = []
        elif not language and mark["ticks"]:
            end = _code_end(text, mark, runs.get(position - mark.start(), []), paragraph_ends)
            if end is not None:
                parts += [text[kept_to : mark.start()], _VISIBLE.sub(" ", text[mark.start() : end])]
                position = kept_to = end
    yield Stretch(language, start, without_quote_marks("".join([*parts, text[kept_to:]]), depth))


def _code_end(text: str, opening: re.Match[str], runs: Sequence[int], paragraph_ends: Sequence[int]) -> int | None:
    """Where the inline code ends that opens with these backticks; None where there is none.

    runs: where as many backticks are, in order. paragraph_ends: in order.
    """
    length, after = opening.end() - opening.start(), opening.end()
    following, end = bisect_left(runs, after), bisect_left(paragraph_ends, after)
    if following == len(runs) or (end < len(paragraph_ends) and paragraph_ends[end] < runs[following]):
        return None
    quoted = length <= 2 and "'" * length in text[after : runs[following]]
    return None if quoted else runs[following] + length


def _quote_depth(text: str, line: int) -> int:
    """How many quotes, at most 4, the line that begins at `line` is in: the `>` that it begins with."""
    marks = re.compile(rf"(?:[ \t]*>){{0,{MAX_QUOTE_DEPTH}}}").match(text, line)
    return marks[0].count(">") if marks else 0


def without_quote_marks(text: str, depth: int) -> str:
    """Returns `text` with blanks for the first `depth` of the `>` that each of its lines begins with."""
    marks = rf"^(?:[ \t]*>){{1,{depth}}}"
    return re.sub(marks, lambda each: " " * len(each[0]), text, flags=re.MULTILINE) if depth else text


def _markdown(text: str, budget: Budget, latex_fences: tuple[str, ...] = ()) -> list[Formula]:
    budget.spend(2 * len(text))
    formulas: list[Formula] = []
    for stretch in stretches(text):
        if not stretch.language:
            formulas_here = _markdown_formulas(stretch.text, budget)
        elif stretch.language in latex_fences:
            formulas_here = latex_formulas(stretch.text, budget) or _one_formula(stretch.text, stretch.language, budget)
        else:
            continue
        formulas += [each._replace(offset=each.offset + stretch.start) for each in formulas_here if each.content]
    return formulas


def _markdown_formulas(text: str, budget: Budget) -> list[Formula]:
    """The formulas of what is not fenced, without comments and the marks of the quote that they open in.

    A line that begins within a formula is in the quote that the formula opens in: its further `>` is a relation.
    """
    formulas: list[Formula] = []
    depth, after = _quote_depth(text, 0), 0
    for display in displays(text, budget, markdown=True):
        line = text.rfind("\n", after, display.offset) + 1
        depth = _quote_depth(text, line) if line else depth
        raw = visible_source(without_quote_marks(text[display.start : display.end], depth))
        formulas.append(Formula(*bare(raw, display.name), display.offset))
        after = display.after
    return formulas


def _one_formula(block: str, language: str, budget: Budget) -> list[Formula]:
    """The formula that a fenced block without delimiters is; none where it shows marks of text or of a table."""
    formula = expand_macros(visible_source(block), budget).text.strip()
    if language in ("latex", "tex") and _PROSE.search(_TEXT_WITHIN_FORMULAS.sub("", formula)):
        return []
    return [Formula(*bare(formula), 0)]


READERS: Mapping[str, Callable[[str, Budget], list[Formula]]] = {
    "latex": latex_formulas,
    "mathpix": _markdown,
    "gpt4o": lambda text, budget: _markdown(text, budget, _LATEX_FENCES),
    "nougat": lambda text, budget: _markdown(
        _MISSING_PAGE.sub(lambda mark: "\n\n".ljust(len(mark.group())), text), budget
    ),
}
"""Each dialect, and what returns the displayed formulas of a document in it, in reading order.

- latex: a LaTeX source, read as the ground truth is.
- mathpix: Markdown with `\\[ \\]`, `$$ $$` and LaTeX environments. Fenced blocks and inline code
  hold no formula; see `metrics.formula.documents.markdown`.
- gpt4o: the same, and blocks fenced as latex, tex, math or katex are LaTeX. Such a block without a delimiter is
  one formula, unless it is fenced as latex or tex and shows marks of running text or of a table.
- nougat: as mathpix; a mark of a missing page, as `[MISSING_PAGE_FAIL:3]`, ends a formula that is not closed.
"""
