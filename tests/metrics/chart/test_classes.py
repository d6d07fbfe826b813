"""Tasks 1 and 3: confusion counts and the metrics from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.sums import Sums
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, chart_type, data, roles, series
from tests.plain_loop import total

BAR, STACKED = "Grouped vertical bar", "Stacked vertical bar"
GROUPED = "grouped vertical bar|grouped vertical bar"


def class_sums(pairs: Iterable[tuple[str, str | None]], **options: Any) -> Sums:
    return total(
        make.score({"task1": chart_type(truth)}, {"task1": chart_type(said)} if said else None, **options)
        for truth, said in pairs
    )


def class_cells(pairs: Iterable[tuple[str, str | None]], **options: Any) -> dict[str, float]:
    return class_sums(pairs, **options).bracketed("task1.confusion")


def test_each_class_of_the_ground_truth_counts_the_same() -> None:
    pairs = [("Pie", "pie"), ("Pie", " PIE "), ("Pie", "Line"), ("Pie", None), ("Line", "Line"), ("Line", "Donut")]
    values = make.benchmark().values(class_sums([*pairs, ("Scatter", "Donut")]))
    # A missing prediction lowers recall alone; a class that is never predicted has precision 0.
    expected = {"pie": (2 / 2, 2 / 4, 2 * 1 * 0.5 / 1.5), "line": (1 / 2, 1 / 2, 1 / 2), "scatter": (0, 0, 0)}
    for place, rate in enumerate(("precision", "recall", "f1")):
        for name, rates in expected.items():
            assert values[f"task1.{rate}[{name}]"] == pytest.approx(rates[place])
        mean = sum(rates[place] for rates in expected.values()) / 3
        assert values[f"task1.macro_{rate}"] == pytest.approx(mean)
    assert "task1.f1[donut]" not in values


@pytest.mark.parametrize(
    ("said", "header", "row"),
    [
        (["Pie", "Line"], ["line", "pie"], [1, 1]),
        (["Pie", None], ["pie", "(none)"], [1, 1]),
        ([*(f"nonsense {index}" for index in range(5)), None], ["pie", "(other)", "(none)"], [0, 5, 1]),
    ],
)
def test_the_table_has_what_was_counted(said: Any, header: list[str], row: list[int]) -> None:
    (table,) = make.benchmark().tables(class_sums([("Pie", each) for each in said]))
    assert table.header == ["truth \\ predicted", *header]
    assert table.rows[-1] == ["pie", *row]
    # Roles of texts that are not there have a row.
    score = make.score({"task3": roles((1, "tick_label"))}, {"task3": roles((9, "tick_label"))})
    (table,) = make.benchmark().tables(Sums.of(score.statistics))
    assert table.rows == [["tick_label", 0, 1], ["(none)", 1, 0]]
    assert score.metrics["task3.accuracy"] == 0


def test_a_class_of_the_ground_truth_that_is_not_listed_can_be_right_and_is_counted_in_the_coverage() -> None:
    sums = class_sums([("Radar|chart", "radar|chart"), ("Radar|chart", "radar")])
    assert sums.bracketed("task1.confusion") == {"radar/chart|radar/chart": 1, "radar/chart|(other)": 1}
    assert make.benchmark().values(sums)["task1.recall[radar/chart]"] == 0.5
    assert max(map(len, make.score({"task1": chart_type("x" * 5000)}, None).statistics)) < 100
    truth, prediction = {"task1": chart_type("Radar")}, {"task1": {"output": "Line"}}
    for said in (prediction, None):
        assert make.score(truth, said).coverage == {"ground_truth_classes_not_listed": 1}
    for options in ({"classes": ["radar"]}, {"tasks": ["task2"]}):
        assert make.score(truth, prediction, **options).coverage == {}


UB_PMC = ("Area", "Heatmap", "Manhattan", "Scatter-Line", "Venn", "Vertical bar", "Horizontal interval")


@pytest.mark.parametrize(("edition", "known"), [(2019, ["Donut"]), (2020, UB_PMC), (2022, UB_PMC)])
def test_each_edition_has_its_classes_which_the_option_overrides_however_it_is_written(
    edition: int, known: Iterable[str]
) -> None:
    pairs = [("Line", name) for name in (*UB_PMC, "Donut")]
    expected = {f"line|{name.lower()}": 1 for name in known}
    assert class_cells(pairs, edition=edition) == {**expected, "line|(other)": len(pairs) - len(expected)}
    for written in ("donut", " DONUT\n"):
        cells = class_cells(pairs, edition=edition, classes=["Pie", written])
        assert cells == {"line|donut": 1, "line|(other)": len(UB_PMC)}


ONE_SERIES, TWO_SERIES = ({"task6": data(*[series("s", ("a", 1))] * count)} for count in (1, 2))
MARKED = {"ambiguous": True}


@pytest.mark.parametrize(
    ("kind", "extra", "said", "published", "released"),
    [
        (BAR, ONE_SERIES, STACKED, 1, 0),
        (STACKED, ONE_SERIES, BAR, 1, 0),
        (BAR, ONE_SERIES, "Stacked horizontal bar", 0, 0),
        (BAR, TWO_SERIES, STACKED, 0, 0),
        (BAR, {**TWO_SERIES, **MARKED}, STACKED, 1, 1),
        (STACKED, MARKED, STACKED, 1, 1),
        (BAR, {}, STACKED, 0, 0),
        (BAR, MARKED, "bar", 0, 0),
        ("Line", ONE_SERIES, "Scatter", 0, 0),
    ],
)
def test_a_bar_chart_with_one_series_or_marked_is_grouped_and_stacked(
    kind: str, extra: Json, said: str, published: int, released: int
) -> None:
    for protocol, correct in (("published", published), ("released", released)):
        sides = {"task1": chart_type(kind), **extra}, {"task1": chart_type(said)}
        score = make.score(*sides, tasks=["task1"], protocol=protocol)
        assert score.metrics["task1.correct"] == correct
        if correct:
            # Released, both classes become grouped; published, the predicted one becomes the true one.
            cell = GROUPED if protocol == "released" else f"{kind.lower()}|{kind.lower()}"
            assert score.statistics == {f"task1.confusion[{cell}]": 1, "task1.attempted": 1}


def role_cells(truth: Json, prediction: Json | None, **options: Any) -> dict[str, float]:
    score = make.score({"task3": truth}, {"task3": prediction} if prediction else None, tasks=["task3"], **options)
    return Sums.of(score.statistics).bracketed("task3.confusion")


ONE, TICK = roles((1, "tick_label")), {"tick_label|tick_label": 1}
BOTH = roles((1, "axis_title"), (2, "tick_label"))
FOUR = roles((1, "chart_title"), (2, "tick_label"), (3, "tick_label"), (4, "axis_title"))
SAID = roles((1, " Chart_Title"), (2, "axis_title"), (4, "radar_label"), (9, "tick_label"))
BY_ID = {
    "chart_title|chart_title": 1,
    "tick_label|axis_title": 1,
    "tick_label|(none)": 1,
    "axis_title|(other)": 1,
    "(none)|tick_label": 1,
}
TWICE = roles(*[("1", "axis_title"), ("1", "tick_label")] * 2)
ROLES = [
    ("by id", FOUR, SAID, BY_ID),
    ("other true roles are left out", roles((1, "legend_title"), (2, "tick_label")), BOTH, TICK),
    ("ids are texts", ONE, roles((1.0, "tick_label")), TICK),
    ("ids are texts", ONE, roles(("1", "tick_label")), TICK),
    ("a second role for an id counts against precision", ONE, TWICE, {**TICK, "(none)|axis_title": 1}),
    ("no prediction", BOTH, None, {"tick_label|(none)": 1, "axis_title|(none)": 1}),
    *(
        ("a true text without a role is left out", roles((1, role), (2, "tick_label")), roles((1, "x_y")), missed)
        for role in (None, "", " ")
        for missed in [{"tick_label|(none)": 1}]
    ),
    *(
        (
            "a predicted one is not predicted",
            BOTH,
            roles((1, role), (2, "tick_label")),
            {"axis_title|(none)": 1, **TICK},
        )
        for role in (None, "")
    ),
]


@pytest.mark.parametrize(("why", "truth", "prediction", "expected"), ROLES)
def test_roles(why: str, truth: Json, prediction: Json | None, expected: dict[str, float]) -> None:
    assert role_cells(truth, prediction) == expected, why


ROLES_OF: dict[int, tuple[str, ...]] = {2019: ("chart_title", "axis_title", "tick_label", "legend_label")}
ROLES_OF[2020] = (*ROLES_OF[2019], "legend_title", "value_label", "other")
ROLES_OF[2022] = (*ROLES_OF[2020], "tick_grouping", "mark_label")


@pytest.mark.parametrize("edition", [2019, 2020, 2022])
def test_each_edition_has_its_roles(edition: int) -> None:
    every = roles(*enumerate(ROLES_OF[2022]))
    assert role_cells(every, every, edition=edition) == {f"{role}|{role}": 1 for role in ROLES_OF[edition]}


SCORED = st.lists(st.sampled_from(ROLES_OF[2022]), min_size=1, unique=True)
GIVEN = st.lists(st.tuples(st.integers(0, 5), st.sampled_from((*ROLES_OF[2022], "odd"))), max_size=8)


@given(SCORED, GIVEN, GIVEN, st.sampled_from(["published", "released"]))
def test_only_the_roles_of_the_option_are_scored(scored: list[str], truth: Any, given: Any, protocol: str) -> None:
    truths = list({key: (key, role) for key, role in truth}.values())
    options: Json = {"text_roles": [role.title() for role in scored], "protocol": protocol}
    cells = role_cells(roles(*truths), roles(*given), **options)
    rows, columns = ([name.split("|")[side] for name in cells] for side in (0, 1))
    assert set(rows) <= {*scored, "(none)"}
    assert set(columns) <= {*scored, "(none)", "(other)"}
    # Each text whose true role is scored is counted once, and an equal prediction is right.
    counted = sum(count for name, count in cells.items() if not name.startswith("(none)|"))
    assert counted == sum(role in scored for _, role in truths)
    perfect = role_cells(roles(*truths), roles(*truths), **options)
    assert sum(perfect.values()) == counted
    assert all(name == "|".join([name.partition("|")[0]] * 2) for name in perfect)


THREE = roles((1, "tick_label"), (2, "axis_title"), (3, "legend_title"))
OUT_OF_ORDER = ((3, "tick_label"), (1, "tick_label"), (9, "chart_title"), (2, "axis_title"), (8, "tick_label"))


def test_released_stops_reading_before_a_text_without_a_role_and_behind_an_unknown_id() -> None:
    # The unknown id counts against the precision of its own class; id 3 has a role that is not compared.
    read = {**TICK, "(none)|chart_title": 1}
    assert role_cells(THREE, roles(*OUT_OF_ORDER), protocol="released") == {**read, "axis_title|(none)": 1}
    expected = {**read, "axis_title|axis_title": 1, "(none)|tick_label": 1}
    assert role_cells(THREE, roles(*OUT_OF_ORDER)) == expected
    prediction = roles((1, "tick_label"), (2, None), (3, "axis_title"))
    assert role_cells(THREE, prediction, protocol="released") == {**TICK, "axis_title|(none)": 1}


def test_released_reads_roles_from_text_blocks_where_there_are_no_text_roles() -> None:
    truth = {"task3": roles((1, "tick_label"), (2, "axis_title"))}
    entries = [{"id": 1, "role": "tick_label", "bb": {}}, "no text role", {"id": 2, "role": "axis_title"}]
    for named, correct in (
        ({"text_blocks": entries[:1]}, 1),
        ({"text_blocks": entries[::2]}, 2),
        # The script drops a file from the first entry on that is no text role.
        ({"text_blocks": entries}, 1),
        ({"text_blocks": "odd"}, 0),
        ({"text_blocks": {"id": 1}}, 0),
        ({"text_blocks": entries[:1], "text_roles": []}, 0),
    ):
        for protocol, right in (("released", correct), ("published", 0)):
            score = make.score(truth, {"task3": {"output": named}}, tasks=["task3"], protocol=protocol)
            assert score.metrics["task3.accuracy"] == right / 2
            # They are an attempt at the task where they are read.
            attempted = protocol == "released" or "text_roles" in named
            assert ("task3.attempted" in score.statistics) == attempted


def test_a_text_of_a_scored_and_another_role_is_right_where_the_prediction_says_either() -> None:
    truth = {"task3": roles((1, "tick_label"), (1, "legend_title"), (2, "axis_title"))}
    for said, expected in (("tick_label", 1), ("legend_title", 1), ("Legend_Title ", 1), ("axis_title", 1 / 2)):
        score = make.score(truth, {"task3": roles((1, said), (2, "axis_title"))}, tasks=["task3"])
        assert score.metrics["task3.accuracy"] == expected
        # Released, what is predicted for the text is left out, and its scored role is missed.
        released = make.metrics(truth, {"task3": roles((1, said), (2, "axis_title"))}, protocol="released")
        assert released["task3.accuracy"] == 1 / 2
        # What is predicted for a text of another role is never wrong of its own class.
        assert score.statistics["task3.confusion[axis_title|axis_title]"] == 1
        assert not any("(none)|" in name for name in score.statistics)
