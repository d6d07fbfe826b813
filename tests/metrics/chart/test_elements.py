"""Task 6a: plot elements, in an image of 300 x 400 pixels: a distance of 15 pixels (5 % of 300) scores 0.

In the editions since 2020 that is 3 pixels (1 %), and the distance is squared.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, box, chart_type, elements, points
from tests.metrics.samples import best_sum


def score(kind: str, truth: Json, prediction: Json, **options: Any) -> float | None:
    sides = {"task1": chart_type(kind), "task6": truth}, {"task6": prediction}
    return make.metrics(*sides, tasks=["task6a"], **options).get("task6a.score")


def plots(**lines: Any) -> Json:
    """One box plot, each line by its point and its extent."""
    return elements(boxplots=[{name: {"x": x, "y": y, "_bb": bb} for name, (x, y, bb) in lines.items()}])


BAR, PLOT = "Grouped vertical bar", "Vertical box"
NO_BARS = elements(bars=[])
BARS = elements(bars=[box(10, 10, 20, 100), box(50, 10, 20, 100)])
# |dx0| = 1, |dy0| = 2, |dx1| = 1 + 3, |dy1| = 2 - 3: D = 1 + 2 + 4 + 1 = 8.
SHIFTED_BARS = elements(bars=[box(51, 12, 23, 97), box(10, 10, 20, 100)])
CORNERED = box(0, 999, 40, 0)  # its corner says nothing of the line
ENDS = plots(min=(100, 90, None), max=(100, 20, None))
THREE_LINES = plots(min=(100, 90, None), max=(100, 20, None), median=(100, 50, None))
ACROSS = plots(median=(100, 50, CORNERED), max=(100, 20, None))
BESIDE = plots(median=(81, 47, None), max=(103, 26, None))
UPRIGHT = plots(median=(100, 50, box(0, 0, 0, 40)), min=(10, 50, box(0, 0, 40, 8)))
BELOW = plots(median=(100, 75, None), min=(32, 57, None))
LOWER = elements(lines=[points((0, 300), (10, 300)), points((10, 90), (0, 90))])
TWO_LINES = elements(lines=[points((0, 100), (10, 100)), points((0, 300), (10, 300))])
TWO_POINTS = elements(scatter_points=points((10, 10), (50, 50)))
GROUPED_POINTS = elements(scatter_points=[points((50, 53)), points((10, 10))])
SCORES = [
    ("bars: two corners", BAR, BARS, SHIFTED_BARS, (1 + 1 - 8 / 15) / 2),
    # On the median's line (80..120), and 3 pixels above it; the max is a bare point, 3 + 6 away.
    ("lines of box plots reach half their extent", PLOT, ACROSS, BESIDE, (1 - 3 / 15 + 1 - 9 / 15) / 2),
    # 25 - 20 below the upright line; 22 - 20 beside the flat one and 7 - 4 below it.
    ("in both directions", "Horizontal box", UPRIGHT, BELOW, (1 - 5 / 15 + 1 - (2 + 3) / 15) / 2),
    ("no extent", PLOT, plots(max=(9, 9, box(0, 0, -40, -40))), plots(max=(12, 9, None)), 1 - 3 / 15),
    ("matched within their class", PLOT, ENDS, plots(max=(100, 90, None), min=(100, 20, None)), 0),
    ("and share one denominator", "Horizontal box", ENDS, THREE_LINES, 2 / 3),
    ("scatter points may be grouped by series", "Scatter", TWO_POINTS, GROUPED_POINTS, (1 + 1 - 3 / 15) / 2),
    # Recall is 1 - 10 / 100, precision 1 - 10 / 90, for 90 where 100 is true.
    ("functions, in any order", "Line", TWO_LINES, LOWER, (1 + 2 * 0.9 * (8 / 9) / (0.9 + 8 / 9)) / 2),
]


@pytest.mark.parametrize(("why", "kind", "truth", "prediction", "expected"), SCORES)
def test_scores(why: str, kind: str, truth: Json, prediction: Json, expected: float) -> None:
    # The released script scores a perfect prediction 0, so there is nothing to reproduce.
    for protocol in ("published", "released"):
        assert score(kind, truth, prediction, protocol=protocol) == pytest.approx(expected), why


@pytest.mark.parametrize(
    ("kind", "truth", "said", "options", "expected"),
    [
        # All four coordinates of a bar together: dx0 = dy0 = 1, dx1 = 0, dy1 = -1.
        (BAR, elements(bars=[box(10, 10, 20, 100)]), elements(bars=[box(11, 11, 19, 98)]), {}, 1 - (1 + 1 + 0 + 1) / 9),
        # 21 - 20 beside the line and 2 above it.
        (PLOT, plots(max=(100, 50, box(0, 0, 40, 0))), plots(max=(121, 48, None)), {}, 1 - (1 + 4) / 9),
        # Lines are scored as before, and the option overrides the edition: T is 6 pixels.
        ("Line", TWO_LINES, TWO_LINES, {}, 1),
        ("Scatter", TWO_POINTS, GROUPED_POINTS, {"element_distance": 0.02}, (1 + 1 - 9 / 36) / 2),
    ],
)
def test_later_editions_square_distances(kind: str, truth: Json, said: Json, options: Json, expected: float) -> None:
    for edition in (2020, 2022):
        assert score(kind, truth, said, edition=edition, **options) == pytest.approx(expected)


def test_details_say_which_elements_are_paired() -> None:
    # The first predicted bar is 8 of 15 pixels from the second true one; the third is nobody's.
    prediction = elements(bars=[*SHIFTED_BARS["output"]["visual elements"]["bars"], box(90, 10, 20, 100)])
    found = make.score({"task1": chart_type(BAR), "task6": BARS}, {"task6": prediction}, tasks=["task6a"])
    pairs = [(0, 1, 1), (1, 0, pytest.approx(1 - 8 / 15))]
    assert msgspec.to_builtins(found.details) == {"task6a": {"bars": {"truths": 2, "predictions": 3, "pairs": pairs}}}


SQUARE, POINT = box(0, 0, 5, 5), points((1, 1))
ONE_LINE = {"min": POINT[0]}


@pytest.mark.parametrize(
    ("kind", "groups", "own"),
    [
        (BAR, {"boxplots": [ONE_LINE]}, {"bars": [SQUARE]}),
        ("Line", {"scatter points": POINT}, {"lines": [POINT]}),
        ("Scatter", {"lines": [POINT], "scatter points": [[]]}, {"scatter_points": POINT}),
        (PLOT, {"bars": [SQUARE]}, {"boxplots": [ONE_LINE]}),
        (PLOT, {"boxplots": [{}]}, {"boxplots": [ONE_LINE]}),
    ],
)
def test_elements_of_other_charts(kind: str, groups: Json, own: Json) -> None:
    other = {"output": {"visual elements": groups}}
    for prediction in (None, {"task6": other}):
        message = make.rejection("ground_truth", {"task1": chart_type(kind), "task6": other}, prediction)
        assert f"not those of a {kind.lower()} chart" in message
    assert score(kind, elements(**own), elements(**own)) == 1
    assert score(kind, elements(**own), other) == score(kind, NO_BARS, other) == 0
    assert score(kind, NO_BARS, elements(lines=[])) == 1
    # Without any group there is no task.
    empty = elements()
    assert score(kind, empty, elements(lines=[])) is None
    assert score(kind, elements(lines=[]), empty) == 0


PLACES = st.integers(0, 20) | st.floats(0, 20)
POINTS = st.lists(st.tuples(PLACES, PLACES), max_size=4)


@settings(max_examples=100, deadline=None)
@given(POINTS, POINTS, st.sampled_from([2019, 2020]))
def test_the_assignment_is_the_best_of_all(truth: Any, prediction: Any, edition: int) -> None:
    def close(first: tuple[float, float], second: tuple[float, float]) -> float:
        dx, dy = abs(first[0] - second[0]), abs(first[1] - second[1])
        return max(0.0, 1 - (dx + dy) / 15 if edition == 2019 else 1 - math.hypot(dx, dy) ** 2 / 9)

    larger = max(len(truth), len(prediction))
    expected = best_sum([[close(one, other) for other in prediction] for one in truth]) / larger if larger else 1
    sides = [elements(scatter_points=points(*side)) for side in (truth, prediction)]
    assert score("Scatter", *sides, edition=edition) == pytest.approx(expected)
    assert score("Scatter", sides[0], sides[0], edition=edition) == 1
