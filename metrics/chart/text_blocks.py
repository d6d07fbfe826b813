"""Task 2: text detection and recognition.

Published: blocks are matched one to one by IoU, best first; then blocks that were split or merged are matched as
the ICDAR Robust Reading Competitions do. Each pair, split or merge is one unit with an IoU and a character error
rate (CER):

    detection   = sum of IoU / (units + max(free ground truths, free predictions))
    recognition = sum of (1 - CER) / (units + free ground truths + free predictions)

Released (metric2.py): each ground truth takes the first prediction with IoU >= 0.5, even if already taken; no splits
or merges; detection = sum of IoU / max(ground truths, predictions), recognition = sum of (1 - CER) / ground truths;
widths and heights count pixels, so they are larger by 1.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, Literal

import msgspec

from ..benchmark import Side
from ..common.assignment import numpy_sum
from ..common.boxes import Corners, area, bounding_box, box_iou, pixel_iou
from ..common.budget import Budget
from ..common.text import character_error_rate
from ..statistics.ratios import f_measure, plain_sum
from .limits import error_rate_steps, pair_steps, reading_steps
from .names import read_text
from .records import ChartOptions, TextBlock, identifier_text
from .task_score import TaskScore, listed, not_listed, shortened

OVERLAP_PASSES = 30
"""The work of comparing all pairs of blocks, each of which may lie within the other, in passes over their table."""


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A text block prepared for comparison, or several joined to one; positions: where they are in the record."""

    corners: Corners
    text: str
    ids: Sequence[str | None]
    positions: Sequence[int]


class Unit(msgspec.Struct, frozen=True, gc=False):
    """Matched ground-truth and predicted blocks, as in the details; positions: those of the blocks of both sides."""

    kind: Literal["pair", "split", "merge"]
    truth_ids: Sequence[str | None]
    prediction_ids: Sequence[str | None]
    iou: float
    text_score: float
    truth: str
    predicted: str
    positions: tuple[Sequence[int], Sequence[int]]


def score_text_blocks(
    truth: Sequence[TextBlock], prediction: Sequence[TextBlock] | None, budget: Budget, options: ChartOptions
) -> TaskScore:
    """Returns the score of one chart; no prediction (None) scores 0, two empty lists of blocks score 1.

    Raises RejectedRecord if the work exceeds the budget.
    """
    truths = read_blocks(truth, "ground_truth", budget, options)
    predictions = read_blocks(prediction or (), "prediction", budget, options)
    budget.spend(pair_steps(len(truths), len(predictions), OVERLAP_PASSES))
    match = _match_published if options.protocol == "published" else _match_released
    units, missed, extra = match(truths, predictions, budget, options)
    detection, recognition = plain_sum([unit.iou for unit in units]), plain_sum([unit.text_score for unit in units])
    if options.protocol == "published":
        detection = _share(detection, len(units) + max(len(missed), len(extra)))
        recognition = _share(recognition, len(units) + len(missed) + len(extra))
    else:
        larger = max(len(truths), len(predictions))
        detection, recognition = _share(detection, larger), _share(recognition, len(truths) or larger)
    if prediction is None:
        detection = recognition = 0.0
    details = {
        "matched": listed(units),
        "missed": _unmatched(missed),
        "extra": _unmatched(extra),
        **not_listed(matched=units, missed=missed, extra=extra),
    }
    metrics = {"task2.detection": detection, "task2.recognition": recognition}
    share = f_measure(detection, recognition)
    return TaskScore({"task2.charts": 1, **metrics}, metrics, share, details, prediction is not None)


def _unmatched(blocks: Sequence[Piece]) -> list[dict[str, Any]]:
    return [
        {"id": block.ids[0], "text": shortened(block.text), "position": block.positions[0]} for block in listed(blocks)
    ]


def _share(total: float, count: int) -> float:
    return total / count if count else 1.0


def read_blocks(blocks: Sequence[TextBlock], side: Side, budget: Budget, options: ChartOptions) -> list[Piece]:
    """Returns the blocks prepared for comparison, except those whose text has `__`; spends the steps of reading."""
    with budget.reading(side):
        budget.spend(reading_steps([block.text or "" for block in blocks]))
    return [
        Piece(block.bb.corners(), text, [identifier_text(block.id)], [position])
        for position, block in enumerate(blocks)
        if "__" not in (text := read_text(block.text or "", options.protocol))
    ]


Matching = tuple[list[Unit], list[Piece], list[Piece]]
"""The units of one chart, and the unmatched ground truths and predictions."""


def _match_published(truths: list[Piece], predictions: list[Piece], budget: Budget, options: ChartOptions) -> Matching:
    units: list[Unit] = []
    free, others = dict(enumerate(truths)), dict(enumerate(predictions))
    overlaps = overlapping(truths, predictions)
    least = options.text_iou
    for iou, number, place in sorted([(-iou, number, place) for number, place, _, iou in overlaps if iou >= least]):
        if number in free and place in others:
            units.append(_unit("pair", free.pop(number), others.pop(place), -iou, budget))
    left = [(number, place, shared) for number, place, shared, _ in overlaps if number in free and place in others]
    for whole, parts in scattered(free, others, left, options.split_part, options.split_cover):
        iou = options.scattered_weight * box_iou(whole.corners, parts.corners)
        units.append(_unit("split", whole, parts, iou, budget))
    turned = [(place, number, shared) for number, place, shared in left]
    for whole, parts in scattered(others, free, turned, options.merge_part, options.merge_cover):
        iou = options.scattered_weight * box_iou(whole.corners, parts.corners)
        units.append(_unit("merge", parts, whole, iou, budget))
    return units, list(free.values()), list(others.values())


