"""What a document scores: by formula, by document, and in the details."""

from __future__ import annotations

import msgspec
import pytest

from beamscore.metrics.benchmark import Pair, RejectedRecord, SampleScore
from beamscore.metrics.formula import benchmark as module
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.metrics import MAX_DETAILS
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth
from beamscore.metrics.formula.render.typeset import Typesetter
from beamscore.metrics.statistics.sums import Sums
from tests.metrics.formula.helpers import benchmark_with
from tests.plain_loop import total

SOURCE = r"""\newcommand{\half}{\frac{1}{2}}
\begin{document}
\begin{equation} a + b = c \end{equation}
\[ \half x \]
\[ \int_0^1 f \]
\end{document}"""
ANSWERS = "$$ a + b = c $$\n\n$$ \\frac{1}{2} y $$\n\n$$ \\alpha \\beta \\gamma \\delta \\epsilon \\zeta $$"


def score(benchmark: FormulaBenchmark, source: str, answer: str | None, dialect: str = "mathpix") -> SampleScore:
    prediction = None if answer is None else FormulaPrediction(document=answer, dialect=dialect)
    return benchmark.score_sample(FormulaTruth(document=source), prediction)


def test_every_formula_of_a_document_counts_once_and_so_does_a_redundant_one(benchmark_: FormulaBenchmark) -> None:
    result = score(benchmark_, SOURCE, ANSWERS)
    values = benchmark_.values(Sums.of(result.statistics))
    # a + b = c is right; of 1/2 x, three of four tokens; the integral is missing; the Greek letters are redundant.
    right, nearly, missing, redundant = 1, 2 * 3 / (4 + 4), 0, 0
    assert values["cdm"] == result.metrics["cdm"] == pytest.approx((right + nearly + missing + redundant) / 4)
    assert values["exp_rate_cdm"] == values["exp_rate"] == 1 / 4
    assert values["document_missing_rate"] == 1 / 3
    assert values["document_redundant_rate"] == 1 / 3
    assert values["render_failure_rate"] == 0
    (table,) = benchmark_.tables(Sums.of(result.statistics))
    assert {row[0]: row[1] for row in table.rows if row[1]} == {"0.0 to 0.1": 2, "0.7 to 0.8": 1, "1": 1}


def test_a_document_counts_once_by_document_and_by_its_formulas_by_formula(benchmark_: FormulaBenchmark) -> None:
    long = score(benchmark_, "\\[ a \\] \\[ b \\] \\[ c \\]", "$$ a $$ $$ b $$ $$ c $$")
    short = score(benchmark_, "\\[ a b \\]", None)
    single = benchmark_.score_sample(FormulaTruth("x"), FormulaPrediction("x"))
    values = benchmark_.values(total([long, short, single]))
    assert values["cdm"] == pytest.approx((3 * 1 + 0 + 1) / 5)
    assert values["document_cdm"] == pytest.approx((1 + 0) / 2)
    assert benchmark_.values(Sums.of(single.statistics))["document_cdm"] is None


def test_details_say_what_answered_what_and_where(benchmark_: FormulaBenchmark) -> None:
    details = score(benchmark_, SOURCE, ANSWERS).details
    assert details["not_listed"] == 0
    assert [(each["ground_truth"], each["prediction"], each["round"]) for each in details["formulas"]] == [
        ("a + b = c", "a + b = c", 1),
        ("\\frac{1}{2} x", "\\frac{1}{2} y", 1),
        ("\\int_0^1 f", None, None),
        (None, "\\alpha \\beta \\gamma \\delta \\epsilon \\zeta", None),
    ]
    first, second = details["formulas"][:2]
    assert first["ground_truth_offset"] == SOURCE.index("\\begin{equation}")
    assert second["prediction_offset"] == ANSWERS.index("$$ \\frac")
    assert second["cdm"] == 0.75
    assert second["distance"] == pytest.approx(1 / len("\\frac{1}{2} x"))


def test_details_are_bounded(benchmark_: FormulaBenchmark) -> None:
    source = "\\[ x \\]\n" * (MAX_DETAILS + 50)
    details = score(benchmark_, source, source + "$$ " + "y " * 500 + "$$", "latex").details
    assert len(details["formulas"]) == MAX_DETAILS
    assert details["not_listed"] == 51
    assert len(msgspec.json.encode(details)) < 400 * MAX_DETAILS
    assert len(score(benchmark_, "\\[ " + "y " * 500 + "\\]", None).details["formulas"][0]["ground_truth"]) == 201


def test_formulas_that_cannot_be_typeset_are_told_apart_by_side(benchmark_: FormulaBenchmark) -> None:
    result = score(benchmark_, "\\[ a \\] \\[ \\frac{b \\]", "$$ a $$ $$ \\frac{a $$")
    # The second ground truth leaves the mean of CDM; the second prediction is a render failure.
    assert result.coverage == {"ground_truth_not_rendered": 1}
    values = benchmark_.values(Sums.of(result.statistics))
    assert values["cdm"] == 1
    assert values["render_failure_rate"] == 1 / 2
    assert result.metrics["render_failure"] == 1 / 2
    redundant = score(benchmark_, "\\[ a \\]", "$$ a $$ \n\n $$ \\frac{1}{2 $$")
    assert benchmark_.values(Sums.of(redundant.statistics))["render_failure_rate"] == 1 / 2
    assert redundant.metrics["cdm"] == 1 / 2


