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

from collections.abc import Iterable, Mapping, Sequence
from math import hypot
from typing import Any

import msgspec

from metrics.benchmark import RejectedRecord
from metrics.chart.options import ChartOptions
from metrics.chart.records import Axes, Identifier, ImageSize, Tick, identifier_text
from metrics.chart.sample import ChartSample, Memo, TaskResults
from metrics.chart.task_score import TaskScore, listed
from metrics.statistics.ratios import f_measure, precision_recall_f1


class AxisScore(msgspec.Struct, frozen=True):
    """Precision, recall and F of one axis, and its ticks one by one."""

    precision: float
    recall: float
    f1: float
    ticks: list[dict[str, Any]]


def score_axes(
    samples: Iterable[ChartSample], identifiers: Memo[Identifier, str | None], options: ChartOptions
) -> TaskResults:
    """Scores task 4 of the charts that have it; no prediction scores 0 on both axes."""
    for sample in samples:
        task, prediction = sample.truth.task4, sample.prediction
        if task is None or task.output is None or task.output.axes is None:
            continue
        true_axes = task.output.axes
        if true_axes.x_axis is None and true_axes.y_axis is None:
            continue
        image = sample.truth.image
        if image is None:
            yield sample, without_image("task4")
            continue
        given = None
        if prediction is not None and prediction.task4 is not None and prediction.task4.output is not None:
            given = prediction.task4.output.axes
            if given is not None and given.x_axis is None and given.y_axis is None:
                given = None
        yield sample, _score_axes(true_axes, given, image, identifiers, options)


def without_image(task: str) -> RejectedRecord:
    """Returns the rejection of a ground truth without the size of the image, in which `task` measures distances."""
    return RejectedRecord("ground_truth", f"{task} needs image.width and image.height")


def _score_axes(
    truth: Axes,
    prediction: Axes | None,
    image: ImageSize,
    identifiers: Memo[Identifier, str | None],
    options: ChartOptions,
) -> TaskScore:
    diagonal = hypot(image.width, image.height)
    close, far = options.tick_close * diagonal, options.tick_far * diagonal
    true_axes: Sequence[Sequence[Tick]] = (truth.x_axis or (), truth.y_axis or ())
    predicted_axes: Sequence[Sequence[Tick]] = ((), ())
    if prediction is not None:
        predicted_axes = (prediction.x_axis or (), prediction.y_axis or ())
    released = options.protocol == "released"
    if released:
        true_axes, predicted_axes = _last_of_each_id(true_axes), _last_of_each_id(predicted_axes)
    x = _score_axis(true_axes[0], predicted_axes[0], close, far, identifiers)
    y = _score_axis(true_axes[1], predicted_axes[1], close, far, identifiers)
    if released:
        x, y = _as_released((x, y), true_axes, predicted_axes)
    if prediction is None:
        x, y = AxisScore(0.0, 0.0, 0.0, x.ticks), AxisScore(0.0, 0.0, 0.0, y.ticks)

    precision, recall, f1 = x.precision + y.precision, x.recall + y.recall, x.f1 + y.f1
    f1_of_chart = f_measure(precision / 2, recall / 2) if released else f1 / 2
    return TaskScore(
        {"task4.axes": 2, "task4.precision": precision, "task4.recall": recall, "task4.f1": f1},
        {"task4.precision": precision / 2, "task4.recall": recall / 2, "task4.f1": f1_of_chart},
        f1_of_chart,
        {"x-axis": listed(x.ticks), "y-axis": listed(y.ticks)},
        prediction is not None,
    )


def _last_of_each_id(axes: Sequence[Sequence[Tick]]) -> Sequence[Sequence[Tick]]:
    """Returns the ticks of each axis as the released script reads them: the last of each id, and none without one."""
    return [list({identifier_text(tick.id): tick for tick in axis if tick.id is not None}.values()) for axis in axes]


def _score_axis(
    truths: Sequence[Tick],
    predictions: Sequence[Tick],
    close: float,
    far: float,
    identifiers: Memo[Identifier, str | None],
) -> AxisScore:
    """Scores one axis; ticks of the same id are matched in their order, ticks without an id are not matched."""
    if not truths and not predictions:
        return AxisScore(1.0, 1.0, 1.0, [])
    waiting, repeated, unidentified = _by_identifier(predictions, identifiers)
    room = far - close
    total = 0.0
    ticks: list[dict[str, Any]] = []
    for tick in truths:
        key = identifiers[tick.id]
        match = waiting.pop(key, None)
        if match is None:
            ticks.append({"id": key, "kind": "missed"})
            continue
        if key in repeated:
            waiting[key] = repeated[key].pop(0)
            if not repeated[key]:
                del repeated[key]
        found, wanted = match.tick_pt, tick.tick_pt
        distance = hypot(found.x - wanted.x, found.y - wanted.y)
        score = (far - distance) / room
        if score > 1.0:
            score = 1.0
        elif score < 0.0:
            score = 0.0
        total += score
        ticks.append({"id": key, "kind": "matched", "distance": distance, "score": score})
    if waiting:
        ticks += _extra_ticks(waiting, repeated, predictions, identifiers)
    ticks += [{"id": None, "kind": "extra"}] * unidentified
    precision, recall, f1 = precision_recall_f1(total, len(predictions), len(truths))
    return AxisScore(precision or 0.0, recall or 0.0, f1 or 0.0, ticks)


def _by_identifier(
    predictions: Sequence[Tick], identifiers: Memo[Identifier, str | None]
) -> tuple[dict[str | None, Tick], dict[str | None, list[Tick]], int]:
    """Returns the first tick of each id, the further ones of ids that are repeated, and the number without an id."""
    first = {identifiers[tick.id]: tick for tick in predictions}
    if len(first) == len(predictions) and None not in first:
        return first, {}, 0
    first = {}
    repeated: dict[str | None, list[Tick]] = {}
    unidentified = 0
    for tick in predictions:
        key = identifiers[tick.id]
        if key is None:
            unidentified += 1
        elif key in first:
            repeated.setdefault(key, []).append(tick)
        else:
            first[key] = tick
    return first, repeated, unidentified


def _extra_ticks(
    waiting: Mapping[str | None, Tick],
    repeated: Mapping[str | None, Sequence[Tick]],
    predictions: Sequence[Tick],
    identifiers: Memo[Identifier, str | None],
) -> list[dict[str, Any]]:
    """Returns the predicted ticks that no true tick took, by id, in the order of the last tick of each id."""
    order = dict.fromkeys(identifiers[tick.id] for tick in reversed(predictions))
    left = {key: 1 + len(repeated.get(key, ())) for key in order if key in waiting}
    return [{"id": key, "kind": "extra"} for key, count in left.items() for _ in range(count)]


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
