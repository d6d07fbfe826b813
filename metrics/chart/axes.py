"""Task 4: axis analysis.

A tick is found by the id of its label and scored by its distance from the true point: 1 up to `tick_close` of the
image diagonal, 0 from `tick_far`, linear between. On each axis precision = sum of scores / predicted ticks and
recall = sum of scores / true ticks; an axis without ticks on both sides has 1 and 1.

Published: each axis has its F, and the metrics are the means over all axes of all charts; a ratio without a
denominator is 0. Released (metric4_synthetic.py): one F of the mean precision and the mean recall, a ratio without a
denominator is 1, ticks of the same id are one tick, and where a true axis is empty its precision is 0 if there are
predicted ticks on the y axis, whichever axis is meant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metrics.chart.options import ChartOptions
from metrics.chart.records import Axes, AxisAnalysis, ImageSize, Tick, identifier_text
from metrics.chart.task_score import TaskScore, listed
from metrics.statistics.ratios import f_measure


@dataclass(frozen=True, slots=True)
class AxisScore:
    """Precision, recall and F of one axis, and its ticks one by one."""

    precision: float
    recall: float
    f1: float
    ticks: list[dict[str, Any]]


def score_axes(
    truth: AxisAnalysis, prediction: AxisAnalysis | None, image: ImageSize, options: ChartOptions
) -> TaskScore:
    """Scores task 4 of one chart; no prediction scores 0 on both axes."""
    released = options.protocol == "released"
    true_axes = _axes(truth, released)
    predicted_axes = _axes(prediction, released)
    diagonal = math.hypot(image.width, image.height)
    close, far = options.tick_close * diagonal, options.tick_far * diagonal
    scores = [_score_axis(*axes, close, far) for axes in zip(true_axes, predicted_axes, strict=True)]
    if released:
        scores = _as_released(scores, true_axes, predicted_axes)
    if prediction is None:
        scores = [AxisScore(0.0, 0.0, 0.0, axis.ticks) for axis in scores]

    precision = sum(axis.precision for axis in scores)
    recall = sum(axis.recall for axis in scores)
    f1 = sum(axis.f1 for axis in scores)
    axis_count = len(scores)
    statistics = {"task4.axes": axis_count, "task4.precision": precision, "task4.recall": recall, "task4.f1": f1}
    f1_of_chart = f_measure(precision / axis_count, recall / axis_count) if released else f1 / axis_count
    metrics = {
        "task4.precision": precision / axis_count,
        "task4.recall": recall / axis_count,
        "task4.f1": f1_of_chart,
    }
    details = {name: listed(axis.ticks) for name, axis in zip(("x-axis", "y-axis"), scores, strict=True)}
    return TaskScore(statistics, metrics, f1_of_chart, details)


def _axes(output: AxisAnalysis | None, released: bool) -> list[Sequence[Tick]]:
    """Returns the ticks of the x axis and of the y axis; released, the last of each id, and none without one."""
    axes = (output.axes if output else None) or Axes()
    both: list[Sequence[Tick]] = [axes.x_axis or (), axes.y_axis or ()]
    if not released:
        return both
    by_id = [{identifier_text(tick.id): tick for tick in axis if tick.id is not None} for axis in both]
    return [list(ticks.values()) for ticks in by_id]


def _score_axis(truths: Sequence[Tick], predictions: Sequence[Tick], close: float, far: float) -> AxisScore:
    """Scores one axis; ticks of the same id are matched in their order, ticks without an id are not matched."""
    if not truths and not predictions:
        return AxisScore(1.0, 1.0, 1.0, [])
    waiting: dict[str | None, list[Tick]] = {}
    for tick in reversed(predictions):
        waiting.setdefault(identifier_text(tick.id), []).append(tick)
    unidentified = waiting.pop(None, [])
    total = 0.0
    ticks: list[dict[str, Any]] = []
    for tick in truths:
        key = identifier_text(tick.id)
        matches = waiting.get(key)
        if not matches:
            ticks.append({"id": key, "kind": "missed"})
            continue
        found = matches.pop().tick_pt
        distance = math.hypot(found.x - tick.tick_pt.x, found.y - tick.tick_pt.y)
        score = min(1.0, max(0.0, (far - distance) / (far - close)))
        total += score
        ticks.append({"id": key, "kind": "matched", "distance": distance, "score": score})
    ticks += [{"id": key, "kind": "extra"} for key, left in waiting.items() for _ in left]
    ticks += [{"id": None, "kind": "extra"} for _ in unidentified]
    precision = total / len(predictions) if predictions else 0.0
    recall = total / len(truths) if truths else 0.0
    return AxisScore(precision, recall, f_measure(precision, recall) or 0.0, ticks)


def _as_released(
    scores: Sequence[AxisScore], truths: Sequence[Sequence[Tick]], predictions: Sequence[Sequence[Tick]]
) -> list[AxisScore]:
    """Returns the axis scores with the released script's ratios for axes that are empty on a side."""
    released = []
    for score, true_axis, predicted_axis in zip(scores, truths, predictions, strict=True):
        recall = score.recall if true_axis else 1.0
        precision = score.precision if predicted_axis else 1.0
        if not true_axis and predictions[1]:
            precision = 0.0
        released.append(AxisScore(precision, recall, f_measure(precision, recall) or 0.0, score.ticks))
    return released
