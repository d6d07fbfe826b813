"""Task 6a: plot elements, in an image of 300 x 400 pixels: a distance of 15 pixels (5 % of 300) scores 0.

In the editions since 2020 that is 3 pixels (1 %), and the distance is squared.
"""

from __future__ import annotations

import json
import math
from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import RejectedRecord
from beamscore.metrics.chart.elements import element_scores
from tests.metrics.chart.records_for_tests import (
    Json,
    benchmark,
    box,
    chart_type,
    columns,
    elements,
    points,
    prediction_of,
    truth_of,
    work,
)


def score(kind: str, truth: Json, prediction: Json | None, **options: Any) -> float | None:
    given = None if prediction is None else {"task6": prediction}
    found = columns({"task1": chart_type(kind), "task6": truth}, given, tasks=["task6a"], **options)
    return found.get("task6a.score")


def box_plot(**lines: Any) -> Json:
    return {name: {"x": x, "y": y, "_bb": bb} for name, (x, y, bb) in lines.items()}


def plots(**lines: Any) -> Json:
    return elements(boxplots=[box_plot(**lines)])


BAR = "Grouped vertical bar"
NO_BARS = elements(bars=[])
BARS = elements(bars=[box(10, 10, 20, 100), box(50, 10, 20, 100)])
THREE_BARS = elements(bars=[box(10, 10, 20, 100), box(50, 10, 20, 100), box(90, 10, 20, 100)])
# |dx0| = 1, |dy0| = 2, |dx1| = 1 + 3, |dy1| = 2 - 3: D = 1 + 2 + 4 + 1 = 8.
SHIFTED_BARS = elements(bars=[box(51, 12, 23, 97), box(10, 10, 20, 100)])
CORNERED = box(0, 999, 40, 0)  # its corner says nothing of the line
TWO_LINES = elements(lines=[points((0, 100), (10, 100)), points((0, 300), (10, 300))])
# 10 off at 100: recall 1 - 0.1; at 90: precision 1 - 10/90.
RECALL, PRECISION = 0.9, 1 - 10 / 90
SCORES = [
    ("bars: two corners", BAR, BARS, SHIFTED_BARS, (1 + 1 - 8 / 15) / 2),
    ("extra", BAR, BARS, THREE_BARS, 2 / 3),
    ("missed", BAR, THREE_BARS, BARS, 2 / 3),
    ("all missed", BAR, BARS, NO_BARS, 0),
    ("no prediction", BAR, BARS, None, 0),
    ("nothing on both sides", BAR, NO_BARS, NO_BARS, 1),
    ("no prediction of nothing", BAR, NO_BARS, None, 0),
    (
        # On the median's line (80..120), and 3 pixels above it; the max is a bare point, 3 + 6 away.
        "lines of box plots reach half their extent both ways",
        "Vertical box",
        plots(median=(100, 50, CORNERED), max=(100, 20, None)),
        plots(median=(81, 47, None), max=(103, 26, None)),
        (1 - 3 / 15 + 1 - 9 / 15) / 2,
    ),
    (
        # 25 - 20 below the upright line; 22 - 20 beside the flat one and 7 - 4 below it.
        "and in both directions",
        "Horizontal box",
        plots(median=(100, 50, box(0, 0, 0, 40)), min=(10, 50, box(0, 0, 40, 8))),
        plots(median=(100, 75, None), min=(32, 57, None)),
        (1 - 5 / 15 + 1 - (2 + 3) / 15) / 2,
    ),
    (
        "a negative extent is none",
        "Vertical box",
        plots(median=(100, 50, box(0, 0, -40, -40))),
        plots(median=(103, 50, None)),
        1 - 3 / 15,
    ),
    (
        "lines of box plots are matched within their class",
        "Vertical box",
        plots(min=(100, 90, None), max=(100, 20, None)),
        plots(max=(100, 90, None), min=(100, 20, None)),
        0,
    ),
    (
        "and share one denominator",
        "Horizontal box",
        plots(min=(100, 90, None), max=(100, 20, None)),
        plots(min=(100, 90, None), max=(100, 20, None), median=(100, 50, None)),
        2 / 3,
    ),
    (
        "scatter points may be grouped by series",
        "Scatter",
        elements(scatter_points=points((10, 10), (50, 50))),
        elements(scatter_points=[points((50, 53)), points((10, 10))]),
        (1 + 1 - 3 / 15) / 2,
    ),
    (
        "lines are functions, whose points come in any order",
        "Line",
        TWO_LINES,
        elements(lines=[points((0, 300), (10, 300)), points((10, 90), (0, 90))]),
        (1 + 2 * PRECISION * RECALL / (PRECISION + RECALL)) / 2,
    ),
]


