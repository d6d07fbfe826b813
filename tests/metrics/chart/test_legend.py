"""Task 5: legend pairs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.chart.boxes import box_iou
from beamscore.metrics.chart.records import Box
from tests.metrics.chart import plain_reading
from tests.metrics.chart.records_for_tests import (
    IDS,
    Json,
    as_text,
    benchmark,
    box,
    columns,
    legend,
    partners,
    prediction_of,
    truth_of,
)

PAIRS = legend(_1=box(0, 0, 10, 10), _2=box(0, 20, 10, 10))
NO_LEGEND = legend()


def score(truth: Json, prediction: Json | None, protocol: str = "published") -> float | None:
    given = None if prediction is None else {"task5": prediction}
    return columns({"task5": truth}, given, tasks=["task5"], protocol=protocol)["task5.score"]


def test_pairs_are_found_by_id_and_scored_by_iou() -> None:
    prediction = legend(_2=box(0, 20, 5, 10), _1=box(0, 0, 10, 10), _7=box(0, 20, 10, 10))
    # 1 and 50/100, over the larger count.
    assert score(PAIRS, prediction) == pytest.approx((1 + 0.5) / 3)


def test_a_chart_without_a_legend() -> None:
    assert score(NO_LEGEND, NO_LEGEND) == 1
    assert score(NO_LEGEND, PAIRS) == 0
    assert score(NO_LEGEND, None) == 0
    assert score(PAIRS, NO_LEGEND) == 0


def test_a_legend_line_without_area() -> None:
    line = legend(_1=box(0, 5, 10, 0))
    assert score(line, line) == 1
    assert score(line, line, "released") == 0
    assert score(line, legend(_1=box(0, 5, 11, 0))) == 0


def pair(key: Any, *place: int) -> Json:
    return {"id": key, "bb": box(*place)}


PLACES = st.integers(0, 4)
LEGENDS = st.lists(
    st.builds(pair, st.sampled_from(("1", "1", "2", "3", None)), PLACES, PLACES, PLACES, PLACES), max_size=6
)


@settings(max_examples=100, deadline=None)
@given(LEGENDS, LEGENDS, st.sampled_from(("published", "released")))
def test_legends_score_as_the_plain_reading(truth: list[Json], prediction: list[Json], protocol: str) -> None:
    found = score({"output": {"legend_pairs": truth}}, {"output": {"legend_pairs": prediction}}, protocol)
    assert found == pytest.approx(plain_reading.legend(truth, prediction, protocol), abs=1e-12)


BOXES = st.builds(Box, *[st.sampled_from([-10.0, -1.5, 0.0, 0.1, 1.0, 3.0, 1e-200, 1e8])] * 4)
IDENTIFIED_BOXES = st.lists(st.tuples(IDS, BOXES), max_size=5)


@settings(deadline=None)
@given(IDENTIFIED_BOXES, IDENTIFIED_BOXES | st.none(), st.sampled_from(["published", "released"]))
def test_pairs_are_matched_in_the_order_of_their_id_wherever_they_stand(
    truths: list[tuple[Any, Box]], predictions: list[tuple[Any, Box]] | None, protocol: str
) -> None:
    # None: the boxes of the truth in another place, with the same ids in the same order.
    predictions = [(key, moved(of_id)) for key, of_id in truths] if predictions is None else predictions
    places = partners([key for key, _ in truths], [key for key, _ in predictions])
    pairs: list[Json] = []
    total = 0.0
    for (key, of_truth), place in zip(truths, places, strict=True):
        iou = None
        if place is not None:
            first, second = of_truth.corners(), predictions[place][1].corners()
            iou = 1.0 if protocol == "published" and first == second else box_iou(first, second)
        total += iou or 0.0
        pairs.append({"id": as_text(key), "kind": "missed" if place is None else "matched", "iou": iou})
    found = benchmark(tasks=["task5"], protocol=protocol).score_sample(
        truth_of(task5=legend_of(truths)), prediction_of(task5=legend_of(predictions))
    )
    extra = len(predictions) - sum(place is not None for place in places)
    assert msgspec.to_builtins(found.details) == {"task5": {"pairs": pairs, "extra": extra}}
    larger = max(len(truths), len(predictions))
    assert found.metrics["task5.score"] == (total / larger if larger else 1.0)


def moved(of_id: Box) -> Box:
    return Box(of_id.x0 + 0.5, of_id.y0, of_id.width, of_id.height)


def legend_of(pairs: list[tuple[Any, Box]]) -> Json:
    return {"output": {"legend_pairs": [{"id": key, "bb": msgspec.to_builtins(of_id)} for key, of_id in pairs]}}
