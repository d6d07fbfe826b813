"""Tasks 1 and 3: confusion counts and the figures from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.benchmark import RejectedRecord
from beamscore.metrics.chart.benchmark import ChartBenchmark
from beamscore.metrics.statistics.sums import Sums
from tests.metrics.chart.records_for_tests import benchmark, chart_type, data, prediction_of, roles, series, truth_of

BAR, STACKED = "Grouped vertical bar", "Stacked vertical bar"


def class_sums(scorer: ChartBenchmark, pairs: Iterable[tuple[str, str | None]]) -> Sums:
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
    values = scorer.values(class_sums(scorer, [*pairs, ("Scatter", "Donut")]))
    # A missing prediction lowers recall alone; a class that is never predicted has precision 0.
    expected = {"pie": (2 / 2, 2 / 4, 2 * 1 * 0.5 / 1.5), "line": (1 / 2, 1 / 2, 1 / 2), "scatter": (0, 0, 0)}
    for place, rate in enumerate(("precision", "recall", "f1")):
        for name, rates in expected.items():
            assert values[f"task1.{rate}[{name}]"] == pytest.approx(rates[place])
        mean = sum(rates[place] for rates in expected.values()) / 3
        assert values[f"task1.macro_{rate}"] == pytest.approx(mean)
    assert "task1.f1[donut]" not in values


@pytest.mark.parametrize(
    ("predictions", "header", "row"),
    [
        (["Pie", "Line"], ["line", "pie"], [1, 1]),
        (["Pie", None], ["pie", "(none)"], [1, 1]),
        ([*(f"nonsense {index}" for index in range(5)), None], ["pie", "(other)", "(none)"], [0, 5, 1]),
    ],
)
def test_the_table_has_what_was_counted(predictions: Any, header: list[str], row: list[int]) -> None:
    scorer = benchmark()
    (table,) = scorer.tables(class_sums(scorer, [("Pie", each) for each in predictions]))
    assert table.header == ["truth \\ predicted", *header]
    assert table.rows[-1] == ["pie", *row]


def test_a_class_of_the_ground_truth_that_is_not_listed_can_be_right_and_is_counted_in_the_coverage() -> None:
    scorer = benchmark()
    sums = class_sums(scorer, [("Radar|chart", "radar|chart"), ("Radar|chart", "radar")])
    assert sums.bracketed("task1.confusion") == {"radar/chart|radar/chart": 1, "radar/chart|(other)": 1}
    assert scorer.values(sums)["task1.recall[radar/chart]"] == 0.5
    long_name = scorer.score_sample(truth_of(task1=chart_type("x" * 5000)), None)
    assert max(map(len, long_name.statistics)) < 100
    truth, prediction = truth_of(task1=chart_type("Radar")), prediction_of(task1=chart_type("Line"))
    for predicted in (prediction, None):
        assert scorer.score_sample(truth, predicted).coverage == {"ground_truth_classes_not_listed": 1}
    for options in ({"classes": ["radar"]}, {"tasks": ["task2"]}):
        assert benchmark(**options).score_sample(truth, prediction).coverage == {}


@pytest.mark.parametrize("written", ["area chart", "Area chart", " AREA CHART\n"])
def test_classes_are_listed_however_they_are_written(written: str) -> None:
    scorer = benchmark(classes=["Pie", written])
    sums = class_sums(scorer, [("Area chart", "Area chart"), ("Pie", "Area chart"), ("Pie", "Pie")])
    # "area chart" is predicted twice, once rightly.
    assert scorer.values(sums)["task1.precision[area chart]"] == 0.5
    assert scorer.values(sums)["task1.macro_precision"] == (0.5 + 1) / 2


UB_PMC = ("Area", "Heatmap", "Manhattan", "Scatter-Line", "Venn", "Vertical bar", "Horizontal interval")


@pytest.mark.parametrize(("edition", "known"), [(2019, ["Donut"]), (2020, UB_PMC), (2022, UB_PMC)])
def test_each_edition_has_its_classes(edition: int, known: Iterable[str]) -> None:
    predictions = [("Line", name) for name in (*UB_PMC, "Donut")]
    cells = class_sums(benchmark(edition=edition), predictions).bracketed("task1.confusion")
    expected = {f"line|{name.lower()}": 1 for name in known}
    assert cells == {**expected, "line|(other)": len(predictions) - len(expected)}
    cells = class_sums(benchmark(edition=edition, classes=["donut"]), predictions).bracketed("task1.confusion")
    assert cells == {"line|donut": 1, "line|(other)": len(UB_PMC)}


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
        ({"task1": chart_type("Line"), "task6": one_series()}, "Scatter", 0),
    ],
)
def test_a_bar_chart_with_one_series_is_grouped_and_stacked(extra: Any, predicted: str, correct: int) -> None:
    truth = truth_of(**{"task1": chart_type(BAR), **extra})
    score = benchmark(tasks=["task1"]).score_sample(truth, prediction_of(task1=chart_type(predicted)))
    assert score.metrics["task1.correct"] == correct
    if correct:
        assert score.statistics == {
            "task1.confusion[grouped vertical bar|grouped vertical bar]": 1,
            "task1.attempted": 1,
        }


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


def role_cells(truth: Any, prediction: Any, **options: Any) -> dict[str, float]:
    scorer = benchmark(tasks=["task3"], **options)
    given = prediction_of(task3=prediction) if prediction else None
    return Sums.of(scorer.score_sample(truth_of(task3=truth), given).statistics).bracketed("task3.confusion")


def role_list(*pairs: tuple[Any, Any]) -> dict[str, Any]:
    return {"output": {"text_roles": [{"id": key, "role": role} for key, role in pairs]}}


ONE, TICK = role_list((1, "tick_label")), {"tick_label|tick_label": 1}
ROLES = [
    (
        "by id",
        roles(_1="chart_title", _2="tick_label", _3="tick_label", _4="axis_title"),
        roles(_1=" Chart_Title", _2="axis_title", _4="radar_label", _9="tick_label"),
        {
            "chart_title|chart_title": 1,
            "tick_label|axis_title": 1,
            "tick_label|(none)": 1,
            "axis_title|(other)": 1,
            "(none)|tick_label": 1,
        },
    ),
    (
        "other true roles are left out with their predictions",
        roles(_1="legend_title", _2="tick_label"),
        roles(_1="tick_label", _2="tick_label"),
        TICK,
    ),
    ("ids are texts", ONE, role_list((1.0, "tick_label")), TICK),
    ("ids are texts", ONE, role_list(("1", "tick_label")), TICK),
    (
        "a second role for an id counts against precision",
        ONE,
        role_list(*[("1", "axis_title"), ("1", "tick_label")] * 2),
        {**TICK, "(none)|axis_title": 1},
    ),
    *(
        ("a true text without a role is left out", role_list((1, role), (2, "tick_label")), roles(_1="x_y"), missed)
        for role in (None, "", " ")
        for missed in [{"tick_label|(none)": 1}]
    ),
    *(
        (
            "a predicted text without a role is not predicted",
            roles(_1="axis_title", _2="tick_label"),
            role_list((1, role), (2, "tick_label")),
            {"axis_title|(none)": 1, **TICK},
        )
        for role in (None, "")
    ),
    (
        "no prediction",
        roles(_1="tick_label", _2="axis_title"),
        None,
        {"tick_label|(none)": 1, "axis_title|(none)": 1},
    ),
]


@pytest.mark.parametrize(("why", "truth", "prediction", "expected"), ROLES)
def test_roles(why: str, truth: Any, prediction: Any, expected: dict[str, float]) -> None:
    assert role_cells(truth, prediction) == expected, why


ROLES_OF = {
    2019: ("chart_title", "axis_title", "tick_label", "legend_label"),
    2020: ("chart_title", "axis_title", "tick_label", "legend_label", "legend_title", "value_label", "other"),
}
ROLES_OF[2022] = (*ROLES_OF[2020], "tick_grouping", "mark_label")


@pytest.mark.parametrize("edition", [2019, 2020, 2022])
def test_each_edition_has_its_roles(edition: int) -> None:
    every = role_list(*enumerate(ROLES_OF[2022]))
    assert role_cells(every, every, edition=edition) == {f"{role}|{role}": 1 for role in ROLES_OF[edition]}
    missed = {f"{role}|(none)": 1 for role in ROLES_OF[edition]}
    assert role_cells(every, None, edition=edition) == missed


SCORED = st.lists(st.sampled_from(ROLES_OF[2022]), min_size=1, unique=True)
GIVEN = st.lists(st.tuples(st.integers(0, 5), st.sampled_from((*ROLES_OF[2022], "odd"))), max_size=8)


@given(SCORED, GIVEN, GIVEN, st.sampled_from(["published", "released"]))
def test_only_the_roles_of_the_option_are_scored(scored: list[str], truth: Any, given: Any, protocol: str) -> None:
    truths = list({key: (key, role) for key, role in truth}.values())
    written = [role.title() for role in scored]
    cells = role_cells(role_list(*truths), role_list(*given), text_roles=written, protocol=protocol)
    rows, columns = ([name.split("|")[side] for name in cells] for side in (0, 1))
    assert set(rows) <= {*scored, "(none)"}
    assert set(columns) <= {*scored, "(none)", "(other)"}
    # Each text whose true role is scored is counted once, and an equal prediction is right.
    counted = sum(count for name, count in cells.items() if not name.startswith("(none)|"))
    assert counted == sum(role in scored for _, role in truths)
    perfect = role_cells(role_list(*truths), role_list(*truths), text_roles=written, protocol=protocol)
    assert sum(perfect.values()) == counted
    assert all(name == "|".join([name.partition("|")[0]] * 2) for name in perfect)


def test_released_stops_reading_before_a_text_without_a_role_and_behind_an_unknown_id() -> None:
    truth = roles(_1="tick_label", _2="axis_title", _3="legend_title")
    prediction = roles(_3="tick_label", _1="tick_label", _9="chart_title", _2="axis_title", _8="tick_label")
    # The unknown id counts against the precision of its own class; id 3 has a role that is not compared.
    read = {**TICK, "(none)|chart_title": 1}
    assert role_cells(truth, prediction, protocol="released") == {**read, "axis_title|(none)": 1}
    assert role_cells(truth, prediction) == {**read, "axis_title|axis_title": 1, "(none)|tick_label": 1}
    truth = roles(_1="tick_label", _2="axis_title", _3="axis_title")
    prediction = role_list((1, "tick_label"), (2, None), (3, "axis_title"))
    assert role_cells(truth, prediction, protocol="released") == {**TICK, "axis_title|(none)": 2}


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