def overlapping(truths: Sequence[Piece], predictions: Sequence[Piece]) -> list[tuple[int, int, float, float]]:
    """Returns the shared area and the IoU of each truth and prediction, by their indexes, that overlap or are equal.

    Two equal boxes without area have IoU 1. Predictions sorted by their upper sides are searched between the upper and
    the lower side of a truth.
    """
    boxes = sorted(
        [(y0, y1, x0, x1, place) for place, block in enumerate(predictions) for x0, y0, x1, y1 in [block.corners]]
    )
    tops = [each[0] for each in boxes]
    # In a box of negative height the lower end comes first.
    reach = list(accumulate([y0 if y0 > y1 else y1 for y0, y1, _, _, _ in boxes], max))
    overlaps = []
    for number, truth in enumerate(truths):
        left, top, right, bottom = truth.corners
        for y0, y1, x0, x1, place in boxes[bisect_left(reach, top) : bisect_right(tops, max(top, bottom))]:
            if (x0 >= right or left >= x1) and x0 != left:
                continue
            # Not max and min, which take three times as long.
            width = (x1 if x1 < right else right) - (x0 if x0 > left else left)
            height = (y1 if y1 < bottom else bottom) - (y0 if y0 > top else top)
            if width > 0.0 and height > 0.0 and (shared := width * height):
                areas = (right - left) * (bottom - top) + (x1 - x0) * (y1 - y0)
                overlaps.append((number, place, shared, shared / (areas - shared)))
            elif (x0, y0, x1, y1) == truth.corners:
                overlaps.append((number, place, 0.0, 1.0))
    return overlaps


def scattered(
    wholes: dict[int, Piece],
    parts: dict[int, Piece],
    overlaps: Sequence[tuple[int, int, float]],
    least_part: float,
    least_cover: float,
) -> Iterator[tuple[Piece, Piece]]:
    """Yields each whole with the two or more parts that cover it, as one block, and removes them from both sides.

    overlaps: (whole, part, shared area) of all pairs that share an area. A part has more than `least_part` of its
    own area in the whole; together they share at least `least_cover` of the area of the whole with it.
    """
    within: dict[int, dict[int, float]] = {}
    for number, place, shared in sorted(overlaps):
        if number in wholes and place in parts and shared > least_part * area(parts[place].corners):
            within.setdefault(number, {})[place] = shared
    for number, shares in within.items():
        left = {place: shared for place, shared in shares.items() if place in parts}
        if len(left) > 1 and numpy_sum([*left.values()]) >= least_cover * area(wholes[number].corners):
            yield wholes.pop(number), _joined(sorted([parts.pop(place) for place in left], key=_reading_order))


def _reading_order(block: Piece) -> tuple[float, float]:
    left, top, _, bottom = block.corners
    return (top + bottom) / 2, left


def _joined(parts: Sequence[Piece]) -> Piece:
    """Returns the bounding box of the parts of a split or merge, with their texts, ids and positions."""
    text, ids = " ".join([part.text for part in parts]), [key for part in listed(parts) for key in part.ids]
    positions = [position for part in listed(parts) for position in part.positions]
    return Piece(bounding_box([part.corners for part in parts]), text, ids, positions)


def _unit(kind: Literal["pair", "split", "merge"], truth: Piece, predicted: Piece, iou: float, budget: Budget) -> Unit:
    """Returns the unit of matched blocks; spends the steps of comparing their texts."""
    first, second = truth.text, predicted.text
    shown, positions = shortened(first), (truth.positions, predicted.positions)
    if first == second:
        return Unit(kind, truth.ids, predicted.ids, iou, 1.0, shown, shown, positions)
    budget.spend(error_rate_steps(first, second))
    score = 1 - character_error_rate(first, second)
    return Unit(kind, truth.ids, predicted.ids, iou, score, shown, shortened(second), positions)


def _match_released(truths: list[Piece], predictions: list[Piece], budget: Budget, options: ChartOptions) -> Matching:
    units: list[Unit] = []
    missed: list[Piece] = []
    extra = dict(enumerate(predictions))
    for truth in truths:
        left, top, right, bottom = truth.corners
        for place, other in enumerate(predictions):
            x0, y0, x1, y1 = other.corners
            # Most blocks are apart, by a pixel or more.
            if (x0 - right >= 1 or left - x1 >= 1 or y0 - bottom >= 1 or top - y1 >= 1) and options.text_iou:
                continue
            iou = pixel_iou(truth.corners, other.corners)
            if iou >= options.text_iou:
                units.append(_unit("pair", truth, other, iou, budget))
                extra.pop(place, None)
                break
        else:
            missed.append(truth)
    return units, missed, list(extra.values())