def test_without_a_prediction_a_document_scores_0(benchmark_: FormulaBenchmark) -> None:
    result = score(benchmark_, SOURCE, None)
    values = benchmark_.values(Sums.of(result.statistics))
    assert values["cdm"] == values["document_cdm"] == values["exp_rate"] == values["bleu"] == 0
    assert values["document_missing_rate"] == values["edit_distance"] == 1
    assert values["document_redundant_rate"] is None
    assert values["render_failure_rate"] is None


def test_a_document_without_formulas_measures_nothing_but_what_is_redundant(benchmark_: FormulaBenchmark) -> None:
    empty = score(benchmark_, "No formula.", "None.")
    assert not empty.statistics
    assert not empty.metrics
    assert empty.coverage == {"documents_without_formulas": 1}
    redundant = score(benchmark_, "No formula.", "$$ x $$")
    assert redundant.metrics["cdm"] == 0


def test_a_formula_that_is_too_large_costs_itself_alone(benchmark_: FormulaBenchmark) -> None:
    large = "x" * 2_500
    result = score(benchmark_, f"\\[ {large} y \\] \\[ a \\]", f"\\[ {large} \\] \\[ a \\]", "latex")
    first, second = result.details["formulas"]
    assert first["ground_truth_problem"] == "the formula has 2501 tokens; max_tokens is 2000"
    assert first["prediction_problem"] == "the formula has 2500 tokens; max_tokens is 2000"
    # Of the first nothing is measured; the second is right.
    assert result.coverage == {"ground_truth_too_large": 1}
    values = benchmark_.values(Sums.of(result.statistics))
    assert values["cdm"] == values["exp_rate"] == second["cdm"] == 1
    assert values["edit_distance"] == values["render_failure_rate"] == values["document_missing_rate"] == 0
    assert result.statistics["formulas"] == result.statistics["document_truths"] == 1
    # A record with nothing else is rejected.
    pairs: list[Pair[FormulaTruth, FormulaPrediction]] = [
        Pair("1", FormulaTruth(document=f"\\[ {large} \\]"), None),
        Pair("2", FormulaTruth(large), None),
        Pair("3", FormulaTruth(document="\\[ x \\]"), FormulaPrediction(document=f"$$ {large} $$", dialect="gpt4o")),
    ]
    results = benchmark_.score(pairs)
    assert [each.side for each in results if isinstance(each, RejectedRecord)] == [
        "ground_truth",
        "ground_truth",
        "prediction",
    ]


def test_a_formula_that_is_cut_at_a_limit_is_never_exact(typesetter: Typesetter) -> None:
    """Wherever two formulas begin to differ, also behind what a limit lets through."""
    benchmark = benchmark_with(typesetter, max_tokens=8, max_characters=24)
    singles, documents = [], []
    for prefix in ("a+" * same for same in range(1, 40, 3)):
        for truth, prediction in ((prefix + "1", prefix + "2"), ("a + b", prefix + "1"), (prefix, prefix + "1")):
            singles.append(Pair("1", FormulaTruth(truth), FormulaPrediction(prediction)))
            both = [f"\\[ {text} \\] $$ x $$" for text in (truth, prediction)]
            documents.append(Pair("2", FormulaTruth(document=both[0]), FormulaPrediction(document=both[1])))
    for alone in benchmark.score(singles):
        if isinstance(alone, RejectedRecord):
            assert alone.message.endswith(("max_tokens is 8", "max_characters is 24"))
        else:
            assert not alone.metrics["exp_rate"]
    for within in benchmark.score(documents):
        # Of a document, x = x alone is exact. The other pair differs, or is left out and counted.
        assert isinstance(within, SampleScore)
        assert within.statistics["exp_rate"] == 1
        assert within.statistics["document_truths"] + within.coverage.get("ground_truth_too_large", 0) == 2
        assert within.statistics["document_truths"] == 1 or within.metrics["edit_distance"]


def test_documents_of_a_batch_are_scored_in_parts_with_the_same_scores(
    benchmark_: FormulaBenchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [SOURCE, "\\[ \\begin{array}{c} x \\]", "\\[ a + b = c \\] \\[ } } \\]", SOURCE.replace("a", "q")]
    pairs = [
        Pair(str(index), FormulaTruth(document=source), FormulaPrediction(document=ANSWERS, dialect="gpt4o"))
        for index, source in enumerate(sources)
    ]
    expected = benchmark_.score(pairs)
    monkeypatch.setattr(module, "GROUP", 1)
    assert benchmark_.score(pairs) == expected
    assert [benchmark_.score([pair])[0] for pair in pairs] == expected


def test_a_document_is_drawn_formula_by_formula(benchmark_: FormulaBenchmark) -> None:
    svg = benchmark_.draw(FormulaTruth(document=SOURCE), FormulaPrediction(document=ANSWERS, dialect="mathpix"))
    for words in (
        "formula 1: ground truth",
        "formula 3: prediction: not drawn, there is none",
        "formula 4: prediction",
    ):
        assert words in svg
    many = benchmark_.draw(FormulaTruth(document="\\[ x \\]\n" * 50), None)
    assert "formula 40: " in many
    assert "formula 41: " not in many
    assert "10 more formulas are not drawn" in many
