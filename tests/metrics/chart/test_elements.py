"""Task 6a: plot elements, in an image of 300 x 400 pixels: a distance of 15 pixels (5 % of 300) scores 0.

In the editions since 2020 that is 3 pixels (1 %), and the distance is squared.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.generate.chart import SUMMARY
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, box, chart_type, elements, points
from tests.metrics.samples import best_sum


def score(kind: str, truth: Json, prediction: Json, **options: Any) -> float | None:
    sides = {"task1": chart_type(kind), "task6": truth}, {"task6": prediction}
    return make.metrics(*sides, tasks=["task6a"], **options).get("task6a.score")


BAR, PLOT = "Grouped vertical bar", "Vertical box"
PLACES = st.integers(0, 20) | st.floats(0, 20)
SIZES = st.integers(-4, 20)
POINT = st.fixed_dictionaries({"x": PLACES, "y": PLACES})
BOX = st.builds(box, PLACES, PLACES, SIZES, SIZES)
LINE = st.fixed_dictionaries({"x": PLACES, "y": st.just(4) | PLACES, "_bb": BOX | st.none()})
GROUPS: dict[str, tuple[str, Any]] = {
    BAR: ("bars", BOX),
    # Points may be grouped by series.
    "Scatter": ("scatter_points", POINT | st.lists(POINT, max_size=2)),
    PLOT: ("boxplots", st.dictionaries(st.sampled_from(SUMMARY), LINE, min_size=1, max_size=2)),
}
# Plots of two of the five lines have one in common with those of the other side.
ITEMS = [
    *((kind, items) for kind, (_, items) in GROUPS.items()),
    (PLOT, st.dictionaries(st.sampled_from(SUMMARY[1:3]), LINE, min_size=1)),
]
SIDES = st.sampled_from(ITEMS).flatmap(lambda each: st.tuples(st.just(each[0]), *[st.lists(each[1], max_size=3)] * 2))


def classes(kind: str, items: list[Any]) -> list[list[Json]]:
    """Returns the elements of each class, which are matched within themselves: a box plot has five lines."""
    if kind == PLOT:
        return [[plot[name] for plot in items if name in plot] for name in SUMMARY]
    return [[each for item in items for each in (item if isinstance(item, list) else [item])]]


def closeness(truth: Json, said: Json, squared: bool) -> float:
    if "x0" in truth:
        corners = [(bar["x0"], bar["y0"], bar["x0"] + bar["width"], bar["y0"] + bar["height"]) for bar in (truth, said)]
        gaps = [abs(one - other) for one, other in zip(*corners, strict=True)]
    else:
        # A line of a box plot reaches half its extent from its point to each side; where its box lies says nothing.
        bb = truth.get("_bb") or box(0, 0, 0, 0)
        sides = (("x", "width"), ("y", "height"))
        gaps = [max(0, abs(truth[axis] - said[axis]) - max(0, bb[size]) / 2) for axis, size in sides]
    return max(0.0, 1 - math.hypot(*gaps) ** 2 / 9 if squared else 1 - sum(gaps) / 15)


@settings(max_examples=80, deadline=None)
@given(SIDES, st.sampled_from([2019, 2020, 2022]), st.sampled_from(["published", "released"]))
def test_scores_are_those_of_the_best_assignment(sides: Any, edition: int, protocol: str) -> None:
    """The released script scores a perfect prediction 0, so there is nothing to reproduce."""
    kind, *groups = sides
    truths, predictions = (classes(kind, group) for group in groups)
    total = sum(
        best_sum([[closeness(one, other, edition > 2019) for other in others] for one in ones])
        for ones, others in zip(truths, predictions, strict=True)
    )
    larger = max(sum(map(len, side)) for side in (truths, predictions))
    truth, said = (elements(**{GROUPS[kind][0]: group}) for group in groups)
    options: Json = {"edition": edition} if edition > 2019 else {"protocol": protocol}
    assert score(kind, truth, said, **options) == pytest.approx(total / larger if larger else 1)
    assert score(kind, truth, truth, **options) == 1


def test_lines_score_as_functions_in_any_order_and_the_option_sets_the_distance() -> None:
    two = elements(lines=[points((0, 100), (10, 100)), points((0, 300), (10, 300))])
    lower = elements(lines=[points((0, 300), (10, 300)), points((10, 90), (0, 90))])
    for edition in (2019, 2020, 2022):
        # Recall is 1 - 10 / 100, precision 1 - 10 / 90, for 90 where 100 is true.
        expected = (1 + 2 * 0.9 * (8 / 9) / (0.9 + 8 / 9)) / 2
        assert score("Line", two, lower, edition=edition) == pytest.approx(expected)
    one, other = (elements(scatter_points=points((10, y))) for y in (10, 13))
    assert score("Scatter", one, other, edition=2020, element_distance=0.02) == pytest.approx(1 - 9 / 36)


SQUARE, DOT = box(0, 0, 5, 5), points((1, 1))
ONE_LINE = {"min": DOT[0]}


@pytest.mark.parametrize(
    ("kind", "groups", "own"),
    [
        (BAR, {"boxplots": [ONE_LINE]}, {"bars": [SQUARE]}),
        ("Line", {"scatter points": DOT}, {"lines": [DOT]}),
        ("Scatter", {"lines": [DOT], "scatter points": [[]]}, {"scatter_points": DOT}),
        (PLOT, {"bars": [SQUARE]}, {"boxplots": [ONE_LINE]}),
        (PLOT, {"boxplots": [{}]}, {"boxplots": [ONE_LINE]}),
    ],
)
def test_elements_of_other_charts(kind: str, groups: Json, own: Json) -> None:
    other = {"output": {"visual elements": groups}}
    for prediction in (None, {"task6": other}):
        message = make.rejection("ground_truth", {"task1": chart_type(kind), "task6": other}, prediction)
        assert f"not those of a {kind.lower()} chart" in message
    given, none = elements(**own), elements(bars=[])
    assert score(kind, given, other) == score(kind, given, none) == score(kind, none, elements()) == 0
    assert score(kind, none, elements(lines=[])) == 1
    # Without any group there is no task.
    assert score(kind, elements(), none) is None
