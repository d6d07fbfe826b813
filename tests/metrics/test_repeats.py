"""Repeats by hand: means and spreads from the sums of each repeat, the best and the worst of k over all subsets."""

import itertools
import math
import pickle
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.benchmark import MetricSpec, SampleScore
from beamscore.metrics.derived import with_derived
from beamscore.metrics.registry import BUILT_IN, benchmark_class
from beamscore.metrics.repeats import REPEATS, fold_metrics, fold_statistics, repeats_of, with_repeats
from beamscore.metrics.statistics.measured import class_families, measure, satterthwaite_df, spec_or_undeclared
from beamscore.metrics.statistics.ratios import ratio
from beamscore.metrics.statistics.slice_names import with_slices
from beamscore.metrics.statistics.sum_table import SumTable, values_of_rows
from beamscore.metrics.statistics.sums import MAX_STATISTIC, Sums
from tests.laws import tries
from tests.toy import Options, ToyBenchmark


class Reader(ToyBenchmark):
    """Words that are read right, of those there are; whether all are; and an error of each sample, in [0, 2]."""

    metrics = (
        MetricSpec("accuracy", "", denominator="words", main=1, rank=1),
        MetricSpec("error", "", higher_is_better=False, bounds=(0, 2), denominator="samples", per_sample=1),
    )
    sample_metrics = (
        MetricSpec("error", "", higher_is_better=False, bounds=(0, 2), main=1),
        MetricSpec("right", "", binary=True),
        MetricSpec("accuracy", ""),
    )

    def values(self, sums: Sums) -> dict[str, float | None]:
        assert not any(name.startswith("@") for name in sums), "a benchmark sees its own statistics"
        return {"accuracy": ratio(sums["read"], sums["words"]), "error": ratio(sums["error"], sums["samples"])}


KIND = with_repeats(Reader)
BENCHMARK, PLAIN = KIND(Options()), Reader(Options())

Runs = Mapping[str, SampleScore]


def score(read: int, words: int) -> SampleScore:
    """The score of a sample of which so many words are read; without words, there is nothing to measure."""
    error = 2 * (1 - read / words) if words else None
    counts = {"read": read, "words": words, "error": error or 0, "samples": int(words > 0)}
    metrics = {"error": error, "right": int(read == words) if words else None}
    return SampleScore({name: count for name, count in counts.items() if count}, metrics)


SCORES = st.sampled_from([score(read, words) for words in range(4) for read in range(words + 1)])
LABELS = st.lists(st.sampled_from(["0", "1", "10", "seed,2", 'a"]b']), min_size=1, unique=True)
RUNS = LABELS.map(lambda labels: st.dictionaries(st.sampled_from(labels), SCORES, min_size=1))
CORPORA = RUNS.flatmap(lambda runs: st.lists(runs, min_size=1, max_size=6))
"""Samples with 1 to 5 repeats each, in some of which there is nothing to measure."""


def folded(corpus: Sequence[Runs]) -> Sums:
    return Sums.merged(Sums.of(fold_statistics(KIND, runs)) for runs in corpus)


def over_subsets(corpus: Sequence[Runs], metric: str, k: int, choose: Callable[[Sequence[float]], float]) -> float:
    """The mean, over the samples with k values at least, of what is chosen of each k of their values, on average."""
    means = []
    for runs in corpus:
        values = [value for each in runs.values() if (value := each.metrics[metric]) is not None]
        if len(values) >= k:
            means.append(statistics.fmean(choose(subset) for subset in itertools.combinations(values, k)))
    return statistics.fmean(means)


@tries(60)
@given(CORPORA)
def test_the_best_and_the_worst_of_k_are_means_over_all_subsets(corpus: list[Runs]) -> None:
    found = {name: value for name, value in BENCHMARK.values(folded(corpus)).items() if "[" in name}
    most = max(sum(each.metrics["right"] is not None for each in runs.values()) for runs in corpus)
    # The lower the error the better.
    chosen = {"right.pass_at": max, "right.worst_of": min, "error.best_of": min, "error.worst_of": max}
    assert found == {
        f"{name}[{k}]": pytest.approx(over_subsets(corpus, name.partition(".")[0], k, choose), abs=1e-12)
        for name, choose in chosen.items()
        for k in range(1, most + 1)
    }


