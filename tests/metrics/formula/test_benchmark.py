"""What formulas and documents score, what a perfect prediction scores, and how samples are drawn."""

from __future__ import annotations

import itertools
import pickle
import random
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from beamscore.metrics.benchmark import DrawnPair, RejectedRecord, SampleScore, for_each
from beamscore.metrics.common.svg import EXTRA, MISSED
from beamscore.metrics.formula import benchmark as module
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth
from beamscore.metrics.formula.render.typeset import Typesetter
from beamscore.metrics.statistics.sums import Sums
from tests.generate.formula import sample
from tests.metrics.formula.samples import (
    CORPUS,
    FormulaPair,
    benchmark_with,
    damaged,
    documents,
    pair,
    real_formulas,
    score,
    told,
)
from tests.plain_loop import decoded_pairs, read_records, total

SVG = "{http://www.w3.org/2000/svg}"


def metrics_of(benchmark: FormulaBenchmark, truth: str, prediction: str | None) -> dict[str, Any]:
    return dict(score(benchmark, pair(truth, prediction))[0].metrics)


SPELLINGS = [
    (r"\sum_{n=1}^{100 x", r"\sum_{n=1}^{100 x}"),
    (r"a + \int_{0", r"a + \int_{0}"),
    (r"\left( x^{2 \right) y", r"\left( x^{2} \right) y"),
    (r"x_{a_{b", r"x_{a_{b}}"),
    (r"\root 3 \of x", r"\sqrt[3]{x}"),
]
"""Others, and scripts that are not closed."""
EXAMPLES: list[tuple[str, str | None, Mapping[str, float]]] = [
    # \leq and \le look the same, and are two of 13 tokens: \frac { a } { b } \leq x ^ { 2 }.
    (
        r"\frac{a}{b} \leq x^{2}",
        r"\frac a b \le x^2",
        {"cdm": 1, "exp_rate_cdm": 1, "exp_rate": 0, "edit_distance": 1 / 13},
    ),
    # 5 of 6 tokens are found, all 5 are right: F1 = 2 * 5 / (6 + 5) = 0.909, of which one decimal would be 0.9.
    (
        "a + b = c d",
        "a + b = c",
        {"cdm": 10 / 11, "cdm_recall": 5 / 6, "cdm_precision": 1, "exp_rate_cdm": 0, "edit_distance": 1 / 6},
    ),
    # 100 of 101: F1 = 2 * 100 / (101 + 100) is 0.995, and not 1 to three decimals.
    ("i" * 101, "i" * 100, {"cdm": 200 / 201, "exp_rate_cdm": 0}),
    ("a + b", None, {"cdm": 0, "exp_rate": 0, "bleu": 0, "edit_distance": 1}),
    # BLEU takes the orders that there are: 1 of 2 tokens, and none of 1 pair, which counts as 1 / (2 * 1).
    ("a b", "a c", {"bleu": 1 / 2}),
    # TeX prints x, 2 and 3, of which x and 3 are right: 2 * 2 / (2 + 3).
    ("x^3", "x^2^3", {"cdm": 4 / 5, "render_failure": 0}),
    *(("a + b", failing, {"cdm": 0, "render_failure": 1}) for failing in (r"\frac{a", "{}", r"\undefinedcommand", "")),
    *(
        (*sides, {"cdm": 1, "render_failure": 0})
        for left, right in SPELLINGS
        for sides in ((left, right), (right, left))
    ),
]


def test_examples(benchmark_: FormulaBenchmark) -> None:
    results = score(benchmark_, *(pair(truth, prediction) for truth, prediction, _ in EXAMPLES))
    for (truth, prediction, expected), result in zip(EXAMPLES, results, strict=True):
        assert {name: result.metrics[name] for name in expected} == pytest.approx(expected), (truth, prediction)
        assert ("render_failure" in result.metrics) == (prediction is not None)
        assert not result.coverage


