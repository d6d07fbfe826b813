"""What formulas and documents score, what a perfect prediction scores, and how samples are drawn."""

import itertools
import random
import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any

import pytest

from beamscore.metrics.benchmark import DrawnPair, RejectedRecord, SampleScore, for_each
from beamscore.metrics.common.svg import EXTRA, MATCHED, MISSED
from beamscore.metrics.formula import benchmark as module
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.draw import SHARPNESS
from beamscore.metrics.formula.latex import commands
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth
from beamscore.metrics.formula.render.boxes import PADDING
from beamscore.metrics.formula.render.typeset import Typesetter
from beamscore.metrics.statistics.sums import Sums
from tests.generate.formula import sample
from tests.metrics.formula.samples import benchmark_with, documents, pair, score, told
from tests.metrics.samples import SVG, shapes
from tests.plain_loop import total


def metrics_of(benchmark: FormulaBenchmark, truth: str, prediction: str | None) -> dict[str, Any]:
    return dict(score(benchmark, pair(truth, prediction))[0].metrics)


def _rows(last: int) -> str:
    rows = ["i" * 91] * 10 + ["i" * last]
    return r"\begin{array}{l}" + r"\\".join(rows) + r"\end{array}"


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
    # 1000 of 1001: F1 = 2 * 1000 / (1001 + 1000) is 0.9995, and 1 to three decimals.
    (_rows(91), _rows(90), {"cdm": 2000 / 2001, "exp_rate_cdm": 1}),
    ("a + b", None, {"cdm": 0, "exp_rate": 0, "bleu": 0, "edit_distance": 1}),
    # BLEU takes the orders that there are: 1 of 2 tokens, and none of 1 pair, which counts as 1 / (2 * 1).
    ("a b", "a c", {"bleu": 1 / 2}),
    # In a table LaTeX empties \\par, with which TeX would end a paragraph before a rule again and again, without end.
    (
        "x",
        r"\begin{tabular}{|l|r|} \hline a & $ \sum _ { i & } w $ \\ \hline o & 8 \\ \hline \end{tabular}",
        {"cdm": 0, "render_failure": 1},
    ),
    # Neither cell moves what is around it, and boxes are no tokens.
    (
        r"\begin{tabular}{cc} x & a \\ y & b \end{tabular}",
        r"\begin{tabular}{cc} \multirow[t]1*[0pt]{x} & \multicolumn1ca \\ \fbox{y} & $\hbox{b}$ \end{tabular}",
        {"cdm": 1},
    ),
    # A column has a third of the width, which is 205.8 mm, and there are no more than 99 of a kind.
    (
        r"\begin{tabular}{p{6.86cm}*{9}{*{11}c}} a b \end{tabular}",
        r"\begin{tabular}{p{.33333\textwidth}*\leq{c}} a b \end{tabular}",
        {"cdm": 1, "render_failure": 0},
    ),
    (r"\begin{tabular}{c} 9\textdegree \end{tabular}", r"9\text{\textdegree}", {"cdm": 1}),
    # TeX prints x, 2 and 3, of which x and 3 are right: 2 * 2 / (2 + 3).
    ("x^3", "x^2^3", {"cdm": 4 / 5, "render_failure": 0}),
    *(("a + b", failing, {"cdm": 0, "render_failure": 1}) for failing in (r"\frac{a", "{}", r"\undefinedcommand", "")),
]


def test_examples(benchmark_: FormulaBenchmark) -> None:
    results = score(benchmark_, *(pair(truth, prediction) for truth, prediction, _ in EXAMPLES))
    for (truth, prediction, expected), result in zip(EXAMPLES, results, strict=True):
        assert {name: result.metrics[name] for name in expected} == pytest.approx(expected), (truth, prediction)
        assert ("render_failure" in result.metrics) == (prediction is not None)
        assert not result.coverage


def test_what_changes_nothing_on_the_page_changes_no_cdm(benchmark_: FormulaBenchmark) -> None:
    """A brace that TeX drops, no braces around one token, and a fraction as an infix, in a formula and in a table."""
    drawn = [truth["latex"] for truth, _ in (sample(index, 17) for index in range(60)) if truth["kind"] == "formula"]
    pairs = [pair(each, re.sub(r"\{ (\S+) \}", r"\1", each) + " }") for each in drawn]
    known = commands.RENAMED.keys() | commands.LIMIT_OPERATORS | commands.MARKS | commands.STACKS | commands.DOTS
    for name in sorted(known | commands.SPELLED - commands.MODULI.keys()):
        text = rf"{{\sum_0^n x \over 2}} + \sum_{name}{{b}}{{c}}^2_3 {name} d {{e}}^f + g + h + i"
        braced = re.sub(r"([_^])(\w)", r"\1{\2}", text.replace(r"{\sum_0^n x \over 2}", r"\frac{\sum_0^n x}{2}"))
        pairs += [pair(braced, f"{text} }}"), pair(*(rf"\begin{{tabular}}{{c}}${each}$" for each in (braced, text)))]
    assert [each.truth.latex for each, result in zip(pairs, score(benchmark_, *pairs), strict=True)
            if result.metrics.get("cdm") != 1] == []  # fmt: skip


