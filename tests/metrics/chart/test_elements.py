"""Task 6a: plot elements, in an image of 300 x 400 pixels: a distance of 15 pixels (5 % of 300) scores 0."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import RejectedRecord
from beamscore.metrics.chart.elements import manhattan_distance, near_scores
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


def score(kind: str, truth: Json, prediction: Json | None, protocol: str = "published") -> float | None:
    given = None if prediction is None else {"task6": prediction}
    found = columns({"task1": chart_type(kind), "task6": truth}, given, tasks=["task6a"], protocol=protocol)
    return found.get("task6a.score")


BARS = elements(bars=[box(10, 10, 20, 100), box(50, 10, 20, 100)])


def test_bars_are_compared_by_two_corners() -> None:
    # |dx0| = 1, |dy0| = 2, |dx1| = 1 + 3, |dy1| = 2 - 3: D = 1 + 2 + 4 + 1 = 8.
    prediction = elements(bars=[box(51, 12, 23, 97), box(10, 10, 20, 100)])
    assert score("Grouped vertical bar", BARS, prediction) == pytest.approx((1 + 1 - 8 / 15) / 2)


def test_missed_and_extra_bars() -> None:
    three = elements(bars=[box(10, 10, 20, 100), box(50, 10, 20, 100), box(90, 10, 20, 100)])
    assert score("Stacked horizontal bar", BARS, three) == pytest.approx(2 / 3)
    assert score("Stacked horizontal bar", three, BARS) == pytest.approx(2 / 3)
    assert score("Stacked horizontal bar", BARS, elements(bars=[])) == 0
    assert score("Stacked horizontal bar", BARS, None) == 0
    assert score("Stacked horizontal bar", elements(bars=[]), elements(bars=[])) == 1
    assert score("Stacked horizontal bar", elements(bars=[]), None) == 0


def test_details_say_which_elements_are_paired() -> None:
    # The first predicted bar is 8 of 15 pixels from the second true one; the third is nobody's.
    prediction = elements(bars=[box(51, 12, 23, 97), box(10, 10, 20, 100), box(90, 10, 20, 100)])
    truth = truth_of(task1=chart_type("Grouped vertical bar"), task6=BARS)
    found = benchmark(tasks=["task6a"]).score_sample(truth, prediction_of(task6=prediction)).details["task6a"]
    pairs = [[0, 1, 1], [1, 0, pytest.approx(1 - 8 / 15)]]
    assert json.loads(msgspec.json.encode(found)) == {"bars": {"truths": 2, "predictions": 3, "pairs": pairs}}


def test_released_has_nothing_to_reproduce_and_gives_the_published_score() -> None:
    level = elements(lines=[points((0, 0), (10, 0))])
    assert score("Line", level, level) == score("Line", level, level, "released") == 1
    assert score("Grouped vertical bar", BARS, BARS, "released") == 1


def box_plot(**lines: Any) -> Json:
    return {name: {"x": x, "y": y, "_bb": bb} for name, (x, y, bb) in lines.items()}


def test_box_plot_lines_reach_from_their_point_half_the_extent_both_ways() -> None:
    wide = box(0, 999, 40, 0)  # its corner says nothing of the line
    truth = elements(boxplots=[box_plot(median=(100, 50, wide), max=(100, 20, None))])
    # On the median's line (80..120), and 3 pixels above it; the max is a bare point, 3 + 6 away.
    prediction = elements(boxplots=[box_plot(median=(81, 47, None), max=(103, 26, None))])
    assert score("Vertical box", truth, prediction) == pytest.approx((1 - 3 / 15 + 1 - 9 / 15) / 2)


def test_box_plot_lines_of_both_directions_reach_half_their_extent() -> None:
    truth = elements(boxplots=[box_plot(median=(100, 50, box(0, 0, 0, 40)), min=(10, 50, box(0, 0, 40, 8)))])
    # 25 - 20 below the upright line; 22 - 20 beside the flat one and 7 - 4 below it.
    prediction = elements(boxplots=[box_plot(median=(100, 75, None), min=(32, 57, None))])
    assert score("Horizontal box", truth, prediction) == pytest.approx((1 - 5 / 15 + 1 - (2 + 3) / 15) / 2)
    negative = elements(boxplots=[box_plot(median=(100, 50, box(0, 0, -40, -40)))])
    assert score("Vertical box", negative, elements(boxplots=[box_plot(median=(103, 50, None))])) == pytest.approx(0.8)


SQUARE = box(0, 0, 5, 5)
OTHER_LAYOUTS = [
    ("Grouped vertical bar", {"boxplots": [{"min": {"x": 1, "y": 1}}]}),
    ("Line", {"scatter points": points((1, 1))}),
    ("Scatter", {"lines": [points((1, 1))], "scatter points": [[]]}),
    ("Vertical box", {"bars": [SQUARE]}),
    ("Vertical box", {"boxplots": [{}]}),
]


OWN_LAYOUT: Json = {
    "Grouped vertical bar": {"bars": [SQUARE]},
    "Line": {"lines": [points((1, 1))]},
    "Scatter": {"scatter_points": points((1, 1))},
    "Vertical box": {"boxplots": [{"min": {"x": 1, "y": 1}}]},
}


@pytest.mark.parametrize(("kind", "groups"), OTHER_LAYOUTS)
def test_a_ground_truth_with_elements_of_other_charts_alone_is_rejected(kind: str, groups: Json) -> None:
    truth = {"output": {"visual elements": groups}}
    for prediction in (None, truth, elements(bars=[])):
        with pytest.raises(RejectedRecord, match=f"not those of a {kind.lower()} chart") as rejected:
            score(kind, truth, prediction)
        assert rejected.value.side == "ground_truth"


@pytest.mark.parametrize(("kind", "groups"), OTHER_LAYOUTS)
def test_a_prediction_with_elements_of_other_charts_scores_0(kind: str, groups: Json) -> None:
    prediction = {"output": {"visual elements": groups}}
    own = OWN_LAYOUT[kind]
    assert score(kind, elements(**own), elements(**own)) == 1
    assert score(kind, elements(**own), prediction) == 0
    assert score(kind, elements(bars=[]), prediction) == 0
    assert score(kind, elements(bars=[]), elements(lines=[])) == 1


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
    assert steps("Grouped vertical bar", {"bars": [SQUARE] * 300}) == pytest.approx(table + assignment, abs=50)
    plots = [dict.fromkeys(("min", "max"), point) for point in many]
    assert steps("Vertical box", {"boxplots": plots}) == pytest.approx(2 * (table + assignment), abs=80)
    lines = [points((0, place), (9, 1)) for place in range(100)]
    # Each pair of lines costs 60, and its points; then the assignment.
    assert steps("Line", {"lines": lines}) == pytest.approx(100**2 * (100 + 2 * 2 / 20) + 100**3 / 1200, abs=50)


def test_box_plot_lines_are_matched_within_their_class() -> None:
    truth = elements(boxplots=[box_plot(min=(100, 90, None), max=(100, 20, None))])
    swapped = elements(boxplots=[box_plot(max=(100, 90, None), min=(100, 20, None))])
    assert score("Vertical box", truth, swapped) == 0
    # Two of three predicted lines are right: all classes share one denominator.
    more = elements(boxplots=[box_plot(min=(100, 90, None), max=(100, 20, None), median=(100, 50, None))])
    assert score("Horizontal box", truth, more) == pytest.approx(2 / 3)


def test_scatter_points_may_be_grouped_by_series() -> None:
    truth = elements(scatter_points=points((10, 10), (50, 50)))
    grouped = elements(scatter_points=[points((50, 53)), points((10, 10))])
    assert score("Scatter", truth, grouped) == pytest.approx((1 + 1 - 3 / 15) / 2)


def test_lines_are_compared_as_functions() -> None:
    truth = elements(lines=[points((0, 100), (10, 100)), points((0, 300), (10, 300))])
    prediction = elements(lines=[points((0, 300), (10, 300)), points((10, 90), (0, 90))])
    # 10 off at 100: recall 1 - 0.1; at 90: precision 1 - 10/90.
    recall, precision = 0.9, 1 - 10 / 90
    assert score("Line", truth, prediction) == pytest.approx((1 + 2 * precision * recall / (precision + recall)) / 2)


def test_the_points_of_a_line_may_come_in_any_order() -> None:
    truth = elements(lines=[points((0, 100), (10, 400), (20, 200))])
    prediction = elements(lines=[points((20, 200), (0, 100), (10, 400))])
    assert score("Line", truth, prediction) == score("Line", prediction, truth) == 1


POINTS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=4)


@settings(max_examples=60, deadline=None)
@given(POINTS, POINTS)
def test_the_assignment_is_the_best_of_all(truth: list[tuple[int, int]], prediction: list[tuple[int, int]]) -> None:
    def close(first: tuple[int, int], second: tuple[int, int]) -> float:
        return max(0.0, 1 - (abs(first[0] - second[0]) + abs(first[1] - second[1])) / 15)

    few, many = sorted((truth, prediction), key=len)
    best = max(sum(map(close, few, chosen)) for chosen in permutations(many, len(few)))
    expected = best / len(many) if many else 1
    found = score("Scatter", elements(scatter_points=points(*truth)), elements(scatter_points=points(*prediction)))
    assert found == pytest.approx(expected)


ELEMENTS = st.lists(st.tuples(*[st.floats(-40, 40) | st.integers(-40, 40).map(float)] * 4), max_size=8)


@settings(deadline=None)
@given(ELEMENTS, ELEMENTS, st.sampled_from([15.0, 0.1, 33.3]))
def test_only_elements_that_are_far_apart_are_not_compared(
    truths: list[Any], predictions: list[Any], threshold: float
) -> None:
    apart = [[manhattan_distance(truth, other) for other in predictions] for truth in truths]
    expected = [[1.0 - each / threshold if each < threshold else 0.0 for each in row] for row in apart]
    assert near_scores(truths, predictions, threshold) == expected
