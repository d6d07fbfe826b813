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

from collections.abc import Sequence
from typing import Literal

import msgspec

from ..benchmark import RejectedRecord
from ..common.geometry import box_ious
from ..common.text import character_error_rate
from ..statistics.ratios import f_measure
from .batch import Batch
from .box_overlaps import Sides, overlaps_of
from .details import MAX_DETAIL_LENGTH, listed, shortened
from .legend import corners_iou
from .options import ChartOptions
from .text_charts import Blocks, ReadText, TextChart, read_chart
from .text_matching import Matcher
from .work import error_rate_steps

PIXEL = 1.0
# Charts are matched together up to so many pairs of blocks.
MAX_CELLS = 1 << 18


class Unit(msgspec.Struct, frozen=True, gc=False):
    """Ground-truth blocks and predicted blocks that stand for each other, as the details have them."""

    kind: Literal["pair", "split", "merge"]
    truth_ids: Sequence[str | None]
    prediction_ids: Sequence[str | None]
    iou: float
    text_score: float
    truth: str
    predicted: str


class LeftBlock(msgspec.Struct, frozen=True, gc=False):
    """A block without a counterpart, as the details have it."""

    id: str | None
    text: str


class Matching(msgspec.Struct, frozen=True, gc=False):
    """The units of one chart, its scores, and what is left on both sides."""

    units: Sequence[Unit]
    detection: float
    recognition: float
    missed: Sequence[int]
    extra: Sequence[int]


def score_text_blocks(batch: Batch, options: ChartOptions) -> None:
    """Scores task 2 of the charts that have it; no prediction scores 0, two empty lists of blocks score 1."""
    score_charts = _score_published if options.protocol == "published" else _score_released
    texts: dict[str | None, ReadText] = {}
    charts: list[TextChart] = []
    cells = 0
    for sample, truths, given in batch.rows(batch.truths.text_blocks, batch.predictions.text_blocks):
        if truths is None or not sample.is_open:
            continue
        try:
            chart = read_chart(sample, truths, given, texts, batch.identifiers, options)
        except RejectedRecord as rejected:
            sample.reject(rejected)
            continue
        count = len(chart.truths) * len(chart.predictions)
        if charts and cells + count > MAX_CELLS:
            score_charts(charts, options)
            charts, cells = [], 0
        charts.append(chart)
        cells += count
    score_charts(charts, options)


def _score_published(charts: Sequence[TextChart], options: ChartOptions) -> None:
    """Scores charts whose boxes are compared together."""
    truths = Sides.of([chart.truths.boxes for chart in charts])
    predictions = Sides.of([chart.predictions.boxes for chart in charts])
    matcher = Matcher(truths, predictions, overlaps_of(truths, predictions), options)
    pairs = matcher.best_pairs()
    splits, merges = matcher.splits(), matcher.merges()
    for number, chart in enumerate(charts):
        try:
            units = [_pair(chart, *pair) for pair in pairs[number]]
            units += [
                _joined("split", chart, whole, parts, options) for whole, parts in matcher.taken(number, splits, False)
            ]
            units += [
                _joined("merge", chart, whole, parts, options) for whole, parts in matcher.taken(number, merges, True)
            ]
        except RejectedRecord as rejected:
            chart.sample.reject(rejected)
            continue
        _note_score(chart, _matching(units, *matcher.left(number)))


def _joined(
    kind: Literal["split", "merge"], chart: TextChart, whole: int, parts: Sequence[int], options: ChartOptions
) -> Unit:
    """Returns a unit of a block and its parts in reading order; its IoU is that with their bounding box, weighted."""
    wholes, others = (chart.truths, chart.predictions) if kind == "split" else (chart.predictions, chart.truths)
    placed = [(part, others.boxes[part].corners()) for part in parts]
    placed.sort(key=_reading_order)
    bounding = (
        min([corners[0] for _, corners in placed]),
        min([corners[1] for _, corners in placed]),
        max([corners[2] for _, corners in placed]),
        max([corners[3] for _, corners in placed]),
    )
    iou = options.scattered_weight * corners_iou(*wholes.boxes[whole].corners(), *bounding)
    text = " ".join([others.texts[part] for part, _ in placed])
    whole_ids, part_ids = [wholes.identifiers[whole]], listed([others.identifiers[part] for part, _ in placed])
    if kind == "split":
        score = _text_score(chart, wholes.texts[whole], text)
        return Unit(kind, whole_ids, part_ids, iou, score, shortened(wholes.texts[whole]), shortened(text))
    score = _text_score(chart, text, wholes.texts[whole])
    return Unit(kind, part_ids, whole_ids, iou, score, shortened(text), shortened(wholes.texts[whole]))


