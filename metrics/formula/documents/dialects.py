"""Finds the displayed formulas of LaTeX sources, and of predictions in the dialects that systems write.

A CommonMark parser would not do for Markdown: it knows no formulas, and reads a line of a formula that begins with `+`,
`-`, `=`, `>` or `#` as a list, a heading or a quote. Only what cannot hold a formula is recognized here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...common.budget import Budget
from ...common.text import without_lone_returns
from .displays import DISPLAYED, bare, displays
from .source import expand_macros, visible_source

DIALECTS = ("latex", "mathpix", "gpt4o", "nougat")
"""The dialects of predicted documents.

- latex: a LaTeX source, read as the ground truth is.
- mathpix, nougat: Markdown with `\\[ \\]`, `$$ $$` and LaTeX environments. Inline code and fenced blocks in a
  language other than markdown, md or mmd hold no formula. A missing page, such as `[MISSING_PAGE_FAIL:3]`, ends a
  formula that is not closed.
- gpt4o: the same, but blocks fenced as latex, tex, math or katex are LaTeX. Such a block without a delimiter is one
  formula, unless it is fenced as latex or tex and looks like running text or a table.
"""

_BEGIN_DOCUMENT = re.compile(r"\\begin[ \t]*\{document\}")
_END_DOCUMENT = re.compile(r"\\end[ \t]*\{document\}")
_MISSING_PAGE = re.compile(r"\[MISSING_PAGE[A-Z_]{0,20}(?::[0-9]{1,9})?\]")
_WITHIN_FORMULAS = r"aligned|gathered|multlined|split|[a-z]?cases|(?:sub)?array|CD|math\}|[a-zA-Z]?(?:small)?matrix"
_PROSE = re.compile(
    r"(?<!\\)(?:\\\\)*(?:\\(?:documentclass|usepackage|(?:sub)*section|title|item|caption)(?![a-zA-Z])"
    rf"|\\begin\s*\{{(?!{_WITHIN_FORMULAS})|\\\(|\$)|\n[ \t\r]*\n"
)
_TEXT_WITHIN_FORMULAS = re.compile(r"\\(?:text[a-z]*|[mh]box)\s*\{(?:[^{}\\]|\\.)*\}", re.DOTALL)

_QUOTE = re.compile(r"(?:\A|^(?![ \t]*>)(?P<before>.*)\n)(?:[ \t]*>.*\n?)+", re.MULTILINE)
_QUOTE_MARK = re.compile(r"^([ \t]*)>", re.MULTILINE)
_DISPLAYED = "|".join(sorted(DISPLAYED))
_QUOTED_DELIMITER = re.compile(
    rf"^[ \t]*>[ \t]*(?:\$\$|\\[\[\]]|\\(?:begin|end)\{{(?:{_DISPLAYED})\*?\}}|`{{3}}|~{{3}})", re.MULTILINE
)
_LINE_BREAK = r"\n(?![ \t\r>]*(?:\n|`{3}|~{3}))"
_MARK = re.compile(
    r"^[ \t>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+){0,4}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n`]*)$|\\."
    rf"|(?P<code>`(?!`)(?:[^`'\n]|{_LINE_BREAK}){{1,2000}}`(?!`)"
    rf"|(?P<ticks>``+)(?!`)(?:(?!'')[^\n]|{_LINE_BREAK}){{1,2000}}?(?<!`)(?P=ticks)(?!`))|`+",
    re.MULTILINE | re.DOTALL,
)
_VISIBLE = re.compile(r"[^\n]")
_TRANSPARENT = frozenset({"", "markdown", "md", "mmd"})
_LATEX_FENCES = frozenset({"latex", "tex", "math", "katex"})


class Formula(NamedTuple):
    """One displayed formula.

    content: the formula without delimiters, labels and tags, which is compared.
    latex: the same with its rows in `aligned` or `gathered`, which is typeset.
    offset: the place in the source of its opening delimiter, or of the call of the macro that made it.
    """

    content: str
    latex: str
    offset: int


def document_formulas(document: str, dialect: str, budget: Budget) -> list[Formula]:
    """Returns the displayed formulas of a document in reading order, with its author's macros expanded.

    A LaTeX source is read between `\\begin{document}` and `\\end{document}`, or whole without them. The environments
    of `metrics.formula.documents.displays.DISPLAYED`, `\\[ \\]` and `$$ $$` are displayed formulas. A formula within
    another (`$$\\begin{align}..\\end{align}$$`, which is common but not LaTeX) is part of it; empty ones are left
    out. `metrics.formula.documents.displays` says which delimiters belong together, and where a formula without a
    closing delimiter ends.

    Raises OutOfBudget if its macros grow too long.
    """
    budget.spend(len(document))
    document = without_lone_returns(document)
    markdown = dialect != "latex"
    visible = visible_markdown(document, budget, dialect == "gpt4o") if markdown else visible_source(document)
    text, origins = expand_macros(visible, budget)
    begin = None if markdown else _BEGIN_DOCUMENT.search(text)
    start = begin.end() if begin else 0
    end = None if markdown else _END_DOCUMENT.search(text, start)
    text = text[: end.start()] if end else text
    formulas = (
        Formula(*bare(visible_source(text[each.start : each.end]), each.name), origins[each.offset])
        for each in displays(text, budget, start, markdown=markdown)
    )
    return [formula for formula in formulas if formula.content]


def visible_markdown(text: str, budget: Budget, latex_fences: bool = False) -> str:
    """Returns Markdown with blanks for what holds no formula: fenced blocks, inline code and the `>` of quotes.

    Every other character keeps its place, but a missing page becomes a blank line. With `latex_fences`, a fenced block
    of LaTeX stays; if it is a formula without delimiters, `\\[ \\]` replace its fences.

    - A fence may be indented, in a list or in a quote. A fence without a word, or with `markdown`, `md` or `mmd`,
      begins no block, since models often put their whole answer, page by page, into such fences. A block that is never
      closed ends with the text.
    - Inline code is between equal runs of backticks within a paragraph, and has at most 2,000 characters. LaTeX's
      `quotes' and ``quotes'' are not code.
    - Lines that begin with `>` are a quote after a blank line, or if one of them begins with a delimiter or a fence;
      elsewhere they continue a formula.
    """
    text = _MISSING_PAGE.sub(lambda mark: "\n\n".ljust(len(mark[0])), text)
    text = _QUOTE.sub(_without_quote_marks, text)
    parts: list[str] = []
    kept_to = position = 0
    while mark := _MARK.search(text, position):
        start, position = mark.span()
        if mark["fence"] is None and mark["code"] is None:
            continue
        opening, block, closing = _VISIBLE.sub(" ", mark[0]), "", ""
        language = "".join((mark["info"] or "").split()[:1]).lower()
        if mark["fence"] and language not in _TRANSPARENT:
            last = re.compile(rf"^[ \t>]*{mark['fence']}[`~]*[ \t\r]*$", re.MULTILINE).search(text, position)
            end, after = last.span() if last else (len(text), len(text))
            block, closing, position = text[position:end], " " * (after - end), after
            if not latex_fences or language not in _LATEX_FENCES:
                block = _VISIBLE.sub(" ", block)
            elif not displays(block := visible_source(block), budget) and not _is_prose(block, language):
                opening, closing = f"\\[{opening[2:]}", f"\\]{closing[2:]}"
        parts += [text[kept_to:start], opening, block, closing]
        kept_to = position
    return "".join([*parts, text[kept_to:]])


def _without_quote_marks(lines: re.Match[str]) -> str:
    """Returns lines that begin with `>`, and the one before them, with blanks for these marks if they are a quote."""
    is_quote = not (lines["before"] or "").strip(" \t\r") or _QUOTED_DELIMITER.search(lines[0])
    return _QUOTE_MARK.sub(r"\1 ", lines[0]) if is_quote else lines[0]


def _is_prose(block: str, language: str) -> bool:
    """Returns whether a fenced block without delimiters looks like running text or a table."""
    return language in ("latex", "tex") and _PROSE.search(_TEXT_WITHIN_FORMULAS.sub("", block.strip())) is not None