def test_released_keeps_the_last_of_two_scripts_and_texts_as_they_are_given(
    benchmark_: FormulaBenchmark, typesetter: Typesetter
) -> None:
    released = benchmark_with(typesetter, protocol="released")
    metrics = metrics_of(released, "x^3", "x^2^3")
    assert metrics["cdm"] == metrics["exp_rate"] == 1
    # Published reads both in Unicode normalization form C.
    composed, decomposed = "\\text{caf\u00e9} \u2260 b", "\\text{cafe\u0301} =\u0338 b"
    for truth, prediction in ((composed, decomposed), (decomposed, composed)):
        pages = documents(f"$$ {truth} $$", f"$$ {prediction} $$")
        assert metrics_of(benchmark_, truth, prediction) == metrics_of(benchmark_, truth, truth)
        assert score(benchmark_, pages)[0].details["formulas"][0]["distance"] == 0
        # Decomposed, the tokens are \mathrm { c a f e \u0301 } = \u0338 b. Four of these 11 differ.
        assert metrics_of(released, truth, prediction)["edit_distance"] == pytest.approx(4 / 11)
        assert score(released, pages)[0].details["formulas"][0]["distance"] > 0


def test_values_of_a_corpus(benchmark_: FormulaBenchmark) -> None:
    """A ground truth that cannot be typeset leaves the mean of CDM; the histogram counts every other formula once."""
    answers = ("a + b = c d", "a + b = c", "z", "a + b = c d")
    results = score(benchmark_, *(pair("a + b = c d", other) for other in answers), pair(r"\frac{a", r"\frac{a}{b}"))
    assert results[-1].coverage == {"ground_truth_not_rendered": 1}
    values = benchmark_.values(total(results))
    assert values["cdm"] == pytest.approx((1 + 10 / 11 + 0 + 1) / 4)
    assert (values["render_failure_rate"], values["exp_rate"]) == (0, 2 / 5)
    (table,) = benchmark_.tables(total(results))
    assert {row[0]: row[1] for row in table.rows if row[1]} == {"0.0 to 0.1": 1, "0.9 to 1.0": 1, "1": 2}
    assert benchmark_.values(Sums()) == dict.fromkeys(spec.name for spec in benchmark_.metrics)


def test_images_of_right_and_wrong_formulas(typesetter: Typesetter) -> None:
    benchmark = benchmark_with(typesetter, images=True)
    right, wrong, missing = score(
        benchmark, pair(r"\frac{a}{b}", r"\frac a b"), pair("a b c d e", "a b c d x"), pair("a b c", None)
    )
    values = [[each.metrics[f"image_{name}"] for name in ("edit_distance", "mse")] for each in (right, wrong, missing)]
    assert (values[0], values[2]) == ([0, 0], [1, 1])
    assert all(0 < value < 0.5 for value in values[1] if value is not None)
    assert benchmark.values(total([right, missing]))["image_mse"] == pytest.approx(0.5)


def test_figures_add_up_over_the_shipped_corpus_which_the_generator_makes(benchmark_: FormulaBenchmark) -> None:
    truths = read_records(CORPUS / "ground_truth.jsonl")
    assert [msgspec.json.decode(text) for text in truths.values()] == [sample(i, 7)[0] for i in range(len(truths))]
    scores = score(benchmark_, *decoded_pairs(benchmark_, truths, read_records(CORPUS / "predictions.jsonl")))
    # A sample counts as often as it has formulas: a single formula once, a document by the formulas of its details.
    counts = [len(one.details) if isinstance(one.details, list) else len(one.details["formulas"]) for one in scores]
    values = benchmark_.values(total(scores))
    for name in ("cdm", "cdm_precision", "cdm_recall", "exp_rate_cdm", "exp_rate", "edit_distance"):
        weighted = [(one.metrics[name] or 0) * count for one, count in zip(scores, counts, strict=True)]
        assert values[name] == pytest.approx(sum(weighted) / sum(counts))
    of_documents = [one.metrics["cdm"] or 0 for one in scores if "documents" in one.statistics]
    assert values["document_cdm"] == pytest.approx(sum(of_documents) / 8)


SOURCE = r"""\newcommand{\half}{\frac{1}{2}}
\begin{document}
\begin{equation} a + b = c \end{equation}
\[ \half x \] \[ \int_0^1 f \] \[ \oint g \neq h \]
\end{document}"""
ANSWERS = "$$ a + b = c $$\n\n$$ \\frac{1}{2} y $$\n\n$$ \\alpha \\beta \\gamma \\delta \\epsilon \\zeta $$"


