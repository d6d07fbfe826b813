"""What tests of several rooms of the formula benchmark share."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec

from beamscore.metrics.common.budget import Budget
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.documents.dialects import Formula, document_formulas
from beamscore.metrics.formula.latex.token_markup import Marked
from beamscore.metrics.formula.records import FormulaOptions
from beamscore.metrics.formula.render.dvi import Ink, Page
from beamscore.metrics.formula.render.typeset import Failure, Typeset, Typesetter


def benchmark_with(typesetter: Typesetter, **options: Any) -> FormulaBenchmark:
    """The benchmark under these options, with a typesetter that is open: TeX's format takes long to make."""
    benchmark = FormulaBenchmark(msgspec.convert(options, FormulaOptions))
    benchmark.typesetter = typesetter
    return benchmark


def read(text: str, dialect: str) -> list[Formula]:
    """The displayed formulas of a document, whatever they cost."""
    return document_formulas(text, dialect, Budget(10**9))


def contents(text: str, dialect: str) -> list[str]:
    return [formula.content for formula in read(text, dialect)]


def typeset_all(typesetter: Typesetter, formulas: Sequence[Marked]) -> list[Typeset | Failure]:
    """The results of formulas that are typeset together, in order."""
    results = typesetter.typeset(formulas)
    return [results[formula] for formula in formulas]


def page_of(*inks: Ink) -> Page:
    return Page(0, array("q", chain.from_iterable(inks)))


def inks_of(page: Page) -> list[Ink]:
    return [Ink(*ink) for ink in page.table.tolist()]
