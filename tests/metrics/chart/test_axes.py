"""Task 4: ticks, in an image of 300 x 400 pixels, whose diagonal is 500: close is 5 pixels, far 10; task 5: legends."""

from __future__ import annotations

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
    axes,
    benchmark,
    box,
    columns,
    legend,
    prediction_of,
    tick,
    truth_of,
)


def scores(truth: Json, prediction: Json | None, protocol: str = "published") -> tuple[float | None, ...]:
    given = None if prediction is None else {"task4": prediction}
    found = columns({"task4": truth}, given, tasks=["task4"], protocol=protocol)
    return found["task4.precision"], found["task4.recall"], found["task4.f1"]


def f_measure(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall)


TICK = tick(1, 10, 10)
ONE_X, ONE_Y, NO_TICKS = axes([TICK], []), axes([], [tick(3, 10, 90)]), axes([], [])
THREE = axes([TICK, tick(2, 50, 10)], [tick(3, 10, 90)])
WITH_EXTRAS = axes([TICK, tick(8, 10, 10)], [tick(3, 10, 90), tick(9, 0, 0)])
NAMELESS = axes([TICK, tick(None, 50, 10), tick(None, 90, 10)], [])
CASES = [
    # What is expected, published and released.
    *(
        ("a tick scores by its distance", ONE_X, axes([tick(1, 10 + shift, 10)], []), ((one + 1) / 2,) * 3, None)
        for shift, one in [(0, 1), (5, 1), (7, 0.6), (7.5, 0.5), (10, 0), (300, 0)]
    ),
    (
        # x: 1 of 2 and 1 of 2, F 1/2; y: precision 1/2, recall 1, F 2/3. Released: one F of the means.
        "each axis has its own F",
        THREE,
        WITH_EXTRAS,
        (0.5, 0.75, (1 / 2 + 2 / 3) / 2),
        (0.5, 0.75, f_measure(0.5, 0.75)),
    ),
    ("no ticks on both sides", NO_TICKS, NO_TICKS, (1, 1, 1), (1, 1, 1)),
    ("no prediction", THREE, None, (0, 0, 0), (0, 0, 0)),
    ("no prediction of no ticks", NO_TICKS, None, (0, 0, 0), (0, 0, 0)),
    # Released: precision of x is 1 for want of predictions, recall of y is 1 for want of truths.
    ("an axis is empty on one side", ONE_X, ONE_Y, (0, 0, 0), (0.5, 0.5, 0.5)),
    # Released: nothing was predicted on x, but its precision is 0 since there is a y tick.
    ("the true x axis is empty", ONE_Y, ONE_Y, (1, 1, 1), (0.5, 1, f_measure(0.5, 1))),
    (
        # Released keeps the last tick of an id, as a Python dictionary does.
        "ticks of the same id",
        ONE_X,
        axes([TICK, tick(1, 200, 10)], []),
        ((1 / 2 + 1) / 2, 1, (f_measure(1 / 2, 1) + 1) / 2),
        (1 / 2, 1 / 2, 1 / 2),
    ),
    ("ticks without an id match in their order", NAMELESS, NAMELESS, (1, 1, 1), (1, 1, 1)),
    (
        # Released, they do not count: 1 of 2 predictions, and 1 of 1 truth.
        "but not one with an id",
        NAMELESS,
        axes([tick("1", 10, 10), tick(None, 50, 10), tick("2", 90, 10)], []),
        ((2 / 3 + 1) / 2,) * 3,
        ((1 / 2 + 1) / 2, 1, f_measure(3 / 4, 1)),
    ),
    *(
        ("absent axes are empty", THREE, {"output": {"axes": each}}, (0, 0, 0), None)
        for each in (None, {"x-axis": None})
    ),
]


@pytest.mark.parametrize(("why", "truth", "prediction", "published", "released"), CASES)
def test_axes(why: str, truth: Json, prediction: Json | None, published: Any, released: Any) -> None:
    assert scores(truth, prediction) == pytest.approx(published), why
    if released:
        assert scores(truth, prediction, "released") == pytest.approx(released), why


def test_the_f_of_all_charts() -> None:
    right = axes([tick(8, 10, 10)], [tick(9, 10, 10)])
    for protocol, expected in (
        ("published", (1 + 1 + 1 / 2 + 2 / 3) / 4),
        # The means of precision and recall are (1 + 1 + 1/2 + 1/2) / 4 and (1 + 1 + 1/2 + 1) / 4.
        ("released", f_measure(0.75, 0.875)),
    ):
        scorer = benchmark(tasks=["task4"], protocol=protocol)
        scored = [
            scorer.score_sample(truth_of(task4=truth), prediction_of(task4=prediction)).statistics
            for truth, prediction in ((right, right), (THREE, WITH_EXTRAS))
        ]
        assert scorer.values(Sums.merged(map(Sums.of, scored)))["task4.f1"] == pytest.approx(expected)


