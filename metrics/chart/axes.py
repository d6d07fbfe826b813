"""Task 4: axis analysis, and task 5: legend analysis. Ticks and legend boxes are matched by the id of their text.

A tick is matched by the id of its label and scored by its distance from the true point: 1 up to `tick_close` of the
image diagonal, 0 from `tick_far`, linear between. On each axis precision = sum of scores / predicted ticks and
recall = sum of scores / true ticks; an axis without ticks on both sides has 1 and 1.

Published: each axis has its F, and the metrics are the means over all axes of all charts; a ratio without a
denominator is 0. Released (metric4_synthetic.py): one F of the mean precision and the mean recall, a ratio without a
denominator is 1, ticks of the same id are one tick, and where a true axis is empty its precision is 0 if there are
predicted ticks on the y axis, whichever axis is meant.

Task 5:

    score = sum of the IoU of pairs with the same label id / max(ground truths, predictions)

A chart without a legend scores 1 where nothing is predicted, else 0; without a prediction every chart scores 0.
Published: two equal boxes have IoU 1 even without area, such as the line of a line chart. Released (metric5.py): a box
without area has IoU 0 with every box.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot
from typing import Any, TypeVar

from ..benchmark import RejectedRecord
from ..common.boxes import box_iou
from ..statistics.ratios import f_measure
from .records import NO_AXES, Axes, ChartOptions, LegendPair, Tick, identifier_text
from .task_score import TaskScore, listed, mean_score

IdentifiedT = TypeVar("IdentifiedT", Tick, LegendPair)


def score_axes(
    truth: Axes, prediction: Axes | None, size: tuple[float, float] | None, options: ChartOptions
) -> TaskScore:
    """Returns the score of one chart; prediction: None if the prediction has no axes, which scores 0 on both.

    Raises RejectedRecord if the ground truth has no size of the image.
    """
    if size is None:
        raise RejectedRecord("ground_truth", "task4 needs image.width and image.height")
    diagonal = hypot(*size)
    close, far = options.tick_close * diagonal, options.tick_far * diagonal
    given = prediction or NO_AXES
    sides = truth.x_axis or (), given.x_axis or (), truth.y_axis or (), given.y_axis or ()
    released = options.protocol == "released"
    true_x, predicted_x, true_y, predicted_y = map(_last_of_each_id, sides) if released else sides
    x_ticks, x_total = _matched_ticks(true_x, predicted_x, close, far)
    y_ticks, y_total = _matched_ticks(true_y, predicted_y, close, far)
    x = _axis_score(x_total, len(true_x), len(predicted_x), released, bool(predicted_y))
    y = _axis_score(y_total, len(true_y), len(predicted_y), released, bool(predicted_y))
    if prediction is None:
        x = y = (0.0, 0.0, 0.0)
    precision, recall, f1 = x[0] + y[0], x[1] + y[1], x[2] + y[2]
    f1_of_chart = f_measure(precision / 2, recall / 2) if released else f1 / 2
    statistics = {"task4.axes": 2, "task4.precision": precision, "task4.recall": recall, "task4.f1": f1}
    metrics = {"task4.precision": precision / 2, "task4.recall": recall / 2, "task4.f1": f1_of_chart}
    details = {"x-axis": listed(x_ticks), "y-axis": listed(y_ticks)}
    return TaskScore(statistics, metrics, f1_of_chart, details, prediction is not None)


def _axis_score(total: float, truths: int, predictions: int, released: bool, has_y: bool) -> tuple[float, float, float]:
    """Returns precision, recall and F of one axis; has_y: whether there are predicted ticks on the y axis."""
    without = 1.0 if released or truths == predictions == 0 else 0.0
    precision = total / predictions if predictions else without
    recall = total / truths if truths else without
    if released and not truths and has_y:
        precision = 0.0
    return precision, recall, f_measure(precision, recall) or 0.0


def _last_of_each_id(axis: Sequence[Tick]) -> list[Tick]:
    """Returns the ticks of an axis as the released script reads them: the last of each id, if they have one."""
    return list({identifier_text(tick.id): tick for tick in axis if tick.id is not None}.values())


def _matched_ticks(
    truths: Sequence[Tick], predictions: Sequence[Tick], close: float, far: float
) -> tuple[list[dict[str, Any]], float]:
    """Returns the results for the ticks of one axis, as in the details, and the sum of the scores."""
    waiting = by_identifier(predictions)
    total = 0.0
    ticks: list[dict[str, Any]] = []
    for tick in truths:
        key = identifier_text(tick.id)
        if not (same := waiting.get(key)):
            ticks.append({"id": key, "kind": "missed"})
            continue
        predicted, true = same.pop().tick_pt, tick.tick_pt
        distance = hypot(predicted.x - true.x, predicted.y - true.y)
        score = 1.0 if distance <= close else 0.0 if distance >= far else (far - distance) / (far - close)
        total += score
        ticks.append({"id": key, "kind": "matched", "distance": distance, "score": score})
    return ticks + [{"id": key, "kind": "extra"} for key, same in waiting.items() for _ in same], total


def score_legend(
    truths: Sequence[LegendPair], predictions: Sequence[LegendPair] | None, options: ChartOptions
) -> TaskScore:
    """Returns the score of one chart; predictions: None if the prediction has no legend."""
    given = predictions or ()
    published = options.protocol == "published"
    waiting = by_identifier(given)
    total = 0.0
    pairs: list[dict[str, Any]] = []
    for truth in truths:
        key = identifier_text(truth.id)
        if not (same := waiting.get(key)):
            pairs.append({"id": key, "kind": "missed", "iou": None})
            continue
        first, second = truth.bb.corners(), same.pop().bb.corners()
        iou = 1.0 if published and first == second else box_iou(first, second)
        total += iou
        pairs.append({"id": key, "kind": "matched", "iou": iou})
    larger = max(len(truths), len(given))
    score = total / larger if larger else 1.0
    details = {"pairs": listed(pairs), "extra": sum(map(len, waiting.values()))}
    return mean_score("task5", score, details, predictions is not None)


def by_identifier(predictions: Sequence[IdentifiedT]) -> dict[str | None, list[IdentifiedT]]:
    """Returns the predictions of each id, under None those without one, in reverse order: `pop` takes the first.

    The ids are in the order of the last prediction of each, from the last one.
    """
    waiting: dict[str | None, list[IdentifiedT]] = {}
    for prediction in reversed(predictions):
        waiting.setdefault(identifier_text(prediction.id), []).append(prediction)
    return waiting
