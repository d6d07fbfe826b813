"""Tasks 6b and 7: data series."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.benchmark import RejectedRecord
from tests.metrics.chart.records_for_tests import Json, benchmark, chart_type, columns, data, series, truth_of

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


def test_scatter_points_on_a_line_have_no_distance() -> None:
    diagonal = data(series("s", (0, 0), (1, 1), (2, 2)))
    assert score("Scatter", diagonal, diagonal) == 1
    assert score("Scatter", diagonal, data(series("s", (0, 0), (1, 1), (2, 2.1)))) == pytest.approx(2 / 3)


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
