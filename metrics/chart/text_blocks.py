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

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from metrics.benchmark import RejectedRecord, Side
from metrics.chart.batch import Batch
from metrics.chart.box_overlaps import Indexes, Overlaps, Sides, overlaps_of
from metrics.chart.details import MAX_DETAIL_LENGTH, listed, shortened
from metrics.chart.names import read_text
from metrics.chart.options import ChartOptions
from metrics.chart.records import Box, Identifier, TextBlock
from metrics.chart.sample import ChartSample, Memo
from metrics.chart.work import error_rate_steps, pair_steps
from metrics.common.budget import Budget
from metrics.common.geometry import Array, box_ious
from metrics.common.text import character_error_rate
from metrics.statistics.ratios import f_measure

PIXEL = 1.0
# Charts are matched together up to so many pairs of blocks, and so many overlapping pairs are listed at once.
MAX_CELLS = 1 << 18
MAX_LISTED_PAIRS = 1 << 16
MAX_UNSPENT_STEPS = 1000

ReadText = tuple[str, int, bool]
"""A text as it is compared, the steps of reading it, and whether the block counts."""


class Blocks(msgspec.Struct, frozen=True):
    """The blocks of one side that count: boxes, normalised texts and ids."""

    boxes: Sequence[Box]
    texts: Sequence[str]
    identifiers: Sequence[str | None]

    def corners(self, places: Iterable[int]) -> Array:
        """Returns (x0, y0, x1, y1) of the blocks at `places`, `[N, 4]`."""
        return np.array([self.boxes[place].corners() for place in places], dtype=np.float64).reshape(-1, 4)

    def __len__(self) -> int:
        return len(self.texts)


class Unit(msgspec.Struct, frozen=True):
    """Ground-truth blocks and predicted blocks that stand for each other."""

    kind: Literal["pair", "split", "merge"]
    truths: Sequence[int]
    predictions: Sequence[int]
    iou: float
    text_score: float


class Matching(msgspec.Struct, frozen=True):
    """The units of one chart, its scores, and what is left on both sides."""

    units: Sequence[Unit]
    detection: float
    recognition: float
    missed: Sequence[int]
    extra: Sequence[int]


class TextChart(msgspec.Struct, frozen=True):
    """One chart with the blocks of both sides, and whether there is a prediction."""

    sample: ChartSample
    truths: Blocks
    predictions: Blocks
    attempted: bool


def score_text_blocks(batch: Batch, options: ChartOptions) -> None:
    """Scores task 2 of the charts that have it; no prediction scores 0, two empty lists of blocks score 1."""
    score_charts = _score_published if options.protocol == "published" else _score_released
    texts: dict[str | None, ReadText] = {}
    charts: list[TextChart] = []
    cells = 0
    for sample, truths, given in zip(
        batch.samples, batch.truths.text_blocks, batch.predictions.text_blocks, strict=True
    ):
        if truths is None or not sample.is_open:
            continue
        try:
            chart = _read_chart(sample, truths, given, texts, batch.identifiers)
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


def _read_chart(
    sample: ChartSample,
    truth: Sequence[TextBlock],
    given: Sequence[TextBlock] | None,
    texts: dict[str | None, ReadText],
    identifiers: Memo[Identifier, str | None],
) -> TextChart:
    """Returns a chart with its blocks."""
    truths = _read_blocks(truth, "ground_truth", sample.budget, texts, identifiers)
    predictions = _read_blocks(given or (), "prediction", sample.budget, texts, identifiers)
    sample.budget.spend(pair_steps(len(truths), len(predictions), 4))
    return TextChart(sample, truths, predictions, given is not None)


def _read_blocks(
    blocks: Sequence[TextBlock],
    side: Side,
    budget: Budget,
    texts: dict[str | None, ReadText],
    identifiers: Memo[Identifier, str | None],
) -> Blocks:
    """Returns the blocks without those whose text holds `__`; a text that several blocks have is read once."""
    if not blocks:
        return Blocks((), (), ())
    found = [texts.get(block.text) for block in blocks]
    read = [each for each in found if each is not None]
    if len(read) < len(found):
        read = list(_read_each(blocks, side, budget, texts))
    else:
        budget.spend_reading(side, sum([steps for _, steps, _ in read]))
    if sum([counts for _, _, counts in read]) < len(read):
        blocks = [block for block, (_, _, counts) in zip(blocks, read, strict=True) if counts]
        read = [each for each in read if each[2]]
    return Blocks(
        [block.bb for block in blocks], [text for text, _, _ in read], [identifiers[block.id] for block in blocks]
    )


def _read_each(
    blocks: Iterable[TextBlock], side: Side, budget: Budget, texts: dict[str | None, ReadText]
) -> Iterator[ReadText]:
    """Yields how the text of each block reads; spends the steps of a few before more are read."""
    unspent = 0
    for block in blocks:
        read = texts.get(block.text)
        if read is None:
            text, steps = read_text(block.text or "")
            read = texts[block.text] = text, steps, "__" not in text
        unspent += read[1]
        if unspent > MAX_UNSPENT_STEPS:
            budget.spend_reading(side, unspent)
            unspent = 0
        yield read
    budget.spend_reading(side, unspent)


