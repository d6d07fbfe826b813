"""Tasks 1 and 3: confusion counts and the figures from them."""

from __future__ import annotations

from typing import Any

import pytest

from beamscore.metrics.benchmark import RejectedRecord
from beamscore.metrics.chart.benchmark import ChartBenchmark
from beamscore.metrics.statistics.sums import Sums
from tests.metrics.chart.records_for_tests import benchmark, chart_type, data, prediction_of, roles, series, truth_of

BAR, STACKED = "Grouped vertical bar", "Stacked vertical bar"


def class_sums(scorer: ChartBenchmark, pairs: list[tuple[str, str | None]]) -> Sums:
    return Sums.merged(
        Sums.of(
            scorer.score_sample(
                truth_of(task1=chart_type(truth)),
                None if predicted is None else prediction_of(task1=chart_type(predicted)),
            ).statistics
        )
        for truth, predicted in pairs
    )


def test_each_class_of_the_ground_truth_counts_the_same() -> None:
    scorer = benchmark()
    pairs = [("Pie", "pie"), ("Pie", " PIE "), ("Pie", "Line"), ("Pie", None), ("Line", "Line"), ("Line", "Donut")]
    values = scorer.values(class_sums(scorer, pairs))
    assert values["task1.precision[pie]"] == 2 / 2
    assert values["task1.recall[pie]"] == 2 / 4
    assert values["task1.f1[pie]"] == pytest.approx(2 * 1 * 0.5 / 1.5)
    assert values["task1.precision[line]"] == 1 / 2
    assert values["task1.recall[line]"] == 1 / 2
    assert values["task1.macro_precision"] == (1 + 0.5) / 2
    assert values["task1.macro_recall"] == 0.5
    assert values["task1.macro_f1"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert "task1.f1[donut]" not in values


def test_a_class_that_is_never_predicted_has_precision_0() -> None:
    scorer = benchmark()
    values = scorer.values(class_sums(scorer, [("Pie", "Line"), ("Line", "Line")]))
    assert values["task1.precision[pie]"] == 0
    assert values["task1.f1[pie]"] == 0
    assert values["task1.precision[line]"] == 0.5


def test_unknown_predicted_classes_share_one_column() -> None:
    scorer = benchmark()
    sums = class_sums(scorer, [("Pie", f"nonsense {index}") for index in range(5)] + [("Pie", None)])
    assert sums.bracketed("task1.confusion") == {"pie|(other)": 5, "pie|(none)": 1}
    (table,) = scorer.tables(sums)
    assert table.header == ["truth \\ predicted", "pie", "(other)", "(none)"]
    assert table.rows == [["pie", 0, 5, 1]]


def test_the_table_has_the_columns_that_were_counted() -> None:
    scorer = benchmark()
    (table,) = scorer.tables(class_sums(scorer, [("Pie", "Pie"), ("Pie", "Line")]))
    assert table.header == ["truth \\ predicted", "line", "pie"]
    (table,) = scorer.tables(class_sums(scorer, [("Pie", "Pie"), ("Pie", None)]))
    assert table.header == ["truth \\ predicted", "pie", "(none)"]


def test_a_class_of_the_ground_truth_that_is_not_listed_can_be_right() -> None:
    scorer = benchmark()
    sums = class_sums(scorer, [("Area|chart", "area|chart"), ("Area|chart", "area")])
    assert sums.bracketed("task1.confusion") == {"area/chart|area/chart": 1, "area/chart|(other)": 1}
    assert scorer.values(sums)["task1.recall[area/chart]"] == 0.5
    long_name = scorer.score_sample(truth_of(task1=chart_type("x" * 5000)), None)
    assert max(map(len, long_name.statistics)) < 100


def test_a_class_of_the_ground_truth_that_is_not_listed_is_counted_in_the_coverage() -> None:
    truth, prediction = truth_of(task1=chart_type("Area")), prediction_of(task1=chart_type("Line"))
    assert benchmark().score_sample(truth, prediction).coverage == {"ground_truth_classes_not_listed": 1}
    assert benchmark().score_sample(truth, None).coverage == {"ground_truth_classes_not_listed": 1}
    assert benchmark(classes=["area"]).score_sample(truth, prediction).coverage == {}
    assert benchmark(tasks=["task2"]).score_sample(truth, prediction).coverage == {}
    assert benchmark().score_sample(truth_of(task1=chart_type("Line")), prediction).coverage == {}


@pytest.mark.parametrize("written", ["area chart", "Area chart", " AREA CHART\n"])
def test_classes_are_listed_however_they_are_written(written: str) -> None:
    scorer = benchmark(classes=["Pie", written])
    sums = class_sums(scorer, [("Area chart", "Area chart"), ("Pie", "Area chart"), ("Pie", "Pie")])
    # "area chart" is predicted twice, once rightly.
    assert scorer.values(sums)["task1.precision[area chart]"] == 0.5
    assert scorer.values(sums)["task1.macro_precision"] == (0.5 + 1) / 2


def one_series(count: int = 1) -> dict[str, Any]:
    return data(*(series(f"s{index}", ("a", 1)) for index in range(count)))


@pytest.mark.parametrize(
    ("extra", "predicted", "correct"),
    [
        ({"task6": one_series()}, STACKED, 1),
        ({"task6": one_series()}, BAR, 1),
        ({"task6": one_series()}, "Stacked horizontal bar", 0),
        ({"task6": one_series(2)}, STACKED, 0),
        ({"task6": one_series(2), "ambiguous": True}, STACKED, 1),
        ({}, STACKED, 0),
        ({"ambiguous": True}, "bar", 0),
    ],
)
def test_a_bar_chart_with_one_series_is_grouped_and_stacked(extra: Any, predicted: str, correct: int) -> None:
    truth = truth_of(task1=chart_type(BAR), **extra)
    score = benchmark(tasks=["task1"]).score_sample(truth, prediction_of(task1=chart_type(predicted)))
    assert score.metrics["task1.correct"] == correct
    if correct:
        assert score.statistics == {
            "task1.confusion[grouped vertical bar|grouped vertical bar]": 1,
            "task1.attempted": 1,
        }


def test_one_series_leaves_other_classes_as_they_are() -> None:
    truth = truth_of(task1=chart_type("Line"), task6=data(series("s", ("a", 1))))
    score = benchmark(tasks=["task1"]).score_sample(truth, prediction_of(task1=chart_type("Scatter")))
    assert score.metrics["task1.correct"] == 0


def test_released_knows_ambiguous_charts_by_their_mark_alone_and_counts_them_as_grouped() -> None:
    scorer = benchmark(protocol="released", tasks=["task1"])
    one = truth_of(task1=chart_type(STACKED), task6=one_series())
    assert scorer.score_sample(one, prediction_of(task1=chart_type(BAR))).metrics["task1.correct"] == 0
    marked = truth_of(task1=chart_type(STACKED), ambiguous=True)
    score = scorer.score_sample(marked, prediction_of(task1=chart_type(STACKED)))
    assert score.statistics == {
        "task1.confusion[grouped vertical bar|grouped vertical bar]": 1,
        "task1.attempted": 1,
    }


def test_a_class_may_be_written_as_bare_text() -> None:
    score = benchmark().score_sample(truth_of(task1=chart_type("Pie")), prediction_of(task1={"output": "Pie"}))
    assert score.metrics["task1.correct"] == 1


def role_cells(truth: Any, prediction: Any, protocol: str = "published") -> dict[str, float]:
    scorer = benchmark(tasks=["task3"], protocol=protocol)
    given = prediction_of(task3=prediction) if prediction else None
    return Sums.of(scorer.score_sample(truth_of(task3=truth), given).statistics).bracketed("task3.confusion")


def test_roles_are_compared_by_id() -> None:
    truth = roles(_1="chart_title", _2="tick_label", _3="tick_label", _4="axis_title")
    prediction = roles(_1=" Chart_Title", _2="axis_title", _4="radar_label", _9="tick_label")
    assert role_cells(truth, prediction) == {
        "chart_title|chart_title": 1,
        "tick_label|axis_title": 1,
        "tick_label|(none)": 1,
        "axis_title|(other)": 1,
        "(none)|tick_label": 1,
    }


def test_other_true_roles_are_left_out_with_their_predictions() -> None:
    truth = roles(_1="legend_title", _2="tick_label")
    assert role_cells(truth, roles(_1="tick_label", _2="tick_label")) == {"tick_label|tick_label": 1}


def test_ids_are_compared_as_text() -> None:
    truth = {"output": {"text_roles": [{"id": 7, "role": "tick_label"}]}}
    for key in (7, 7.0, "7"):
        prediction = {"output": {"text_roles": [{"id": key, "role": "tick_label"}]}}
        assert role_cells(truth, prediction) == {"tick_label|tick_label": 1}


def test_a_second_role_for_the_same_id_counts_against_precision() -> None:
    truth = roles(_1="tick_label")
    both = {"output": {"text_roles": [{"id": "1", "role": role} for role in ("axis_title", "tick_label") * 2]}}
    assert role_cells(truth, both) == {"tick_label|tick_label": 1, "(none)|axis_title": 1}


def test_a_true_text_without_a_role_is_left_out_with_its_predictions() -> None:
    for role in (None, "", " "):
        truth = {"output": {"text_roles": [{"id": 1, "role": role}, {"id": 2, "role": "tick_label"}]}}
        assert role_cells(truth, roles(_1="axis_title", _2="tick_label")) == {"tick_label|tick_label": 1}


def test_a_predicted_text_without_a_role_is_not_predicted() -> None:
    for role in (None, ""):
        prediction = {"output": {"text_roles": [{"id": 1, "role": role}, {"id": 2, "role": "tick_label"}]}}
        assert role_cells(roles(_1="axis_title", _2="tick_label"), prediction) == {
            "axis_title|(none)": 1,
            "tick_label|tick_label": 1,
        }


def test_released_drops_what_follows_an_id_that_the_ground_truth_lacks() -> None:
    truth = roles(_1="tick_label", _2="axis_title", _3="legend_title")
    prediction = roles(_3="tick_label", _1="tick_label", _9="chart_title", _2="axis_title", _8="tick_label")
    # The unknown id counts against the precision of its own class; id 3 has a role that is not compared.
    assert role_cells(truth, prediction, protocol="released") == {
        "tick_label|tick_label": 1,
        "axis_title|(none)": 1,
        "(none)|chart_title": 1,
    }
    assert role_cells(truth, prediction) == {
        "tick_label|tick_label": 1,
        "axis_title|axis_title": 1,
        "(none)|chart_title": 1,
        "(none)|tick_label": 1,
    }


def test_released_drops_a_text_without_a_role_and_what_follows_it() -> None:
    truth = roles(_1="tick_label", _2="axis_title", _3="axis_title")
    prediction = {
        "output": {"text_roles": [{"id": 1, "role": "tick_label"}, {"id": 2}, {"id": 3, "role": "axis_title"}]}
    }
    assert role_cells(truth, prediction, protocol="released") == {
        "tick_label|tick_label": 1,
        "axis_title|(none)": 2,
    }


def test_released_reads_roles_from_text_blocks_where_there_are_no_text_roles() -> None:
    truth = roles(_1="tick_label", _2="axis_title")
    entries = [{"id": 1, "role": "tick_label", "bb": {}}, "no text role", {"id": 2, "role": "axis_title"}]
    right, missed = "tick_label|tick_label", {"tick_label|(none)": 1, "axis_title|(none)": 1}
    for named, read in (
        ({"text_blocks": entries[:1]}, {right: 1, "axis_title|(none)": 1}),
        ({"text_blocks": entries[::2]}, {right: 1, "axis_title|axis_title": 1}),
        # The script drops a file from the first entry on that is no text role.
        ({"text_blocks": entries}, {right: 1, "axis_title|(none)": 1}),
        ({"text_blocks": "odd"}, missed),
        ({"text_blocks": {"id": 1}}, missed),
        ({"text_blocks": entries[:1], "text_roles": []}, missed),
    ):
        assert role_cells(truth, {"output": named}, protocol="released") == read
        assert role_cells(truth, {"output": named}) == missed


def test_text_blocks_are_an_attempt_at_task_3_where_they_are_read() -> None:
    prediction = prediction_of(task3={"output": {"text_blocks": [{"id": 1, "role": "tick_label"}]}})
    for protocol, said in (("released", "attempted"), ("published", "left_out")):
        scorer = benchmark(tasks=["task3"], protocol=protocol)
        assert scorer.score_sample(truth_of(task3=roles(_1="tick_label")), prediction).statistics[f"task3.{said}"] == 1
    many = prediction_of(task3={"output": {"text_blocks": [{}] * 2001}})
    with pytest.raises(RejectedRecord, match="task3 text_blocks: 2001"):
        benchmark().score_sample(truth_of(task3=roles(_1="tick_label")), many)


def test_without_a_prediction_every_role_is_missed() -> None:
    assert role_cells(roles(_1="tick_label", _2="axis_title"), None) == {"tick_label|(none)": 1, "axis_title|(none)": 1}


def test_role_figures() -> None:
    scorer = benchmark(tasks=["task3"])
    truth = truth_of(task3=roles(_1="tick_label", _2="tick_label", _3="chart_title"))
    prediction = prediction_of(task3=roles(_1="tick_label", _2="chart_title", _3="chart_title", _4="chart_title"))
    score = scorer.score_sample(truth, prediction)
    values = scorer.values(Sums.of(score.statistics))
    assert score.metrics["task3.accuracy"] == 2 / 3
    assert values["task3.precision[chart_title]"] == 1 / 3
    assert values["task3.recall[chart_title]"] == 1
    assert values["task3.macro_f1"] == pytest.approx((2 * (1 / 3) / (4 / 3) + 2 * 0.5 / 1.5) / 2)
