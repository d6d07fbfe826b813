"""Task 2: text detection and recognition.

Published: blocks are matched one to one by IoU, best first; then blocks that were split or merged are matched as
the ICDAR Robust Reading Competitions do. Each pair, split or merge is one unit with an IoU and a character error
rate (CER):

    detection   = sum of IoU / (units + max(free ground truths, free predictions))
    recognition = sum of (1 - CER) / (units + free ground truths + free predictions)

Released (metric2.py): each ground truth takes the first prediction with IoU >= 0.5, whoever else took it; no splits
or merges; detection = sum of IoU / max(ground truths, predictions), recognition = sum of (1 - CER) / ground truths;
widths and heights count pixels, so that they are longer by 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from metrics.chart.names import normalised_text
from metrics.chart.options import ChartOptions
from metrics.chart.records import TextBlocks, identifier_text
from metrics.chart.task_score import TaskScore, listed, shortened
from metrics.chart.work import error_rate_steps, pair_steps
from metrics.common.budget import Budget
from metrics.common.geometry import Array, box_areas, box_intersections, box_ious
from metrics.common.text import character_error_rate
from metrics.statistics.ratios import f_measure

PIXEL = 1.0
# How many rows of a table of pairs, and how many pairs, are worked on at once, which bounds the memory.
ROWS = 128
PAIRS = 1 << 16


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of one side that count: corners `[N, 4]`, normalised texts and ids."""

    boxes: Array
    texts: Sequence[str]
    identifiers: Sequence[str | None]

    @classmethod
    def of(cls, output: TextBlocks | None, budget: Budget) -> Blocks:
        """Returns the blocks of an output, without those whose text holds `__`."""
        kept = []
        for block in (output.text_blocks if output else None) or ():
            text = normalised_text(block.text or "", budget)
            if "__" not in text:
                kept.append((block.bb.corners(), text, identifier_text(block.id)))
        boxes = np.array([box for box, _, _ in kept], dtype=np.float64).reshape(-1, 4)
        return cls(boxes, [text for _, text, _ in kept], [identifier for _, _, identifier in kept])

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, slots=True)
class Unit:
    """Ground-truth blocks and predicted blocks that stand for each other."""

    kind: Literal["pair", "split", "merge"]
    truths: Sequence[int]
    predictions: Sequence[int]
    iou: float
    text_score: float


@dataclass(frozen=True, slots=True)
class Matching:
    """The units of one chart, its scores, and what is left on both sides."""

    units: Sequence[Unit]
    detection: float
    recognition: float
    missed: Sequence[int]
    extra: Sequence[int]


def score_text_blocks(
    truth: TextBlocks, prediction: TextBlocks | None, options: ChartOptions, budget: Budget
) -> TaskScore:
    """Scores task 2 of one chart; no prediction scores 0, two empty lists of blocks score 1."""
    with budget.reading("ground_truth"):
        truths = Blocks.of(truth, budget)
    with budget.reading("prediction"):
        predictions = Blocks.of(prediction, budget)
    budget.spend(pair_steps(len(truths), len(predictions), 4))
    match = match_published if options.protocol == "published" else match_released
    matching = match(truths, predictions, options, budget)
    detection, recognition = matching.detection, matching.recognition
    if prediction is None:
        detection = recognition = 0.0
    metrics = {"task2.detection": detection, "task2.recognition": recognition}
    details = _details(matching, truths, predictions)
    return TaskScore({"task2.charts": 1, **metrics}, metrics, f_measure(detection, recognition), details)


def match_published(truths: Blocks, predictions: Blocks, options: ChartOptions, budget: Budget) -> Matching:
    """Matches pairs by IoU, best first, then splits in the order of the truths and merges in that of predictions."""
    shared, ious = _overlaps(truths.boxes, predictions.boxes)
    free_truths = np.ones(len(truths), dtype=bool)
    free_predictions = np.ones(len(predictions), dtype=bool)
    units: list[Unit] = []
    for truth, prediction in _best_first(ious, options.text_iou, free_truths, free_predictions):
        if free_truths[truth] and free_predictions[prediction]:
            free_truths[truth] = free_predictions[prediction] = False
            error = _error_rate(truths.texts[truth], predictions.texts[prediction], budget)
            units.append(Unit("pair", [truth], [prediction], float(ious[truth, prediction]), 1 - error))
            if len(units) == min(len(truths), len(predictions)):
                break

    for whole, parts in _scattered(
        truths.boxes, predictions.boxes, shared, free_truths, free_predictions, options.split_part, options.split_cover
    ):
        ordered, iou, text = _joined(truths.boxes[whole], predictions, parts, options)
        error = _error_rate(truths.texts[whole], text, budget)
        units.append(Unit("split", [whole], ordered, iou, 1 - error))
    for whole, parts in _scattered(
        predictions.boxes,
        truths.boxes,
        shared.T,
        free_predictions,
        free_truths,
        options.merge_part,
        options.merge_cover,
    ):
        ordered, iou, text = _joined(predictions.boxes[whole], truths, parts, options)
        error = _error_rate(text, predictions.texts[whole], budget)
        units.append(Unit("merge", ordered, [whole], iou, 1 - error))

    missed = np.flatnonzero(free_truths).tolist()
    extra = np.flatnonzero(free_predictions).tolist()
    detection = _share(sum(unit.iou for unit in units), len(units) + max(len(missed), len(extra)))
    recognition = _share(sum(unit.text_score for unit in units), len(units) + len(missed) + len(extra))
    return Matching(units, detection, recognition, missed, extra)


