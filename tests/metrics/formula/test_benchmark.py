from __future__ import annotations

import itertools
import pickle
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from beamscore.metrics.benchmark import Pair, RejectedRecord, SampleScore
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.records import FormulaOptions, FormulaPrediction, FormulaTruth
from beamscore.metrics.formula.render.typeset import Typesetter
from beamscore.metrics.statistics.sums import Sums
from tests.generate.formula import sample
from tests.metrics.formula.helpers import benchmark_with
from tests.plain_loop import decoded_pairs, read_records, total

CORPUS = Path("tests/corpora/formula")


def score(benchmark: FormulaBenchmark, truth: str, prediction: str | None) -> SampleScore:
    return benchmark.score_sample(FormulaTruth(truth), None if prediction is None else FormulaPrediction(prediction))


def test_a_right_formula_spelled_otherwise(benchmark_: FormulaBenchmark) -> None:
    result = score(benchmark_, r"\frac{a}{b} \leq x^{2}", r"\frac a b \le x^2")
    assert result.metrics["cdm"] == result.metrics["exp_rate_cdm"] == 1
    # \leq and \le look the same, and are two of 13 tokens: \frac { a } { b } \leq x ^ { 2 }.
    assert result.metrics["exp_rate"] == 0
    assert result.metrics["edit_distance"] == pytest.approx(1 / 13)


def test_a_missing_token(benchmark_: FormulaBenchmark) -> None:
    result = score(benchmark_, "a + b = c d", "a + b = c")
    # 5 of 6 tokens are found, all 5 are right: F1 = 2 * 5 / (6 + 5).
    assert result.metrics["cdm_recall"] == pytest.approx(5 / 6)
    assert result.metrics["cdm_precision"] == 1
    assert result.metrics["cdm"] == pytest.approx(10 / 11)
    assert result.details == [{"tokens": {"ground_truth": 6, "prediction": 5, "matched": 5}}]


def test_the_released_protocol_keeps_the_last_of_two_scripts(typesetter: Typesetter) -> None:
    values = {
        protocol: score(benchmark_with(typesetter, protocol=protocol), "x^3", "x^2^3").metrics
        for protocol in ("published", "released")
    }
    # TeX prints x, 2 and 3, of which x and 3 are right: 2 * 2 / (2 + 3). The released tool prints x and 3.
    assert values["published"]["cdm"] == pytest.approx(4 / 5)
    assert values["released"]["cdm"] == values["released"]["exp_rate"] == 1


def test_published_compares_texts_in_unicode_normalization_form_c(
    benchmark_: FormulaBenchmark, typesetter: Typesetter
) -> None:
    composed, decomposed = "\\text{caf\u00e9} \u2260 b", "\\text{cafe\u0301} =\u0338 b"
    released = benchmark_with(typesetter, protocol="released")
    for truth, prediction in ((composed, decomposed), (decomposed, composed)):
        documents = (FormulaTruth(document=f"$$ {truth} $$"), FormulaPrediction(document=f"$$ {prediction} $$"))
        assert score(benchmark_, truth, prediction).metrics == score(benchmark_, truth, truth).metrics
        assert benchmark_.score_sample(*documents).details["formulas"][0]["distance"] == 0
        # Decomposed, the tokens are \mathrm { c a f e \u0301 } = \u0338 b. Four of these 11 differ.
        assert score(released, truth, prediction).metrics["edit_distance"] == pytest.approx(4 / 11)
        assert released.score_sample(*documents).details["formulas"][0]["distance"] > 0


def test_no_prediction_is_wrong_and_no_render_failure(benchmark_: FormulaBenchmark) -> None:
    result = score(benchmark_, "a + b", None)
    assert result.metrics["cdm"] == result.metrics["exp_rate"] == result.metrics["bleu"] == 0
    assert result.metrics["edit_distance"] == 1
    values = benchmark_.values(Sums.of(result.statistics))
    assert values["cdm"] == values["exp_rate_cdm"] == values["bleu"] == 0
    assert values["render_failure_rate"] is None


