"""Task 4: ticks, in an image of 300 x 400 pixels, whose diagonal is 500: close is 5 pixels, far 10."""

from __future__ import annotations

from math import hypot
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.statistics.sums import Sums
from tests.metrics.chart import plain_reading
from tests.metrics.chart.records_for_tests import (
    IDS,
    Json,
    as_text,
    axes,
    benchmark,
    columns,
    partners,
    prediction_of,
    tick,
    truth_of,
)

TWO_TICKS = axes([tick(1, 10, 10), tick(2, 50, 10)], [tick(3, 10, 90)])


def scores(truth: Json, prediction: Json | None, protocol: str = "published") -> tuple[float | None, ...]:
    given = None if prediction is None else {"task4": prediction}
    found = columns({"task4": truth}, given, tasks=["task4"], protocol=protocol)
    return found["task4.precision"], found["task4.recall"], found["task4.f1"]


@pytest.mark.parametrize(("shift", "score"), [(0, 1), (5, 1), (7, 0.6), (7.5, 0.5), (10, 0), (300, 0)])
def test_a_tick_scores_by_its_distance(shift: float, score: float) -> None:
    truth = axes([tick(1, 10, 10)], [])
    prediction = axes([tick(1, 10 + shift, 10)], [])
    assert scores(truth, prediction)[0] == pytest.approx((score + 1) / 2)


def test_each_axis_has_its_own_f() -> None:
    prediction = axes([tick(1, 10, 10), tick(8, 10, 10)], [tick(3, 10, 90), tick(9, 0, 0)])
    # x: 1 of 2 and 1 of 2, F 1/2; y: precision 1/2, recall 1, F 2/3.
    assert scores(TWO_TICKS, prediction) == pytest.approx((0.5, 0.75, (1 / 2 + 2 / 3) / 2))
    # Released: one F of the means.
    f_of_means = 2 * 0.5 * 0.75 / 1.25
    assert scores(TWO_TICKS, prediction, "released") == pytest.approx((0.5, 0.75, f_of_means))


def test_the_f_of_all_charts() -> None:
    right = axes([tick(8, 10, 10)], [tick(9, 10, 10)])
    half = axes([tick(1, 10, 10), tick(8, 10, 10)], [tick(3, 10, 90), tick(9, 0, 0)])
    for protocol, expected in (
        ("published", (1 + 1 + 1 / 2 + 2 / 3) / 4),
        # The means of precision and recall are (1 + 1 + 1/2 + 1/2) / 4 and (1 + 1 + 1/2 + 1) / 4.
        ("released", 2 * 0.75 * 0.875 / (0.75 + 0.875)),
    ):
        scorer = benchmark(tasks=["task4"], protocol=protocol)
        scored = [
            scorer.score_sample(truth_of(task4=truth), prediction_of(task4=prediction)).statistics
            for truth, prediction in ((right, right), (TWO_TICKS, half))
        ]
        assert scorer.values(Sums.merged(map(Sums.of, scored)))["task4.f1"] == pytest.approx(expected)


def test_an_axis_without_ticks_on_both_sides_is_right() -> None:
    empty = axes([], [])
    assert scores(empty, empty) == (1, 1, 1)
    assert scores(empty, empty, "released") == (1, 1, 1)


def test_a_chart_without_a_prediction_scores_0_even_where_it_has_no_ticks() -> None:
    for truth in (TWO_TICKS, axes([], [])):
        assert scores(truth, None) == (0, 0, 0)
        assert scores(truth, None, "released") == (0, 0, 0)


def test_an_axis_that_is_empty_on_one_side() -> None:
    truth = axes([tick(1, 10, 10)], [])
    prediction = axes([], [tick(3, 10, 90)])
    assert scores(truth, prediction) == (0, 0, 0)
    # Released: precision of x is 1 for want of predictions, recall of y is 1 for want of truths.
    assert scores(truth, prediction, "released") == (0.5, 0.5, 0.5)


