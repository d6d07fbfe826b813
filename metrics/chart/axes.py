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

from collections.abc import Mapping, Sequence
from math import hypot
from typing import Literal

import msgspec

from ..benchmark import RejectedRecord
from ..statistics.ratios import f_measure
from .batch import Batch
from .details import listed
from .options import ChartOptions
from .records import Axes, Identifier, ImageSize, Tick, identifier_text
from .sample import ChartSample, Memo

AxisScore = tuple[float, float, float]
"""Precision, recall and F of one axis."""


class MatchedTick(msgspec.Struct, frozen=True, gc=False):
    """A true tick and the predicted one of the same id, as the details have them."""

    id: str | None
    kind: Literal["matched"]
    distance: float
    score: float


class UnmatchedTick(msgspec.Struct, frozen=True, gc=False):
    """A true tick that is missed, or a predicted one that is extra, as the details have it."""

    id: str | None
    kind: Literal["missed", "extra"]


Ticks = list[MatchedTick | UnmatchedTick]


class AxesDetails(msgspec.Struct, frozen=True, gc=False):
    """What became of the ticks of each axis."""

    x_axis: Sequence[MatchedTick | UnmatchedTick] = msgspec.field(name="x-axis")
    y_axis: Sequence[MatchedTick | UnmatchedTick] = msgspec.field(name="y-axis")


def score_axes(batch: Batch, options: ChartOptions) -> None:
    """Scores task 4 of the charts that have it; no prediction scores 0 on both axes."""
    for sample, truth, given in batch.rows(batch.truths.axes, batch.predictions.axes):
        if truth is None or not sample.is_open or (truth.x_axis is None and truth.y_axis is None):
            continue
        if sample.truth.image is None:
            sample.reject(without_image("task4"))
            continue
        if given is not None and given.x_axis is None and given.y_axis is None:
            given = None
        _score_axes(sample, truth, given, sample.truth.image, batch.identifiers, options)


def without_image(task: str) -> RejectedRecord:
    """Returns the rejection of a ground truth without the size of the image, in which `task` measures distances."""
    return RejectedRecord("ground_truth", f"{task} needs image.width and image.height")


def _score_axes(
    sample: ChartSample,
    truth: Axes,
    prediction: Axes | None,
    image: ImageSize,
    identifiers: Memo[Identifier, str | None],
    options: ChartOptions,
) -> None:
    diagonal = hypot(image.width, image.height)
    close, far = options.tick_close * diagonal, options.tick_far * diagonal
    true_x, true_y = truth.x_axis or [], truth.y_axis or []
    predicted_x, predicted_y = ([], []) if prediction is None else (prediction.x_axis or [], prediction.y_axis or [])
    released = options.protocol == "released"
    if released:
        true_x, true_y, predicted_x, predicted_y = map(_last_of_each_id, (true_x, true_y, predicted_x, predicted_y))
    x_ticks, x_total = _matched_ticks(true_x, predicted_x, close, far, identifiers)
    y_ticks, y_total = _matched_ticks(true_y, predicted_y, close, far, identifiers)
    details = AxesDetails(listed(x_ticks), listed(y_ticks))
    if prediction is None:
        x = y = (0.0, 0.0, 0.0)
    elif released:
        x = _released_axis(x_total, true_x, predicted_x, predicted_y)
        y = _released_axis(y_total, true_y, predicted_y, predicted_y)
    else:
        x = _published_axis(x_total, len(true_x), len(predicted_x))
        y = _published_axis(y_total, len(true_y), len(predicted_y))
    precision, recall, f1 = x[0] + y[0], x[1] + y[1], x[2] + y[2]
    f1_of_chart = f_measure(precision / 2, recall / 2) if released else f1 / 2
    statistics, metrics = sample.statistics, sample.metrics
    statistics["task4.axes"] = 2
    statistics["task4.precision"], statistics["task4.recall"], statistics["task4.f1"] = precision, recall, f1
    metrics["task4.precision"], metrics["task4.recall"] = precision / 2, recall / 2
    metrics["task4.f1"] = f1_of_chart
    sample.add("task4", f1_of_chart, details, prediction is not None)


def _published_axis(total: float, truths: int, predictions: int) -> AxisScore:
    if not truths or not predictions:
        return (0.0, 0.0, 0.0) if truths or predictions else (1.0, 1.0, 1.0)
    precision, recall = total / predictions, total / truths
    return precision, recall, f_measure(precision, recall) or 0.0