def test_released_keeps_the_last_of_two_scripts_and_texts_as_they_are_given(
    benchmark_: FormulaBenchmark, typesetter: Typesetter
) -> None:
    released = benchmark_with(typesetter, protocol="released")
    metrics = metrics_of(released, "x^3", "x^2^3")
    assert metrics["cdm"] == metrics["exp_rate"] == 1
    assert [metrics_of(each, "a", r"\left{a")["render_failure"] for each in (released, benchmark_)] == [1, 0]
    # Published reads both in Unicode normalization form C.
    composed, decomposed = "\\text{caf\u00e9} \u2260 b", "\\text{cafe\u0301} =\u0338 b"
    for truth, prediction in ((composed, decomposed), (decomposed, composed)):
        pages = documents(f"$$ {truth} $$", f"$$ {prediction} $$")
        assert metrics_of(benchmark_, truth, prediction) == metrics_of(benchmark_, truth, truth)
        assert score(benchmark_, pages)[0].details["formulas"][0]["distance"] == 0
        # Decomposed, the tokens are \mathrm { c a f e \u0301 } = \u0338 b. Four of these 11 differ.
        assert metrics_of(released, truth, prediction)["edit_distance"] == pytest.approx(4 / 11)
        assert score(released, pages)[0].details["formulas"][0]["distance"] > 0


def test_values_of_a_corpus(typesetter: Typesetter) -> None:
    """A ground truth that cannot be typeset leaves the mean of CDM; the histogram counts every other formula once."""
    benchmark = benchmark_with(typesetter, images=True)
    truth = "a + b = c d"
    pairs = [*(pair(truth, other) for other in (truth, "a + b = c", "z", None)), pair(r"\frac{a", r"\frac{a}{b}")]
    results = score(benchmark, *pairs)
    assert results[-1].coverage == {"ground_truth_not_rendered": 1}
    fences = [pair("x", "\n```latex\nx\n```"), pair("x", "~~~tex\nx\n~~~"), pair("~~~x", "~~~x")]
    fences += [documents("$$ x $$", f"```{name}\n$$ x $$\n```") for name in ("latex", "md")]
    warned = dict.fromkeys(benchmark.coverage_warnings, 1)
    assert [each.coverage for each in score(benchmark, *fences)] == [warned, warned, {}, warned, {}] != [{}] * 5
    explained = [benchmark.explain(each.details) for each in results[1::3]]
    assert explained == [["5 tokens match, of 6 true and 5 predicted ones"], []]
    images = [(each.metrics["image_edit_distance"], each.metrics["image_mse"]) for each in results[:-1]]
    assert (images[0], images[-1]) == ((0, 0), (1, 1))
    assert all(0 < value < 0.9 for both in images[1:3] for value in both if value is not None)
    values = benchmark.values(total(results))
    columns, edits = (sum(each.statistics.get(f"image_{name}", 0) for each in results) for name in ("columns", "edits"))
    # Of 5 formulas one is right, of 4 predictions all are typeset. Of the last, \\frac { a and \\frac { a } { b }, four
    # of seven tokens are missing.
    expected = {
        "cdm": (1 + 10 / 11 + 0 + 0) / 4,
        "cdm_precision": (1 + 1 + 0 + 0) / 4,
        "cdm_recall": (1 + 5 / 6 + 0 + 0) / 4,
        "exp_rate_cdm": 1 / 4,
        "exp_rate": 1 / 5,
        "edit_distance": (0 + 1 / 6 + 1 + 1 + 4 / 7) / 5,
        "render_failure_rate": 0,
        "image_edit_distance": edits / columns,
        "image_mse": sum(mse or 0 for _, mse in images) / 4,
    }
    assert {name: values[name] for name in expected} == pytest.approx(expected)
    # Nothing is missing or redundant but in documents.
    assert {name for name, value in values.items() if value is None} == {each for each in values if "document" in each}
    (table,) = benchmark.tables(total(results))
    assert {row[0]: row[1] for row in table.rows if row[1]} == {"0.0 to 0.1": 2, "0.9 to 1.0": 1, "1": 1}
    assert benchmark.values(Sums()) == dict.fromkeys(spec.name for spec in benchmark.metrics)


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
    cdm = (1 + 2 * 3 / (4 + 4) + 0 + 0 + 0) / 5
    assert [values["cdm"], values["document_cdm"], result.metrics["cdm"]] == pytest.approx([cdm] * 3)
    assert values["exp_rate_cdm"] == values["exp_rate"] == 1 / 5
    assert values["edit_distance"] == (0 + 1 / 8 + 1 + 1 + 1) / 5
    assert (values["document_missing_rate"], values["document_redundant_rate"]) == (2 / 4, 1 / 3)
    offsets = [SOURCE.index(text) for text in (r"\begin{equation}", r"\[ \half", r"\[ \int", r"\[ \oint")]
    half, greek = ANSWERS.index(r"$$ \frac"), ANSWERS.index(r"$$ \alpha")
    assert [(*each.pop("tokens").values(), *each.values()) for each in result.details["formulas"]] == [
        (5, 5, 5, "a + b = c", "a + b = c", offsets[0], 0, 0, 1, 1),
        (4, 4, 3, r"\frac{1}{2} x", r"\frac{1}{2} y", offsets[1], half, 1 / len(r"\frac{1}{2} x"), 1, 0.75),
        (4, 0, 0, r"\int_0^1 f", None, offsets[2], None, 1, None, 0),
        (4, 0, 0, r"\oint g \neq h", None, offsets[3], None, 1, None, 0),
        (0, 6, 0, None, r"\alpha \beta \gamma \delta \epsilon \zeta", None, greek, 1, None, 0),
    ]
    svg = benchmark_.draw(FormulaTruth(document=SOURCE), FormulaPrediction(document=ANSWERS, dialect="mathpix"))
    absent = re.findall(r">formula (\d: [^<,]*), there is none<", svg)
    assert absent == [f"{side}: not drawn" for side in ("3: prediction", "4: prediction", "5: ground truth")]