def test_every_formula_of_a_document_counts_once_and_so_does_a_redundant_one(benchmark_: FormulaBenchmark) -> None:
    (result,) = score(benchmark_, documents(SOURCE, ANSWERS))
    values = benchmark_.values(total([result]))
    # a + b = c is right; of 1/2 x, three of four tokens; two integrals are missing; the Greek letters are redundant.
    right, nearly, missing, redundant = 1, 2 * 3 / (4 + 4), 0, 0
    assert values["cdm"] == result.metrics["cdm"] == pytest.approx((right + nearly + 2 * missing + redundant) / 5)
    assert values["exp_rate_cdm"] == values["exp_rate"] == 1 / 5
    assert (values["document_missing_rate"], values["document_redundant_rate"]) == (2 / 4, 1 / 3)
    details = result.details["formulas"]
    assert [(each["ground_truth"], each["prediction"], each["round"], each["cdm"]) for each in details] == [
        ("a + b = c", "a + b = c", 1, 1),
        ("\\frac{1}{2} x", "\\frac{1}{2} y", 1, 0.75),
        ("\\int_0^1 f", None, None, 0),
        ("\\oint g \\neq h", None, None, 0),
        (None, "\\alpha \\beta \\gamma \\delta \\epsilon \\zeta", None, 0),
    ]
    assert details[0]["ground_truth_offset"] == SOURCE.index("\\begin{equation}")
    assert details[1]["prediction_offset"] == ANSWERS.index("$$ \\frac")
    assert details[1]["distance"] == pytest.approx(1 / len("\\frac{1}{2} x"))
    svg = benchmark_.draw(FormulaTruth(document=SOURCE), FormulaPrediction(document=ANSWERS, dialect="mathpix"))
    assert "formula 3: prediction: not drawn, there is none" in svg
    assert "formula 5: prediction" in svg


def test_a_document_counts_once_by_document_and_by_its_formulas_by_formula(benchmark_: FormulaBenchmark) -> None:
    three, missing, single, empty, redundant = score(
        benchmark_,
        documents("\\[ a \\] \\[ b \\] \\[ c \\]", "$$ a $$ $$ b $$ $$ c $$"),
        documents("\\[ a b \\]", None),
        pair("x", "x"),
        documents("No formula.", "None."),
        documents("No formula.", "$$ x $$"),
    )
    values = benchmark_.values(total([three, missing, single]))
    assert (values["cdm"], values["document_cdm"]) == pytest.approx(((3 * 1 + 0 + 1) / 5, (1 + 0) / 2))
    assert benchmark_.values(total([single]))["document_cdm"] is None
    values = benchmark_.values(total([missing]))
    assert values["document_missing_rate"] == values["edit_distance"] == 1
    assert values["document_redundant_rate"] is values["render_failure_rate"] is None
    assert (dict(empty.statistics), empty.metrics, empty.coverage) == ({}, {}, {"documents_without_formulas": 1})
    assert redundant.metrics["cdm"] == 0


def test_formulas_that_cannot_be_typeset_are_told_apart_by_side(benchmark_: FormulaBenchmark) -> None:
    result, redundant = score(
        benchmark_,
        documents("\\[ a \\] \\[ \\frac{b \\]", "$$ a $$ $$ \\frac{a $$"),
        documents("\\[ a \\]", "$$ a $$ \n\n $$ \\frac{1}{2 $$"),
    )
    # The second ground truth leaves the mean of CDM; the second prediction is a render failure.
    assert result.coverage == {"ground_truth_not_rendered": 1}
    assert (result.metrics["cdm"], result.metrics["render_failure"]) == (1, 1 / 2)
    assert (redundant.metrics["cdm"], redundant.metrics["render_failure"]) == (1 / 2, 1 / 2)
    assert metrics_of(benchmark_, r"\(\)", None)["edit_distance"] == 1  # no token on either side


def test_details_and_drawings_are_bounded(benchmark_: FormulaBenchmark) -> None:
    source = "\\[ x \\]\n" * 250
    (result,) = score(benchmark_, documents(source, source + "$$ " + "y " * 500 + "$$", "latex"))
    assert (len(result.details["formulas"]), result.details["not_listed"]) == (200, 51)
    assert len(msgspec.json.encode(result.details)) < 400 * 200
    (cut,) = score(benchmark_, documents("\\[ " + "y " * 500 + "\\]", None))
    assert len(cut.details["formulas"][0]["ground_truth"]) == 201
    many = benchmark_.draw(FormulaTruth(document="\\[ x \\]\n" * 50), None)
    assert ("formula 40: " in many, "formula 41: " in many) == (True, False)
    assert "10 more formulas are not drawn" in many