@pytest.mark.parametrize("prediction", [r"\frac{a", "{}", r"\undefinedcommand", ""])
def test_a_prediction_that_cannot_be_typeset_scores_0(benchmark_: FormulaBenchmark, prediction: str) -> None:
    result = score(benchmark_, "a + b", prediction)
    assert result.metrics["cdm"] == 0
    assert result.metrics["render_failure"] == 1
    assert result.details[0]["prediction_problem"]


def test_a_ground_truth_that_cannot_be_typeset_leaves_the_mean_of_cdm(benchmark_: FormulaBenchmark) -> None:
    result = score(benchmark_, r"\frac{a", r"\frac{a}{b}")
    assert result.coverage == {"ground_truth_not_rendered": 1}
    assert "cdm" not in result.metrics
    sums = Sums.merged([Sums.of(result.statistics), Sums.of(score(benchmark_, "a", "a").statistics)])
    assert benchmark_.values(sums)["cdm"] == 1


def test_a_formula_that_is_too_large_is_rejected_and_does_not_disturb_its_batch(benchmark_: FormulaBenchmark) -> None:
    good = Pair("1", FormulaTruth("a"), FormulaPrediction("a"))
    for truth, prediction, side, words in (
        ("x", "x" * 100_000, "prediction", "100000 characters; max_characters is 20000"),
        ("x", "x" * 2500, "prediction", "2500 tokens; max_tokens is 2000"),
        ("x" * 19_000, "x", "ground_truth", "max_tokens is 2000"),
    ):
        first, rejected, last = benchmark_.score(
            [good, Pair("2", FormulaTruth(truth), FormulaPrediction(prediction)), good]
        )
        assert isinstance(rejected, RejectedRecord)
        assert rejected.side == side
        assert words in rejected.message
        assert first == last == benchmark_.score_sample(good.truth, good.prediction)


def test_no_sums_give_no_figures(benchmark_: FormulaBenchmark) -> None:
    values = benchmark_.values(Sums())
    assert set(values) == {spec.name for spec in benchmark_.metrics}
    assert set(values.values()) == {None}


def test_the_histogram_counts_every_formula_once(benchmark_: FormulaBenchmark) -> None:
    scores = [score(benchmark_, "a + b = c d", other) for other in ("a + b = c d", "a + b = c", "z", "a + b = c d")]
    (table,) = benchmark_.tables(total(scores))
    counts = {row[0]: row[1] for row in table.rows}
    # 1, 10/11, 0 and 1.
    assert counts["1"] == 2
    assert counts["0.9 to 1.0"] == counts["0.0 to 0.1"] == 1
    assert [count for count in counts.values() if count] == [1, 1, 2]


def test_figures_add_up_over_the_shipped_corpus(benchmark_: FormulaBenchmark) -> None:
    truths = read_records(CORPUS / "ground_truth.jsonl")
    predictions = read_records(CORPUS / "predictions.jsonl")
    assert 50 <= len(truths) <= 80
    pairs = decoded_pairs(benchmark_, truths, predictions)
    scores = [one for one in benchmark_.score(pairs) if isinstance(one, SampleScore)]
    assert len(scores) == len(truths)
    # A sample counts as often as it has formulas: a single formula once, a document by the formulas of its details.
    counts = [len(one.details) if isinstance(one.details, list) else len(one.details["formulas"]) for one in scores]
    values = benchmark_.values(total(scores))
    for name in ("cdm", "cdm_precision", "cdm_recall", "exp_rate_cdm", "exp_rate", "edit_distance"):
        weighted = [(one.metrics[name] or 0) * count for one, count in zip(scores, counts, strict=True)]
        assert values[name] == pytest.approx(sum(weighted) / sum(counts))
    of_documents = [one.metrics["cdm"] for one in scores if "documents" in one.statistics]
    assert len(of_documents) == 8
    assert values["document_cdm"] == pytest.approx(sum(value or 0 for value in of_documents) / 8)
    assert values["cdm"] is not None
    assert 0.5 < values["cdm"] < 1