@pytest.mark.parametrize(("why", "kind", "truth", "prediction", "expected"), SCORES, ids=[each[0] for each in SCORES])
def test_scores(why: str, kind: str, truth: Json, prediction: Json | None, expected: float) -> None:
    assert score(kind, truth, prediction) == pytest.approx(expected)
    # The released script scores a perfect prediction 0, so there is nothing to reproduce.
    assert score(kind, truth, prediction, protocol="released") == pytest.approx(expected)


@pytest.mark.parametrize("edition", [2020, 2022])
def test_the_score_of_later_editions_falls_with_the_square_of_the_euclidean_distance(edition: int) -> None:
    truth = elements(scatter_points=points((10, 10), (50, 50)))
    for (dx, dy), expected in (
        # D^2 / T^2 of 9 = 3^2; 2 + 2 is more than 3 as a Manhattan distance, its 8 / 9 as a Euclidean one is not.
        ((1, 0), 1 - 1 / 9),
        ((2, -2), 1 - (4 + 4) / 9),
        ((0, 3), 0),
        ((3, 1), 0),
    ):
        moved = elements(scatter_points=points((50 + dx, 50 + dy), (10, 10)))
        assert score("Scatter", truth, moved, edition=edition) == pytest.approx((1 + expected) / 2)
    # All four coordinates of a bar together: dx0 = dy0 = 1, dx1 = 0, dy1 = -1.
    bar, other = elements(bars=[box(10, 10, 20, 100)]), elements(bars=[box(11, 11, 19, 98)])
    assert score("Vertical bar", bar, other, edition=edition) == pytest.approx(1 - (1 + 1 + 0 + 1) / 9)
    # 21 - 20 beside the line and 2 above it.
    line, near = plots(median=(100, 50, box(0, 0, 40, 0))), plots(median=(121, 48, None))
    assert score("Vertical box", line, near, edition=edition) == pytest.approx(1 - (1 + 4) / 9)
    # Lines are scored as before, and the option overrides the edition: T is 6 pixels.
    assert score("Line", TWO_LINES, TWO_LINES, edition=edition) == 1
    moved = elements(scatter_points=points((10, 10), (50, 53)))
    assert score("Scatter", truth, moved, edition=edition, element_distance=0.02) == pytest.approx((1 + 1 - 9 / 36) / 2)


def test_details_say_which_elements_are_paired() -> None:
    # The first predicted bar is 8 of 15 pixels from the second true one; the third is nobody's.
    prediction = elements(bars=[box(51, 12, 23, 97), box(10, 10, 20, 100), box(90, 10, 20, 100)])
    truth = truth_of(task1=chart_type(BAR), task6=BARS)
    found = benchmark(tasks=["task6a"]).score_sample(truth, prediction_of(task6=prediction)).details["task6a"]
    pairs = [[0, 1, 1], [1, 0, pytest.approx(1 - 8 / 15)]]
    assert json.loads(msgspec.json.encode(found)) == {"bars": {"truths": 2, "predictions": 3, "pairs": pairs}}


SQUARE = box(0, 0, 5, 5)