def _reading_order(placed: tuple[int, tuple[float, float, float, float]]) -> tuple[float, float]:
    _, (left, top, _, bottom) = placed
    return (top + bottom) / 2, left


def _pair(chart: TextChart, truth: int, prediction: int, iou: float) -> Unit:
    """Returns the unit of two blocks."""
    truths, predictions = chart.truths, chart.predictions
    text, predicted = truths.texts[truth], predictions.texts[prediction]
    ids = [truths.identifiers[truth]], [predictions.identifiers[prediction]]
    score = 1.0 if text == predicted else _text_score(chart, text, predicted)
    if len(text) > MAX_DETAIL_LENGTH or len(predicted) > MAX_DETAIL_LENGTH:
        text, predicted = shortened(text), shortened(predicted)
    return Unit("pair", *ids, iou, score, text, predicted)


def _text_score(chart: TextChart, truth: str, predicted: str) -> float:
    """Returns 1 - CER, and spends the steps of computing it."""
    if truth == predicted:
        return 1.0
    chart.sample.budget.spend(error_rate_steps(truth, predicted))
    return 1 - character_error_rate(truth, predicted)


def _matching(units: Sequence[Unit], missed: Sequence[int], extra: Sequence[int]) -> Matching:
    detection = _share(sum([unit.iou for unit in units]), len(units) + max(len(missed), len(extra)))
    recognition = _share(sum([unit.text_score for unit in units]), len(units) + len(missed) + len(extra))
    return Matching(units, detection, recognition, missed, extra)


def _score_released(charts: Sequence[TextChart], options: ChartOptions) -> None:
    """Scores each chart; a truth takes the first prediction that overlaps enough, as in metric2.py."""
    for chart in charts:
        try:
            _note_score(chart, _match_released(chart, options))
        except RejectedRecord as rejected:
            chart.sample.reject(rejected)


def _match_released(chart: TextChart, options: ChartOptions) -> Matching:
    truths, predictions = chart.truths, chart.predictions
    true_boxes, predicted_boxes = truths.corners(range(len(truths))), predictions.corners(range(len(predictions)))
    units: list[Unit] = []
    taken_truths, taken_predictions = set(), set()
    for truth in range(len(truths) if len(predictions) else 0):
        ious = box_ious(true_boxes[truth : truth + 1], predicted_boxes, PIXEL)[0]
        prediction = int((ious >= options.text_iou).argmax())
        if ious[prediction] < options.text_iou:
            continue
        units.append(_pair(chart, truth, prediction, float(ious[prediction])))
        taken_truths.add(truth)
        taken_predictions.add(prediction)
    larger = max(len(truths), len(predictions))
    detection = _share(sum([unit.iou for unit in units]), larger)
    recognition = _share(sum([unit.text_score for unit in units]), len(truths) or larger)
    missed = [index for index in range(len(truths)) if index not in taken_truths]
    extra = [index for index in range(len(predictions)) if index not in taken_predictions]
    return Matching(units, detection, recognition, missed, extra)


def _share(total: float, count: int) -> float:
    return total / count if count else 1.0


def _note_score(chart: TextChart, matching: Matching) -> None:
    detection, recognition = matching.detection, matching.recognition
    if not chart.attempted:
        detection = recognition = 0.0
    details = {
        "matched": listed(matching.units),
        "missed": _blocks_details(chart.truths, matching.missed),
        "extra": _blocks_details(chart.predictions, matching.extra),
    }
    statistics, metrics = chart.sample.statistics, chart.sample.metrics
    statistics["task2.charts"] = 1
    statistics["task2.detection"] = metrics["task2.detection"] = detection
    statistics["task2.recognition"] = metrics["task2.recognition"] = recognition
    chart.sample.add("task2", f_measure(detection, recognition), details, chart.attempted)


def _blocks_details(blocks: Blocks, places: Sequence[int]) -> list[LeftBlock]:
    return [LeftBlock(blocks.identifiers[place], shortened(blocks.texts[place])) for place in listed(places)]
