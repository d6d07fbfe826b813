"""What tests of several rooms of the formula benchmark share: makers, readers and damaged formulas."""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from beamscore.metrics.benchmark import Pair, RejectedRecord, SampleScore
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.documents.dialects import Formula, document_formulas
from beamscore.metrics.formula.latex.normal_form import normal_form
from beamscore.metrics.formula.latex.parser import split
from beamscore.metrics.formula.latex.token_markup import Marked, marked
from beamscore.metrics.formula.records import FormulaOptions, FormulaPrediction, FormulaTruth
from beamscore.metrics.formula.render.dvi import Ink, Page
from beamscore.metrics.formula.render.typeset import Failure, Typeset, Typesetter

FormulaPair = Pair[FormulaTruth, FormulaPrediction]
Result = SampleScore | RejectedRecord

CORPUS = Path("tests/corpora/formula")


def benchmark_with(typesetter: Typesetter, **options: Any) -> FormulaBenchmark:
    """The benchmark under these options, with a typesetter that is open: TeX's format takes long to make."""
    benchmark = FormulaBenchmark(msgspec.convert(options, FormulaOptions))
    benchmark.typesetter = typesetter
    return benchmark


def pair(truth: str, prediction: str | None) -> FormulaPair:
    return Pair(truth, FormulaTruth(truth), None if prediction is None else FormulaPrediction(prediction))


def documents(truth: str, prediction: str | None, dialect: str = "mathpix") -> FormulaPair:
    predicted = None if prediction is None else FormulaPrediction(document=prediction, dialect=dialect)
    return Pair("document", FormulaTruth(document=truth), predicted)


def score(benchmark: FormulaBenchmark, *pairs: FormulaPair) -> list[SampleScore]:
    """The scores of a batch of which nothing is rejected."""
    results = benchmark.score(pairs)
    assert [each for each in results if isinstance(each, RejectedRecord)] == []
    return [each for each in results if isinstance(each, SampleScore)]


def told(results: Sequence[Result]) -> list[object]:
    """All that results say, in a form that compares by content."""
    return [(each.side, each.message) if isinstance(each, RejectedRecord) else each for each in results]


def read(text: str, dialect: str) -> list[Formula]:
    """The displayed formulas of a document, whatever they cost."""
    return document_formulas(text, dialect, Budget(10**9))


def contents(text: str, dialect: str) -> list[str]:
    return [formula.content for formula in read(text, dialect)]


def as_marked(texts: Sequence[str]) -> list[Marked]:
    return [marked(normal_form(text)) for text in texts]


def typeset_all(typesetter: Typesetter, formulas: Sequence[Marked]) -> list[Typeset | Failure]:
    """The results of formulas that are typeset together, in order."""
    results = typesetter.typeset(formulas)
    return [results[formula] for formula in formulas]


def page_of(*inks: Ink) -> Page:
    return Page(0, array("q", chain.from_iterable(inks)))


def inks_of(page: Page) -> list[Ink]:
    return [Ink(*ink) for ink in page.table.tolist()]


def real_formulas() -> list[str]:
    """The formulas and tables of the shipped corpus, in the order of the file."""
    records = map(msgspec.json.decode, (CORPUS / "ground_truth.jsonl").read_bytes().splitlines())
    return [record["latex"] for record in records if record.get("latex")]


def damaged(text: str, generator: random.Random) -> str:
    """The formula with one character or token dropped, doubled or moved."""
    parts = list(text) if generator.random() < 0.5 else split(text)
    at = generator.randrange(len(parts))
    part = parts.pop(at)
    for place in ([], [at, at], [generator.randrange(len(parts) + 1)])[generator.randrange(3)]:
        parts.insert(place, part)
    return "".join(parts)
