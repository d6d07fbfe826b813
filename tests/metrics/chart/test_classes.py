"""Tasks 1 and 3: confusion counts and the metrics from them."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from beamscore.metrics.statistics.sums import Sums
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, chart_type, data, roles, series
from tests.plain_loop import total

BAR, STACKED = "Grouped vertical bar", "Stacked vertical bar"


def class_sums(pairs: Iterable[tuple[str, str | None]], **options: Any) -> Sums:
    return total(
        make.score({"task1": chart_type(truth)}, {"task1": chart_type(said)} if said else None, **options)
        for truth, said in pairs
    )


def test_each_class_of_the_ground_truth_counts_the_same() -> None:
    pairs = [("Pie", "pie"), ("Pie", " PIE "), ("Pie", "Line"), ("Pie", None), ("Line", "Line"), ("Line", "Donut")]
    values = make.benchmark().values(class_sums([*pairs, ("Scatter", "Donut")]))
    # A missing prediction lowers recall alone; a class that is never predicted has precision 0.
    classes = {"pie": (2 / 2, 2 / 4, 2 * 1 * 0.5 / 1.5), "line": (1 / 2, 1 / 2, 1 / 2), "scatter": (0, 0, 0)}
    expected: dict[str, float] = {}
    for place, rate in enumerate(("precision", "recall", "f1")):
        expected |= {f"task1.{rate}[{name}]": rates[place] for name, rates in classes.items()}
        expected[f"task1.macro_{rate}"] = sum(rates[place] for rates in classes.values()) / 3
    assert {name: values[name] for name in values if name.startswith("task1")} == pytest.approx(expected)


def test_a_class_of_the_ground_truth_that_is_not_listed_can_be_right_and_is_counted_in_the_coverage() -> None:
    sums = class_sums([("Radar|chart", "radar|chart"), ("Radar|chart", "radar")])
    assert sums.family("task1.confusion") == {"radar/chart|radar/chart": 1, "radar/chart|(other)": 1}
    assert make.benchmark().values(sums)["task1.recall[radar/chart]"] == 0.5
    assert max(map(len, make.score({"task1": chart_type("x" * 5000)}, None).statistics)) < 100
    truth, prediction = {"task1": chart_type("Radar")}, {"task1": {"output": "Line"}}
    for said in (prediction, None):
        assert make.score(truth, said).coverage == {"ground_truth_classes_not_listed": 1}
    for options in ({"classes": ["radar"]}, {"tasks": ["task2"]}):
        assert make.score(truth, prediction, **options).coverage == {}


def test_each_edition_lists_its_classes_which_the_option_overrides() -> None:
    """What is predicted has a column under its own name if an edition or the option lists it."""
    ub_pmc = ("Area", "Heatmap", "Manhattan", "Scatter-Line", "Venn", "Vertical bar", "Horizontal interval")
    names = [*ub_pmc, "Donut", "Radar"]
    for edition, listed in ((2019, ["Donut"]), (2020, [*ub_pmc]), (2022, [*ub_pmc])):
        for classes, of_those, radar in ((), listed, "(other)"), (["Pie", " RADAR\n"], ["Radar"], "radar"):
            options: Json = {"edition": edition, "classes": classes}
            found = [name for name in names if not make.score({"task1": chart_type(name)}, None, **options).coverage]
            assert found == of_those
            sums = class_sums([("Line", name) for name in names], **options)
            cells = [*map(str.lower, names[:-1]), radar]
            assert sums.family("task1.confusion") == {f"line|{name}": 1 for name in cells}


def test_bars_with_one_series_or_marked_as_ambiguous_may_be_grouped_and_stacked() -> None:
    one, two = ({"task6": data(*[series("s", ("a", 1))] * count)} for count in (1, 2))
    marked = {"ambiguous": True}
    for kind, extra, said, published, released in (
        (BAR, one, STACKED, 1, 0),
        (BAR, one, "Stacked horizontal bar", 0, 0),
        (BAR, two, STACKED, 0, 0),
        (BAR, {**two, **marked}, STACKED, 1, 1),
        (STACKED, marked, STACKED, 1, 1),
        (BAR, {}, STACKED, 0, 0),
        (BAR, marked, "bar", 0, 0),
    ):
        for protocol, correct in (("published", published), ("released", released)):
            sides = {"task1": chart_type(kind), **extra}, {"task1": chart_type(said)}
            score = make.score(*sides, tasks=["task1"], protocol=protocol)
            assert score.metrics["task1.correct"] == correct
            # Released, both classes become grouped; published, the predicted one becomes the true one.
            became = (BAR if protocol == "released" else kind).lower()
            assert not correct or score.statistics == {f"task1.confusion[{became}|{became}]": 1, "task1.attempted": 1}


def role_cells(truth: Json, prediction: Json | None, **options: Any) -> dict[str, float]:
    score = make.score({"task3": truth}, {"task3": prediction} if prediction else None, tasks=["task3"], **options)
    return Sums.of(score.statistics).family("task3.confusion")


def test_each_edition_has_its_roles_and_others_are_counted_in_the_coverage() -> None:
    roles_of: dict[int, tuple[str, ...]] = {2019: ("chart_title", "axis_title", "tick_label", "legend_label")}
    roles_of[2020] = (*roles_of[2019], "legend_title", "value_label", "other")
    roles_of[2022] = (*roles_of[2020], "tick_grouping", "mark_label")
    every = roles(*enumerate(roles_of[2022]))
    for edition, scored in roles_of.items():
        assert role_cells(every, every, edition=edition) == {f"{role}|{role}": 1 for role in scored}
        truth = {"task1": chart_type("Radar"), "task3": every}
        left = {"ground_truth_text_roles_not_scored": 9 - len(scored)} if edition < 2022 else {}
        assert make.score(truth, None, edition=edition).coverage == {"ground_truth_classes_not_listed": 1, **left}
    # A text may have no role, and those of an edition may be left out on purpose.
    truth = {"task3": roles((1, ""), (2, None), (3, "chart_title"))}
    assert make.score(truth, None, text_roles=["axis_title"]).coverage == {}


ONE, BOTH = roles((1, "tick_label")), roles((1, "axis_title"), (2, "tick_label"))
RIGHT, NOT_READ = "tick_label|tick_label", ["axis_title|(none)", "tick_label|(none)"]
BY_ID = roles((1, "chart_title"), (2, "tick_label"), (3, "tick_label"), (4, "axis_title"), (5, "axis_title"))
SAID = roles((1.0, " Chart_Title"), (2, "axis_title"), (4, "radar_label"), ("5", "axis_title"), (9, "tick_label"))
# Of 2, 3, 4 and 9 one each: another role, none, one that is not scored, and one for a text that is not there.
WRONG = ["tick_label|axis_title", "tick_label|(none)", "axis_title|(other)", "(none)|tick_label"]
ROLES: list[tuple[Any, ...]] = [
    ("by id", BY_ID, SAID, *[["axis_title|axis_title", *WRONG]] * 2),
    ("no prediction", ONE, None, *[["tick_label|(none)"]] * 2),
    # What is counted, published and released, where reading stops before a text without a role, and behind an id that
    # is not there.
    ("an unknown id", BOTH, roles((9, "odd"), (2, "tick_label")), [NOT_READ[0], "(none)|(other)", RIGHT],
     [*NOT_READ, "(none)|(other)"]),
    ("no role", BOTH, roles((1, ""), (1, None), (2, "tick_label")), [NOT_READ[0], RIGHT], NOT_READ),
    ("a second role", ONE, roles((1, "tick_label"), (1, "axis_title")), *[[RIGHT, "(none)|axis_title"]] * 2),
    ("a role that is not scored", roles((1, "odd")), roles((1, "tick_label")), [], []),
    # Of a scored role and another, either is right, and nothing is wrong; released, the scored one is missed.
    *(("either role", roles((1, "tick_label"), (1, "odd")), roles((1, said)), [RIGHT], NOT_READ[1:])
      for said in ("odd", "tick_label")),
    ("neither", roles((1, "tick_label"), (1, "odd"), (1, "")), roles((1, "axis_title")), *[NOT_READ[1:]] * 2),
]  # fmt: skip


@pytest.mark.parametrize(("why", "truth", "said", "published", "released"), ROLES)
def test_roles(why: str, truth: Json, said: Json | None, published: list[str], released: list[str]) -> None:
    for protocol, cells in (("published", published), ("released", released)):
        options: Json = {"protocol": protocol, "text_roles": [" Tick_Label", "AXIS_TITLE"]}
        assert role_cells(truth, said, **options) == dict.fromkeys(cells, 1), why


def test_released_reads_roles_from_text_blocks_where_there_are_no_text_roles() -> None:
    truth = {"task3": roles((1, "tick_label"), (2, "axis_title"))}
    entries = [{"id": 1, "role": "tick_label", "bb": {}}, "no text role", {"id": 2, "role": "axis_title"}]
    for named, correct in (
        # The script drops a file from the first entry on that is no text role.
        *(({"text_blocks": entries}, 1), ({"text_blocks": entries[::2]}, 2), ({"text_blocks": {"id": 1}}, 0)),
        ({"text_blocks": entries[:1], "text_roles": []}, 0),
    ):
        said = {"task3": {"output": named}}
        score = make.score(truth, said, tasks=["task3"], protocol="released")
        assert (score.metrics["task3.accuracy"], score.statistics["task3.attempted"]) == (correct / 2, 1)
        if "text_roles" not in named:
            assert "has text_blocks, not `text_roles`; protocol: " in make.rejection("prediction", truth, said)
            with pytest.raises(msgspec.ValidationError, match="it has text_blocks, not `text_roles`"):
                make.score(said, None)
    nothing: Json = {"task3": {"output": {"text_blocks": []}}}
    assert make.score(truth, nothing) == make.score(truth, {})
