"""Tasks 6b and 7: data series."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.generate.chart import SUMMARY
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, chart_type, data, points, series
from tests.metrics.samples import best_sum, edit_distance

BAR, PLOT = "Grouped vertical bar", "Vertical box"


def score(kind: str, truth: Json, prediction: Json, **options: Any) -> float:
    sides = {"task1": chart_type(kind), "task6": truth}, {"task6": prediction, "task7": prediction}
    task6b, task7 = make.scores(["task6b", "task7"], *sides, **options)
    assert task6b is not None
    assert task6b == task7
    return task6b


def one(*pairs: tuple[Any, Any]) -> Json:
    return data(series("s", *pairs))


REST = ("b", 200), ("c", 300)
# The values 1, 2, 3 have a standard deviation (ddof 1) of 1.
ABC = one(("a", "1"), ("b", "2"), ("c", "3"))


def summary(*values: Any) -> Json:
    return data({"name": "s", "data": dict(zip(SUMMARY, values, strict=True))})


BOX, TENS = summary(0, 1, 2, 3, 4), summary(10, 20, 30, 40, 50)  # the first deviates by the root of 2.5
FIVE = BOX["output"]["data series"][0]["data"]
SQUARE, DIAGONAL = one((0, 0), (0, 2), (2, 0), (2, 2)), one((0, 0), (1, 1), (2, 2))


CASES = [
    ("label times value: 1 - 0.25, 1/2 * 1, 1 * 0", BAR, ABC, one(("a", 1.25), ("bx", 2), ("c", 9)), 1.25 / 3),
    ("numbers are labels", BAR, one((21, 1), (22, 2), (23, 3)), one((21, 1), (22, 2), (29, 3)), 2.5 / 3),
    ("values that are no numbers match nothing", BAR, ABC, one(("a", "1"), ("b", "n/a"), ("c", None)), 1 / 3),
    ("a point without a number", "Scatter", SQUARE, one((0, 0), (0, 2), (2, 0), (2, "?")), 0.75),
    ("points without numbers are left out", "Line", DIAGONAL, one((0, 0), ("one", 1), (2, 2)), 1),
    ("all of them", "Line", DIAGONAL, one(("zero", 1)), 0),
    ("five numbers", PLOT, BOX, summary(0, 1, "2.5", 3, 4), 1 - 0.1 / 2.5**0.5),
    # The examples of docs/explanation/benchmarks/chart.md: 0.962 and 0.833; the deviations are 15.81 and 100 (ddof 1).
    ("33 for 30", PLOT, TENS, summary(10, 20, 33, 40, 50), (4 + 1 - 3 / math.sqrt(1000 / 4)) / 5),
    ("150 for 100", BAR, one(("a", 100), *REST), one(("a", 150), *REST), (2 + 1 - 50 / 100) / 3),
    *(("unreadable ones for none", kind, one(), one((1, "?")), 0) for kind in (BAR, "Scatter", "Line")),
    *(
        ("an x that is no finite number is a label", kind, one((word, 1), ("2", 2)), one((word, 1), ("2", 2)), 1)
        for kind in ("Line", "Scatter")
        for word in ("nan", "1e999", None, "2001 (est.)")
    ),
]


@pytest.mark.parametrize(("why", "kind", "truth", "prediction", "expected"), CASES)
def test_scores(why: str, kind: str, truth: Json, prediction: Any, expected: float) -> None:
    assert score(kind, truth, prediction) == pytest.approx(expected, abs=1e-12), why


Points = list[tuple[float, float]]


def f_of_lines(truth: Points, prediction: Points, protocol: str) -> float:
    """Returns the F of two lines."""
    truth, prediction = (sorted(line, key=lambda point: point[0]) for line in (truth, prediction))
    if protocol == "released" and (truth[0][0] == truth[-1][0] or prediction[0][0] == prediction[-1][0]):
        protocol = "published"  # The script stops.
    values = [y for _, y in truth]
    tolerance = (max(values) - min(values)) / 100
    precision = recall_of_line(prediction, truth, tolerance, protocol)
    recall = recall_of_line(truth, prediction, tolerance, protocol)
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def recall_of_line(wanted: Points, found: Points, tolerance: float, protocol: str) -> float:
    weights, scores = [], []
    for place, (x, y) in enumerate(wanted):
        before, behind = wanted[max(place - 1, 0)][0], wanted[min(place + 1, len(wanted) - 1)][0]
        weights.append((behind - before) / 2)
        same_before = sum(other == x for other, _ in wanted[:place])
        gap = abs(y - value_at(x, found, same_before if protocol == "published" else len(found)))
        if abs(y) + tolerance:
            scores.append(1 - min(1.0, gap / (abs(y) + tolerance)))
        else:
            scores.append(float(gap == 0 and protocol == "published"))
    if not sum(weights):
        weights = [1] * len(wanted)
    return sum(map(math.prod, zip(weights, scores, strict=True))) / sum(weights)


def value_at(x: float, line: Points, number: int) -> float:
    """Returns the y of a line at x; of several points there that of this number, or of the last one."""
    there = [y for other, y in line if other == x]
    if there:
        return there[min(number, len(there) - 1)]
    left, right = [point for point in line if point[0] < x], [point for point in line if point[0] > x]
    if not left or not right:
        return left[-1][1] if left else right[0][1]
    (x0, y0), (x1, y1) = left[-1], right[0]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)


def exact_scores(truth: Points, prediction: Points, gamma: float = 1) -> list[list[float]]:
    """The score of each true point with each predicted one, by the inverse covariance in fractions, if there is one."""
    count = len(truth)
    xs, ys = ([Fraction(point[axis]) for point in truth] for axis in (0, 1))
    x_mean, y_mean = sum(xs) / count, sum(ys) / count
    xx, yy = (sum((value - mean) ** 2 for value in values) for values, mean in ((xs, x_mean), (ys, y_mean)))
    xy = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))

    def similarity(dx: Fraction, dy: Fraction) -> float:
        if xx * yy == xy * xy:
            return float(dx == dy == 0)
        square = (count - 1) * (dx * dx * yy - 2 * dx * dy * xy + dy * dy * xx) / (xx * yy - xy * xy)
        return max(0.0, 1 - math.sqrt(square) / gamma)

    return [
        [similarity(Fraction(px) - x, Fraction(py) - y) for px, py in prediction] for x, y in zip(xs, ys, strict=True)
    ]


def labelled_scores(truth: Points, prediction: Points, alpha: float, gamma: float) -> list[list[float]]:
    """The score of each true value with each predicted one, by their labels and their distance in deviations."""
    spread = statistics.stdev(y for _, y in truth) if len(truth) > 1 else 0

    def closeness(y: float, other: float) -> float:
        return max(0.0, 1 - abs(y - other) / spread / gamma) if spread else float(y == other)

    return [[name_score(x, label, alpha) * closeness(y, other) for label, other in prediction] for x, y in truth]


def name_score(name: Any, other: Any, alpha: float) -> float:
    return float(1 - (edit_distance(name, other) / max(len(name), len(other), 1)) ** alpha)


# Long texts are compared in another way.
TEXTS = ["", "a", "ab", "b", "abcé", "x" * 101]
POINT: dict[str, Any] = {
    BAR: st.tuples(st.sampled_from(TEXTS), st.integers(0, 4)),
    "Scatter": st.tuples(st.integers(0, 9), st.integers(0, 9)),
    "Line": st.tuples(st.integers(0, 4), st.sampled_from([-3, 0, 0, 5, 10])),
}
PARAMETERS = st.fixed_dictionaries({"alpha": st.sampled_from([1, 2]), "gamma": st.sampled_from([1, 0.5, 2])})


@pytest.mark.parametrize("protocol", ["published", "released"])
@pytest.mark.parametrize("kind", POINT)
@settings(max_examples=80, deadline=None)
@given(st.data(), PARAMETERS, st.sampled_from([1, 2, 4]))
def test_series_score_as_the_plain_reading(kind: str, protocol: str, draw: Any, parameters: Any, beta: float) -> None:
    """Published, names count where there is a true one."""
    named = st.tuples(st.sampled_from(TEXTS) | st.just(""), st.lists(POINT[kind], max_size=5))
    truths, predictions = (draw.draw(st.lists(named, max_size=3)) for _ in range(2))
    if kind == "Scatter" and protocol == "released":
        # Else the script stops, or has what rounding makes of no inverse.
        matrices = [np.array(points) - np.array(points[0]) for _, points in truths if points]
        assume(all(np.linalg.matrix_rank(matrix) == 2 for matrix in matrices))

    def similarity(truth: Points, prediction: Points) -> float:
        if not truth or not prediction:
            return float(truth == prediction)
        if kind == "Line":
            return f_of_lines(truth, prediction, protocol)
        if kind == BAR:
            scores = labelled_scores(truth, prediction, **parameters)
        else:
            scores = exact_scores(truth, prediction, parameters["gamma"])
        return best_sum(scores) / max(len(truth), len(prediction))

    are_named = protocol == "released" or any(name for name, _ in truths)
    table = [
        [
            similarity(points, others)
            * (max(1 / beta, name_score(name, other, parameters["alpha"])) if are_named else 1)
            for other, others in predictions
        ]
        for name, points in truths
    ]
    larger = max(len(truths), len(predictions))
    sides = (data(*(series(name, *points) for name, points in side)) for side in (truths, predictions))
    found = score(kind, *sides, protocol=protocol, beta=beta, **parameters)
    assert found == pytest.approx(best_sum(table) / larger if larger else 1, abs=1e-9)


@pytest.mark.parametrize("offset", [1e-1, 1e-3, 1e-6, 1e-8, 1e-11])
def test_points_close_to_a_line_have_a_distance_released_with_the_rounding_of_the_script(offset: float) -> None:
    truth = [(float(x), 3 * x + (-1.0) ** x * offset) for x in range(10)]
    prediction = [(x, y + offset / 5 * (-1.0) ** (place // 3)) for place, (x, y) in enumerate(truth)]
    scores = exact_scores(truth, prediction)
    expected = sum(scores[place][place] for place in range(10)) / 10
    assert 0.4 < expected < 0.9
    assert score("Scatter", one(*truth), one(*prediction)) == pytest.approx(expected, rel=1e-3)
    if offset == 1e-6:
        inverse, gaps = np.linalg.inv(np.cov(np.array(truth).T)), np.array(prediction) - np.array(truth)
        rounded = (1 - np.sqrt(np.einsum("ni,ij,nj->n", gaps, inverse, gaps))).mean()
        assert rounded != pytest.approx(expected, abs=1e-6)
        found = score("Scatter", one(*truth), one(*prediction), protocol="released")
        assert found == pytest.approx(rounded, abs=1e-9)


@pytest.mark.parametrize("protocol", ["published", "released"])
@pytest.mark.parametrize("step", [0.1, 1 / 3, 1e-7])
def test_points_that_only_rounding_takes_off_their_line_lie_on_it(step: float, protocol: str) -> None:
    """Where the released script has no inverse, or no distance for it, its scores are the published ones."""
    truth = [(2000 + x, 7 + x * step) for x in range(12)]
    moved = [(x, y + (step if place == 3 else 0)) for place, (x, y) in enumerate(truth)]
    assert score("Scatter", one(*truth), one(*truth), protocol=protocol) == 1
    assert score("Scatter", one(*truth), one(*moved)) == pytest.approx(11 / 12)
    assert score("Scatter", one(*truth), one(*((x + 0.25, y + 0.25 * step) for x, y in truth))) == 0
    # One point has no covariance.
    assert [score("Scatter", one((1, 2)), one((1, y)), protocol=protocol) for y in (2, 3)] == [1, 0]


POINTS = points(("1", 1), ("2", 2))
NO_POINTS: list[Any] = [FIVE, {}, None]
NO_SUMMARY: list[Any] = [POINTS, [], {}, {"x": 1}, None]
OTHER_LAYOUTS = [
    *((kind, found) for kind in (BAR, "Scatter", "Line") for found in NO_POINTS),
    *((PLOT, found) for found in NO_SUMMARY),
]


@pytest.mark.parametrize(("kind", "found"), OTHER_LAYOUTS)
def test_series_of_another_layout_are_rejected_if_true_and_wrong_if_predicted(kind: str, found: Any) -> None:
    odd = {"name": "odd", "data": found}
    lines = "an object with any of first_quartile, max, min, median, third_quartile"
    layout = lines if "box" in kind else "a list of points with x and y"
    message = f"task6: the data of the data series 'odd' of a {kind.lower()} chart must be {layout}"
    truth = {"task1": chart_type(kind), "task6": data(odd)}
    for prediction in (None, truth):
        assert make.rejection("ground_truth", truth, prediction, tasks=["task6b"]) == message
    own = {"name": "s", "data": FIVE if "box" in kind else POINTS}
    assert score(kind, data(own), data(odd)) == 0
    assert score(kind, data(own), data(own, odd)) == 0.5
    if "box" not in kind:
        assert score(kind, data(series("s")), data(odd)) == 0


def test_a_true_value_that_is_no_number_rejects_the_ground_truth() -> None:
    message = "task6: a y of the data series 's' is not a number within +-1e100"
    for kind in (BAR, "Scatter", "Line"):
        for value in ("n/a", None, 1.1e100, float("nan")):
            truth = {"task1": chart_type(kind), "task6": one((1, 1), (2, value))}
            assert make.rejection("ground_truth", truth, None, tasks=["task6b"]) == message
