"""A prediction equal to its ground truth is right in every metric; docs/explanation/benchmarks/formula.md names
the exceptions."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import Pair, SampleScore
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth
from beamscore.metrics.formula.render.typeset import Typesetter
from beamscore.metrics.statistics.sums import Sums
from tests.generate.formula import sample
from tests.metrics.formula.damaged import CORPUS, damaged, real_formulas
from tests.metrics.formula.helpers import benchmark_with

FORMULAS = real_formulas(CORPUS)
UNUSUAL = [
    # Without ink, without tokens, without a normal form.
    *("%", "{}", "\\label{a}", "\x00", "\\quad", "\\frac{a", "\\begin{tabular}", "\\undefinedcommand"),
    # Signs in one place, beyond the paper, in other scripts, one that TeX repairs, and as many as are allowed.
    *("\\not" * 400 + "=xy", "\\hspace{30cm}x y z", "\\text{e\u0301 \u5229}", "x^2^3'", "x" * 1_999),
    *("x", "x y", "x\\hspace{-0.5em}x\\hspace{-0.5em}x y", "$x$ % y", "\\begin{cases} a \\\\ b"),
]
DISPLAYS = ("\\[ {} \\]", "$$ {} $$", "\\begin{{align}} {} \\end{{align}}", "\\begin{{gather*}} {} \\end{{gather*}}")


@pytest.fixture(scope="module", params=[("published", True), ("released", False)])
def benchmark_(request: pytest.FixtureRequest, typesetter: Typesetter) -> FormulaBenchmark:
    protocol, images = request.param
    return benchmark_with(typesetter, protocol=protocol, images=images)


def assert_right(benchmark: FormulaBenchmark, pairs: list[Pair[FormulaTruth, FormulaPrediction]]) -> None:
    for pair, result in zip(pairs, benchmark.score(pairs), strict=True):
        assert isinstance(result, SampleScore), (pair, result)
        formulas = result.statistics.get("formulas", 0)
        failed = result.coverage.get("ground_truth_not_rendered", 0) / formulas if formulas else 0
        # What cannot be typeset has no CDM, and as a prediction it is a render failure.
        best = {spec.name: float(spec.higher_is_better) for spec in benchmark.sample_metrics}
        assert {name: best[name] for name in result.metrics} | {"render_failure": failed} == {
            "render_failure": failed,
            **result.metrics,
        }, pair
        assert ("cdm" in result.metrics) == (failed < 1 and formulas > 0), pair
        # BLEU of a corpus needs a sequence of four tokens.
        best = {spec.name: float(spec.higher_is_better) for spec in benchmark.metrics}
        best |= {"render_failure_rate": failed, "bleu": float("bleu_totals_4" in result.statistics)}
        values = benchmark.values(Sums.of(result.statistics))
        assert {name: best[name] for name, value in values.items() if value is not None} == {
            name: value for name, value in values.items() if value is not None
        }, pair


def same(text: str) -> Pair[FormulaTruth, FormulaPrediction]:
    return Pair("1", FormulaTruth(text), FormulaPrediction(text))


def same_document(text: str) -> Pair[FormulaTruth, FormulaPrediction]:
    return Pair("1", FormulaTruth(document=text), FormulaPrediction(document=text))


def test_generated_and_unusual_inputs(benchmark_: FormulaBenchmark) -> None:
    records = [record for index in range(60) for record in sample(index, 17) if record]
    assert_right(benchmark_, [same(text) for text in [*UNUSUAL, *(r["latex"] for r in records if r.get("latex"))]])
    assert_right(benchmark_, [same_document(record["document"]) for record in records if record.get("document")])


@given(st.randoms(use_true_random=False))
@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_inputs(benchmark_: FormulaBenchmark, rng: random.Random) -> None:
    texts = [damaged(damaged(rng.choice(FORMULAS), rng), rng) for _ in range(60)]
    texts = [text for text in texts if text.strip()]
    assert_right(benchmark_, [same(text) for text in texts])
    documents = [
        "\\begin{document} We see. " + " and so on. ".join(rng.choice(DISPLAYS).format(text) for text in group)
        for group in (texts[:20], texts[20:40])
    ]
    assert_right(benchmark_, [same_document(document) for document in documents])
