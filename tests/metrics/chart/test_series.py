"""Tasks 6b and 7: data series."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import RejectedRecord
from tests.metrics.chart import plain_reading
from tests.metrics.chart.records_for_tests import (
    Json,
    benchmark,
    chart_type,
    columns,
    data,
    points,
    prediction_of,
    series,
    truth_of,
    work,
)

BAR = "Grouped vertical bar"


def score(kind: str, truth: Json, prediction: Json | None, **options: Any) -> float:
    given = None if prediction is None else {"task6": prediction, "task7": prediction}
    found = columns({"task1": chart_type(kind), "task6": truth}, given, tasks=["task6b", "task7"], **options)
    assert found["task6b.score"] == found["task7.score"]
    assert found["task6b.score"] is not None
    return found["task6b.score"]


# The values 1, 2, 3 have a standard deviation (ddof 1) of 1.
ONE_TWO_THREE = data(series("s", ("a", "1"), ("b", "2"), ("c", "3")))


def test_labelled_values_score_label_times_value() -> None:
    prediction = data(series("s", ("a", 1.25), ("bx", 2), ("c", 9)))
    # 1 * (1 - 0.25), (1 - 1/2) * 1 and 1 * 0.
    assert score(BAR, ONE_TWO_THREE, prediction) == pytest.approx((0.75 + 0.5 + 0) / 3)


def test_values_are_compared_as_the_script_does_and_not_as_its_paper() -> None:
    """The example of docs/explanation/benchmarks/chart.md; the standard deviations are 15.81 and 100 (ddof 1)."""
    five = dict(zip(("min", "first_quartile", "median", "third_quartile", "max"), (10, 20, 30, 40, 50), strict=True))
    sides = (data({"name": "s", "data": numbers}) for numbers in (five, {**five, "median": 33}))
    of_box = score("Vertical box", *sides)
    assert of_box == pytest.approx((4 + 1 - 3 / math.sqrt(1000 / 4)) / 5)
    assert (round(of_box, 3), round((4 + 1 - 3 / 30) / 5, 3)) == (0.962, 0.98)
    sides = (data(series("s", ("a", first), ("b", 200), ("c", 300))) for first in (100, 150))
    of_bars = score(BAR, *sides)
    assert of_bars == pytest.approx((2 + 1 - 50 / 100) / 3)
    assert (round(of_bars, 3), round((2 + 1 - 50 / 100**2) / 3, 3)) == (0.833, 0.998)


def test_missed_and_extra_points() -> None:
    assert score(BAR, ONE_TWO_THREE, data(series("s", ("a", 1), ("b", 2)))) == pytest.approx(2 / 3)
    prediction = data(series("s", ("a", 1), ("b", 2), ("c", 3), ("d", 4)))
    assert score(BAR, ONE_TWO_THREE, prediction) == pytest.approx(3 / 4)


def test_options_of_the_metric() -> None:
    prediction = data(series("s", ("a", 1.5), ("bx", 2), ("c", 3)))
    # gamma 2: 1 - 0.5 / 2. alpha 2: 1 - (1/2)^2.
    assert score(BAR, ONE_TWO_THREE, prediction, gamma=2, alpha=2) == pytest.approx((0.75 + 0.75 + 1) / 3)
    # beta: a perfect series under a name that shares nothing.
    renamed = data(series("zz", ("a", 1), ("b", 2), ("c", 3)))
    assert score(BAR, ONE_TWO_THREE, renamed) == pytest.approx(1 / 2)
    assert score(BAR, ONE_TWO_THREE, renamed, beta=4) == pytest.approx(1 / 4)


def test_names_count_by_edit_distance() -> None:
    truth = data(series("abcd", ("a", 1), ("b", 2)))
    # Three of four characters are right: 1 - 1/4; of one of four, the series counts half as nameless.
    assert score(BAR, truth, data(series("abcx", ("a", 1), ("b", 2)))) == pytest.approx(0.75)
    assert score(BAR, truth, data(series("axyz", ("a", 1), ("b", 2)))) == pytest.approx(0.5)


def test_names_do_not_count_where_every_true_name_is_empty() -> None:
    truth = data(series("", ("a", 1), ("b", 2)), series(None, ("a", 5), ("b", 6)))
    prediction = data(series("x", ("a", 5), ("b", 6)), series("y", ("a", 1), ("b", 2)))
    assert score(BAR, truth, prediction) == 1
    # The released script compares them all the same.
    assert score(BAR, truth, prediction, protocol="released") == 0.5
    assert score(BAR, truth, truth, protocol="released") == 1


def test_names_count_where_one_true_name_is_not_empty() -> None:
    truth = data(series("", ("a", 1), ("b", 2)), series("abcd", ("a", 5), ("b", 6)))
    prediction = data(series("", ("a", 1), ("b", 2)), series("abcx", ("a", 5), ("b", 6)))
    assert score(BAR, truth, prediction) == pytest.approx((1 + 0.75) / 2)


def test_details_say_which_series_are_paired_missed_and_extra() -> None:
    truth = data(series("a", ("x", 1), ("y", 2)), series("b", ("x", 8), ("y", 9)), series("c", ("x", 30), ("y", 50)))
    prediction = data(series("z", ("p", 900)), series("b", ("x", 8), ("y", 9)), series("a", ("x", 1), ("y", 2)))
    missed: list[str]
    for predicted, missed in ((prediction, []), (data(prediction["output"]["data series"][1]), ["a", "c"])):
        details = (
            benchmark()
            .score_sample(truth_of(task1=chart_type(BAR), task6=truth), prediction_of(task6=predicted))
            .details
        )
        assert (details["task6b"]["missed"], details["task6b"]["extra"]) == (missed, [])
        assert ("b", "b") in [(pair["truth"], pair["predicted"]) for pair in details["task6b"]["pairs"]]
    swapped = benchmark().score_sample(
        truth_of(task1=chart_type(BAR), task6=data(series("b", ("x", 8), ("y", 9)))), prediction_of(task6=prediction)
    )
    assert swapped.details["task6b"]["extra"] == ["z", "a"]


@pytest.mark.parametrize("gap", [0.9, 1.0, 1.5, 1.9])
def test_values_further_apart_than_their_spread_score_0(gap: float) -> None:
    # A negative score of one pair would cost the others.
    prediction = data(series("s", ("a", 1), ("b", 2), ("c", 3 + gap)))
    assert score(BAR, ONE_TWO_THREE, prediction) == pytest.approx((2 + max(0, 1 - gap)) / 3)


def test_extra_and_missing_series() -> None:
    two = data(series("s", ("a", 1), ("b", 2)), series("t", ("a", 5), ("b", 9)))
    one = data(series("s", ("a", 1), ("b", 2)))
    assert score(BAR, one, two) == 0.5
    assert score(BAR, two, one) == 0.5
    assert score(BAR, one, data()) == 0
    assert score(BAR, one, None) == 0
    assert score(BAR, data(), data()) == 1
    assert score(BAR, data(), None) == 0


def test_bars_with_numbers_as_labels_are_compared_by_label_in_both_protocols() -> None:
    truth = data(series("s", ("2001", 1), ("2002", 2), ("2003", 3)))
    prediction = data(series("s", (2001, 1), (2002, 2), (2009, 3)))
    for protocol in ("published", "released"):
        assert score(BAR, truth, prediction, protocol=protocol) == pytest.approx((1 + 1 + 0.75) / 3)


def test_scatter_points_are_compared_by_mahalanobis_distance() -> None:
    # Covariance of the four corners of a square of side 2 (ddof 1): 4/3 in x and y, 0 between them.
    square = data(series("s", (0, 0), (0, 2), (2, 0), (2, 2)))
    prediction = data(series("s", (0, 0), (0, 2), (2, 0), (2, 2.5)))
    distance = 0.5 / (4 / 3) ** 0.5
    assert score("Scatter", square, prediction) == pytest.approx((3 + 1 - distance) / 4)
    assert score("Scatter", square, prediction, gamma=0.5) == pytest.approx((3 + 1 - 2 * distance) / 4)


def test_line_with_numbers_is_a_function() -> None:
    truth = data(series("s", (0, 10), (2, 10), (10, 20)))
    prediction = data(series("s", ("10", "20"), ("0", "10")))
    # eps = 0.1. I(P, 2) = 12: recall weights 1, 5, 4 and errors 0, 2/10.1, 0; precision is 1.
    recall = (1 + 5 * (1 - 2 / 10.1) + 4) / 10
    assert score("Line", truth, prediction) == pytest.approx(2 * recall / (1 + recall))


def test_the_tolerance_of_a_line_is_that_of_the_true_values() -> None:
    truth = data(series("s", (0, 0), (1, 100)))
    prediction = data(series("s", (0, 0.5), (1, 300)))
    # eps = 1, not 2.995. Recall: 1 - 0.5/1 and 0; precision: 1 - 0.5/1.5 and 1 - 200/301.
    recall, precision = 0.5 / 2, (1 - 0.5 / 1.5 + 1 - 200 / 301) / 2
    assert score("Line", truth, prediction) == pytest.approx(2 * precision * recall / (precision + recall))


def test_a_line_of_zeros() -> None:
    zeros = data(series("s", (0, 0), (1, 0), (2, 0)))
    assert score("Line", zeros, zeros) == 1
    # The released script divides 0 by 0 and takes the error for 1.
    assert score("Line", zeros, zeros, protocol="released") == 0
    level = data(series("s", (0, 5), (1, 5), (2, 5)))
    assert score("Line", level, level, protocol="released") == 1
    # A predicted 0 is in the interpolation of neither, so that precision is 1/2 and recall 1 - 5/5 over the middle.
    dipped = data(series("s", (0, 5), (1, 0), (2, 5)))
    assert score("Line", level, dipped, protocol="released") == pytest.approx(0.5)
    rising = data(series("s", (0, 0), (1, 1), (2, 2)))
    assert score("Line", rising, rising, protocol="released") == 1


STEP = data(series("s", (0, 0), (1, 0), (1, 10), (2, 10)))


def test_points_that_share_an_x_are_paired_in_their_order() -> None:
    assert score("Line", STEP, STEP) == 1
    # Every weight is 1/2. Released, I(P, 1) is 10, the last y there: the error of (1, 0) is 1 on both sides.
    assert score("Line", STEP, STEP, protocol="released") == 0.75
    # I(P, 1) is 0 for both true points; the error of (1, 10) is 10 / (10 + 0.1), precision is 1.
    recall = (3 + 1 - 10 / 10.1) / 4
    lower = data(series("s", (0, 0), (1, 0), (2, 10)))
    assert score("Line", STEP, lower) == pytest.approx(2 * recall / (1 + recall))
    # With three points at 1, the third is paired with the last true one, (1, 10); the second has no weight.
    assert score("Line", STEP, data(series("s", (0, 0), (1, 0), (1, 10), (1, 10), (2, 10)))) == 1


FUNCTION = st.lists(st.tuples(st.integers(0, 4), st.sampled_from([-3, 0, 0, 5, 10])), min_size=1, max_size=6)


@settings(max_examples=200, deadline=None)
@given(FUNCTION, FUNCTION, st.sampled_from(["published", "released"]))
def test_lines_score_as_the_plain_reading(
    truth: list[tuple[float, float]], prediction: list[tuple[float, float]], protocol: str
) -> None:
    found = score("Line", data(series("s", *truth)), data(series("s", *prediction)), protocol=protocol)
    assert found == pytest.approx(plain_reading.functions(truth, prediction, protocol), abs=1e-12)


def test_line_with_labels_is_compared_by_label() -> None:
    truth = data(series("s", ("1", 1), ("b", 2), ("3", 3)))
    assert score("Line", truth, data(series("s", ("1", 1), ("b", 2), ("4", 3)))) == pytest.approx(2 / 3)


@pytest.mark.parametrize("word", ["nan", "inf", "1e999", "", None, "2001 (est.)"])
def test_an_x_that_is_no_finite_number_is_a_label(word: str | None) -> None:
    truth = data(series("s", (word, 1), ("2", 2)))
    assert score("Line", truth, truth) == 1
    assert score("Scatter", truth, truth) == 1


def test_box_plots_are_compared_by_their_five_numbers() -> None:
    summary = {"min": 0, "first_quartile": 1, "median": 2, "third_quartile": 3, "max": 4}
    truth = data({"name": "s", "data": summary})
    spread = 2.5**0.5
    off = data({"name": "s", "data": {**summary, "median": "2.5"}})
    assert score("Vertical box", truth, off) == pytest.approx((4 + 1 - 0.5 / spread) / 5)
    absent = data({"name": "s", "data": {key: value for key, value in summary.items() if key != "median"}})
    assert score("Vertical box", truth, absent) == pytest.approx(4 / 5)
    assert score("Vertical box", truth, ONE_TWO_THREE) == 0
    assert score(BAR, ONE_TWO_THREE, truth) == 0


@pytest.mark.parametrize("kind", [BAR, "Scatter", "Line"])
def test_degenerate_series(kind: str) -> None:
    """One point, or equal values: equal scores 1, anything else 0."""
    one = data(series("s", (1, 5)))
    assert score(kind, one, one) == 1
    assert score(kind, one, data(series("s", (1, 50)))) == pytest.approx(0)
    equal = data(series("s", (1, 0), (2, 0), (3, 0)))
    assert score(kind, equal, equal) == 1
    assert score(kind, equal, data(series("s", (1, 1), (2, 1), (3, 1)))) == 0
    same_place = data(series("s", (1, 5), (1, 5)))
    assert score(kind, same_place, same_place) == 1


def test_two_values_have_a_spread_and_equal_ones_have_none() -> None:
    # The standard deviation (ddof 1) of 1 and 3 is the square root of 2.
    prediction = data(series("s", ("a", 1), ("b", 3.5)))
    assert score(BAR, data(series("s", ("a", 1), ("b", 3))), prediction) == pytest.approx((2 - 0.5 / 2**0.5) / 2)
    assert score(BAR, data(series("s", ("a", 3), ("b", 3))), prediction) == 0


def test_scatter_points_on_a_line_have_no_distance() -> None:
    diagonal = data(series("s", (0, 0), (1, 1), (2, 2)))
    assert score("Scatter", diagonal, diagonal) == 1
    assert score("Scatter", diagonal, data(series("s", (0, 0), (1, 1), (2, 2.1)))) == pytest.approx(2 / 3)


def near_line(offset: float) -> list[tuple[float, float]]:
    return [(x, 3 * x + (-1.0) ** x * offset) for x in range(10)]


def exact_scores(truth: list[tuple[float, float]], prediction: list[tuple[float, float]]) -> list[list[float]]:
    """The score of each true point with each predicted one, by the inverse covariance in fractions."""
    count = len(truth)
    xs, ys = ([Fraction(point[axis]) for point in truth] for axis in (0, 1))
    x_mean, y_mean = sum(xs) / count, sum(ys) / count
    xx, yy = (sum((value - mean) ** 2 for value in values) for values, mean in ((xs, x_mean), (ys, y_mean)))
    xy = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))

    def similarity(dx: Fraction, dy: Fraction) -> float:
        square = (count - 1) * (dx * dx * yy - 2 * dx * dy * xy + dy * dy * xx) / (xx * yy - xy * xy)
        return max(0.0, 1 - math.sqrt(square))

    return [
        [similarity(Fraction(px) - x, Fraction(py) - y) for px, py in prediction] for x, y in zip(xs, ys, strict=True)
    ]


PLACES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=5)


@settings(max_examples=60, deadline=None)
@given(PLACES, PLACES, st.integers(-2, 2))
def test_scatter_points_have_the_distance_of_the_inverse_covariance(
    first: list[tuple[int, int]], second: list[tuple[int, int]], tilt: int
) -> None:
    truth, prediction = ([(float(x), float(y + tilt * x)) for x, y in places] for places in (first, second))
    assume(np.linalg.matrix_rank(np.array(truth) - np.array(truth[0])) == 2)
    scores = exact_scores(truth, prediction)
    if len(scores) > len(prediction):
        scores = [list(column) for column in zip(*scores, strict=True)]
    best = max(
        sum(row[place] for row, place in zip(scores, chosen, strict=True))
        for chosen in permutations(range(len(scores[0])), len(scores))
    )
    for protocol in ("published", "released"):
        found = score("Scatter", data(series("s", *truth)), data(series("s", *prediction)), protocol=protocol)
        assert found == pytest.approx(best / max(len(truth), len(prediction)), abs=1e-9)


def test_two_scatter_points_lie_on_a_line() -> None:
    two = data(series("s", (0, 0), (3, 1)))
    assert score("Scatter", two, data(series("s", (0, 0), (3, 1.01)))) == 0.5
    assert score("Scatter", two, two) == 1


@pytest.mark.parametrize("offset", [1e-1, 1e-3, 1e-5, 1e-6, 1e-8, 1e-11])
def test_scatter_points_close_to_a_line_have_a_distance(offset: float) -> None:
    truth = near_line(offset)
    prediction = [(x, y + offset / 5 * (-1.0) ** (x // 3)) for x, y in truth]
    scores = exact_scores(truth, prediction)
    expected = sum(scores[place][place] for place in range(10)) / 10
    assert 0.4 < expected < 0.9
    found = score("Scatter", data(series("s", *truth)), data(series("s", *prediction)))
    assert found == pytest.approx(expected, rel=1e-3)


def test_scatter_points_close_to_a_line_are_released_with_the_rounding_of_the_script() -> None:
    truth = near_line(1e-6)
    prediction = [(x, y + 2e-7 * (-1.0) ** (x // 3)) for x, y in truth]
    covariance = np.linalg.inv(np.cov(np.array(truth).T))
    gaps = np.array(prediction) - np.array(truth)
    expected = (1 - np.sqrt(np.einsum("ni,ij,nj->n", gaps, covariance, gaps))).mean()
    sides = data(series("s", *truth)), data(series("s", *prediction))
    assert score("Scatter", *sides, protocol="released") == pytest.approx(expected, abs=1e-9)
    assert score("Scatter", *sides) == pytest.approx(expected, rel=0.02)
    assert score("Scatter", *sides) != pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("protocol", ["published", "released"])
@pytest.mark.parametrize("step", [0.1, 1 / 3, 1e-7])
def test_points_that_only_rounding_takes_off_their_line_lie_on_it(step: float, protocol: str) -> None:
    """Where the released script has no inverse, or no distance for it, its scores are the published ones."""
    truth = [(2000 + x, 7 + x * step) for x in range(12)]
    moved = [(x, y + (step if place == 3 else 0)) for place, (x, y) in enumerate(truth)]
    assert score("Scatter", data(series("s", *truth)), data(series("s", *truth)), protocol=protocol) == 1
    assert score("Scatter", data(series("s", *truth)), data(series("s", *moved))) == pytest.approx(11 / 12)
    along = [(x + 0.25, y + 0.25 * step) for x, y in truth]
    assert score("Scatter", data(series("s", *truth)), data(series("s", *along))) == 0


SUMMARY = {"min": 0, "first_quartile": 1, "median": 2, "third_quartile": 3, "max": 4}
POINTS = points(("1", 1), ("2", 2))
OTHER_LAYOUTS = [
    *((kind, found) for kind in (BAR, "Scatter", "Line") for found in (SUMMARY, {"min": 1}, {}, {"x": 1}, None)),
    *(("Vertical box", found) for found in (POINTS, [], {}, {"x": 1}, None)),
]


@pytest.mark.parametrize(("kind", "found"), OTHER_LAYOUTS)
def test_a_ground_truth_of_another_layout_is_rejected(kind: str, found: Any) -> None:
    truth = data({"name": "odd", "data": found})
    for prediction in (None, truth, data()):
        with pytest.raises(RejectedRecord, match=f"'odd' of a {kind.lower()} chart must be an? .*, not ") as rejected:
            score(kind, truth, prediction)
        assert rejected.value.side == "ground_truth"


def test_a_rejected_layout_is_said_in_words() -> None:
    for kind, found, words in (
        (BAR, SUMMARY, "a list of points with x and y, not an object"),
        (BAR, {}, "not an object with none of first_quartile, max, min, median, third_quartile"),
        ("Line", None, "not absent"),
        (
            "Vertical box",
            POINTS,
            "an object of first_quartile, max, min, median, third_quartile, not a list of points",
        ),
    ):
        with pytest.raises(RejectedRecord) as rejected:
            score(kind, data({"name": "s", "data": found}), None)
        assert rejected.value.message.endswith(words)


@pytest.mark.parametrize(("kind", "found"), OTHER_LAYOUTS)
def test_a_prediction_of_another_layout_is_wrong(kind: str, found: Any) -> None:
    own = {"name": "s", "data": SUMMARY if "box" in kind else POINTS}
    odd = {"name": "s", "data": found}
    assert score(kind, data(own), data(odd)) == 0
    assert score(kind, data(own), data(own, odd)) == 0.5
    if "box" not in kind:
        assert score(kind, data(series("s")), data(odd)) == 0


@pytest.mark.parametrize("kind", [BAR, "Scatter", "Line"])
def test_series_without_points(kind: str) -> None:
    empty, one, unreadable = data(series("s")), data(series("s", (1, 2))), data(series("s", (1, "?")))
    assert score(kind, empty, empty) == 1
    assert score(kind, empty, one) == 0
    assert score(kind, empty, unreadable) == 0
    assert score(kind, one, empty) == 0


def test_the_work_of_series_is_counted() -> None:
    def steps(kind: str, count: int, length: int, protocol: str = "published") -> int:
        items = data(*(series(f"s{row}", *((x, x * x) for x in range(length))) for row in range(count)))
        options: dict[str, Any] = {"tasks": ["task6b"], "protocol": protocol}
        return work({"task1": chart_type(kind), "task6": items}, {"task6": items}, **options)

    # A table of pairs and the assignment of 300 to 300, and what two series cost; released, an inverse more.
    points = 100 + 300**2 / 20 + 300**3 / 1200
    assert steps("Scatter", 1, 300) == pytest.approx(points, abs=50)
    assert steps("Scatter", 1, 300, "released") == pytest.approx(points + 300, abs=50)
    # Labels of 1 to 3 characters: 300 + 790 / 64 words on one side, 790 characters on the other.
    labels = 2 * 300**2 / 20 + (300 + 790 / 64) * 790 / 80
    assert steps(BAR, 1, 300) == pytest.approx(points + labels, abs=50)
    assert steps("Line", 1, 300) == pytest.approx(100 + 600, abs=50)
    # 100 names of 290 characters.
    names = 100**2 / 10 + (100 + 290 / 64) * 290 / 80
    assert steps("Line", 100, 3) == pytest.approx(100**2 * (100 + 6) + 100**3 / 1200 + names, abs=50)


def test_predicted_values_that_are_no_numbers() -> None:
    assert score(BAR, ONE_TWO_THREE, data(series("s", ("a", "1"), ("b", "n/a"), ("c", None)))) == pytest.approx(1 / 3)
    square = data(series("s", (0, 0), (0, 2), (2, 0), (2, 2)))
    assert score("Scatter", square, data(series("s", (0, 0), (0, 2), (2, 0), (2, "?")))) == 0.75
    line = data(series("s", (0, 1), (1, 2), (2, 3)))
    assert score("Line", line, data(series("s", (0, 1), ("one", 2), (2, 3)))) == 1
    assert score("Line", line, data(series("s", ("zero", 1)))) == 0


@pytest.mark.parametrize("kind", [BAR, "Scatter", "Line"])
@pytest.mark.parametrize("value", ["n/a", None, "1e200", float("inf"), float("nan")])
def test_a_true_value_that_is_no_number_rejects_the_ground_truth(kind: str, value: Any) -> None:
    truth = truth_of(task1=chart_type(kind), task6=data(series("s", (1, 1), (2, value))))
    with pytest.raises(RejectedRecord, match="'s' is not a number") as rejected:
        benchmark(tasks=["task6b"]).score_sample(truth, None)
    assert rejected.value.side == "ground_truth"


def test_values_of_all_magnitudes() -> None:
    for scale in (1e-300, 1e-150, 1e-9, 1e9, 1e99):
        truth = data(series("s", (0, scale), (scale, 2 * scale), (3 * scale, 7 * scale)))
        huge = data(series("s", (0, 1e100), (1e-300, -1e100), (1e100, 1e100)))
        for kind in (BAR, "Scatter", "Line"):
            assert score(kind, truth, truth) == pytest.approx(1)
            assert 0 <= score(kind, truth, huge) <= 1


SERIES = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), max_size=3)


@settings(max_examples=50, deadline=None)
@given(SERIES, SERIES)
def test_series_are_paired_as_well_as_can_be(truth: list[list[int]], prediction: list[list[int]]) -> None:
    def items(all_values: list[list[int]]) -> list[Json]:
        return [series("", *(("abc"[place], value) for place, value in enumerate(values))) for values in all_values]

    single = [[score(BAR, data(one), data(other)) for other in items(prediction)] for one in items(truth)]
    few, many = sorted((len(truth), len(prediction)))
    if len(truth) > len(prediction):
        single = [list(row) for row in zip(*single, strict=True)]
    best = (
        max(sum(single[row][column] for row, column in enumerate(chosen)) for chosen in permutations(range(many), few))
        if few
        else 0
    )
    expected = best / many if many else 1
    assert score(BAR, data(*items(truth)), data(*items(prediction))) == pytest.approx(expected)