def test_the_shipped_corpus_is_made_by_the_generator() -> None:
    truths = read_records(CORPUS / "ground_truth.jsonl")
    for index, (name, text) in enumerate(truths.items()):
        truth, _ = sample(index, 7)
        assert truth == msgspec.json.decode(text)
        assert truth["sample_id"] == name


def test_a_benchmark_is_pickled_without_its_processes(benchmark_: FormulaBenchmark) -> None:
    copy = pickle.loads(pickle.dumps(benchmark_))
    assert copy.options == FormulaOptions()
    copy.teardown()
    assert score(benchmark_, "a", "a").metrics["cdm"] == 1


def test_images_of_right_and_wrong_formulas(typesetter: Typesetter) -> None:
    benchmark = benchmark_with(typesetter, images=True)
    right = score(benchmark, r"\frac{a}{b}", r"\frac a b")
    wrong = score(benchmark, "a b c d e", "a b c d x")
    missing = score(benchmark, "a b c", None)
    assert right.metrics["image_edit_distance"] == right.metrics["image_mse"] == 0
    assert 0 < (wrong.metrics["image_edit_distance"] or 0) < 0.5
    assert 0 < (wrong.metrics["image_mse"] or 0) < 0.5
    assert missing.metrics["image_edit_distance"] == missing.metrics["image_mse"] == 1
    values = benchmark.values(total([right, missing]))
    assert values["image_mse"] == pytest.approx(0.5)


@pytest.mark.parametrize("options", [{"time_limit": 0}, {"max_tokens": 10**9}, {"nothing": 1}])
def test_impossible_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(options, FormulaOptions)


def test_the_config_holds_the_defaults() -> None:
    text = Path("configs/formula.yaml").read_bytes()
    given_options = msgspec.yaml.decode(text)
    assert given_options.pop("benchmark") == "formula"
    assert msgspec.convert(given_options, FormulaOptions) == FormulaOptions()
    assert set(given_options) == set(FormulaOptions.__struct_fields__)


def test_the_time_in_tex_is_told_once(benchmark_: FormulaBenchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark_.take_timings()
    # Every reading of the clock is a millisecond after the one before.
    readings = itertools.count(0, 1_000_000)
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(readings))
    runs = benchmark_.typesetter.runs
    score(benchmark_, r"\frac{7}{9}", r"\frac{7}{8}")
    assert benchmark_.typesetter.runs == runs + 1
    assert benchmark_.take_timings() == {"tex": 1000}
    assert benchmark_.take_timings() == {"tex": 0}


def test_other_spellings_and_scripts_that_are_not_closed(benchmark_: FormulaBenchmark) -> None:
    spellings = [
        (r"\sum_{n=1}^{100 x", r"\sum_{n=1}^{100 x}"),
        (r"\sum _ { n = 1 } ^ { 100 x", r"\sum_{n=1}^{100 x}"),
        (r"a + \int_{0", r"a + \int_{0}"),
        (r"\left( x^{2 \right) y", r"\left( x^{2} \right) y"),
        (r"x_{a_{b", r"x_{a_{b}}"),
        (r"\sum_{\substack{a \\ b}}x", r"\sum _ { \substack { a \\ b } } x"),
        (r"\root 3 \of x", r"\sqrt[3]{x}"),
        (
            r"\begin{pmatrix*}[r] 1 & -1 \\ -1 & 1 \end{pmatrix*}",
            r"\begin{pmatrix*} [ r ] 1 & -1 \\ -1 & 1 \end{pmatrix*}",
        ),
    ]
    sides = [both for text, same in spellings for both in ((text, same), (same, text), (text, text))]
    pairs = [Pair(truth, FormulaTruth(truth), FormulaPrediction(prediction)) for truth, prediction in sides]
    for pair, result in zip(pairs, benchmark_.score(pairs), strict=True):
        assert isinstance(result, SampleScore)
        assert (result.metrics["cdm"], result.coverage) == (1, {}), pair
