"""Task 6a: plot elements, in an image of 300 x 400 pixels: a distance of 15 pixels (5 % of 300) scores 0."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.chart.records_for_tests import Json, box, chart_type, columns, elements, points


def score(kind: str, truth: Json, prediction: Json | None, protocol: str = "published") -> float | None:
    given = None if prediction is None else {"task6": prediction}
    found = columns({"task1": chart_type(kind), "task6": truth}, given, tasks=["task6a"], protocol=protocol)
    return found["task6a.score"]


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


def test_released_has_nothing_to_reproduce_and_gives_the_published_score() -> None:
    assert score("Grouped vertical bar", BARS, BARS, "released") == 1


def box_plot(**lines: Any) -> Json:
    return {name: {"x": x, "y": y, "_bb": bb} for name, (x, y, bb) in lines.items()}


def test_box_plot_lines_reach_from_their_point_half_the_extent_both_ways() -> None:
    wide = box(0, 999, 40, 0)  # its corner says nothing of the line
    truth = elements(boxplots=[box_plot(median=(100, 50, wide), max=(100, 20, None))])
    # On the median's line (80..120), and 3 pixels above it; the max is a bare point, 3 + 6 away.
    prediction = elements(boxplots=[box_plot(median=(81, 47, None), max=(103, 26, None))])
    assert score("Vertical box", truth, prediction) == pytest.approx((1 - 3 / 15 + 1 - 9 / 15) / 2)


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