@tries(60)
@given(st.lists(CORPORA, min_size=1, max_size=2))
def test_a_metric_is_the_mean_over_the_repeats_and_its_spread_their_standard_deviation(drawn: list[list[Runs]]) -> None:
    rows = [folded(corpus) for corpus in drawn]
    columns = values_of_rows(BENCHMARK, SumTable.of(rows), Sums())
    for place, (corpus, sums) in enumerate(zip(drawn, rows, strict=True)):
        labels = sorted({label for runs in corpus for label in runs})
        parts = [Sums.merged(Sums.of(runs[label].statistics) for runs in corpus if label in runs) for label in labels]
        values = {label: PLAIN.values(part) for label, part in zip(labels, parts, strict=True)}
        found = BENCHMARK.values(sums)
        for name in ("accuracy", "error"):
            defined = [number for each in values.values() if (number := each[name]) is not None]
            assert found[name] == (pytest.approx(statistics.fmean(defined)) if defined else None)
            if name == "accuracy":
                spread = pytest.approx(statistics.stdev(defined), abs=1e-9) if defined[1:] else None
                assert found["accuracy.spread"] == spread
                assert (found["accuracy.spread"] or 0) <= (spec_or_undeclared(KIND, "accuracy.spread").width or 0)
        assert "error.spread" not in found, "of main metrics alone"
        read = math.fsum(statistics.fmean(each.statistics.get("read", 0) for each in runs.values()) for runs in corpus)
        assert sums["read"] == pytest.approx(read)
        assert (repeats_of(sums), found[REPEATS]) == (tuple(values), len(values))
        assert BENCHMARK.tables(sums)[0].rows == [[label, each["accuracy"]] for label, each in values.items()]
        for name in found.keys() - {REPEATS}:
            expected: Any = math.nan if found[name] is None else found[name]
            np.testing.assert_allclose(columns[name][place], expected, rtol=1e-12, atol=1e-8)


@tries(50)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(1, 7))
def test_copies_of_one_prediction_are_one_prediction_to_the_last_bit(reads: list[int], copies: int) -> None:
    scores = [score(read, 3) for read in reads]
    once = Sums.merged(Sums.of(each.statistics) for each in scores)
    sums = folded([{str(number): each for number in range(copies)} for each in scores])
    assert {name: total for name, total in sums.units().items() if not name.startswith("@")} == once.units()
    assert [fold_metrics([each.metrics] * copies) for each in scores] == [each.metrics for each in scores]
    found = measure(BENCHMARK, sums, SumTable.of([sums, sums]))
    expected = measure(PLAIN, once, SumTable.of([once, once]))
    assert {name: found.values[name] for name in expected.values} == expected.values
    assert {name: found.units[name] for name in expected.units} == expected.units
    right = sum(read == 3 for read in reads) / len(reads)
    assert {found.values[f"right.{of}[{k}]"] for of in ("pass_at", "worst_of") for k in range(1, copies + 1)} == {right}
    assert found.values["accuracy.spread"] == (0.0 if copies > 1 else None)
    assert found.units["right.pass_at[1]"] == len(reads)
    assert found.units["accuracy.spread"] == found.units["accuracy"]