def _score_published(charts: Sequence[TextChart], options: ChartOptions) -> None:
    """Scores charts whose boxes are compared together."""
    truths = Sides.of([chart.truths.boxes for chart in charts])
    predictions = Sides.of([chart.predictions.boxes for chart in charts])
    matcher = _Matcher(truths, predictions, overlaps_of(truths, predictions), options)
    pairs = matcher.best_pairs()
    splits, merges = matcher.splits(), matcher.merges()
    for number, chart in enumerate(charts):
        try:
            units = [
                _unit(
                    "pair",
                    chart,
                    [truth],
                    [prediction],
                    iou,
                    chart.truths.texts[truth],
                    chart.predictions.texts[prediction],
                )
                for truth, prediction, iou in pairs[number]
            ]
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


Candidates = dict[int, dict[int, list[tuple[int, float]]]]
"""By chart and block: the free blocks of the other side that lie in it, and the area that they share with it."""


class _Matcher:
    """Matches the boxes of many charts; each box is taken once."""

    def __init__(self, truths: Sides, predictions: Sides, overlaps: Overlaps, options: ChartOptions) -> None:
        self._truths, self._predictions, self._overlaps, self._options = truths, predictions, overlaps, options
        self._starts = truths.starts.tolist(), predictions.starts.tolist()
        self._free = bytearray(b"\x01" * len(truths.areas)), bytearray(b"\x01" * len(predictions.areas))
        self._charts = np.repeat(np.arange(len(truths.starts) - 1), np.diff(truths.starts))[overlaps.rows]

    def best_pairs(self) -> list[list[tuple[int, int, float]]]:
        """Takes pairs (truth, prediction, IoU) of each chart from `text_iou` on, best first.

        Ties are taken in the order of truths, then predictions.
        """
        rows, columns, _, ious = self._overlaps
        free_truths, free_predictions = self._free
        starts, other_starts = self._starts
        pairs: list[list[tuple[int, int, float]]] = [[] for _ in starts[1:]]
        places = np.flatnonzero((ious >= self._options.text_iou) & (ious > 0))
        places = places[np.lexsort((-ious[places], self._charts[places]))]
        for start in range(0, len(places), MAX_LISTED_PAIRS):
            listed_places = places[start : start + MAX_LISTED_PAIRS]
            listed_places = listed_places[self._are_free(listed_places)]
            columns_of = (each[listed_places].tolist() for each in (self._charts, rows, columns, ious))
            for chart, truth, prediction, iou in zip(*columns_of, strict=True):
                if free_truths[truth] and free_predictions[prediction]:
                    free_truths[truth] = free_predictions[prediction] = 0
                    pairs[chart].append((truth - starts[chart], prediction - other_starts[chart], iou))
        return pairs

    def _are_free(self, places: Indexes) -> npt.NDArray[np.bool_]:
        free_truths, free_predictions = (np.frombuffer(side, dtype=np.bool_) for side in self._free)
        return np.asarray(free_truths[self._overlaps.rows[places]] & free_predictions[self._overlaps.columns[places]])

    def splits(self) -> Candidates:
        """Returns the free predictions that may be parts of free truths."""
        rows, columns, shared, _ = self._overlaps
        inside = shared > self._options.split_part * self._predictions.areas[columns]
        return self._candidates(inside, rows, columns, self._starts)

    def merges(self) -> Candidates:
        """Returns the free truths that may be parts of free predictions."""
        rows, columns, shared, _ = self._overlaps
        inside = shared > self._options.merge_part * self._truths.areas[rows]
        return self._candidates(inside, columns, rows, self._starts[::-1])

    def _candidates(
        self, inside: npt.NDArray[np.bool_], wholes: Indexes, parts: Indexes, starts: tuple[list[int], list[int]]
    ) -> Candidates:
        candidates: Candidates = {}
        places = np.flatnonzero(inside)
        places = places[self._are_free(places)]
        arrays = (self._charts, wholes, parts, self._overlaps.shared)
        for chart, whole, part, shared in zip(*(each[places].tolist() for each in arrays), strict=True):
            of_chart = candidates.setdefault(chart, {})
            of_chart.setdefault(whole - starts[0][chart], []).append((part - starts[1][chart], shared))
        return candidates

    def taken(self, chart: int, candidates: Candidates, merging: bool) -> Iterator[tuple[int, list[int]]]:
        """Yields each free block of a chart with two or more free parts that cover it, in order, and takes both."""
        if chart not in candidates:
            return
        sides, cover = (self._truths, self._predictions), self._options.split_cover
        free, starts = self._free, (self._starts[0][chart], self._starts[1][chart])
        if merging:
            sides, cover = sides[::-1], self._options.merge_cover
            free, starts = free[::-1], starts[::-1]
        for whole, all_parts in sorted(candidates[chart].items()):
            parts = [part for part in all_parts if free[1][starts[1] + part[0]]]
            if len(parts) < 2 or not free[0][starts[0] + whole]:
                continue
            if np.array([shared for _, shared in parts]).sum() >= cover * sides[0].areas[starts[0] + whole]:
                free[0][starts[0] + whole] = 0
                for part, _ in parts:
                    free[1][starts[1] + part] = 0
                yield whole, [part for part, _ in parts]

    def left(self, chart: int) -> tuple[list[int], list[int]]:
        """Returns the free truths and the free predictions of a chart."""
        truths, predictions = (
            [place for place, is_free in enumerate(free[starts[chart] : starts[chart + 1]]) if is_free]
            for free, starts in zip(self._free, self._starts, strict=True)
        )
        return truths, predictions