@pytest.mark.parametrize(
    ("kind", "groups", "own"),
    [
        (BAR, {"boxplots": [{"min": {"x": 1, "y": 1}}]}, {"bars": [SQUARE]}),
        ("Line", {"scatter points": points((1, 1))}, {"lines": [points((1, 1))]}),
        ("Scatter", {"lines": [points((1, 1))], "scatter points": [[]]}, {"scatter_points": points((1, 1))}),
        ("Vertical box", {"bars": [SQUARE]}, {"boxplots": [{"min": {"x": 1, "y": 1}}]}),
        ("Vertical box", {"boxplots": [{}]}, {"boxplots": [{"min": {"x": 1, "y": 1}}]}),
    ],
)
def test_elements_of_other_charts(kind: str, groups: Json, own: Json) -> None:
    other = {"output": {"visual elements": groups}}
    for prediction in (None, other, NO_BARS):
        with pytest.raises(RejectedRecord, match=f"not those of a {kind.lower()} chart") as rejected:
            score(kind, other, prediction)
        assert rejected.value.side == "ground_truth"
    assert score(kind, elements(**own), elements(**own)) == 1
    assert score(kind, elements(**own), other) == 0
    assert score(kind, NO_BARS, other) == 0
    assert score(kind, NO_BARS, elements(lines=[])) == 1


def test_elements_without_any_group_are_no_task() -> None:
    empty: Json = {"output": {"visual elements": {}}}
    assert score("Line", empty, elements(lines=[])) is None
    assert score("Line", elements(lines=[]), empty) == 0


def test_the_work_of_elements_is_counted() -> None:
    def steps(kind: str, groups: Json) -> int:
        sides = {"output": {"visual elements": groups}}
        return work({"task1": chart_type(kind), "task6": sides}, {"task6": sides}, tasks=["task6a"])

    many = points(*((place, place) for place in range(300)))
    # The assignment of 300 to 300 takes 300^3 / 1200 at worst, the table of pairs 300^2 / 20.
    table, assignment = 300**2 / 20, 300**3 / 1200
    assert steps("Scatter", {"scatter points": many}) == pytest.approx(table + assignment, abs=50)
    assert steps(BAR, {"bars": [SQUARE] * 300}) == pytest.approx(table + assignment, abs=50)
    both = [dict.fromkeys(("min", "max"), point) for point in many]
    assert steps("Vertical box", {"boxplots": both}) == pytest.approx(2 * (table + assignment), abs=80)
    lines = [points((0, place), (9, 1)) for place in range(100)]
    # Each pair of lines costs 100, and its points; then the assignment.
    assert steps("Line", {"lines": lines}) == pytest.approx(100**2 * (100 + 2 + 2) + 100**3 / 1200, abs=50)


POINTS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=4)


@settings(max_examples=60, deadline=None)
@given(POINTS, POINTS, st.sampled_from([2019, 2020]))
def test_the_assignment_is_the_best_of_all(
    truth: list[tuple[int, int]], prediction: list[tuple[int, int]], edition: int
) -> None:
    def close(first: tuple[int, int], second: tuple[int, int]) -> float:
        dx, dy = abs(first[0] - second[0]), abs(first[1] - second[1])
        return max(0.0, 1 - (dx + dy) / 15 if edition == 2019 else 1 - (dx * dx + dy * dy) / 9)

    few, many = sorted((truth, prediction), key=len)
    best = max(sum(map(close, few, chosen)) for chosen in permutations(many, len(few)))
    expected = best / len(many) if many else 1
    sides = (elements(scatter_points=points(*side)) for side in (truth, prediction))
    assert score("Scatter", *sides, edition=edition) == pytest.approx(expected)


ELEMENTS = st.lists(st.tuples(*[st.floats(-40, 40) | st.integers(-40, 40).map(float)] * 4), max_size=8)


@settings(deadline=None)
@given(ELEMENTS, ELEMENTS, st.sampled_from([15.0, 0.1, 33.3]), st.booleans())
def test_equal_elements_score_1_and_those_that_are_apart_what_the_formula_says(
    truths: list[Any], others: list[Any], threshold: float, squared: bool
) -> None:
    def formula(first: Any, second: Any) -> float:
        gaps = [abs(x - u) for x, u in zip(first, second, strict=True)]
        share = math.hypot(*gaps) / threshold if squared else sum(gaps) / threshold
        return max(0.0, 1 - share**2 if squared else 1 - share)

    scores = element_scores("bar", truths, others + truths, threshold, squared)
    for place, (truth, row) in enumerate(zip(truths, scores, strict=True)):
        assert row == pytest.approx([formula(truth, other) for other in others + truths], abs=1e-12)
        assert row[len(others) + place] == 1
        assert 0 <= min(row) <= max(row) <= 1