def test_released_looks_at_the_predicted_y_ticks_where_the_true_x_axis_is_empty() -> None:
    truth = axes([], [tick(3, 10, 90)])
    prediction = axes([], [tick(3, 10, 90)])
    assert scores(truth, prediction) == (1, 1, 1)
    # Nothing was predicted on x, but its precision is 0 since there is a y tick.
    assert scores(truth, prediction, "released") == pytest.approx((0.5, 1, 2 * 0.5 / 1.5))


def test_ticks_of_the_same_id() -> None:
    truth = axes([tick(1, 10, 10)], [])
    twice = axes([tick(1, 10, 10), tick(1, 200, 10)], [])
    assert scores(truth, twice)[0] == (1 / 2 + 1) / 2
    # Released keeps the last tick of an id, as a Python dictionary does.
    assert scores(truth, twice, "released")[0] == (0 + 1) / 2


def test_ticks_without_an_id_match_one_another_in_their_order() -> None:
    truth = axes([tick(1, 10, 10), tick(None, 50, 10), tick(None, 90, 10)], [])
    prediction = axes([tick("1", 10, 10), tick(None, 50, 10), tick("2", 90, 10)], [])
    assert scores(truth, truth) == (1, 1, 1)
    assert scores(truth, prediction)[0] == (2 / 3 + 1) / 2
    # Released, they do not count.
    assert scores(truth, prediction, "released")[0] == (1 / 2 + 1) / 2


def test_axes_that_are_absent_are_empty() -> None:
    assert scores(TWO_TICKS, {"output": {"axes": None}}) == (0, 0, 0)
    assert scores(TWO_TICKS, {"output": {"axes": {"x-axis": None}}}) == (0, 0, 0)


PLACES = st.integers(0, 16)
TICKS = st.lists(st.builds(tick, st.sampled_from(("1", "1", "2", "3", None)), PLACES, PLACES), max_size=6)


@settings(max_examples=100, deadline=None)
@given(TICKS, TICKS, TICKS, TICKS)
def test_axes_score_as_the_plain_reading(
    x: list[Json], y: list[Json], given_x: list[Json], given_y: list[Json]
) -> None:
    each = [plain_reading.axis(x, given_x, 500), plain_reading.axis(y, given_y, 500)]
    expected = [sum(scores_of_axes) / 2 for scores_of_axes in zip(*each, strict=True)]
    assert scores(axes(x, y), axes(given_x, given_y)) == pytest.approx(expected, abs=1e-12)


IDENTIFIED_TICKS = st.lists(st.tuples(IDS, st.integers(0, 20)), max_size=6)


@settings(deadline=None)
@given(IDENTIFIED_TICKS, IDENTIFIED_TICKS | st.none())
def test_ticks_are_matched_in_the_order_of_their_id_wherever_they_stand(
    truths: list[tuple[Any, int]], predictions: list[tuple[Any, int]] | None
) -> None:
    # None: the ticks of the truth 7 pixels away, with the same ids in the same order.
    predictions = [(key, x + 7) for key, x in truths] if predictions is None else predictions
    places = partners([key for key, _ in truths], [key for key, _ in predictions])
    wanted: list[Json] = []
    for (key, x), place in zip(truths, places, strict=True):
        if place is None:
            wanted.append({"id": as_text(key), "kind": "missed"})
            continue
        distance = hypot(predictions[place][1] - x, 0)
        score = min(1.0, max(0.0, (10 - distance) / 5))
        wanted.append({"id": as_text(key), "kind": "matched", "distance": distance, "score": score})
    left = [as_text(key) for place, (key, _) in enumerate(predictions) if place not in places]
    # By the last tick of each id, the last id first.
    ids = sorted(left, key=lambda key: -last_place(predictions, key))
    wanted += [{"id": key, "kind": "extra"} for key in ids]
    found = benchmark(tasks=["task4"]).score_sample(
        truth_of(task4=axes(*[[tick(key, x, 10) for key, x in truths]] * 2)),
        prediction_of(task4=axes(*[[tick(key, x, 10) for key, x in predictions]] * 2)),
    )
    assert msgspec.to_builtins(found.details) == {"task4": {"x-axis": wanted, "y-axis": wanted}}


def last_place(ticks: list[tuple[Any, int]], wanted: str | None) -> int:
    return max(place for place, (key, _) in enumerate(ticks) if as_text(key) == wanted)
