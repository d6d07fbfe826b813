"""Tasks 4 to 6a in an image of 300 x 400 pixels: ticks are close at 5, 1 % of the diagonal, and far at 10. Plot
elements are far at 15, 5 % of 300; since the edition of 2020 at 3, by the square of their distance.
"""

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.statistics.ratios import f_measure
from tests.generate.chart import SUMMARY
from tests.laws import tries
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, axes, box, chart_type, elements, legend, points, tick
from tests.metrics.samples import best_sum

TICK = tick(1, 10, 10)
ONE_X, ONE_Y = axes([TICK], []), axes([], [tick(3, 10, 90)])
THREE = axes([TICK, tick(2, 50, 10)], [tick(3, 10, 90)])
WITH_EXTRAS = axes([TICK, tick(8, 10, 10)], [tick(3, 10, 90), tick(9, 0, 0)])
NAMELESS = axes([TICK, tick(None, 50, 10), tick(None, 90, 10)], [])
ONE_NAMED = axes([tick("1", 10, 10), tick(None, 50, 10), tick("2", 90, 10)], [])
TWINS_BACKWARDS = [tick("1", 50, 10), tick(1.0, 10, 10)]
TWINS = axes([tick(1, 10, 10), tick("1", 50, 10)], [])
PAIRS, FLAT = legend(_1=box(0, 0, 10, 10), _2=box(0, 20, 10, 10)), legend(_1=box(0, 5, 10, 0))
HALF = legend(_2=box(0, 20, 5, 10), _1=box(0, 0, 10, 10), _7=box(0, 20, 10, 10))
SQUARE, DOT = box(0, 0, 5, 5), points((1, 1))
ONE_LINE = {"min": DOT[0]}
CASES = [
    # What is expected, published and released.
    *(
        ("a tick scores by its distance", ONE_X, axes([tick(1, 10 + shift, 10)], []), [(one + 1) / 2] * 3, None)
        for shift, one in [(0, 1), (5, 1), (7, 0.6), (7.5, 0.5), (10, 0), (11, 0)]
    ),
    # x: 1 of 2 and 1 of 2, F 1/2; y: precision 1/2, recall 1, F 2/3. Released: one F of the means.
    ("an F each", THREE, WITH_EXTRAS, [0.5, 0.75, (1 / 2 + 2 / 3) / 2], [0.5, 0.75, f_measure(0.5, 0.75)]),
    # Released: precision of x is 1 for want of predictions, recall of y is 1 for want of truths.
    ("an axis is empty on one side", ONE_X, ONE_Y, [0, 0, 0], [0.5, 0.5, 0.5]),
    # Released: nothing was predicted on x, but its precision is 0 since there is a y tick.
    ("the true x axis is empty", ONE_Y, ONE_Y, [1, 1, 1], [0.5, 1, f_measure(0.5, 1)]),
    ("and that of both sides, with an x tick", axes([], []), ONE_X, [0.5, 0.5, 0.5], [0.5, 1, f_measure(0.5, 1)]),
    # Released keeps the last tick of an id, as a Python dictionary does.
    ("an id twice", ONE_X, axes([TICK, tick(1, 200, 10)], []), [3 / 4, 1, (f_measure(1 / 2, 1) + 1) / 2], [1 / 2] * 3),
    ("ticks without an id match in their order", NAMELESS, NAMELESS, [1, 1, 1], [1, 1, 1]),
    ("ticks of the same id match in their order", TWINS, axes(TWINS_BACKWARDS, []), [1 / 2] * 3, [1 / 2] * 3),
    # Released, they do not count: 1 of 2 predictions, and 1 of 1 truth.
    ("not one with an id", NAMELESS, ONE_NAMED, [(2 / 3 + 1) / 2] * 3, [(1 / 2 + 1) / 2, 1, f_measure(3 / 4, 1)]),
    ("IoU 1 and 50/100, over the larger count", PAIRS, HALF, [1.5 / 3], [1.5 / 3]),
    ("a line of a legend has no area", FLAT, FLAT, [1], [0]),
]


@pytest.mark.parametrize(("why", "truth", "prediction", "published", "released"), CASES)
def test_ticks_and_legends(why: str, truth: Json, prediction: Json, published: Any, released: Any) -> None:
    """Precision, recall and F of the ticks, or the score of the legend."""
    task = "task4" if "axes" in truth["output"] else "task5"
    for protocol, expected in (("published", published), ("released", released)):
        found = make.scores([task], {task: truth}, {task: prediction}, protocol=protocol)
        assert expected is None or found == pytest.approx(expected), why


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


def closeness(truth: Json, said: Json, far: float, squared: bool) -> float:
    if "x0" in truth:
        corners = [(bar["x0"], bar["y0"], bar["x0"] + bar["width"], bar["y0"] + bar["height"]) for bar in (truth, said)]
        gaps = [abs(one - other) for one, other in zip(*corners, strict=True)]
    else:
        # A line of a box plot reaches half its extent from its point to each side; where its box lies says nothing.
        bb = truth.get("_bb") or box(0, 0, 0, 0)
        sides = (("x", "width"), ("y", "height"))
        gaps = [max(0, abs(truth[axis] - said[axis]) - max(0, bb[size]) / 2) for axis, size in sides]
    return max(0.0, 1 - math.hypot(*gaps) ** 2 / far**2 if squared else 1 - sum(gaps) / far)


@tries(150)
@given(SIDES, st.sampled_from([2019, 2020, 2022]), st.sampled_from(["published", "released"]), st.booleans())
def test_scores_are_those_of_the_best_assignment(sides: Any, edition: int, protocol: str, is_default: bool) -> None:
    """The released script scores a perfect prediction 0, so there is nothing to reproduce."""
    kind, *groups = sides
    truths, predictions = (classes(kind, group) for group in groups)
    options: Json = {"edition": edition} if edition > 2019 else {"protocol": protocol}
    far = (3 if edition > 2019 else 15) if is_default else 24
    total = sum(
        best_sum([[closeness(one, other, far, edition > 2019) for other in others] for one in ones])
        for ones, others in zip(truths, predictions, strict=True)
    )
    larger = max(sum(map(len, side)) for side in (truths, predictions))
    truth, said = (elements(**{GROUPS[kind][0]: group}) for group in groups)
    options |= {} if is_default else {"element_distance": 24 / 300}
    assert score(kind, truth, said, **options) == pytest.approx(total / larger if larger else 1)
    assert score(kind, truth, truth, **options) == 1


def test_lines_score_as_functions_in_any_order() -> None:
    two = elements(lines=[points((0, 100), (10, 100)), points((0, 300), (10, 300))])
    lower = elements(lines=[points((0, 300), (10, 300)), points((10, 90), (0, 90))])
    for edition in (2019, 2020, 2022):
        # Recall is 1 - 10 / 100, precision 1 - 10 / 90, for 90 where 100 is true.
        assert score("Line", two, lower, edition=edition) == pytest.approx((1 + f_measure(0.9, 8 / 9)) / 2)


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
