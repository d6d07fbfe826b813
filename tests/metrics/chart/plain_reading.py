"""Text blocks and lines as their definitions read, one pair at a time: the oracle of the faster code."""

from __future__ import annotations

import math
from collections.abc import Sequence

from beamscore.metrics.common.boxes import Corners, area, bounding_box, box_iou, shared_area
from tests.metrics.chart.samples import Json
from tests.metrics.samples import edit_distance

Read = tuple[Corners, str]
"""A text block: its corners (x0, y0, x1, y1) and its text."""


def iou(one: Corners, other: Corners) -> float:
    return 1.0 if one == other else box_iou(one, other)


def text_score(truth: str, predicted: str) -> float:
    if not truth:
        return float(not predicted)
    return 1 - min(1.0, edit_distance(truth, predicted) / len(truth))


def joined(parts: Sequence[Read]) -> Read:
    """Returns the bounding box of the parts and their texts in reading order."""
    ordered = sorted(parts, key=lambda part: ((part[0][1] + part[0][3]) / 2, part[0][0]))
    return bounding_box([box for box, _ in parts]), " ".join(text for _, text in ordered)


def lying_in(whole: Corners, others: dict[int, Read], inside: float, cover: float) -> list[int]:
    """Returns those that lie in `whole` by more than `inside` of their area, if two or more of them cover it."""
    parts = [place for place, (box, _) in others.items() if area(box) and shared_area(whole, box) / area(box) > inside]
    covered = sum(shared_area(whole, others[place][0]) for place in parts)
    return parts if len(parts) >= 2 and covered / area(whole) >= cover else []


def text_blocks(truth: Sequence[Json], prediction: Sequence[Json], protocol: str) -> tuple[float, float]:
    """Returns detection and recognition of one chart; texts are compared as they are."""
    last = int(protocol == "released")
    truths, predictions = (
        {place: ((x, y, x + width + last, y + height + last), block["text"])
         for place, block in enumerate(side) for x, y, width, height in [block["bb"].values()]}
        for side in (truth, prediction)
    )  # fmt: skip
    if not truths and not predictions:
        return 1.0, 1.0
    if protocol == "released":
        return first_blocks([*truths.values()], [*predictions.values()])
    units: list[tuple[float, float]] = []
    pairs = [(-iou(truths[i][0], predictions[j][0]), i, j) for i in truths for j in predictions]
    for negative, i, j in sorted(pairs):
        if -negative >= 0.5 and i in truths and j in predictions:
            units.append((-negative, text_score(truths.pop(i)[1], predictions.pop(j)[1])))
    for i, (box, text) in list(truths.items()):
        if parts := lying_in(box, predictions, 0.4, 0.8):
            del truths[i]
            bounding, read = joined([predictions.pop(place) for place in parts])
            units.append((0.8 * iou(box, bounding), text_score(text, read)))
    for j, (box, text) in list(predictions.items()):
        if parts := lying_in(box, truths, 0.8, 0.4):
            del predictions[j]
            bounding, read = joined([truths.pop(place) for place in parts])
            units.append((0.8 * iou(box, bounding), text_score(read, text)))
    larger, both = max(len(truths), len(predictions)), len(truths) + len(predictions)
    return sum(unit[0] for unit in units) / (len(units) + larger), sum(unit[1] for unit in units) / (len(units) + both)


def first_blocks(truths: Sequence[Read], predictions: Sequence[Read]) -> tuple[float, float]:
    """Each ground truth takes the first prediction that is near enough, even if it is already taken."""
    firsts = [next((other for other in predictions if iou(truth[0], other[0]) >= 0.5), None) for truth in truths]
    units = [
        (iou(one[0], other[0]), text_score(one[1], other[1]))
        for one, other in zip(truths, firsts, strict=True)
        if other
    ]
    larger = max(len(truths), len(predictions))
    return sum(unit[0] for unit in units) / larger, sum(unit[1] for unit in units) / (len(truths) or larger)


Function = list[tuple[float, float]]
"""The points (x, y) of a line, at least one."""


def functions(truth: Function, prediction: Function, protocol: str) -> float:
    """Returns the F of two lines."""
    truth, prediction = (sorted(line, key=lambda point: point[0]) for line in (truth, prediction))
    if protocol == "released" and (truth[0][0] == truth[-1][0] or prediction[0][0] == prediction[-1][0]):
        protocol = "published"  # The script stops.
    values = [y for _, y in truth]
    tolerance = (max(values) - min(values)) / 100
    precision = function_recall(prediction, truth, tolerance, protocol)
    recall = function_recall(truth, prediction, tolerance, protocol)
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def function_recall(wanted: Function, found: Function, tolerance: float, protocol: str) -> float:
    weights, scores = [], []
    for place, (x, y) in enumerate(wanted):
        before, behind = wanted[max(place - 1, 0)][0], wanted[min(place + 1, len(wanted) - 1)][0]
        weights.append((behind - before) / 2)
        same_before = sum(other == x for other, _ in wanted[:place])
        gap = abs(y - value_at(x, found, same_before if protocol == "published" else len(found)))
        if abs(y) + tolerance:
            scores.append(1 - min(1.0, gap / (abs(y) + tolerance)))
        else:
            scores.append(float(gap == 0 and protocol == "published"))
    if not sum(weights):
        weights = [1] * len(wanted)
    return sum(map(math.prod, zip(weights, scores, strict=True))) / sum(weights)


def value_at(x: float, line: Function, number: int) -> float:
    """Returns the y of a line at x; of several points there that of this number, or of the last one."""
    there = [y for other, y in line if other == x]
    if there:
        return there[min(number, len(there) - 1)]
    left, right = [point for point in line if point[0] < x], [point for point in line if point[0] > x]
    if not left or not right:
        return left[-1][1] if left else right[0][1]
    (x0, y0), (x1, y1) = left[-1], right[0]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