def _joined(
    kind: Literal["split", "merge"], chart: TextChart, whole: int, parts: Sequence[int], options: ChartOptions
) -> Unit:
    """Returns a unit of a block and its parts in reading order; its IoU is that with their bounding box, weighted."""
    wholes, others = (chart.truths, chart.predictions) if kind == "split" else (chart.predictions, chart.truths)
    boxes = others.corners(parts)
    ordered = [parts[place] for place in np.lexsort((boxes[:, 0], (boxes[:, 1] + boxes[:, 3]) / 2)).tolist()]
    bounding = np.concatenate((boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)))
    iou = options.scattered_weight * float(box_ious(wholes.corners([whole]), bounding[None, :])[0, 0])
    text = " ".join([others.texts[part] for part in ordered])
    if kind == "split":
        return _unit(kind, chart, [whole], ordered, iou, wholes.texts[whole], text)
    return _unit(kind, chart, ordered, [whole], iou, text, wholes.texts[whole])


def _unit(
    kind: Literal["pair", "split", "merge"],
    chart: TextChart,
    truths: Sequence[int],
    predictions: Sequence[int],
    iou: float,
    truth: str,
    predicted: str,
) -> Unit:
    if truth == predicted:
        return Unit(kind, truths, predictions, iou, 1.0)
    chart.sample.budget.spend(error_rate_steps(truth, predicted))
    return Unit(kind, truths, predictions, iou, 1 - character_error_rate(truth, predicted))


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
    units = []
    for truth in range(len(truths) if len(predictions) else 0):
        ious = box_ious(true_boxes[truth : truth + 1], predicted_boxes, PIXEL)[0]
        prediction = int((ious >= options.text_iou).argmax())
        if ious[prediction] < options.text_iou:
            continue
        texts = truths.texts[truth], predictions.texts[prediction]
        units.append(_unit("pair", chart, [truth], [prediction], float(ious[prediction]), *texts))
    taken_truths = {unit.truths[0] for unit in units}
    taken_predictions = {unit.predictions[0] for unit in units}
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
        "matched": [_unit_details(unit, chart) for unit in listed(matching.units)],
        "missed": _blocks_details(chart.truths, matching.missed),
        "extra": _blocks_details(chart.predictions, matching.extra),
    }
    statistics, metrics = chart.sample.statistics, chart.sample.metrics
    statistics["task2.charts"] = 1
    statistics["task2.detection"] = metrics["task2.detection"] = detection
    statistics["task2.recognition"] = metrics["task2.recognition"] = recognition
    chart.sample.add("task2", f_measure(detection, recognition), details, chart.attempted)


def _unit_details(unit: Unit, chart: TextChart) -> dict[str, Any]:
    truths, predictions = chart.truths, chart.predictions
    if unit.kind == "pair":
        [truth], [prediction] = unit.truths, unit.predictions
        text, predicted = truths.texts[truth], predictions.texts[prediction]
        return {
            "kind": "pair",
            "truth_ids": [truths.identifiers[truth]],
            "prediction_ids": [predictions.identifiers[prediction]],
            "iou": unit.iou,
            "text_score": unit.text_score,
            "truth": text if len(text) <= MAX_DETAIL_LENGTH else shortened(text),
            "predicted": predicted if len(predicted) <= MAX_DETAIL_LENGTH else shortened(predicted),
        }
    return {
        "kind": unit.kind,
        "truth_ids": listed([truths.identifiers[index] for index in unit.truths]),
        "prediction_ids": listed([predictions.identifiers[index] for index in unit.predictions]),
        "iou": unit.iou,
        "text_score": unit.text_score,
        "truth": shortened(" ".join([truths.texts[index] for index in unit.truths])),
        "predicted": shortened(" ".join([predictions.texts[index] for index in unit.predictions])),
    }


def _blocks_details(blocks: Blocks, places: Sequence[int]) -> list[dict[str, Any]]:
    return [{"id": blocks.identifiers[place], "text": shortened(blocks.texts[place])} for place in listed(places)]
