"""What a system attempts is decided once, by all its samples: no slice and no replicate loses a metric by it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.sums import Sums
from tests.metrics.samples import records
from tests.plain_loop import make_benchmark

BENCHMARKS = {"chart": make_benchmark("chart", tasks=["task2", "task5"]), "figure_text": make_benchmark("figure_text")}
BOX, AWAY = ({"x0": x0, "y0": 0, "width": 10, "height": 10} for x0 in (0, 90))
RIGHT, WRONG = ({"output": {"text_blocks": [{"id": 0, "text": "a", "bb": box}]}} for box in (BOX, AWAY))
LEGEND, LEGEND_AWAY = ({"output": {"legend_pairs": [{"id": 0, "bb": box}]}} for box in (BOX, AWAY))
LINE = {"task1": {"output": {"chart_type": "line"}}}
REGION = {"id": "w", "box": [0, 0, 10, 10], "text": "a"}
SPOTTED, READ = {"box": REGION["box"], "text": "a"}, {"id": "w", "text": "a"}

CHARTS = [LINE, {**LINE, "task2": RIGHT}, {**LINE, "task5": LEGEND}, {**LINE, "task2": RIGHT, "task5": LEGEND}]
ANSWERS = [None, {}, {"task2": RIGHT}, {"task2": WRONG}, {"task5": LEGEND_AWAY}, {"task2": WRONG, "task5": LEGEND}]
RATES = [f"{task}.{rate}" for task in ("detection", "end_to_end") for rate in ("precision", "recall", "f1")]
FALSE = {"box": [90, 0, 99, 9], "text": "b"}
READINGS = [[], [{"box": REGION["box"]}], [SPOTTED], [FALSE], [READ], [SPOTTED, READ], [FALSE, READ]]


def sums_of(name: str, truth: Any, prediction: Any) -> Sums:
    return Sums.of(BENCHMARKS[name].score_sample(*records(name, truth, prediction)).statistics)


def drawn_from(truths: list[Any], predictions: list[Any]) -> st.SearchStrategy[list[Any]]:
    """Draws samples, each with its weight in a replicate."""
    sample = st.tuples(st.sampled_from(truths), st.sampled_from(predictions), st.integers(0, 2))
    return st.lists(sample, min_size=1, max_size=6)


def whole_and_part(name: str, drawn: list[Any]) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """Returns the metrics of all samples, and those of a replicate."""
    weighted = [(sums_of(name, truth, prediction), weight) for truth, prediction, weight in drawn]
    corpus = Sums.merged(sums for sums, _ in weighted)
    part = Sums.merged(sums for sums, weight in weighted for _ in range(weight))
    return BENCHMARKS[name].values(corpus), BENCHMARKS[name].values_within(part, corpus)


@given(drawn_from(CHARTS, ANSWERS))
def test_a_task_of_some_charts_is_null_where_the_corpus_attempts_none_and_where_they_have_none(drawn: Any) -> None:
    whole, part = whole_and_part("chart", drawn)
    for metric, task in (("task2.detection", "task2"), ("task2.hmean", "task2"), ("task5.score", "task5")):
        there = [(predicted, weight) for truth, predicted, weight in drawn if task in truth]
        attempted = any(task in (predicted or ()) for predicted, _ in there)
        idle = not attempted and any(predicted is not None for predicted, _ in there)
        assert (whole[metric] is None) == (idle or not there)
        assert (part[metric] is None) == (whole[metric] is None or not any(weight for _, weight in there))


@given(drawn_from([{"regions": []}, {"regions": [REGION]}], [None, *({"regions": each} for each in READINGS)]))
def test_a_metric_of_some_figures_is_null_where_the_corpus_has_none_and_where_they_have_no_region(drawn: Any) -> None:
    whole, part = whole_and_part("figure_text", drawn)
    if any(truth["regions"] and weight for truth, _, weight in drawn):
        for metric in (*RATES, "agreement.location", "agreement.text", "word_recognition.accuracy"):
            assert (part[metric] is None) == (whole[metric] is None), metric
    if any(truth["regions"] for truth, _, _ in drawn):
        regions = [region for _, predicted, _ in drawn for region in (predicted or {"regions": ()})["regions"]]
        assert (whole["word_recognition.accuracy"] is not None) == (READ in regions)
        assert (whole["detection.recall"] is None) == (READ in regions and not any("box" in each for each in regions))