def test_a_document_counts_once_by_document_and_by_its_formulas_by_formula(typesetter: Typesetter) -> None:
    benchmark_ = benchmark_with(typesetter, images=True)
    three, missing, single, empty, redundant, faulty, failed = score(
        benchmark_,
        documents(r"\[ a \] \[ b \] \[ c \]", "$$ a $$ $$ b $$ $$ c $$"),
        documents(r"\[ a b \]", None),
        pair("x", "x"),
        documents("No formula.", "None."),
        documents("No formula.", "$$ x $$"),
        # The second ground truth leaves the mean of CDM; the second prediction is a render failure.
        documents(r"\[ a \] \[ \frac{b \]", r"$$ a $$ $$ \frac{a $$"),
        documents(r"\[ a \]", "$$ a $$ \n\n $$ \\frac{1}{2 $$"),
    )
    values = benchmark_.values(total([three, missing, single]))
    assert (values["cdm"], values["document_cdm"]) == pytest.approx(((3 * 1 + 0 + 1) / 5, (1 + 0) / 2))
    assert benchmark_.values(total([single]))["document_cdm"] is None
    values = benchmark_.values(total([missing]))
    assert values["document_missing_rate"] == values["edit_distance"] == 1
    assert values["document_redundant_rate"] is values["render_failure_rate"] is None
    assert (dict(empty.statistics), empty.metrics, empty.coverage) == ({}, {}, {"documents_without_formulas": 1})
    assert redundant.metrics["cdm"] == 0
    for each in (three, missing, empty, redundant, faulty, failed):
        assert each.statistics.get("imaged") == each.statistics.get("rendered")
    assert (faulty.metrics["cdm"], faulty.metrics["render_failure"]) == (1, 1 / 2)
    assert (failed.metrics["cdm"], failed.metrics["render_failure"]) == (1 / 2, 1 / 2)
    assert (faulty.coverage, failed.coverage) == ({"ground_truth_not_rendered": 1}, {})
    assert metrics_of(benchmark_, r"\(\)", None)["edit_distance"] == 1  # no token on either side


def test_details_and_drawings_are_bounded(benchmark_: FormulaBenchmark) -> None:
    source, long = "\\[ x \\]\n" * 250, "y " * 500
    (result,) = score(benchmark_, documents(source + f"\\[ {long} \\]", source + "$$ z $$", "latex"))
    assert (len(result.details["formulas"]), result.details["not_listed"]) == (200, 52)
    (cut,) = score(benchmark_, documents(f"\\[ {long}\\]", None))
    assert cut.details["formulas"][0]["ground_truth"] == f"{long[:200]}…"
    many, missed = (benchmark_.draw(FormulaTruth(document=source), FormulaPrediction(document="") if judged else None)
                    for judged in (False, True))  # fmt: skip
    assert [">missed<" in each for each in (many, missed)] == [False, True]
    assert re.findall(r">(formula 4.*?|more .*?)<", many)[-3::2] == [
        "formula 40: ground truth",
        "more formulas, not drawn: 210",
    ]


