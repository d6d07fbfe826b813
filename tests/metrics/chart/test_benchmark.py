"""The chart benchmark as a whole: which tasks are scored, what is rejected, what comes out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from beamscore.metrics.benchmark import Pair, RejectedRecord, SampleScore
from beamscore.metrics.chart.benchmark import ChartBenchmark
from beamscore.metrics.chart.records import ALL_TASKS, ChartOptions, ChartPrediction, ChartTruth
from beamscore.metrics.statistics.sums import Sums
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.config.settings import load
from tests.abuse.chart import cases
from tests.generate.chart import CLASSES, sample
from tests.metrics.chart.records_for_tests import (
    axes,
    benchmark,
    block,
    blocks,
    box,
    chart_type,
    columns,
    data,
    elements,
    legend,
    points,
    prediction_of,
    roles,
    series,
    tick,
    truth_of,
    work,
)
from tests.plain_loop import make_benchmark, read_records, score_records, total

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "tests" / "corpora" / "chart"
WHOLE: dict[str, Any] = {
    "task1": chart_type("Grouped vertical bar"),
    "task2": blocks(block(1, "a", 0, 0, 10, 10)),
    "task3": roles(_1="tick_label"),
    "task4": axes([tick(1, 0, 0)], []),
    "task5": legend(_1=box(0, 0, 5, 5)),
    "task6": {"output": {**elements(bars=[box(0, 0, 5, 5)])["output"], **data(series("s", ("a", 1)))["output"]}},
}


WHOLE_PREDICTION = {**WHOLE, "task7": WHOLE["task6"]}


def test_a_perfect_prediction_scores_1_in_every_task_and_a_missing_one_0() -> None:
    for prediction, score in ((WHOLE_PREDICTION, 1.0), (None, 0.0)):
        assert columns(WHOLE, prediction) == dict.fromkeys(ChartBenchmark.sample_metric_names(), score)


def test_a_task_that_no_prediction_attempts_has_no_figure_and_one_that_some_attempt_counts_the_gaps_as_0() -> None:
    scorer = benchmark()
    truth = truth_of(**WHOLE)
    without = prediction_of(**WHOLE)
    idle = scorer.values(total([scorer.score_sample(truth, without), scorer.score_sample(truth, None)]))
    # Of two charts, one has no prediction: task 6b is (1 + 0) / 2. Nobody attempts task 7.
    assert (idle["task6b.score"], idle["task7.score"]) == (0.5, None)
    attempted = prediction_of(**WHOLE_PREDICTION)
    some = scorer.values(total([scorer.score_sample(truth, attempted), scorer.score_sample(truth, without)]))
    assert some["task7.score"] == 0.5
    assert scorer.values(total([scorer.score_sample(truth, None)]))["task7.score"] == 0


SIX_TASKS = ["task1", "task2", "task3", "task4", "task5", "task6"]


@pytest.mark.parametrize("task", [*SIX_TASKS, "task7"])
def test_a_task_that_the_prediction_lacks_scores_0(task: str) -> None:
    found = columns(WHOLE, {name: held for name, held in WHOLE_PREDICTION.items() if name != task})
    del found["score"]
    assert found == {name: 0 if name.startswith(task) else 1 for name in found}


@pytest.mark.parametrize("task", SIX_TASKS)
def test_a_task_that_the_ground_truth_lacks_is_not_scored(task: str) -> None:
    truth = {name: held for name, held in WHOLE.items() if name != task}
    found = columns(truth, WHOLE_PREDICTION, tasks=tasks_without(task))
    lacking = (task, "task7") if task == "task6" else (task,)
    expected = {name for name in ChartBenchmark.sample_metric_names() if not name.startswith(lacking)}
    if task == "task1":
        expected = {name for name in expected if name < "task6"}
    assert found == dict.fromkeys(expected, 1)


def tasks_without(task: str) -> list[str]:
    """Returns the tasks that can be scored without one of them: the class of the chart says how data compare."""
    return [name for name in ALL_TASKS if task != "task1" or name < "task6"]


EMPTY: dict[str, Any] = {f"task{number}": {"output": {}} for number in range(1, 8)}


@pytest.mark.parametrize("name", ["Pie", "donut", " PIE ", "Donut\t", "3D  pie chart"])
@pytest.mark.parametrize("protocol", ["published", "released"])
def test_pie_and_donut_charts_have_task_1_alone(name: str, protocol: str) -> None:
    for held in (WHOLE, EMPTY, {}):
        truth = {**held, "task1": chart_type(name), "image": None}
        for prediction in (WHOLE, EMPTY, {}, None):
            given = None if prediction is None else {**prediction, "task1": chart_type(name)}
            found = columns(truth, given, protocol=protocol)
            correct = float(given is not None)
            assert found == {"task1.correct": correct, "score": correct}
    # It does not say either whether a task is attempted.
    score = benchmark().score_sample(truth_of(**{**WHOLE, "task1": chart_type("Pie")}), prediction_of(**WHOLE))
    assert set(score.statistics) == {"task1.confusion[pie|grouped vertical bar]", "task1.attempted"}


def test_what_a_prediction_calls_the_chart_does_not_change_its_tasks() -> None:
    prediction = {**WHOLE_PREDICTION, "task1": chart_type("Pie")}
    found = columns(WHOLE, prediction)
    assert found.pop("task1.correct") == 0
    assert found.pop("score") == (0 + 7) / 8
    assert set(found.values()) == {1.0}
    assert columns({**WHOLE, "task1": chart_type("Pie")}, WHOLE) == {"task1.correct": 0, "score": 0}


NOTHING: tuple[Any, ...] = (None, {"output": None}, {"output": {}})
EMPTY_OUTPUTS: list[tuple[str, Any]] = [
    *((task, output) for task in SIX_TASKS for output in NOTHING),
    ("task1", {"output": {"chart_type": None}}),
    ("task1", {"output": {"chart_type": "  "}}),
    ("task1", {"output": ""}),
    ("task2", {"output": {"text_blocks": None}}),
    ("task3", {"output": {"text_roles": None}}),
    ("task4", {"output": {"_plot_bb": box(0, 0, 9, 9)}}),
    ("task4", {"output": {"axes": {}}}),
    ("task4", {"output": {"axes": {"x-axis": None, "y-axis": None}}}),
    ("task6", {"output": {"visual elements": None, "data series": None}}),
]


@pytest.mark.parametrize(("task", "empty"), EMPTY_OUTPUTS)
@pytest.mark.parametrize("protocol", ["published", "released"])
def test_an_empty_output_is_no_task(task: str, empty: Any, protocol: str) -> None:
    tasks = tasks_without(task)
    options: dict[str, Any] = {"tasks": tasks, "protocol": protocol}
    lacking = {key: value for key, value in WHOLE.items() if key != task}
    assert columns({**WHOLE, task: empty}, WHOLE_PREDICTION, **options) == columns(lacking, WHOLE_PREDICTION, **options)
    # As a prediction it is a missing one: 0 in its own tasks, and not attempted.
    scorer = benchmark(**options)
    given = scorer.score_sample(truth_of(**WHOLE), prediction_of(**{**WHOLE_PREDICTION, task: empty}))
    without = prediction_of(**{key: value for key, value in WHOLE_PREDICTION.items() if key != task})
    assert given == scorer.score_sample(truth_of(**WHOLE), without)
    assert given.metrics["score"] == 1
    assert {name for name in given.statistics if name.endswith(".left_out")} == {
        f"{name}.left_out" for name in tasks if name.startswith(task)
    }


def test_task_6_may_have_elements_alone_or_series_alone() -> None:
    whole, both = WHOLE_PREDICTION, WHOLE["task6"]["output"]
    for key, scored in (("visual elements", {"task6a.score"}), ("data series", {"task6b.score", "task7.score"})):
        found = columns({**WHOLE, "task6": {"output": {key: both[key]}}}, whole)
        assert {name for name in found if name.startswith(("task6", "task7"))} == scored
        assert set(found.values()) == {1}
        found = columns(WHOLE, {**whole, "task6": {"output": {key: both[key]}}})
        assert found["score"] == 1
        assert {name for name in found if found[name] == 0} == {"task6a.score", "task6b.score"} - scored


def test_an_empty_list_is_an_answer() -> None:
    truth = {**WHOLE, "task5": legend(), "task2": blocks(), "task4": axes([], [])}
    whole = {**truth, "task7": WHOLE["task6"]}
    assert set(columns(truth, whole).values()) == {1.0}
    found = columns(truth, {**whole, "task5": {"output": {}}, "task2": {"output": {}}, "task4": {"output": {}}})
    assert {found[name] for name in ("task5.score", "task2.detection", "task2.recognition", "task4.f1")} == {0}
    assert found["score"] == 1


def test_released_averages_tasks_5_6b_and_7_over_the_predictions_alone() -> None:
    scorer = benchmark(protocol="released")
    truth = truth_of(**WHOLE)
    right = scorer.score_sample(truth, prediction_of(**WHOLE_PREDICTION))
    without = scorer.score_sample(truth, prediction_of(task1=WHOLE["task1"]))
    missing = scorer.score_sample(truth, None)
    assert set(ChartBenchmark.sample_metric_names()) - set(missing.metrics) == {
        "task5.score",
        "task6b.score",
        "task7.score",
    }
    assert set(missing.metrics.values()) == {0}
    values = scorer.values(total([right, missing]))
    assert {values[f"{task}.score"] for task in ("task5", "task6b", "task7")} == {1}
    assert {values[name] for name in ("task6a.score", "task2.detection", "task4.precision")} == {0.5}
    values = scorer.values(total([right, without, missing]))
    assert {values[f"{task}.score"] for task in ("task5", "task6b", "task7")} == {0.5}
    assert scorer.values(total([missing]))["task5.score"] is None
    bad = truth_of(**{**WHOLE, "task6": data({"name": "s", "data": {}})})
    with pytest.raises(RejectedRecord, match="must be a list"):
        scorer.score_sample(bad, None)


def test_only_the_tasks_of_the_options_are_scored() -> None:
    assert set(columns(WHOLE, None, tasks=["task1", "task6b"])) == {"task1.correct", "task6b.score", "score"}


def test_the_score_is_the_mean_of_the_task_scores() -> None:
    truth = {"task1": chart_type("Line"), "task5": legend(_1=box(0, 0, 10, 10)), "task3": roles(_1="other")}
    # The class is right, the legend has IoU 1/4, and task 3 has nothing to score.
    found = columns(truth, {"task1": chart_type("line"), "task5": legend(_1=box(0, 0, 5, 5))})
    assert found["task3.accuracy"] is None
    assert found["score"] == (1 + 0.25) / 2


def test_what_the_ground_truth_must_have() -> None:
    for truth, needed in (
        ({**WHOLE, "image": None}, "image.width"),
        ({**WHOLE, "task1": None}, "task1.output.chart_type"),
    ):
        with pytest.raises(RejectedRecord, match=needed) as rejected:
            benchmark().score_sample(truth_of(**truth), None)
        assert rejected.value.side == "ground_truth"


TOO_MUCH = [
    ({"task2": blocks(*[block(1, "a", 0, 0, 10, 10)] * 2001)}, "task2 text_blocks: 2001 are more than max_text_blocks"),
    ({"task3": {"output": {"text_roles": [{"id": 1, "role": "x"}] * 2001}}}, "task3 text_roles"),
    ({"task6": elements(bars=[box(0, 0, 1, 1)] * 2001)}, "task6 bars"),
    ({"task6": elements(boxplots=[{}] * 2001)}, "task6 boxplots"),
    ({"task6": elements(lines=[points((1, 1)) * 1001, points((1, 1)) * 1000])}, "task6 points of lines: 2001"),
    ({"task6": data(series("s", *[(int("9" * 4000), 1)] * 13))}, "task6 characters of series names and labels: 52001"),
    ({"task4": axes([], [tick(1, 0, 0)] * 2001)}, "task4 y-axis ticks"),
    ({"task5": {"output": {"legend_pairs": [{"id": 1, "bb": box(0, 0, 1, 1)}] * 2001}}}, "task5 legend_pairs"),
    ({"task6": data(series("s", *[("a", 1)] * 2001))}, "task6 points of data series: 2001 are more than max_points"),
    ({"task6": elements(scatter_points=[points(*[(1, 1)] * 2001)])}, "task6 scatter points"),
    ({"task6": elements(lines=[[]] * 201)}, "task6 lines: 201 are more than max_series"),
    ({"task7": data(*[series("s")] * 201)}, "task7 data series"),
    ({"task7": data(series("x" * 50_001))}, "task7 characters of series names and labels"),
]


@pytest.mark.parametrize(("prediction", "message"), TOO_MUCH)
def test_a_record_that_is_too_large_is_rejected_with_what_to_change(prediction: Any, message: str) -> None:
    with pytest.raises(RejectedRecord, match=message) as rejected:
        benchmark().score_sample(truth_of(**WHOLE), prediction_of(**prediction))
    assert rejected.value.side == "prediction"
    if "task7" not in prediction:
        with pytest.raises(RejectedRecord, match=message) as rejected:
            benchmark().score_sample(truth_of(**{**WHOLE, **prediction}), None)
        assert rejected.value.side == "ground_truth"


def test_large_records_are_within_the_budget() -> None:
    truth, prediction = (
        blocks(*(block(i, text + str(i), i % 50 + shift, i // 50, 30, 30) for i in range(1000)))
        for text, shift in (("a^{2}", 0), ("a^{2}" * 20, 1))
    )
    default = ChartOptions().max_steps
    assert default / 4 < work({"task2": truth}, {"task2": prediction}) < default * 3 / 4
    labels = data(series("s", *((f"label {place}", place) for place in range(1000))))
    assert work({"task1": chart_type("Line"), "task6": labels}, {}) < default / 2


def test_every_worst_case_is_scored_or_rejected_by_a_limit() -> None:
    """`make abuse` says what they cost under the default limit; a small one rejects them before their work is done.

    What has a million parts is left to it: 2,001 of them are as many too many (see TOO_MUCH).
    """
    scorer = benchmark(max_steps=10_000)
    results = {}
    for case in cases():
        if "000,000" not in case.name:
            given = None if case.prediction is None else prediction_of(**case.prediction)
            (results[case.name],) = scorer.score([Pair("s", truth_of(**case.truth), given)])
    rejected = [result.message for result in results.values() if isinstance(result, RejectedRecord)]
    others = [message for message in rejected if "max_steps=10000" not in message and "more than max_" not in message]
    assert others == []
    assert len(results) - 5 < len(rejected) < len(results)


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
        {"text_iou": 1.5},
        {"protocol": "official"},
        {"tasks": ["task6"]},
        {"gamma": 0},
        {"max_steps": 0},
        {"unknown": 1},
        {"edition": 2021},
        {"element_distance": -0.1},
        {"protocol": "released", "edition": 2020},
        {"protocol": "released", "edition": 2022},
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(options, ChartOptions)


def test_released_scripts_of_a_later_edition_are_refused_in_words() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"protocol: released does not go with edition: 2020: .* of 2019"):
        benchmark(protocol="released", edition=2020)
    sides = {"ground_truth": ["a"], "predictions": {"s": ["b"]}, "output": "c"}
    with pytest.raises(UsageError, match=r"^chart: protocol: released does not go with edition: 2020: .* of 2019"):
        load("chart", ["protocol=released", "edition=2020"], sides)
    assert benchmark(protocol="released", edition=2019).options == benchmark(protocol="released").options
    assert benchmark(protocol="released", text_roles=["other"], classes=["area"]).options.scored_roles == ("other",)


def test_the_configuration_of_the_first_edition_is_that_of_runs_from_before_there_were_others() -> None:
    first = msgspec.to_builtins(ChartOptions())
    assert not {"edition", "text_roles"} & set(first)
    assert (len(first["classes"]), first["element_distance"]) == (10, 0.05)
    later = msgspec.to_builtins(benchmark(edition=2022).options)
    assert (later["edition"], len(later["classes"]), later["element_distance"]) == (2022, 15, 0.01)
    for written in (first, later, {"classes": ("radar",), "text_roles": ("other",), "element_distance": 0.2}):
        options = msgspec.convert(written, ChartOptions)
        assert msgspec.to_builtins(options) == {**first, **written}
        assert msgspec.convert(msgspec.to_builtins(options), ChartOptions) == options


def test_the_shipped_configuration_holds_the_defaults() -> None:
    config = msgspec.yaml.decode((ROOT / "configs" / "chart.yaml").read_bytes())
    assert config.pop("benchmark") == "chart"
    assert msgspec.convert(config, ChartOptions) == ChartOptions()
    assert list(config) == list(ChartOptions.__struct_fields__)


def test_nothing_is_measured_in_nothing() -> None:
    for protocol in ("published", "released"):
        scorer = benchmark(protocol=protocol)
        values = scorer.values(Sums())
        assert set(values) == {spec.name for spec in ChartBenchmark.metrics if "[" not in spec.name}
        assert set(values.values()) == {None}
        assert scorer.tables(Sums()) == []


@pytest.mark.parametrize("protocol", ["published", "released"])
def test_the_corpus_is_scored_whole(protocol: str) -> None:
    scorer = make_benchmark("chart", protocol=protocol)
    scores = score_records(
        scorer, read_records(CORPUS / "ground_truth.jsonl"), read_records(CORPUS / "predictions.jsonl")
    )
    kinds = set()
    for score in scores.values():
        assert isinstance(score, SampleScore)
        assert set(score.metrics) <= set(ChartBenchmark.sample_metric_names())
        assert all(value is None or 0 <= value <= 1 for value in score.metrics.values())
        details = json.loads(msgspec.json.encode(score.details))
        kinds |= {entry["kind"] for entry in details.get("task2", {}).get("matched", [])}
    assert kinds == ({"pair", "split", "merge"} if protocol == "published" else {"pair"})
    values = scorer.values(total(scores.values()))
    families = {name.partition("[")[0] for name in values}
    assert families == {spec.name.partition("[")[0] for spec in ChartBenchmark.metrics}
    assert all(value is not None and 0 < value <= 1 for value in values.values())
    assert all(values[name] != 1 for name in ChartBenchmark.main_metrics())


def test_the_corpus_is_what_the_generator_makes() -> None:
    records = [sample(index, 1) for index in range(60)]
    truths = {truth["sample_id"]: truth for truth, _ in records}
    predictions = {prediction["sample_id"]: prediction for _, prediction in records if prediction}
    for name, made in (("ground_truth", truths), ("predictions", predictions)):
        shipped = {key: json.loads(text) for key, text in read_records(CORPUS / f"{name}.jsonl").items()}
        assert shipped == made
    assert {truth["task1"]["output"]["chart_type"] for truth in truths.values()} == set(CLASSES)
