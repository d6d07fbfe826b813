from __future__ import annotations

import pytest

from beamscore.metrics.benchmark import RejectedRecord
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.formula import sample_pairs
from beamscore.metrics.formula.formula_pair import FormulaPair
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth

DOCUMENT = FormulaTruth(document="\\begin{document} \\[ a + b \\] and \\[ c \\] \\end{document}")


def formula_pairs(truth: FormulaTruth, prediction: FormulaPrediction | None, max_formulas: int) -> list[FormulaPair]:
    return sample_pairs.formula_pairs(truth, prediction, max_formulas, Budget(10**6))


def test_one_formula_is_one_pair() -> None:
    assert formula_pairs(FormulaTruth("a"), FormulaPrediction("b"), 10) == [FormulaPair("a", "b")]
    assert formula_pairs(FormulaTruth("a"), FormulaPrediction(""), 10) == [FormulaPair("a", "")]
    assert formula_pairs(FormulaTruth("a"), None, 10) == [FormulaPair("a", None)]


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        (None, "\\begin{equation} a + b \\end{equation}"),
        ("latex", "\\begin{equation} a + b \\end{equation}"),
        ("mathpix", "$$\na + b\n$$"),
        ("gpt4o", "```latex\na + b\n```"),
        ("nougat", "\\[a + b\\tag{1}\\]"),
    ],
)
def test_a_document_has_a_pair_for_each_formula(dialect: str | None, text: str) -> None:
    first, second = formula_pairs(DOCUMENT, FormulaPrediction(document=text, dialect=dialect), 10)
    assert (first.truth, first.prediction, first.round) == ("a + b", "a + b", 1)
    assert (second.truth, second.prediction, second.round) == ("c", None, None)


def test_a_document_without_a_prediction_has_unanswered_formulas_alone() -> None:
    assert [(pair.truth, pair.prediction) for pair in formula_pairs(DOCUMENT, None, 10)] == [
        ("a + b", None),
        ("c", None),
    ]


def test_a_document_without_formulas_has_no_pairs() -> None:
    assert formula_pairs(FormulaTruth(document="No formula."), FormulaPrediction(document="None."), 10) == []
    assert formula_pairs(FormulaTruth(document="No formula."), FormulaPrediction(document=""), 10) == []


THREE = "\\[ a \\] \\[ b \\] \\[ c \\]"


@pytest.mark.parametrize(
    ("truth", "prediction", "side", "words"),
    [
        (FormulaTruth(), None, "ground_truth", "has no `latex` and no `document`; give one of them"),
        (FormulaTruth("  "), None, "ground_truth", "`latex` is blank"),
        (FormulaTruth(document="\n"), None, "ground_truth", "`document` is blank"),
        (FormulaTruth("x", "x"), None, "ground_truth", "the ground truth has both `latex` and `document`"),
        (FormulaTruth("x"), FormulaPrediction("x", "x"), "prediction", "the prediction has both"),
        (FormulaTruth("x"), FormulaPrediction(), "prediction", "one formula and the prediction has no `latex`"),
        (
            FormulaTruth("x"),
            FormulaPrediction(document="$$ x $$"),
            "prediction",
            "the ground truth is one formula and the prediction has no `latex`",
        ),
        (
            DOCUMENT,
            FormulaPrediction("x"),
            "prediction",
            "the ground truth is a document and the prediction has no `document`",
        ),
        (
            DOCUMENT,
            FormulaPrediction(document="x", dialect="w" * 1000),
            "prediction",
            f"the dialect '{'w' * 40}' is not known; give latex, mathpix, gpt4o, nougat",
        ),
        (FormulaTruth(document=THREE), None, "ground_truth", "has 3 displayed formulas; max_formulas is 2"),
        (DOCUMENT, FormulaPrediction(document=THREE), "prediction", "has 3 displayed formulas; max_formulas is 2"),
        (
            FormulaTruth(document="\\def\\d#1{#1#1}" + "\\d{" * 60 + "x" + "}" * 60),
            None,
            "ground_truth",
            "the macro last called was",
        ),
    ],
)
def test_records_that_cannot_be_scored(
    truth: FormulaTruth, prediction: FormulaPrediction | None, side: str, words: str
) -> None:
    with pytest.raises(RejectedRecord) as rejected:
        formula_pairs(truth, prediction, 2)
    assert rejected.value.side == side
    assert words in rejected.value.message
    assert len(rejected.value.message) < 300