def test_what_is_too_large_is_rejected_or_costs_itself_alone_in_a_document(benchmark_: FormulaBenchmark) -> None:
    good, large, costly = pair("a", "a"), "x" * 2_500, r"\pmb{" * 8 + "x" + "}" * 8
    rejected = {
        ("prediction", "the formula has 20001 characters; max_characters is 20000"): pair("x", f"{'':20000}x"),
        ("prediction", "the formula has 2500 tokens; max_tokens is 2000"): pair("x", large),
        ("ground_truth", "the formula has 19000 LaTeX tokens; max_tokens is 2000"): pair("x" * 19_000, "x"),
        ("prediction", "the formula takes 10163204010 steps to typeset; max_steps is 4000000"): pair("x", costly),
        # Nothing else is in the document.
        ("prediction", "the formula has 2501 tokens; max_tokens is 2000"): documents("\\[ x \\]", f"$$ {large}y $$"),
    }
    first, *results, last = told(benchmark_.score([good, *rejected.values(), good]))
    assert (results, first, last) == ([*rejected], *score(benchmark_, good, good))
    (result,) = score(benchmark_, documents(f"\\[ {large} y \\] \\[ a \\]", f"\\[ {large} \\] \\[ a \\]", "latex"))
    # Of the first nothing is measured; the second is right.
    assert result.coverage == {"ground_truth_too_large": 1}
    problems = [result.details["formulas"][0][f"{side}_problem"] for side in ("ground_truth", "prediction")]
    assert problems == [f"the formula has {count} tokens; max_tokens is 2000" for count in (2501, 2500)]
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
    sources = (SOURCE, "\\[ \\begin{array}{c} x \\]", "\\[ a + b = c \\] \\[ } } \\]")
    pairs = [pair("a + b", "a + c"), *(documents(source, ANSWERS, "gpt4o") for source in sources), pair("x", "{ x")]
    together = told(benchmark_.score(pairs))
    monkeypatch.setattr(module, "GROUP", 3)
    for order in (1, -1):
        assert told(benchmark_.score(pairs[::order]))[::order] == together


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
    for text in rng.sample(texts, 15):
        # A part is left out or repeated.
        first, last = sorted(rng.choices(range(len(text)), k=2))
        texts += [f"{text[:first]} {text[last:]}", text[:last] + text[first:]]
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


def test_samples_that_are_drawn_together_have_the_pictures_that_they_have_alone(benchmark_: FormulaBenchmark) -> None:
    """In as few runs of TeX as formulas allow: one for all, and one for each that could change its neighbours."""
    greedy = r"\begin{array}{c} a \\ \text{$"
    sides = [("a+b<c", "a+<cx"), (r"x \right)", r"\frac{<&"), (r"\mathrm{a}", greedy), (" ", None), ("a", None)]
    pairs = [DrawnPair(each.sample_id, each.truth, each.prediction) for each in itertools.starmap(pair, sides)]
    before = benchmark_.typesetter.runs
    together = benchmark_.draw_batch(pairs)
    assert benchmark_.typesetter.runs - before <= 3
    assert list(map(str, together)) == list(map(str, for_each(pairs, benchmark_.draw)))
    drawn = [(isinstance(each, str), "prediction: not drawn" in str(each)) for each in together]
    assert drawn == [(True, False), (True, True), (True, True), (False, False), (True, True)]
    # Matched and unmatched tokens are told apart.
    boxes = shapes(svg := ET.fromstring(str(together[0])), "polygon")
    unmatched = [box for box in boxes if box[1] != MATCHED.label]
    assert (len(boxes), unmatched) == (10, [("b", MISSED.label), ("x", EXTRA.label)])
    # The boxes of the tokens fill their image up to its margin.
    images, polygons = list(svg.iter(f"{SVG}image")), list(svg.iter(f"{SVG}polygon"))
    for image, parts in zip(images, (polygons[:5], polygons[5:]), strict=True):
        corners = [xy.split(",") for each in parts for xy in each.get("points", "").split()]
        for start, length, places in zip(("x", "y"), ("width", "height"), zip(*corners, strict=True), strict=True):
            left, right = float(image.get(start, 0)), float(image.get(start, 0)) + float(image.get(length, 0))
            found = min(map(float, places)) - left, right - max(map(float, places))
            assert found == pytest.approx([PADDING / SHARPNESS] * 2, abs=1)


def test_the_time_in_tex_is_reported_once(benchmark_: FormulaBenchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark_.take_timings()
    # Every reading of the clock is a millisecond after the one before.
    readings = itertools.count(0, 1_000_000)
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(readings))
    runs = benchmark_.typesetter.runs
    assert isinstance(benchmark_.score_sample(FormulaTruth("7"), FormulaPrediction("8")), SampleScore)
    assert benchmark_.typesetter.runs == runs + 1
    assert [benchmark_.take_timings(), benchmark_.take_timings()] == [{"tex": 1000}, {"tex": 0}]