def test_what_is_too_large_is_rejected_or_costs_itself_alone_in_a_document(benchmark_: FormulaBenchmark) -> None:
    good, large = pair("a", "a"), "x" * 2_500
    rejected = {
        ("prediction", "20001 characters; max_characters is 20000"): pair("x", f"{'':20000}x"),
        ("prediction", "2500 tokens; max_tokens is 2000"): pair("x", large),
        ("ground_truth", "19000 LaTeX tokens; max_tokens is 2000"): pair("x" * 19_000, "x"),
        ("prediction", "2500 tokens"): documents("\\[ x \\]", f"$$ {large} $$"),  # nothing else is in it
    }
    first, *results, last = benchmark_.score([good, *rejected.values(), good])
    assert first == last == score(benchmark_, good)[0]
    for (side, words), result in zip(rejected, results, strict=True):
        assert isinstance(result, RejectedRecord)
        assert (result.side, words in result.message) == (side, True)
    (result,) = score(benchmark_, documents(f"\\[ {large} y \\] \\[ a \\]", f"\\[ {large} \\] \\[ a \\]", "latex"))
    # Of the first nothing is measured; the second is right.
    assert result.coverage == {"ground_truth_too_large": 1}
    problem = "the formula has {} tokens; max_tokens is 2000"
    assert result.details["formulas"][0]["ground_truth_problem"] == problem.format(2501)
    assert result.details["formulas"][0]["prediction_problem"] == problem.format(2500)
    assert result.statistics["formulas"] == result.statistics["document_truths"] == result.metrics["cdm"] == 1


def test_a_formula_that_is_cut_at_a_limit_is_never_exact(typesetter: Typesetter) -> None:
    """Wherever two formulas begin to differ, also behind what a limit lets through; of a document, x = x alone is."""
    benchmark = benchmark_with(typesetter, max_tokens=8, max_characters=24)
    for prefix in ("a+" * same for same in (1, 3, 5, 9, 13)):
        sides = [(prefix + "1", prefix + "2"), ("a + b", prefix + "1"), (prefix, prefix + "1"), (prefix, prefix * 2)]
        for alone in benchmark.score(list(itertools.starmap(pair, sides))):
            assert isinstance(alone, RejectedRecord) or not alone.metrics["exp_rate"]
        whole = [[f"\\[ {text} \\] $$ x $$" for text in both] for both in sides]
        for within in score(benchmark, *(documents(truth, answer, "latex") for truth, answer in whole)):
            assert within.statistics["exp_rate"] == 1


