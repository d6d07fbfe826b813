"""Tasks 6b and 7: data series."""

import math
import operator
import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from beamscore.metrics.statistics.ratios import f_measure
from tests.generate.chart import SUMMARY
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, chart_type, data, points, series
from tests.metrics.samples import best_sum, edit_distance

BAR, PLOT = "Grouped vertical bar", "Vertical box"
Points = list[tuple[float, float]]


def score(kind: str, truth: Json, prediction: Json, **options: Any) -> float:
    sides = {"task1": chart_type(kind), "task6": truth}, {"task6": prediction, "task7": prediction}
    task6b, task7 = make.scores(["task6b", "task7"], *sides, **options)
    assert task6b is not None
    assert task6b == task7
    return task6b


def one(*pairs: tuple[Any, Any]) -> Json:
    return data(series("s", *pairs))


@pytest.mark.parametrize("kind", ["Line", "Scatter"])
@pytest.mark.parametrize("word", ["nan", "1e999", None, "2001 (est.)"])
def test_an_x_that_is_no_finite_number_is_a_label(kind: str, word: str | None) -> None:
    assert score(kind, one((word, 1), ("2", 2)), one((word, 1), ("2", 2))) == 1
    assert score(kind, one((word, 1), ("2", 2)), one(("3", 1), ("2", 2))) < 1


def f_of_lines(truth: Points, prediction: Points, protocol: str) -> float:
    """Returns the F of two lines."""
    truth, prediction = (sorted(line, key=lambda point: point[0]) for line in (truth, prediction))
    if protocol == "released" and (truth[0][0] == truth[-1][0] or prediction[0][0] == prediction[-1][0]):
        protocol = "published"  # The script stops.
    values = [y for _, y in truth]
    tolerance = (max(values) - min(values)) / 100
    precision = recall_of_line(prediction, truth, tolerance, protocol)
    recall = recall_of_line(truth, prediction, tolerance, protocol)
    return f_measure(precision, recall) or 0.0


def recall_of_line(wanted: Points, found: Points, tolerance: float, protocol: str) -> float:
    weights, scores = [], []
    for place, (x, y) in enumerate(wanted):
        before, behind = wanted[max(place - 1, 0)][0], wanted[min(place + 1, len(wanted) - 1)][0]
        weights.append((behind - before) / 2)
        # Of several points found there that of the same number, or the last one.
        same_before = sum(other == x for other, _ in wanted[:place])
        there = [other for at, other in found if at == x]
        there = there or [float(np.interp(x, [at for at, _ in found], [other for _, other in found]))]
        gap = abs(y - there[min(same_before, len(there) - 1) if protocol == "published" else -1])
        if abs(y) + tolerance:
            scores.append(1 - min(1.0, gap / (abs(y) + tolerance)))
        else:
            scores.append(float(gap == 0 and protocol == "published"))
    return float(np.average(scores, weights=weights if sum(weights) else None))


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

    return [[similarity(Fraction(a) - x, Fraction(b) - y) for a, b in prediction] for x, y in zip(xs, ys, strict=True)]


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
COORDINATES: dict[str, tuple[Any, Any]] = {
    BAR: (st.sampled_from(TEXTS), st.integers(0, 4)),
    PLOT: (st.sampled_from(SUMMARY), st.integers(0, 4)),
    "Scatter": (st.integers(0, 9), st.integers(0, 9)),
    "Line": (st.integers(0, 3), st.sampled_from([-3, 0, 0, 5, 10])),
}
UNREADABLE = st.sampled_from([None, "n/a", "-inf", 1e101])
PARAMETERS = st.fixed_dictionaries({"alpha": st.sampled_from([1, 2]), "gamma": st.sampled_from([1, 0.5, 2])})


def drawn(kind: str, has_unreadable: bool) -> st.SearchStrategy[list[tuple[str, list[Any]]]]:
    """Draws up to three named series; a point whose x is text does not count on a line or in a scatter plot."""
    x, y = COORDINATES[kind]
    point = st.tuples(x, st.one_of(y, y, y, y, UNREADABLE)) if has_unreadable else st.tuples(x, y)
    if has_unreadable and kind in ("Line", "Scatter"):
        point |= st.just(("one", 1))
    unique: Any = {"min_size": 1, "unique_by": operator.itemgetter(0)} if kind == PLOT else {}
    names = st.sampled_from(TEXTS) | st.just("")
    return st.lists(st.tuples(names, st.lists(point, max_size=5, **unique)), max_size=3)


@pytest.mark.parametrize("protocol", ["published", "released"])
@pytest.mark.parametrize("kind", COORDINATES)
@given(st.data(), PARAMETERS, st.sampled_from([1, 2, 4]), st.sampled_from([int, float, str]))
def test_series_score_as_the_plain_reading(
    kind: str, protocol: str, draw: Any, parameters: Any, beta: float, written: Any
) -> None:
    """Published, names count where there is a true one. What a prediction has in place of a number matches nothing."""
    truths, predictions = (draw.draw(drawn(kind, has_unreadable)) for has_unreadable in (False, True))
    if truths:
        predictions += draw.draw(st.lists(st.sampled_from(truths), max_size=1))
    if kind == "Scatter" and protocol == "released":
        # Else the script stops, or has what rounding makes of no inverse.
        matrices = [np.array(points) - np.array(points[0]) for _, points in truths if points]
        assume(all(np.linalg.matrix_rank(matrix) == 2 for matrix in matrices))

    def similarity(truth: Points, said: list[Any]) -> float:
        # A line of a box plot that is null is absent.
        said = [(x, y) for x, y in said if y is not None or kind != PLOT]
        prediction: Points = [(x, y) for x, y in said if isinstance(y, int) and (x != "one" or kind == BAR)]
        if not truth or not prediction:
            return float(not truth and not said)
        if kind == "Line":
            return f_of_lines(truth, prediction, protocol)
        if kind == "Scatter":
            scores = exact_scores(truth, prediction, parameters["gamma"])
        else:
            scores = labelled_scores(truth, prediction, **parameters)
        return best_sum(scores) / max(len(truth), len(said))

    def name_share(name: str, other: str) -> float:
        are_named = protocol == "released" or any(name for name, _ in truths)
        return max(1 / beta, name_score(name, other, parameters["alpha"])) if are_named else 1

    table = [
        [similarity(points, others) * name_share(name, other) for other, others in predictions]
        for name, points in truths
    ]
    larger = max(len(truths), len(predictions))
    true = [(name, [(x, written(y)) for x, y in points]) for name, points in truths]
    sides = (
        data(*({"name": name, "data": dict(values) if kind == PLOT else points(*values)} for name, values in side))
        for side in (true, predictions)
    )
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
FIVE = {name: place for place, name in enumerate(SUMMARY)}
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
        truth["task6"] = one((None, 1), (None, 2))
        assert "has an `x`; an empty" in make.rejection("ground_truth", truth, None, tasks=["task6b"])