def match_released(truths: Blocks, predictions: Blocks, options: ChartOptions, budget: Budget) -> Matching:
    """Matches each truth to the first prediction that overlaps enough, as metric2.py does."""
    units = []
    for truth in range(len(truths) if len(predictions) else 0):
        ious = box_ious(truths.boxes[truth : truth + 1], predictions.boxes, PIXEL)[0]
        prediction = int((ious >= options.text_iou).argmax())
        if ious[prediction] < options.text_iou:
            continue
        error = _error_rate(truths.texts[truth], predictions.texts[prediction], budget)
        units.append(Unit("pair", [truth], [prediction], float(ious[prediction]), 1 - error))
    taken_truths = {unit.truths[0] for unit in units}
    taken_predictions = {unit.predictions[0] for unit in units}
    larger = max(len(truths), len(predictions))
    detection = _share(sum(unit.iou for unit in units), larger)
    recognition = _share(sum(unit.text_score for unit in units), len(truths) or larger)
    missed = [index for index in range(len(truths)) if index not in taken_truths]
    extra = [index for index in range(len(predictions)) if index not in taken_predictions]
    return Matching(units, detection, recognition, missed, extra)


def _share(total: float, count: int) -> float:
    return total / count if count else 1.0


def _error_rate(truth: str, predicted: str, budget: Budget) -> float:
    budget.spend(error_rate_steps(truth, predicted))
    return character_error_rate(truth, predicted)


def _overlaps(truths: Array, predictions: Array) -> tuple[Array, Array]:
    """Returns the areas that boxes share, and their IoU, 1 where they are equal without area too, both `[N, M]`."""
    shared, ious = np.empty((2, len(truths), len(predictions)))
    for start in range(0, len(truths), ROWS):
        rows = truths[start : start + ROWS]
        shared[start : start + ROWS] = box_intersections(rows, predictions)
        equal = (rows[:, None, :] == predictions[None, :, :]).all(axis=2)
        ious[start : start + ROWS] = np.where(equal, 1.0, box_ious(rows, predictions))
    return shared, ious


def _best_first(
    ious: Array, threshold: float, free_truths: npt.NDArray[np.bool_], free_predictions: npt.NDArray[np.bool_]
) -> Iterable[tuple[int, int]]:
    """Yields (truth, prediction) from `threshold` on, best IoU first; ties in the order of truths, then predictions.

    The caller marks what it takes; pairs of what was taken long before are left out.
    """
    places = np.flatnonzero((ious >= threshold) & (ious > 0))
    places = places[np.argsort(-ious.ravel()[places], kind="stable")]
    for start in range(0, len(places), PAIRS):
        rows, columns = np.divmod(places[start : start + PAIRS], ious.shape[1])
        free = free_truths[rows] & free_predictions[columns]
        yield from zip(rows[free].tolist(), columns[free].tolist(), strict=True)


def _scattered(
    wholes: Array,
    parts: Array,
    shared: Array,
    free_wholes: npt.NDArray[np.bool_],
    free_parts: npt.NDArray[np.bool_],
    least_part: float,
    least_cover: float,
) -> Iterable[tuple[int, npt.NDArray[np.intp]]]:
    """Yields each free whole with two or more free parts that lie in it and cover it, and takes both.

    shared: areas that each whole shares with each part, `[N, M]`. A part lies in a whole where more than
    `least_part` of its own area does; together they cover it where their shared areas sum to `least_cover` of it.
    """
    if free_wholes.sum() < 1 or free_parts.sum() < 2:
        return
    whole_areas = box_areas(wholes)
    inside = shared > least_part * box_areas(parts)[None, :]
    for whole in np.flatnonzero(free_wholes).tolist():
        members = np.flatnonzero(inside[whole] & free_parts)
        if len(members) >= 2 and shared[whole, members].sum() >= least_cover * whole_areas[whole]:
            free_wholes[whole] = False
            free_parts[members] = False
            yield whole, members


def _joined(
    whole: Array, blocks: Blocks, parts: npt.NDArray[np.intp], options: ChartOptions
) -> tuple[list[int], float, str]:
    """Returns the parts in reading order, the weighted IoU of `whole` with their bounding box, and their text."""
    boxes = blocks.boxes[parts]
    order = np.lexsort((boxes[:, 0], (boxes[:, 1] + boxes[:, 3]) / 2))
    ordered: list[int] = parts[order].tolist()
    bounding = np.concatenate((boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)))
    iou = options.scattered_weight * float(box_ious(whole[None, :], bounding[None, :])[0, 0])
    return ordered, iou, " ".join(blocks.texts[part] for part in ordered)


def _details(matching: Matching, truths: Blocks, predictions: Blocks) -> dict[str, Any]:
    matched = [
        {
            "kind": unit.kind,
            "truth_ids": listed([truths.identifiers[index] for index in unit.truths]),
            "prediction_ids": listed([predictions.identifiers[index] for index in unit.predictions]),
            "iou": unit.iou,
            "text_score": unit.text_score,
            "truth": shortened(" ".join(truths.texts[index] for index in unit.truths)),
            "predicted": shortened(" ".join(predictions.texts[index] for index in unit.predictions)),
        }
        for unit in listed(list(matching.units))
    ]
    return {
        "matched": matched,
        "missed": [_block(truths, index) for index in listed(list(matching.missed))],
        "extra": [_block(predictions, index) for index in listed(list(matching.extra))],
    }


def _block(blocks: Blocks, index: int) -> dict[str, Any]:
    return {"id": blocks.identifiers[index], "text": shortened(blocks.texts[index])}