def test_no_score_depends_on_the_group_of_formulas_that_are_typeset_together(
    benchmark_: FormulaBenchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(23)
    pairs = [pair(whole, damaged(whole, rng)) for whole in rng.sample(real_formulas(), 8)]
    sources = [SOURCE, "\\[ \\begin{array}{c} x \\]", "\\[ a + b = c \\] \\[ } } \\]"]
    pairs += [documents(source, ANSWERS, "gpt4o") for source in sources]
    together = told(benchmark_.score(pairs))
    monkeypatch.setattr(module, "GROUP", 3)
    assert told(benchmark_.score(pairs)) == together
    assert told(benchmark_.score(pairs[::-1]))[::-1] == together


UNUSUAL = [
    # Without ink, without tokens, without a normal form.
    *("%", "{}", "\\label{a}", "\x00", "\\quad", "\\frac{a", "\\begin{tabular}", "\\undefinedcommand"),
    # Signs in one place, beyond the paper, in other scripts, one that TeX repairs, and as many as are allowed.
    *("\\not" * 400 + "=xy", "\\hspace{30cm}x y z", "\\text{e\u0301 \u5229}", "x^2^3'", "x" * 2_000),
    *("x", "x y", "x\\hspace{-0.5em}x\\hspace{-0.5em}x y", "$x$ % y", "\\begin{cases} a \\\\ b"),
]


@pytest.mark.parametrize(("protocol", "images"), [("published", True), ("released", False)])
def test_a_prediction_equal_to_its_ground_truth_is_right(typesetter: Typesetter, protocol: str, images: bool) -> None:
    """In every metric; docs/explanation/benchmarks/formula.md names the exceptions."""
    benchmark, rng = benchmark_with(typesetter, protocol=protocol, images=images), random.Random(5)
    records = [record for index in range(40) for record in sample(index, 17) if record]
    texts = [*UNUSUAL, *(record["latex"] for record in records if record.get("latex"))]
    texts += [text for _ in range(30) if (text := damaged(damaged(rng.choice(texts), rng) or "x", rng)).strip()]
    pairs = [pair(text, text) for text in texts]
    pairs += [documents(each, each, "latex") for each in (record.get("document") for record in records) if each]
    together = "We see. " + " so ".join(f"\\[ {text} \\]" for text in texts[-10:])
    pairs.append(documents(together, together, "latex"))
    for each, result in zip(pairs, score(benchmark, *pairs), strict=True):
        formulas = result.statistics.get("formulas", 0)
        failed = result.coverage.get("ground_truth_not_rendered", 0) / formulas if formulas else 0
        # What cannot be typeset has no CDM, and as a prediction it is a render failure.
        best = {spec.name: float(spec.higher_is_better) for spec in benchmark.sample_metrics}
        measured = {name: value for name, value in result.metrics.items() if name != "render_failure"}
        assert measured == {name: best[name] for name in measured}, each
        assert ("cdm" in result.metrics) == (failed < 1 and formulas > 0), each
        # BLEU of a corpus needs a sequence of four tokens.
        best = {spec.name: float(spec.higher_is_better) for spec in benchmark.metrics}
        best |= {"render_failure_rate": failed, "bleu": float("bleu_totals_4" in result.statistics)}
        values = {name: value for name, value in benchmark.values(total([result])).items() if value is not None}
        assert values == {name: best[name] for name in values}, each


def test_a_drawing_tells_matched_and_unmatched_tokens_apart(benchmark_: FormulaBenchmark) -> None:
    svg = ET.fromstring(benchmark_.draw(FormulaTruth("a+b<c"), FormulaPrediction("a+<cx")))
    boxes = [box for box in svg.iter(f"{SVG}polygon") if box.find(f"{SVG}title") is not None]
    dashed = [(box.findtext(f"{SVG}title"), box.get("stroke")) for box in boxes if box.get("stroke-dasharray")]
    assert (len(boxes), dashed) == (10, [("b", MISSED.color), ("x", EXTRA.color)])
    assert len(list(svg.iter(f"{SVG}image"))) == 2


def test_samples_that_are_drawn_together_have_the_pictures_that_they_have_alone(benchmark_: FormulaBenchmark) -> None:
    """In as few runs of TeX as formulas allow: one for all, and one for each that could change its neighbours."""
    greedy = r"\begin{array}{c} a \\ \text{$"
    drawn: list[FormulaPair] = [pair("a+b<c", "a+x<c"), pair(r"x \right)", r"\frac{<&"), pair(r"\mathrm{a}", greedy)]
    pairs = [
        DrawnPair(each.sample_id, each.truth, each.prediction) for each in [*drawn, pair(" ", None), pair("a", None)]
    ]
    before = benchmark_.typesetter.runs
    together = benchmark_.draw_batch(pairs)
    assert benchmark_.typesetter.runs - before <= 3
    assert list(map(str, together)) == list(map(str, for_each(pairs, benchmark_.draw)))
    assert [isinstance(each, str) for each in together] == [True, True, True, False, True]
    assert ["prediction: not drawn" in str(each) for each in together] == [False, True, True, False, True]


def test_the_time_in_tex_is_reported_once(benchmark_: FormulaBenchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = pickle.loads(pickle.dumps(benchmark_))  # without its processes
    copy.teardown()
    benchmark_.take_timings()
    # Every reading of the clock is a millisecond after the one before.
    readings = itertools.count(0, 1_000_000)
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(readings))
    runs = benchmark_.typesetter.runs
    assert isinstance(benchmark_.score_sample(FormulaTruth("7"), FormulaPrediction("8")), SampleScore)
    assert benchmark_.typesetter.runs == runs + 1
    assert [benchmark_.take_timings(), benchmark_.take_timings()] == [{"tex": 1000}, {"tex": 0}]
