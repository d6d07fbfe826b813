"""What tests of several rooms of the formula benchmark share: pairs, scores and typeset formulas."""

from collections.abc import Sequence
from typing import Any

import msgspec

from beamscore.metrics.benchmark import Pair, RejectedRecord, SampleScore
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.latex.normal_form import normal_form
from beamscore.metrics.formula.latex.token_markup import Marked, marked
from beamscore.metrics.formula.records import FormulaOptions, FormulaPrediction, FormulaTruth
from beamscore.metrics.formula.render.dvi import Ink, Page
from beamscore.metrics.formula.render.typeset import Failure, Typeset, Typesetter

FormulaPair = Pair[FormulaTruth, FormulaPrediction]


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


def told(results: Sequence[SampleScore | RejectedRecord]) -> list[object]:
    """All that results say, in a form that compares by content."""
    return [(each.side, each.message) if isinstance(each, RejectedRecord) else each for each in results]


def as_marked(texts: Sequence[str]) -> list[Marked]:
    return [marked(normal_form(text)) for text in texts]


def typeset_all(typesetter: Typesetter, formulas: Sequence[Marked]) -> list[Typeset | Failure]:
    """The results of formulas that are typeset together, in order."""
    results = typesetter.typeset(formulas)
    return [results[formula] for formula in formulas]


def inks_of(page: Page) -> list[Ink]:
    return [Ink(*ink) for ink in page.table.tolist()]
