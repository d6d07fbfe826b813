"""What a system attempts is decided once, by all its samples: no slice and no replicate loses a metric by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.benchmark import Benchmark
from beamscore.metrics.statistics.sums import Sums
from tests.plain_loop import make_benchmark

CHART = make_benchmark("chart", tasks=["task2", "task5"])
FIGURE = make_benchmark("figure_text")

BOX = {"x0": 0, "y0": 0, "width": 10, "height": 10}
AWAY = {**BOX, "x0": 90}
TASKS = {
    "task2": lambda box: {"text_blocks": [{"id": 0, "text": "a", "bb": box}]},
    "task5": lambda box: {"legend_pairs": [{"id": 0, "bb": box}]},
}
REGION: dict[str, Any] = {"id": "w", "box": [0, 0, 10, 10], "text": "a"}
REGIONS: dict[str, list[dict[str, Any]]] = {
    "nothing": [],
    "found": [{"box": REGION["box"]}],
    "spotted": [{"box": REGION["box"], "text": "a"}],
    "false": [{"box": [90, 0, 99, 9], "text": "b"}],
    "read": [{"id": "w", "text": "a"}],
}
DETECTED = {"found", "spotted", "false"}


def sums_of(benchmark: Benchmark[Any, Any, Any], truth: Any, prediction: Any) -> Sums:
    found = None if prediction is None else msgspec.convert(prediction, benchmark.prediction_type)
    return Sums.of(benchmark.score_sample(msgspec.convert(truth, benchmark.truth_type), found).statistics)


def chart(tasks: Sequence[str], predicted: Sequence[tuple[str, bool]] | None) -> Sums:
    """A chart with these tasks; predicted: those that a system attempts, and whether it is right."""
    truth = {"task1": {"output": {"chart_type": "line"}}, **{task: {"output": TASKS[task](BOX)} for task in tasks}}
    answers = {task: {"output": TASKS[task](BOX if right else AWAY)} for task, right in predicted or ()}
    return sums_of(CHART, truth, None if predicted is None else answers)


def figure(has_region: bool, predicted: Sequence[str] | None) -> Sums:
    regions = [each for kind in predicted or () for each in REGIONS[kind]]
    return sums_of(FIGURE, {"regions": [REGION] * has_region}, None if predicted is None else {"regions": regions})


def samples_of(*parts: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Draws samples, each with its weight in a replicate."""
    return st.lists(st.tuples(*parts, st.integers(0, 2)), min_size=1, max_size=6)


def whole_and_part(
    benchmark: Benchmark[Any, Any, Any], sums: Sequence[Sums], weights: Sequence[int]
) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """Returns the metrics of all samples, and those of a replicate."""
    corpus = Sums.merged(sums)
    drawn = Sums.merged(each for each, weight in zip(sums, weights, strict=True) for _ in range(weight))
    return benchmark.values(corpus), benchmark.values_within(drawn, corpus)


tasks = st.lists(st.sampled_from([*TASKS]), unique=True)
answers = st.lists(st.tuples(st.sampled_from([*TASKS]), st.booleans()), unique_by=lambda each: each[0])
kinds = st.lists(st.sampled_from([*REGIONS]), unique=True, max_size=2)


@given(samples_of(tasks, st.none() | answers))
def test_a_task_of_some_charts_is_null_where_the_corpus_attempts_none_and_where_they_have_none(drawn: Any) -> None:
    whole, part = whole_and_part(CHART, [chart(*each) for *each, _ in drawn], [weight for *_, weight in drawn])
    for metric, task in (("task2.detection", "task2"), ("task2.hmean", "task2"), ("task5.score", "task5")):
        there = [predicted for tasks, predicted, _ in drawn if task in tasks]
        given_any = any(task in dict(predicted or ()) for predicted in there)
        idle = not given_any and any(each is not None for each in there)
        assert (whole[metric] is None) == (idle or not there)
        has_truth = any(task in tasks and weight for tasks, _, weight in drawn)
        assert (part[metric] is None) == (whole[metric] is None or not has_truth)


@given(samples_of(st.booleans(), st.none() | kinds))
def test_a_metric_of_some_figures_is_null_where_the_corpus_has_none_and_where_they_have_no_region(drawn: Any) -> None:
    whole, part = whole_and_part(FIGURE, [figure(*each) for *each, _ in drawn], [weight for *_, weight in drawn])
    if any(has_region and weight for has_region, _, weight in drawn):
        for metric in ("detection.precision", "detection.recall", "end_to_end.precision", "end_to_end.recall",
                       "agreement.location", "agreement.text", "word_recognition.accuracy"):  # fmt: skip
            assert (part[metric] is None) == (whole[metric] is None), metric
    if any(has_region for has_region, _, _ in drawn):
        found = {kind for _, predicted, _ in drawn for kind in predicted or ()}
        assert (whole["word_recognition.accuracy"] is not None) == ("read" in found)
        assert (whole["detection.recall"] is not None) == ("read" not in found or bool(found & DETECTED))


def test_what_is_predicted_in_one_slice_alone_is_0_in_the_other() -> None:
    there, gone = chart(["task5"], [("task5", True)]), chart(["task5"], [("task2", True)])
    corpus = Sums.merged((there, gone))
    assert CHART.values(corpus)["task5.score"] == 1 / 2
    assert [CHART.values_within(part, corpus)["task5.score"] for part in (there, gone)] == [1, 0]
    assert CHART.values(gone)["task5.score"] is None  # of a system that attempts it nowhere
    located, read = figure(True, ["spotted"]), figure(True, ["read"])
    for part, detection, reading in ((located, 1, 0), (read, 0, 1)):
        values = FIGURE.values_within(part, Sums.merged((located, read)))
        rates = [f"{task}.{rate}" for task in ("detection", "end_to_end") for rate in ("precision", "recall", "f1")]
        assert [values[name] for name in (*rates, "agreement.text")] == [detection] * 7
        assert values["word_recognition.accuracy"] == reading