def _released_axis(
    total: float, truths: Sequence[Tick], predictions: Sequence[Tick], predicted_y: Sequence[Tick]
) -> AxisScore:
    """Returns the score of an axis with the released script's ratios where a side of it is empty."""
    precision, recall, _ = _published_axis(total, len(truths), len(predictions))
    if not truths:
        recall = 1.0
    if not predictions:
        precision = 1.0
    if not truths and predicted_y:
        precision = 0.0
    return precision, recall, f_measure(precision, recall) or 0.0


def _last_of_each_id(axis: Sequence[Tick]) -> list[Tick]:
    """Returns the ticks of an axis as the released script reads them: the last of each id, and none without one."""
    return list({identifier_text(tick.id): tick for tick in axis if tick.id is not None}.values())


def _matched_ticks(
    truths: Sequence[Tick],
    predictions: Sequence[Tick],
    close: float,
    far: float,
    identifiers: Memo[Identifier, str | None],
) -> tuple[Ticks, float]:
    """Returns what became of the ticks of one axis, and the sum of the scores.

    Ticks of the same id are matched in their order, and so are those without an id.
    """
    if len(truths) == len(predictions):
        in_order = _ticks_in_order(truths, predictions, close, far, identifiers)
        if in_order is not None:
            return in_order
    waiting, repeated = _by_identifier(predictions, identifiers)
    room = far - close
    total = 0.0
    ticks: Ticks = []
    for tick in truths:
        key = identifiers[tick.id]
        match = waiting.pop(key, None)
        if match is None:
            ticks.append(UnmatchedTick(key, "missed"))
            continue
        if repeated and key in repeated:
            waiting[key] = repeated[key].pop(0)
            if not repeated[key]:
                del repeated[key]
        found, wanted = match.tick_pt, tick.tick_pt
        distance = hypot(found.x - wanted.x, found.y - wanted.y)
        score = 1.0 if distance <= close else 0.0 if distance >= far else (far - distance) / room
        total += score
        ticks.append(MatchedTick(key, "matched", distance, score))
    if waiting:
        ticks += _extra_ticks(waiting, repeated, predictions, identifiers)
    return ticks, total


def _ticks_in_order(
    truths: Sequence[Tick],
    predictions: Sequence[Tick],
    close: float,
    far: float,
    identifiers: Memo[Identifier, str | None],
) -> tuple[Ticks, float] | None:
    """Returns what `_matched_ticks` does where all have the same ids in the same order; None where not.

    The first tick of an id then stands in the same place on both sides, and so do the second and all further ones.
    """
    room = far - close
    total = 0.0
    ticks: Ticks = []
    for tick, match in zip(truths, predictions, strict=True):
        if tick.id != match.id:
            return None
        found, wanted = match.tick_pt, tick.tick_pt
        distance = hypot(found.x - wanted.x, found.y - wanted.y)
        score = 1.0 if distance <= close else 0.0 if distance >= far else (far - distance) / room
        total += score
        ticks.append(MatchedTick(identifiers[tick.id], "matched", distance, score))
    return ticks, total


def _by_identifier(
    predictions: Sequence[Tick], identifiers: Memo[Identifier, str | None]
) -> tuple[dict[str | None, Tick], dict[str | None, list[Tick]]]:
    """Returns the first tick of each id, and the further ones of ids that are repeated."""
    first = {identifiers[tick.id]: tick for tick in predictions}
    if len(first) == len(predictions):
        return first, {}
    first = {}
    repeated: dict[str | None, list[Tick]] = {}
    for tick in predictions:
        key = identifiers[tick.id]
        if key in first:
            repeated.setdefault(key, []).append(tick)
        else:
            first[key] = tick
    return first, repeated


def _extra_ticks(
    waiting: Mapping[str | None, Tick],
    repeated: Mapping[str | None, Sequence[Tick]],
    predictions: Sequence[Tick],
    identifiers: Memo[Identifier, str | None],
) -> list[UnmatchedTick]:
    """Returns the predicted ticks that no true tick took, by id, in the order of the last tick of each id."""
    if len(waiting) == 1:
        [key] = waiting
        return [UnmatchedTick(key, "extra")] * (1 + len(repeated.get(key, ())))
    order = dict.fromkeys([identifiers[tick.id] for tick in reversed(predictions)])
    left = {key: 1 + len(repeated.get(key, ())) for key in order if key in waiting}
    return [UnmatchedTick(key, "extra") for key, count in left.items() for _ in range(count)]
