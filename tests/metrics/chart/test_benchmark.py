"""The chart benchmark as a whole: which tasks are scored, what is rejected, what comes out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from beamscore.metrics.benchmark import SampleScore
from beamscore.metrics.chart.benchmark import ChartBenchmark
from beamscore.metrics.chart.records import ALL_TASKS, ChartOptions, ChartPrediction, ChartTruth
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.config.settings import load
from tests.generate.chart import sample
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, block, blocks, box, chart_type, data, elements, output, points, series
from tests.plain_loop import read_records, score_records, total

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "tests" / "corpora" / "chart"
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
    assert make.metrics(WHOLE, PREDICTION) == dict.fromkeys(NAMES, 1)
    assert make.metrics(WHOLE, None) == dict.fromkeys(NAMES, 0)
    details = msgspec.to_builtins(make.score(WHOLE, {"task1": WHOLE["task1"]}).details)
    assert make.benchmark().explain({name: details[name] for name in ("task1", "task2", "task3")}) == [
        *("class: grouped vertical bar, predicted grouped vertical bar", "text blocks: 0 matched, 1 missed, 0 extra"),
        "text roles: 0 right, 1 wrong",
    ]
    assert make.benchmark().explain({}) == []
    some = ["task1", "task6b"]
    assert set(make.metrics(WHOLE, None, tasks=some)) == {"task1.correct", "task6b.score", "score"}


def test_a_task_that_no_prediction_attempts_has_no_value_and_one_that_some_attempt_counts_the_gaps_as_0() -> None:
    scores = {name: make.score(WHOLE, said) for name, said in (("all", PREDICTION), ("six", WHOLE), ("none", None))}
    # Of two charts, one has no prediction: task 6b is (1 + 0) / 2. Nobody attempts task 7.
    for names, task6b, task7 in ((("six", "none"), 0.5, None), (("all", "six"), 1, 0.5), (("none",), 0, 0)):
        values = make.benchmark().values(total(scores[name] for name in names))
        assert (values["task6b.score"], values["task7.score"]) == (task6b, task7)


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
    # What a prediction calls the chart does not change its tasks.
    found = make.metrics(WHOLE, {**PREDICTION, "task1": chart_type(name)}, protocol=protocol)
    assert found == {**dict.fromkeys(NAMES, 1), "task1.correct": 0, "score": 7 / 8}


SIX_TASKS = ["task1", "task2", "task3", "task4", "task5", "task6"]
NOTHING: tuple[Any, ...] = (None, output(), {"output": None})
NO_AXES: list[Json] = [{"_plot_bb": box(0, 0, 9, 9)}, {"axes": {}}, {"axes": {"x-axis": None, "y-axis": None}}]
EMPTY_OUTPUTS: list[tuple[str, Any]] = [
    *((task, each) for task in SIX_TASKS for each in NOTHING),
    *(("task1", {"output": each}) for each in ("", {"chart_type": None}, {"chart_type": "  "})),
    *(("task2", output(text_blocks=None)), ("task3", output(text_roles=None))),
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
    lacks = {name: each for name, each in PREDICTION.items() if name != task}
    assert given == make.score(WHOLE, lacks, **options)
    assert given.metrics == {name: float(not name.startswith(task)) for name in given.metrics}
    left_out = {name for name in given.statistics if name.endswith(".left_out")}
    assert left_out == {f"{name}.left_out" for name in tasks if name.startswith(task)}


def test_task_6_may_have_elements_alone_or_series_alone() -> None:
    for half, scored in ((BARS, {"task6a.score"}), (SERIES, {"task6b.score", "task7.score"})):
        found = make.metrics({**WHOLE, "task6": {"output": half}}, PREDICTION)
        assert found == {name: 1 for name in NAMES if name in scored or not name.startswith(("task6", "task7"))}
        found = make.metrics(WHOLE, {**PREDICTION, "task6": {"output": half}})
        assert found["score"] == 1
        assert {name for name in found if found[name] == 0} == {"task6a.score", "task6b.score"} - scored


@pytest.mark.parametrize("protocol", ["published", "released"])
def test_an_empty_list_is_an_answer(protocol: str) -> None:
    nothing = {"output": {**elements(bars=[])["output"], **data()["output"]}}
    empty: Json = {"task5": make.legend(), "task2": blocks(), "task4": make.axes([], []), "task6": nothing}
    truth, right = {**WHOLE, **empty}, {**PREDICTION, **empty, "task7": nothing}
    assert set(make.metrics(truth, right, protocol=protocol).values()) == {1}
    for task in (*empty, "task7"):
        found = make.metrics(truth, {**right, task: {"output": {}}}, protocol=protocol)
        assert {each for each in found if found[each] == 0} == {each for each in NAMES if each.startswith(task)}
    assert set(make.metrics(truth, None).values()) == {0}


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


def test_the_score_is_the_mean_of_what_is_measured_of_what_the_ground_truth_has() -> None:
    truth = {"task1": chart_type("Line"), "task5": make.legend(_1=box(0, 0, 10, 10)), "task3": make.roles((1, "other"))}
    # The class is right, the legend has IoU 1/4, and task 3 has nothing to score.
    found = make.metrics(truth, {"task1": chart_type("line"), "task5": make.legend(_1=box(0, 0, 5, 5))})
    assert (found["task3.accuracy"], found["score"]) == (None, (1 + 0.25) / 2)
    for name, needed in (("image", "image.width"), ("task1", "task1.output.chart_type")):
        assert needed in make.rejection("ground_truth", {**WHOLE, name: None}, None)


TOO_MUCH = [
    ({"task2": blocks(*[block(1, "a", 0, 0, 10, 10)] * 2001)}, "task2 text_blocks: 2001 are more than max_text_blocks"),
    ({"task3": make.roles(*[(1, "x")] * 2001)}, "task3 text_roles"),
    ({"task3": {"output": {"text_blocks": [{}] * 2001}}}, "task3 text_blocks: 2001"),
    ({"task6": elements(bars=[box(0, 0, 1, 1)] * 2001)}, "task6 bars"),
    ({"task6": elements(boxplots=[{}] * 2001)}, "task6 boxplots"),
    ({"task6": elements(lines=[points((1, 1)) * 1001, points((1, 1)) * 1000])}, "task6 points of lines: 2001"),
    ({"task6": data(series("s", *[(int("9" * 4000), 1)] * 13))}, "task6 characters of series names and labels: 52001"),
    ({"task4": make.axes([make.tick(1, 0, 0)] * 2001, [])}, "task4 x-axis ticks"),
    ({"task4": make.axes([], [make.tick(1, 0, 0)] * 2001)}, "task4 y-axis ticks"),
    ({"task5": output(legend_pairs=[{"bb": box(0, 0, 1, 1)}] * 2001)}, "task5 legend_pairs"),
    ({"task6": data(series("s", *[("a", 1)] * 2001))}, "task6 points of data series: 2001 are more than max_points"),
    ({"task6": elements(scatter_points=[points(*[(1, 1)] * 2001)])}, "task6 scatter points"),
    ({"task6": elements(lines=[[]] * 201)}, "task6 lines: 201 are more than max_series"),
    ({"task7": data(*[series("s")] * 201)}, "task7 data series"),
    ({"task7": data(series("x" * 50_001))}, "task7 characters of series names and labels"),
]


@pytest.mark.parametrize(("record", "message"), TOO_MUCH)
def test_a_record_that_is_too_large_is_rejected_with_what_to_change(record: Json, message: str) -> None:
    assert message in make.rejection("prediction", WHOLE, record)
    # Task 7 and the text blocks of task 3 are read from predictions alone.
    if not message.startswith(("task7", "task3 text_blocks")):
        assert message in make.rejection("ground_truth", {**WHOLE, **record}, None)


@pytest.mark.parametrize(
    ("record", "path"),
    [
        ('{"task2":{"output":{"text_blocks":[{"bb":{"x0":1e300,"y0":0,"width":1,"height":1}}]}}}', "x0"),
        ('{"task4":{"output":{"axes":{"x-axis":[{"id":1,"tick_pt":{"x":null,"y":0}}]}}}}', "tick_pt.x"),
        ('{"task6":{"output":{"visual elements":{"bars":[{"x0":"1","y0":0,"width":1,"height":1}]}}}}', "bars"),
        ('{"task6":{"output":{"data series":[{"name":"s","data":[{"x":1e999,"y":0}]}]}}}', "data series"),
    ],
)
def test_records_with_odd_coordinates_are_refused_by_their_type(record: str, path: str) -> None:
    for kind in (ChartTruth, ChartPrediction):
        with pytest.raises(msgspec.ValidationError, match=path):
            msgspec.json.decode(record, type=kind)


@pytest.mark.parametrize(
    "options",
    [
        {"tick_close": 0.02},
        *({"text_iou": 1.5}, {"protocol": "official"}, {"tasks": ["task6"]}, {"gamma": 0}, {"max_steps": 0}),
        *({"unknown": 1}, {"edition": 2021}, {"element_distance": -0.1}, {"protocol": "released", "edition": 2020}),
    ],
)
def test_impossible_options_are_refused(options: Json) -> None:
    with pytest.raises(msgspec.ValidationError):
        make.benchmark(**options)


def test_released_scripts_of_a_later_edition_are_refused_in_words() -> None:
    sides = {"ground_truth": ["a"], "predictions": {"s": ["b"]}, "output": "c"}
    with pytest.raises(UsageError, match=r"^chart: protocol: released does not go with edition: 2022: .* of 2019"):
        load("chart", ["protocol=released", "edition=2022"], sides)
    assert make.benchmark(protocol="released", edition=2019).options == make.benchmark(protocol="released").options
    options = make.benchmark(protocol="released", text_roles=["other"], classes=["area"]).options
    assert (options.scored_roles, options.classes) == (("other",), ("area",))


def test_the_configuration_of_the_first_edition_is_that_of_runs_from_before_there_were_others() -> None:
    first = msgspec.to_builtins(ChartOptions())
    assert not {"edition", "text_roles"} & set(first)
    assert (len(first["classes"]), first["element_distance"]) == (10, 0.05)
    later = msgspec.to_builtins(make.benchmark(edition=2022).options)
    assert (later["edition"], len(later["classes"]), later["element_distance"]) == (2022, 15, 0.01)
    for written in (first, later, {"classes": ("radar",), "text_roles": ("other",), "element_distance": 0.2}):
        assert msgspec.to_builtins(msgspec.convert(written, ChartOptions)) == {**first, **written}


@pytest.mark.parametrize(("protocol", "matches"), [("published", {"pair", "split", "merge"}), ("released", {"pair"})])
def test_the_corpus_is_what_the_generator_makes_and_has_every_kind_of_match(protocol: str, matches: set[str]) -> None:
    made = [sample(index, 1) for index in range(60)]
    truths, predictions = (read_records(CORPUS / f"{name}.jsonl") for name in ("ground_truth", "predictions"))
    for side, shipped in enumerate((truths, predictions)):
        assert [json.loads(text) for text in shipped.values()] == [each[side] for each in made if each[side]]
    scorer = make.benchmark(protocol=protocol)
    scores = [one for one in score_records(scorer, truths, predictions).values() if isinstance(one, SampleScore)]
    details = [msgspec.to_builtins(one.details) for one in scores]
    assert {unit["kind"] for each in details for unit in each.get("task2", {}).get("matched", [])} == matches
    assert all(value is not None and 0 < value <= 1 for value in scorer.values(total(scores)).values())


def test_metrics_in_the_order_in_which_they_are_read_and_rank() -> None:
    names = ["1.macro_f1", "2.hmean", "3.macro_f1", "4.f1", "5.score", "6a.score", "6b.score", "7.score"]
    main = [f"task{name}" for name in names]
    assert ChartBenchmark.main_metrics() == main
    assert [spec.name for spec in ChartBenchmark.ranking_metrics()] == [*main[:4:-1], main[1], main[0]]


def test_records_keep_the_order_of_their_fields_by_which_the_hashes_of_stored_runs_go() -> None:
    truth, prediction = (msgspec.json.decode(msgspec.json.encode(kind())) for kind in (ChartTruth, ChartPrediction))
    assert (list(truth), list(prediction)) == (["image", "ambiguous", *SIX_TASKS], [*SIX_TASKS, "task7"])
