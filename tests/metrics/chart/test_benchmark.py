"""The chart benchmark as a whole: which tasks are scored, what is rejected, what comes out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given

from beamscore.metrics.chart.benchmark import ChartBenchmark
from beamscore.metrics.chart.records import ALL_TASKS, ChartOptions, ChartPrediction, ChartTruth
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.config.settings import load
from tests.generate.chart import CLASSES
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, block, blocks, box, chart_type, data, elements, output, series
from tests.metrics.samples import weighted, whole_and_part
from tests.plain_loop import total

NAMES = ChartBenchmark.sample_metric_names()
BARS, SERIES = elements(bars=[box(0, 0, 5, 5)])["output"], data(series("s", ("a", 1)))["output"]
WHOLE: Json = {
    "task1": chart_type("Grouped vertical bar"),
    "task2": blocks(block(1, "a", 0, 0, 10, 10)),
    "task3": make.roles((1, "tick_label")),
    "task4": make.axes([make.tick(1, 0, 0)], []),
    "task5": make.legend(_1=box(0, 0, 5, 5)),
    "task6": {"output": {**BARS, **SERIES}},
}
PREDICTION = {**WHOLE, "task7": WHOLE["task6"]}


def test_a_perfect_prediction_scores_1_in_every_task_and_a_missing_one_0() -> None:
    for protocol in ("published", "released"):
        assert make.metrics(WHOLE, PREDICTION, protocol=protocol) == dict.fromkeys(NAMES, 1)
    assert make.metrics(WHOLE, None) == dict.fromkeys(NAMES, 0)
    some = ["task1", "task6b"]
    assert set(make.metrics(WHOLE, None, tasks=some)) == {"task1.correct", "task6b.score", "score"}
    assert make.benchmark().explain({}) == []


@pytest.mark.parametrize("name", ["Pie", "donut", " PIE ", "3D  pie chart"])
@pytest.mark.parametrize("protocol", ["published", "released"])
def test_pie_and_donut_charts_have_task_1_alone(name: str, protocol: str) -> None:
    truth = {**WHOLE, "task1": chart_type(name), "image": None}
    for said, correct in ((truth["task1"], 1), (WHOLE["task1"], 0)):
        score = make.score(truth, {**WHOLE, "task1": said}, protocol=protocol)
        assert score.metrics == {"task1.correct": correct, "score": correct}
        # It does not say either whether another task is attempted.
        assert len(score.statistics) == 2
        assert score.statistics["task1.attempted"] == 1
    score = make.score(truth, WHOLE, protocol=protocol, tasks=["task6b"])
    assert (score.metrics, score.statistics) == ({"score": None}, {})
    # What a prediction calls the chart does not change its tasks.
    found = make.metrics(WHOLE, {**PREDICTION, "task1": chart_type(name)}, protocol=protocol)
    assert found == {**dict.fromkeys(NAMES, 1), "task1.correct": 0, "score": 7 / 8}


SIX_TASKS = ["task1", "task2", "task3", "task4", "task5", "task6"]
NO_AXES: list[Json] = [{"_plot_bb": box(0, 0, 9, 9)}, {"axes": {}}, {"axes": {"x-axis": None, "y-axis": None}}]
NOTHING: list[Any] = [None, {"output": None}, output()]
EMPTY_OUTPUTS: list[tuple[str, Any]] = [
    *((task, each) for task in SIX_TASKS for each in NOTHING),
    *(("task1", {"output": each}) for each in ("", {"chart_type": None}, {"chart_type": "  "})),
    *(("task2", output(text_blocks=None)), ("task3", output(text_roles=None)), ("task5", output(legend_pairs=None))),
    *(("task4", {"output": each}) for each in NO_AXES),
    ("task6", output(**{"visual elements": None, "data series": None})),
]


@pytest.mark.parametrize(("task", "empty"), EMPTY_OUTPUTS)
@pytest.mark.parametrize("protocol", ["published", "released"])
def test_an_empty_output_is_no_task(task: str, empty: Any, protocol: str) -> None:
    # Without the class of the chart nothing says how data compare.
    tasks = [name for name in ALL_TASKS if task != "task1" or name < "task6"]
    options: Json = {"tasks": tasks, "protocol": protocol}
    # In the ground truth it is not scored, and neither is task 7, which is compared with task 6.
    lacking = (task, "task7") if task == "task6" else (task,)
    scored = {name for name in NAMES if name.startswith((*tasks, "score")) and not name.startswith(lacking)}
    assert make.metrics({**WHOLE, task: empty}, PREDICTION, **options) == dict.fromkeys(scored, 1)
    # As a prediction it is a missing one: 0 in its own tasks, and not attempted.
    given = make.score(WHOLE, {**PREDICTION, task: empty}, **options)
    assert given == make.score(WHOLE, {name: each for name, each in PREDICTION.items() if name != task}, **options)
    assert given.metrics == {name: float(not name.startswith(task)) for name in given.metrics}
    said = {f"{name}.{'left_out' if name.startswith(task) else 'attempted'}" for name in tasks}
    assert {name for name in given.statistics if name.endswith((".left_out", ".attempted"))} == said


def test_task_6_may_have_elements_alone_or_series_alone() -> None:
    for half, scored in ((BARS, {"task6a.score"}), (SERIES, {"task6b.score", "task7.score"})):
        found = make.metrics({**WHOLE, "task6": {"output": half}}, PREDICTION)
        assert found == {name: 1 for name in NAMES if name in scored or not name.startswith(("task6", "task7"))}
        found = make.metrics(WHOLE, {**PREDICTION, "task6": {"output": half}})
        assert found == {name: float(name not in {"task6a.score", "task6b.score"} - scored) for name in NAMES}


@pytest.mark.parametrize("protocol", ["published", "released"])
def test_an_empty_list_is_an_answer(protocol: str) -> None:
    nothing = {"output": {**elements(bars=[])["output"], **data()["output"]}}
    empty: Json = {"task5": make.legend(), "task2": blocks(), "task4": make.axes([], []), "task6": nothing}
    truth, right = {**WHOLE, **empty}, {**PREDICTION, **empty, "task7": nothing}
    assert make.metrics(truth, right, protocol=protocol) == dict.fromkeys(NAMES, 1)
    for task in (*empty, "task7"):
        found = make.metrics(truth, {**right, task: output()}, protocol=protocol)
        assert found == {name: float(not name.startswith(task)) for name in NAMES}
    assert make.metrics(truth, None) == dict.fromkeys(NAMES, 0)


def test_released_averages_tasks_5_6b_and_7_over_the_predictions_alone() -> None:
    three = ["task5.score", "task6b.score", "task7.score"]
    answers: tuple[Json | None, ...] = PREDICTION, {"task1": WHOLE["task1"]}, None
    right, without, missing = (make.score(WHOLE, said, protocol="released") for said in answers)
    assert missing.metrics == {name: 0 for name in NAMES if name not in three}
    for scores, expected, other in (([right, missing], 1, 0.5), ([right, without, missing], 0.5, 1 / 3)):
        values = make.benchmark(protocol="released").values(total(scores))
        assert [values[name] for name in three] == [expected] * 3
        assert values["task6a.score"] == values["task2.detection"] == pytest.approx(other)
    bad = {**WHOLE, "task6": data({"name": "s", "data": {}})}
    assert "must be a list" in make.rejection("ground_truth", bad, None, protocol="released")


RIGHT, WRONG = ({"task2": blocks(block(0, "a", x, 0, 10, 10))} for x in (0, 90))
LEGEND, LEGEND_AWAY = ({"task5": make.legend(_0=box(x, 0, 10, 10))} for x in (0, 90))
LINE = {"task1": chart_type("Line")}
CHARTS = [LINE, {**LINE, **RIGHT}, {**LINE, **LEGEND}, {**LINE, **RIGHT, **LEGEND}]
ANSWERS = [None, {}, RIGHT, WRONG, LEGEND_AWAY, {**WRONG, **LEGEND}]


@given(weighted(CHARTS, ANSWERS))
def test_a_task_of_some_charts_is_null_where_the_corpus_attempts_none_and_where_they_have_none(drawn: Any) -> None:
    whole, part = whole_and_part("chart", drawn, tasks=["task2", "task5"])
    for metric, task in (("task2.detection", "task2"), ("task2.hmean", "task2"), ("task5.score", "task5")):
        there = [(predicted, weight) for truth, predicted, weight in drawn if task in truth]
        attempted = any(task in (predicted or ()) for predicted, _ in there)
        idle = not attempted and any(predicted is not None for predicted, _ in there)
        assert (whole[metric] is None) == (idle or not there)
        assert (part[metric] is None) == (whole[metric] is None or not any(weight for _, weight in there))


def test_a_data_task_that_nobody_attempts_has_no_value_and_one_that_some_attempt_counts_gaps_as_0() -> None:
    scores = {name: make.score(WHOLE, said) for name, said in (("all", PREDICTION), ("six", WHOLE), ("none", None))}
    # Of two charts, one has no prediction: task 6b is (1 + 0) / 2. Nobody attempts task 7.
    for names, task6b, task7 in ((("six", "none"), 0.5, None), (("all", "six"), 1, 0.5), (("none",), 0, 0)):
        values = make.benchmark().values(total(scores[name] for name in names))
        assert (values["task6b.score"], values["task7.score"]) == (task6b, task7)


def test_the_score_is_the_mean_of_what_is_measured_of_what_the_ground_truth_has() -> None:
    truth = {"task1": chart_type("Line"), "task5": make.legend(_1=box(0, 0, 10, 10)), "task3": make.roles((1, "other"))}
    # The class is right, the legend has IoU 1/4, and task 3 has nothing to score.
    found = make.metrics(truth, {"task1": chart_type("line"), "task5": make.legend(_1=box(0, 0, 5, 5))})
    assert (found["task3.accuracy"], found["score"]) == (None, (1 + 0.25) / 2)
    for name, needed in (("image", "image.width"), ("task1", "task1.output.chart_type")):
        assert needed in make.rejection("ground_truth", {**WHOLE, name: None}, None)


def test_distances_that_leave_no_room_and_released_scripts_of_a_later_edition_are_refused_in_words() -> None:
    """The bounds of single options and fields are in the digests of what is declared."""
    with pytest.raises(msgspec.ValidationError, match=r"tick_close \(0.02\) must be smaller than tick_far"):
        make.benchmark(tick_close=0.02)
    said = r"^chart: protocol: released does not go with edition: 2022: the released scripts are those of 2019, with"
    with pytest.raises(UsageError, match=said):
        load("chart", ["protocol=released", "edition=2022"], {"ground_truth": ["a"], "predictions": {"s": ["b"]}})
    assert make.benchmark(protocol="released", edition=2019).options == make.benchmark(protocol="released").options
    options = make.benchmark(protocol="released", text_roles=["other"], classes=["area"]).options
    assert (options.scored_roles, options.classes) == (("other",), ("area",))


def test_the_configuration_of_the_first_edition_is_that_of_runs_from_before_there_were_others() -> None:
    """It names neither an edition nor roles."""
    first, later = (msgspec.to_builtins(make.benchmark(**options).options) for options in ({}, {"edition": 2022}))
    assert [*first] == [name for name in ChartOptions.__struct_fields__ if name not in ("edition", "text_roles")]
    assert (first["classes"], first["element_distance"]) == (tuple(name.lower() for name in CLASSES), 0.05)
    assert len(later["classes"]) == 15
    assert later == {**first, "edition": 2022, "element_distance": 0.01, "classes": later["classes"]}
    for written in (first, later, {"classes": ("radar",), "text_roles": ("other",), "element_distance": 0.2}):
        assert msgspec.to_builtins(msgspec.convert(written, ChartOptions)) == {**first, **written}


def test_records_keep_the_order_of_their_fields_by_which_the_hashes_of_stored_runs_go() -> None:
    truth, prediction = (msgspec.json.decode(msgspec.json.encode(kind())) for kind in (ChartTruth, ChartPrediction))
    assert (list(truth), list(prediction)) == (["image", "ambiguous", *SIX_TASKS], [*SIX_TASKS, "task7"])
