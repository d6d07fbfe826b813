"""Task 4: ticks, in an image of 300 x 400 pixels, whose diagonal is 500: close is 5 pixels, far 10; task 5: legends."""

from __future__ import annotations

from typing import Any

import pytest

from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, axes, box, legend, output, tick


def scores(truth: Json, prediction: Json | None, protocol: str = "published") -> list[float | None]:
    """Returns precision, recall and F of the ticks, or the score of the legend."""
    task = "task4" if "axes" in truth["output"] else "task5"
    return make.scores([task], {task: truth}, prediction and {task: prediction}, protocol=protocol)


def f_measure(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall)


TICK = tick(1, 10, 10)
ONE_X, ONE_Y = axes([TICK], []), axes([], [tick(3, 10, 90)])
THREE = axes([TICK, tick(2, 50, 10)], [tick(3, 10, 90)])
WITH_EXTRAS = axes([TICK, tick(8, 10, 10)], [tick(3, 10, 90), tick(9, 0, 0)])
NAMELESS = axes([TICK, tick(None, 50, 10), tick(None, 90, 10)], [])
ONE_NAMED = axes([tick("1", 10, 10), tick(None, 50, 10), tick("2", 90, 10)], [])
TWINS_BACKWARDS = [tick("1", 50, 10), tick(1.0, 10, 10)]
TWINS = axes([tick(1, 10, 10), tick("1", 50, 10)], [])
PAIRS, LINE = legend(_1=box(0, 0, 10, 10), _2=box(0, 20, 10, 10)), legend(_1=box(0, 5, 10, 0))
WITHOUT_ID = output(legend_pairs=[{"bb": box(5, 5, 20, 2)}] * 2)
HALF = legend(_2=box(0, 20, 5, 10), _1=box(0, 0, 10, 10), _7=box(0, 20, 10, 10))
CASES = [
    # What is expected, published and released.
    *(
        ("a tick scores by its distance", ONE_X, axes([tick(1, 10 + shift, 10)], []), [(one + 1) / 2] * 3, None)
        for shift, one in [(0, 1), (5, 1), (7, 0.6), (7.5, 0.5), (10, 0), (11, 0)]
    ),
    # x: 1 of 2 and 1 of 2, F 1/2; y: precision 1/2, recall 1, F 2/3. Released: one F of the means.
    ("an F each", THREE, WITH_EXTRAS, [0.5, 0.75, (1 / 2 + 2 / 3) / 2], [0.5, 0.75, f_measure(0.5, 0.75)]),
    # Released: precision of x is 1 for want of predictions, recall of y is 1 for want of truths.
    ("an axis is empty on one side", ONE_X, ONE_Y, [0, 0, 0], [0.5, 0.5, 0.5]),
    # Released: nothing was predicted on x, but its precision is 0 since there is a y tick.
    ("the true x axis is empty", ONE_Y, ONE_Y, [1, 1, 1], [0.5, 1, f_measure(0.5, 1)]),
    ("and that of both sides, with an x tick", axes([], []), ONE_X, [0.5, 0.5, 0.5], [0.5, 1, f_measure(0.5, 1)]),
    # Released keeps the last tick of an id, as a Python dictionary does.
    ("an id twice", ONE_X, axes([TICK, tick(1, 200, 10)], []), [3 / 4, 1, (f_measure(1 / 2, 1) + 1) / 2], [1 / 2] * 3),
    ("ticks without an id match in their order", NAMELESS, NAMELESS, [1, 1, 1], [1, 1, 1]),
    ("ticks of the same id match in their order", TWINS, axes(TWINS_BACKWARDS, []), [1 / 2] * 3, [1 / 2] * 3),
    # Released, they do not count: 1 of 2 predictions, and 1 of 1 truth.
    ("not one with an id", NAMELESS, ONE_NAMED, [(2 / 3 + 1) / 2] * 3, [(1 / 2 + 1) / 2, 1, f_measure(3 / 4, 1)]),
    *(("absent axes", THREE, {"output": {"axes": each}}, [0, 0, 0], None) for each in (None, {"x-axis": None})),
    ("IoU 1 and 50/100, over the larger count", PAIRS, HALF, [1.5 / 3], [1.5 / 3]),
    ("pairs without an id match in their order", WITHOUT_ID, WITHOUT_ID, [1], [1]),
    ("a line of a legend has no area", LINE, LINE, [1], [0]),
]


@pytest.mark.parametrize(("why", "truth", "prediction", "published", "released"), CASES)
def test_scores(why: str, truth: Json, prediction: Json | None, published: Any, released: Any) -> None:
    assert scores(truth, prediction) == pytest.approx(published), why
    assert set(scores(truth, None)) == {0}
    if released:
        assert scores(truth, prediction, "released") == pytest.approx(released), why
