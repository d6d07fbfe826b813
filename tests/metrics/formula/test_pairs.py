"""The pairs of formulas of single formulas and of whole documents."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.benchmark import RejectedRecord
from beamscore.metrics.common.budget import Budget, OutOfBudget
from beamscore.metrics.formula import pairs as module
from beamscore.metrics.formula.pairs import FormulaPair
from beamscore.metrics.formula.records import FormulaOptions, FormulaPrediction, FormulaTruth
from tests.generate.formula_documents import document

DOCUMENT = FormulaTruth(document="\\begin{document} \\[ a + b \\] and \\[ c \\] \\end{document}")


def formula_pairs(truth: FormulaTruth, prediction: FormulaPrediction | None, max_formulas: int) -> list[FormulaPair]:
    return module.formula_pairs(truth, prediction, max_formulas, Budget(10**6))


@pytest.mark.parametrize("prediction", ["b", "", None])
def test_one_formula_is_one_pair(prediction: str | None) -> None:
    answer = None if prediction is None else FormulaPrediction(prediction)
    assert formula_pairs(FormulaTruth("a"), answer, 10) == [FormulaPair("a", prediction)]


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
        *(
            (
                FormulaTruth("x"),
                FormulaPrediction(document=document),
                "prediction",
                "one formula and the prediction has no `latex`",
            )
            for document in (None, "$$ x $$")
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
            f"'{'w' * 40}' is not known; give latex, mathpix, gpt4o, nougat",
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


def edits(first: str, second: str) -> int:
    """The edit distance by the plain recurrence."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        previous, row = row, [i]
        for j, b in enumerate(second, start=1):
            row.append(min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a != b)))
    return row[-1]


def plainly_matched(truths: list[str], predictions: list[str]) -> list[module.Match]:
    matches: dict[int, module.Match] = {}
    for number, threshold in enumerate((0.4, 0.8), start=1):
        for index, truth in enumerate(truths):
            taken = {match.prediction for match in matches.values()}
            free = [other for other in range(len(predictions)) if other not in taken]
            if index in matches or not free:
                continue
            distance, nearest = min(
                (edits(truth, predictions[other]) / max(len(truth), len(predictions[other]), 1), other)
                for other in free
            )
            if distance < threshold:
                matches[index] = module.Match(index, nearest, distance, number)
    taken = {match.prediction for match in matches.values()}
    left = [module.Match(None, other, 1.0, None) for other in range(len(predictions)) if other not in taken]
    return [matches.get(index, module.Match(index, None, 1.0, None)) for index in range(len(truths))] + left


TEXTS = st.lists(st.text(alphabet="abc", max_size=6), max_size=6)


@given(TEXTS, TEXTS)
def test_a_plain_reading_gives_the_same(truths: list[str], predictions: list[str]) -> None:
    matches = module.match_formulas(truths, predictions, Budget(10**6))
    assert matches == plainly_matched(truths, predictions)


@pytest.mark.parametrize(
    ("prediction", "distance", "number"), [("abcdx", 0.2, 1), ("abcxy", 0.4, 2), ("axyz", 0.8, None), ("abxyz", 0.6, 2)]
)
def test_a_match_is_below_the_threshold_of_its_round(prediction: str, distance: float, number: int | None) -> None:
    # Of abcde, so many of five characters differ: 0.4 is not below 0.4, and 0.8 not below 0.8.
    first, *_ = module.match_formulas(["abcde"], [prediction], Budget(1_000))
    assert (first.distance, first.round) == ((distance, number) if number else (1.0, None))


def test_the_first_round_leaves_the_far_for_the_second() -> None:
    # In round 1, 0.6 is too far for the first truth, so that the second takes the prediction: one edit of five.
    first, second = module.match_formulas(["abcde", "abxyz"], ["abxyw"], Budget(1_000))
    assert (first.prediction, second.prediction, second.distance) == (None, 0, 0.2)


def steps(truths: list[str], predictions: list[str]) -> int:
    budget = Budget(10**12)
    module.match_formulas(truths, predictions, budget)
    return budget.steps


def test_a_comparison_costs_the_product_of_the_lengths_by_machine_words() -> None:
    # 640 characters are 10 words of 64 and one more, each compared with 640 characters, and 32 for the pair: 7,072
    # words, of which 64 are a step; the row takes 10 more. And so in two rounds.
    assert steps(["ab" * 320], ["cd" * 320]) == 2 * (10 + 7_072 // 64)
    # Of 600 characters and 640, the shorter counts by words: (600 // 64 + 1) * 640 + 32 = 6,432.
    assert steps(["ab" * 300], ["cd" * 320]) == steps(["ab" * 320], ["cd" * 300]) == 2 * (10 + 6_432 // 64)
    # A row of 64 predictions costs 2 besides what is compared, here nothing.
    assert steps(["ab" * 300], ["cd"] * 64) == 2 * (10 + 64 // 32)
    # Equal formulas are not compared, nor are those whose lengths alone are too far apart.
    assert steps(["ab" * 500], ["ab" * 500]) == 0
    assert steps(["ab" * 500], ["ab" * 20]) < 50


def test_too_much_to_compare_is_refused() -> None:
    for truths, predictions in (
        (["ab" * 200_000], ["ba" * 200_000]),
        ([f"a{index}" for index in range(20_000)], [f"b{index}" for index in range(20_000)]),
    ):
        budget = Budget(1_000_000)
        with pytest.raises(OutOfBudget):
            module.match_formulas(truths, predictions, budget)


def test_a_large_paper_is_within_the_default_limit() -> None:
    # The twelve papers of Tiny-Doc-Math have 437 formulas together.
    texts = [f"\\frac{{a_{index}}}{{b}} + \\int_0^{index} f(x) dx = c_{index % 7}" for index in range(1_000)]
    assert steps(texts, [text.replace("f(x)", "g(x)") for text in texts]) < FormulaOptions().max_steps