@pytest.mark.parametrize(("bounds", "low", "high"), [((0, 2), 0, 2), ((None, None), -MAX_STATISTIC, MAX_STATISTIC)])
def test_a_value_out_of_its_bounds_counts_as_the_bound(bounds: tuple[Any, Any], low: float, high: float) -> None:
    """Without a bound, as the most that can be added up. The spread has the unit of its metric."""
    error, *others = Reader.sample_metrics
    metrics = (replace(Reader.metrics[0], bounds=bounds),)
    declared = {"sample_metrics": (replace(error, bounds=bounds), *others), "metrics": metrics}
    kind = with_repeats(type("Bounded", (Reader,), declared))
    # At most that of two repeats, one at each bound.
    spread = spec_or_undeclared(kind, "accuracy.spread")
    assert (spread.bounds[1], spread.reach) == ((None, math.inf) if None in bounds else (math.sqrt(2), math.sqrt(2)))
    runs = {label: SampleScore({"samples": 1}, {"error": value}) for label, value in (("1", 1e300), ("2", -1e300))}
    values = kind(Options()).values(Sums.of(fold_statistics(kind, runs)))
    expected = low, high, (low + high) / 2
    assert tuple(values[name] for name in ("error.best_of[2]", "error.worst_of[2]", "error.best_of[1]")) == expected


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_benchmark_declares_what_it_returns_over_repeats(name: str) -> None:
    plain = benchmark_class(name)
    kind = with_repeats(plain)
    assert with_repeats(plain) is kind, "classes are compared"
    benchmark = pickle.loads(pickle.dumps(kind(kind.options_type())))
    assert (type(benchmark), benchmark.options) == (kind, kind.options_type())
    values, first = benchmark.values(Sums()), plain.main_metrics()
    assert None not in map(kind.spec_of, values)
    assert kind.main_metrics() == [*first, f"{first[0]}.spread"]
    assert {f"{metric}.spread" for metric in first} <= values.keys()


def test_the_worst_repeat_is_explained() -> None:
    errors = {"1": 1 / 3, "2": 1, "3": None}
    runs = {name: {"metrics": {"error": error}, "details": None} for name, error in errors.items()}
    told = "repeat 2; error of each: 1: 0.3333, 2: 1, 3: no value"
    assert BENCHMARK.explain({"repeats": runs, "worst": "2"}) == [told]


def test_derived_metrics_are_made_of_means_over_repeats() -> None:
    """A mean of spreads has the units and classes of what they are the spreads of."""
    formulas = {"gap": '"right.pass_at[2]" - accuracy', "wide": "accuracy.spread * 2",
                "means": "slice_mean(accuracy, kind)", "spreads": "slice_mean(accuracy.spread, kind)"}  # fmt: skip
    benchmark = pickle.loads(pickle.dumps(with_derived(KIND, formulas)(Options())))
    folds = {"x": fold_statistics(KIND, {"1": score(1, 2), "2": score(2, 2)}),
             "y": fold_statistics(KIND, {"1": score(0, 3), "2": score(3, 3)})}  # fmt: skip
    sums = Sums.merged(Sums.of(with_slices(each, [(("kind",), (kind,))], {"kind"})) for kind, each in folds.items())
    found = measure(benchmark, sums, SumTable.of([sums, sums]))
    # Repeat 1 reads 1 of 5 words and repeat 2 all: accuracy is 0.6, and one of both is right. In x accuracy is 1/2 and
    # 1, in y 0 and 1; they have 2 and 3 words.
    assert found.values["gap"] == pytest.approx(1 - 0.6)
    assert found.values["wide"] == pytest.approx(2 * 0.8 / math.sqrt(2))
    assert found.values["spreads"] == pytest.approx((math.sqrt(0.125) + math.sqrt(0.5)) / 2)
    assert found.units["spreads"] == found.units["means"] == pytest.approx(satterthwaite_df([2, 3])[0])
    assert found.size("spreads") == found.size("means") > 0
    # Other means vary at a bound only where a slice predicts nothing.
    assert [name for name in formulas if benchmark.spec_of(name).spread] == ["wide", "spreads"]
    assert [table.title for table in benchmark.tables(sums)] == ["Repeats", "Counts"]
    chart = with_derived(with_repeats(benchmark_class("chart")), {"wide": "2 * task1.macro_f1.spread"})
    assert [each.name for each in class_families(chart, "wide")] == ["task1.recall[CLASS]"]
