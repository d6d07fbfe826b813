"""Displayed formulas of what systems predict for a document, in the dialects that they write."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal, get_args

from ...common.budget import Budget
from .comments import strip_comments
from .content import bare, without_labels
from .extract import Formula, displayed_formulas, latex_formulas
from .macros import expand_macros
from .markdown import stretches

Dialect = Literal["latex", "mathpix", "gpt4o", "nougat"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

_LATEX_FENCES = frozenset({"latex", "tex", "math", "katex"})
_MISSING_PAGE = re.compile(r"\[MISSING_PAGE[A-Z_]{0,20}(?::[0-9]{1,9})?\]")
_WITHIN_FORMULAS = r"aligned|gathered|multlined|split|[a-z]?cases|(?:sub)?array|CD|math\}|[a-zA-Z]?(?:small)?matrix"
_PROSE = re.compile(
    r"\\(?:documentclass|usepackage|(?:sub)*section|title|item|caption)(?![a-zA-Z])"
    rf"|\\begin\s*\{{(?!{_WITHIN_FORMULAS})|\\\(|(?<!\\)\$|\n[ \t\r]*\n"
)
_TEXT_WITHIN_FORMULAS = re.compile(r"\\(?:text[a-z]*|[mh]box)\s*\{(?:[^{}\\]|\\.)*\}", re.DOTALL)


def predicted_formulas(text: str, dialect: Dialect, budget: Budget) -> list[Formula]:
    """Returns the displayed formulas of a predicted document, in reading order.

    - latex: a LaTeX source, read as the ground truth is.
    - mathpix: Markdown with `\\[ \\]`, `$$ $$` and LaTeX environments. Fenced blocks, inline
      code and HTML comments hold no formula; see `metrics.formula.documents.markdown`.
    - gpt4o: the same, and blocks fenced as latex, tex, math or katex are LaTeX. Such a block without a delimiter is
      one formula, unless it is fenced as latex or tex and shows marks of running text or of a table.
    - nougat: as mathpix; a mark of a missing page, as `[MISSING_PAGE_FAIL:3]`, ends a formula that is not closed.

    How a formula ends that is never closed, see `displayed_formulas`.

    Raises OutOfBudget where LaTeX macros grow too long.
    """
    return _READERS[dialect](text, budget)


def _mathpix(text: str, budget: Budget) -> list[Formula]:
    budget.spend(2 * len(text))
    return [
        formula
        for stretch in stretches(text)
        if not stretch.language
        for formula in _moved(displayed_formulas(stretch.text, budget, markdown=True), stretch.start)
    ]


def _nougat(text: str, budget: Budget) -> list[Formula]:
    return _mathpix(_MISSING_PAGE.sub(lambda mark: "\n\n".ljust(len(mark.group())), text), budget)


def _gpt4o(text: str, budget: Budget) -> list[Formula]:
    budget.spend(2 * len(text))
    found: list[Formula] = []
    for stretch in stretches(text):
        if not stretch.language:
            found += _moved(displayed_formulas(stretch.text, budget, markdown=True), stretch.start)
        elif stretch.language in _LATEX_FENCES:
            found += _moved(_fenced_latex(stretch.text, stretch.language, budget), stretch.start)
    return found


def _fenced_latex(block: str, language: str, budget: Budget) -> list[Formula]:
    found = latex_formulas(block, budget)
    if found:
        return found
    formula = expand_macros(strip_comments(block), budget).strip()
    if language not in ("math", "katex") and _PROSE.search(_TEXT_WITHIN_FORMULAS.sub("", formula)):
        return []
    content, latex = bare(without_labels(formula))
    return [Formula(latex, content, 0)] if content else []


def _moved(formulas: list[Formula], offset: int) -> list[Formula]:
    return [Formula(each.latex, each.content, each.offset + offset, each.closed) for each in formulas]


_READERS: Mapping[str, Callable[[str, Budget], list[Formula]]] = {
    "latex": latex_formulas,
    "mathpix": _mathpix,
    "gpt4o": _gpt4o,
    "nougat": _nougat,
}
