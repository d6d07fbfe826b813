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


some_tasks = st.lists(st.sampled_from([*TASKS]), unique=True)
answers = st.lists(st.tuples(st.sampled_from([*TASKS]), st.booleans()), unique_by=lambda each: each[0])
weights = st.integers(0, 2)
charts = st.lists(st.tuples(some_tasks, st.none() | answers, weights), min_size=1, max_size=6)
kinds = st.lists(st.sampled_from([*REGIONS]), unique=True, max_size=2)
figures = st.lists(st.tuples(st.booleans(), st.none() | kinds, weights), min_size=1, max_size=6)


def weighted(samples: Sequence[tuple[Sums, int]]) -> Sums:
    return Sums.merged(sums for sums, weight in samples for _ in range(weight))


@given(charts)
def test_a_task_of_some_charts_is_null_where_the_corpus_attempts_none_and_where_they_have_none(drawn: Any) -> None:
    samples = [(chart(tasks, predicted), weight) for tasks, predicted, weight in drawn]
    corpus = weighted([(sums, 1) for sums, _ in samples])
    whole, part = CHART.values(corpus), CHART.values_within(weighted(samples), corpus)
    for metric, task in (("task2.detection", "task2"), ("task2.hmean", "task2"), ("task5.score", "task5")):
        there = [(tasks, predicted) for tasks, predicted, _ in drawn if task in tasks]
        given_any = any(task in dict(predicted or ()) for _, predicted in there)
        idle = not given_any and any(each is not None for _, each in there)
        assert (whole[metric] is None) == (idle or not there)
        has_truth = any(task in tasks and weight for tasks, _, weight in drawn)
        assert (part[metric] is None) == (whole[metric] is None or not has_truth)


@given(figures)
def test_a_metric_of_some_figures_is_null_where_the_corpus_has_none_and_where_they_have_no_region(drawn: Any) -> None:
    samples = [(figure(*each), weight) for *each, weight in drawn]
    corpus = weighted([(sums, 1) for sums, _ in samples])
    whole, part = FIGURE.values(corpus), FIGURE.values_within(weighted(samples), corpus)
    found = [kind for _, predicted, _ in drawn for kind in predicted or ()]
    has_truth = any(has_region and weight for has_region, _, weight in drawn)
    for metric in ("detection.precision", "detection.recall", "end_to_end.precision", "end_to_end.recall",
                   "agreement.location", "agreement.text", "word_recognition.accuracy"):  # fmt: skip
        if has_truth:
            assert (part[metric] is None) == (whole[metric] is None), metric
    if any(has_region for has_region, _, _ in drawn):
        reads = "read" in found
        assert (whole["word_recognition.accuracy"] is not None) == reads
        detects = bool({"found", "spotted", "false"}.intersection(found))
        assert (whole["detection.recall"] is not None) == (detects or not reads)


def test_a_task_that_is_predicted_in_one_slice_alone_is_0_in_the_other() -> None:
    there, gone = chart(["task5"], [("task5", True)]), chart(["task5"], [("task2", True)])
    corpus = Sums.merged((there, gone))
    assert CHART.values(corpus)["task5.score"] == 1 / 2
    assert [CHART.values_within(part, corpus)["task5.score"] for part in (there, gone)] == [1, 0]
    assert CHART.values(gone)["task5.score"] is None  # of a system that attempts it nowhere


def test_detection_and_reading_that_are_given_in_one_slice_alone_are_0_in_the_other() -> None:
    located, read = figure(True, ["spotted"]), figure(True, ["read"])
    corpus = Sums.merged((located, read))
    for part, detection, reading in ((located, 1, 0), (read, 0, 1)):
        values = FIGURE.values_within(part, corpus)
        assert [values[f"detection.{name}"] for name in ("precision", "recall", "f1")] == [detection] * 3
        assert [values[f"end_to_end.{name}"] for name in ("precision", "recall", "f1")] == [detection] * 3
        assert values["word_recognition.accuracy"] == reading
        assert values["agreement.text"] == detection
