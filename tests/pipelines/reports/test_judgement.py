"""One verdict for a run, a comparison and a history."""

from __future__ import annotations

from typing import Any

import pytest

from beamscore.metrics.registry import benchmark_class
from beamscore.pipelines.reports.comparison import ComparedRuns, build_comparison
from beamscore.pipelines.reports.document import Compared, Difference, Link, Measured, Metric, Slice
from beamscore.pipelines.reports.judgement import by_evidence, judge_difference, judge_run, lost_most, moved
from tests.toy import Options, ToyBenchmark

TOY = ToyBenchmark(Options())


def compared(name: str, value: float, low: float | None, high: float | None, higher: bool = True) -> Compared:
    difference = Difference(value, low, high)
    return Compared(Metric(name, "", higher), 0, Measured(0.5), Measured(0.5 + value), difference)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (compared("f1", -0.25, -0.5, -0.125), "f1 fell from 0.5000 to 0.2500, −0.2500 (−0.5000 to −0.1250)"),
        (compared("f1", 0.25, 0.125, 0.5), "f1 rose from 0.5000 to 0.7500, +0.2500 (+0.1250 to +0.5000)"),
        (compared("f1", -0.25, -0.5, 0.0), "f1 went from 0.5000 to 0.2500, −0.2500 (−0.5000 to 0.0000)"),
        (compared("f1", -0.25, None, None), "f1 went from 0.5000 to 0.2500, −0.2500"),
        (compared("f1", 0.0, 0.0, 0.0), "f1 is 0.5000 as before"),
    ],
)
def test_how_a_metric_moved(found: Compared, text: str) -> None:
    assert moved("f1", found) == text


WORSE, BETTER, UNSURE, SAME = (-0.25, -0.5, -0.125), (0.25, 0.125, 0.5), (-0.25, -0.5, 0.5), (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("moves", "judgement"),
    [
        ([WORSE] * 8, "worse"),
        ([UNSURE, WORSE], "worse"),
        ([BETTER, UNSURE, SAME], "better"),
        ([BETTER, WORSE], "mixed"),
        ([SAME, SAME], "identical"),
        ([SAME, UNSURE], "no difference shown"),
    ],
)
def test_the_main_metrics_decide(moves: list[tuple[float, float, float]], judgement: str) -> None:
    names = [f"m{number}" for number in range(len(moves))]
    differences = [compared(name, *move) for name, move in zip(names, moves, strict=True)]
    lead = names[::-1]
    found = judge_difference(lead, names, differences, (), ["one"], "The run")
    assert found is not None
    assert found.judgement == judgement
    assert found.sentence.startswith(f"{lead[0]} ")
    assert judge_difference(lead, names, (), (), ["one"], "The run") is None


def test_slices_that_lost_most_lost_so_much_at_least() -> None:
    """A slice whose interval holds zero is not named, however far its value fell."""
    moves = {"few": (-0.9, -1.9, 0.1), "a": (-0.2, -0.3, -0.1), "b": (-0.5, -0.9, -0.05), "won": BETTER}
    slices = [Slice(name, 0, 9, (), (), (Difference(*move),)) for name, move in moves.items()]
    higher, lower = Metric("f1"), Metric("f1", higher_is_better=False)
    assert [each.text for each in lost_most(slices, 0, higher, ["one"])] == [
        "a −0.2000 (−0.3000 to −0.1000)",
        "b −0.5000 (−0.9000 to −0.0500)",
    ]
    assert [each.text for each in lost_most(slices, 0, lower, ["one", "two"])] == [
        "won of one +0.2500 (+0.1250 to +0.5000)"
    ]
    assert [each.label for each in by_evidence(slices, [higher], ["other", "f1"])] == ["a", "b", "few", "won"]


def test_slices_without_a_baseline_are_told_apart_from_all_samples() -> None:
    values = {"few": (0.1, -0.9, 1.0), "low": (0.3, 0.2, 0.4), "high": (0.9, 0.8, 1.0), "none": (None, None, None)}
    slices = [Slice(name, 0, 9, (Measured(*each),)) for name, each in values.items()]
    for higher_is_better, order in ((True, ["low", "high", "few", "none"]), (False, ["high", "low", "few", "none"])):
        metric = Metric("f1", higher_is_better=higher_is_better, values=(Measured(0.5),))
        found = by_evidence(slices, [metric], ["f1"])
        assert [each.label for each in found][:1] == order[:1]
        assert found[-1].label == "none"


def summary(scored: int, **systems: float) -> dict[str, Any]:
    coverage = {"read": 3, "scored": scored, "missing_prediction": 3 - scored, "rejected": 0, "duplicate": 0}
    return {
        "ranking": list(systems),
        "systems": {
            name: {"coverage": {"ground_truth": coverage}, "values": {"exact_match": value}, "intervals": {}}
            for name, value in systems.items()
        },
    }


def test_a_run_that_scored_nothing_fails() -> None:
    found = judge_run(summary(0, one=0.5), ToyBenchmark, (), ())
    assert (found.judgement, found.sentence, found.sign) == ("fail", "Nothing was scored.", "✘")
    assert judge_run(summary(3, one=0.5), ToyBenchmark, (), ()).judgement == "not judged"
    assert judge_run(summary(3, one=0.5), ToyBenchmark, (), ["too few"]).reasons == (Link("too few"),)


def test_all_of_the_first_place_are_named() -> None:
    found = summary(3, a=0.5, b=0.5, c=0.5)
    places = [{"system": name, "place": place} for name, place in (("a", 1), ("b", 1), ("c", 3))]
    sentence = judge_run({**found, "ranking_by": {"places": places}}, ToyBenchmark, (), ()).sentence
    assert sentence.startswith("a, b share the first place of 3 systems: ")
    places[1]["place"] = 2
    sentence = judge_run({**found, "ranking_by": {"places": places}}, ToyBenchmark, (), ()).sentence
    assert sentence.startswith("a ranks first of 3 systems: ")


@pytest.mark.parametrize(
    ("word", "text"), [("worse", "That holds for all"), ("no difference shown", "is not shown in")]
)
def test_a_comparison_says_what_holds_for_all_metrics_and_slices_at_once(word: str, text: str) -> None:
    benchmark = benchmark_class("chemistry")
    name = benchmark.main_metrics()[0]
    metric = {"baseline": 0.5, "candidate": 0.25, "difference": -0.25, "interval": [-0.5, -0.125], "p": 0.01,
              "detectable": 0.1, "verdict": word}  # fmt: skip
    document = {
        **{side: {"run": side, "system": "one"} for side in ("baseline", "candidate")},
        **{f"slices_of_{side}_alone": [] for side in ("baseline", "candidate")},
        "confidence": 0.95, "bootstrap": {"replicates": 9, "clusters": False}, "swaps": 9, "differences": [],
        "samples": {"compared": 9}, "verdicts": {word: 1}, "metrics": {name: metric},
        "slices": {"kind=a": {"metrics": {name: metric}}}, "changes": {"threshold": 0.1, "metrics": {}},
    }  # fmt: skip
    found = build_comparison(document, benchmark(benchmark.options_type()), ComparedRuns()).verdict
    assert found.judgement == "worse"
    assert f"{name} fell from 0.5000 to 0.2500, −0.2500 (−0.5000 to −0.1250)." in found.sentence
    assert text in found.sentence
    assert found.lost == (Link("kind=a −0.2500 (−0.5000 to −0.1250)", {"slice.kind": "a"}),)