PLACES = st.integers(0, 16)
TICKS = st.lists(st.builds(tick, IDS, PLACES, PLACES), max_size=6)


@settings(max_examples=100, deadline=None)
@given(TICKS, TICKS, TICKS, TICKS)
def test_axes_score_as_the_plain_reading(
    x: list[Json], y: list[Json], given_x: list[Json], given_y: list[Json]
) -> None:
    each = [plain_reading.axis(x, given_x, 500), plain_reading.axis(y, given_y, 500)]
    expected = [sum(scores_of_axes) / 2 for scores_of_axes in zip(*each, strict=True)]
    assert scores(axes(x, y), axes(given_x, given_y)) == pytest.approx(expected, abs=1e-12)


def details_of(truth: Json, prediction: Json) -> Any:
    """Returns what is said of the ticks or the legend of a chart."""
    task = "task4" if "axes" in truth["output"] else "task5"
    score = benchmark(tasks=[task]).score_sample(truth_of(**{task: truth}), prediction_of(**{task: prediction}))
    return msgspec.to_builtins(score.details)[task]


def test_details_say_what_was_matched_missed_and_extra() -> None:
    truth = axes([tick(1, 10, 10), tick("1", 20, 10), tick(2, 30, 10)], [tick(None, 5, 5)])
    prediction = axes([tick("a", 0, 0), tick(1.0, 10, 17), tick("3", 0, 0), tick("a", 9, 9)], [])
    missed = {"id": "1", "kind": "missed"}
    assert details_of(truth, prediction) == {
        # The extra ones in the order of the last of each id, from the last one; 7 of 5 to 10 pixels score 0.6.
        "x-axis": [
            {"id": "1", "kind": "matched", "distance": 7, "score": 0.6},
            missed,
            {**missed, "id": "2"},
            *({"id": key, "kind": "extra"} for key in ("a", "a", "3")),
        ],
        "y-axis": [{**missed, "id": None}],
    }
    both = legend(_1=box(0, 0, 10, 10), _2=box(0, 20, 10, 10))
    pairs = [{"id": "1", "kind": "matched", "iou": 0.5}, {**missed, "id": "2", "iou": None}]
    assert details_of(both, legend(_7=box(0, 0, 1, 1), _1=box(0, 0, 5, 10))) == {"pairs": pairs, "extra": 1}


def legend_score(truth: Json, prediction: Json | None, protocol: str = "published") -> float | None:
    given = None if prediction is None else {"task5": prediction}
    return columns({"task5": truth}, given, tasks=["task5"], protocol=protocol)["task5.score"]


PAIRS, NO_LEGEND, LINE = legend(_1=box(0, 0, 10, 10), _2=box(0, 20, 10, 10)), legend(), legend(_1=box(0, 5, 10, 0))


@pytest.mark.parametrize(
    ("truth", "prediction", "published", "released"),
    [
        # IoU 1 and 50/100, over the larger count.
        (PAIRS, legend(_2=box(0, 20, 5, 10), _1=box(0, 0, 10, 10), _7=box(0, 20, 10, 10)), 1.5 / 3, 1.5 / 3),
        (NO_LEGEND, NO_LEGEND, 1, 1),
        (NO_LEGEND, PAIRS, 0, 0),
        (PAIRS, NO_LEGEND, 0, 0),
        (LINE, LINE, 1, 0),
        (LINE, legend(_1=box(0, 5, 11, 0)), 0, 0),
    ],
)
def test_legends(truth: Json, prediction: Json, published: float, released: float) -> None:
    assert legend_score(truth, prediction) == published
    assert legend_score(truth, prediction, "released") == released
    assert legend_score(truth, None) == 0


def pair(key: Any, *place: int) -> Json:
    return {"id": key, "bb": box(*place)}


SIDES = st.integers(0, 4)
LEGENDS = st.lists(st.builds(pair, IDS, SIDES, SIDES, SIDES, SIDES), max_size=6)


@settings(max_examples=100, deadline=None)
@given(LEGENDS, LEGENDS, st.sampled_from(("published", "released")))
def test_legends_score_as_the_plain_reading(truth: list[Json], prediction: list[Json], protocol: str) -> None:
    found = legend_score({"output": {"legend_pairs": truth}}, {"output": {"legend_pairs": prediction}}, protocol)
    assert found == pytest.approx(plain_reading.legend(truth, prediction, protocol), abs=1e-12)
