"""The pairs of formulas of single formulas and of whole documents."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from beamscore.metrics.benchmark import RejectedRecord
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.formula import pairs as module
from beamscore.metrics.formula.pairs import FormulaPair
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth
from tests.generate.formula_documents import document

DOCUMENT = FormulaTruth(document="\\begin{document} \\[ a + b \\] and \\[ c \\] \\end{document}")


def formula_pairs(truth: FormulaTruth, prediction: FormulaPrediction | None, max_formulas: int) -> list[FormulaPair]:
    return module.formula_pairs(truth, prediction, max_formulas, Budget(10**6))


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


def document_pairs(
    source: str, prediction: str | None, dialect: str, comparable: Callable[[str], str] = str
) -> list[FormulaPair]:
    predicted = None if prediction is None else FormulaPrediction(document=prediction, dialect=dialect)
    return module.formula_pairs(FormulaTruth(document=source), predicted, 1000, Budget(500_000), comparable)


SOURCE = r"""\newcommand{\R}{\mathbb{R}}
\begin{document}
\begin{equation}\label{a} x \in \R \end{equation}
\[ a + b = c \]
\end{document}"""


def test_every_formula_has_its_place() -> None:
    prediction = "$$ \\int_0^1 f \\tag{9} $$\n\n$$\nx \\in \\mathbb{R}\n$$"
    first, second, third = document_pairs(SOURCE, prediction, "gpt4o")
    assert first == FormulaPair(
        "x \\in \\mathbb{R}", "x \\in \\mathbb{R}", 0.0, 1, SOURCE.index("\\begin{equation}"), prediction.index("$$\nx")
    )
    assert second == FormulaPair("a + b = c", None, 1.0, None, SOURCE.index("\\["), None)
    assert third == FormulaPair(None, "\\int_0^1 f", 1.0, None, None, 0)


def test_each_page_of_a_document_is_read_by_itself() -> None:
    """What a page leaves open ends with it, and places count on from page to page."""
    pages = ("```python\n$$ no $$", "$$ c", "", "$$ d $$")
    prediction = msgspec.json.decode(
        msgspec.json.encode({"document": pages, "dialect": "gpt4o"}), type=FormulaPrediction
    )
    pairs = formula_pairs(FormulaTruth(document="\\[ d \\] \\[ c \\]"), prediction, 10)
    assert [(pair.prediction, pair.prediction_offset) for pair in pairs] == [
        ("d", len(pages[0]) + len(pages[1])),
        ("c", len(pages[0])),
    ]
    with pytest.raises(RejectedRecord, match="2,000,001 characters"):
        formula_pairs(DOCUMENT, FormulaPrediction(document=("x" * 2_000_000, "x")), 10)


def test_formulas_are_compared_in_the_form_that_is_asked_for() -> None:
    spaced = "\\[ a+b=c \\]"
    assert document_pairs("$$ a + b = c $$", spaced, "nougat")[0].distance == 4 / 9  # four blanks of nine characters
    without = document_pairs("$$ a + b = c $$", spaced, "nougat", comparable=lambda text: text.replace(" ", ""))
    assert without == [FormulaPair("a + b = c", "a+b=c", 0.0, 1, 0, 0)]


BOMB = "\\def\\d#1{#1#1}" + "\\d{" * 60 + "x" + "}" * 60


@pytest.mark.parametrize(
    ("source", "prediction", "side"),
    [
        (BOMB, "", "ground_truth"),
        ("x", BOMB, "prediction"),
        ("x" * 2_000_001, "", "ground_truth"),
        ("x", "x" * 2_000_001, "prediction"),
        (f"$${'ab' * 40_000}$$", f"$${'ba' * 40_000}$$", "sample"),
    ],
)
def test_what_cannot_be_paired_is_rejected_on_its_side(source: str, prediction: str, side: str) -> None:
    with pytest.raises(RejectedRecord) as rejected:
        document_pairs(source, prediction, "latex")
    assert rejected.value.side == side


def test_generated_documents_are_paired_as_they_were_made() -> None:
    rounds: set[int | None] = set()
    redundant = unanswered = 0
    for index in range(200):
        source, prediction, dialect = document(index, 7)
        pairs = document_pairs(source, prediction, dialect)
        rounds |= {pair.round for pair in pairs}
        redundant += sum(pair.truth is None for pair in pairs)
        unanswered += sum(pair.prediction is None for pair in pairs)
        body = source.partition("\\begin{document}")[2]
        displayed = sum(body.count(f"{opening} ") for opening in ("\\[", "\\be", "\\begin{align*}")) + body.count(
            "\\label"
        )
        displayed += body.partition("\\end{document}")[0].count("\n$$ ") - body.count("$$ removed")
        assert sum(pair.truth is not None for pair in pairs) == displayed
        assert not any(
            word in str(pair) for pair in pairs for word in ("not(a)", "draft", "removed", "after", "\\norm")
        )
    assert rounds == {1, 2, None}
    assert redundant
    assert unanswered
