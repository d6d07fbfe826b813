"""Task 5: legend analysis.

    score = sum of the IoU of pairs with the same label id / max(ground truths, predictions)

A chart without a legend scores 1 where nothing is predicted, else 0; without a prediction every chart scores 0.
Published: two equal boxes have IoU 1 even without area, such as the line of a line chart. Released (metric5.py): a box
without area has IoU 0 with every box.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from .batch import Batch
from .details import listed
from .options import ChartOptions
from .records import Box, Identifier, LegendPair
from .sample import Memo


class ScoredPair(msgspec.Struct, frozen=True, gc=False):
    """What became of a true pair, as the details have it; iou: None where it is missed."""

    id: str | None
    kind: str
    iou: float | None


class LegendDetails(msgspec.Struct, frozen=True, gc=False):
    """What became of the true pairs, and how many predicted ones are left."""

    pairs: Sequence[ScoredPair]
    extra: int


def score_legends(batch: Batch, options: ChartOptions) -> None:
    """Scores task 5 of the charts that have it; released, of those with a prediction."""
    published = options.protocol == "published"
    identifiers = batch.identifiers
    for sample, truths, given in batch.rows(batch.truths.legend_pairs, batch.predictions.legend_pairs):
        if truths is None or not sample.is_open or not (published or sample.prediction is not None):
            continue
        predictions = given or ()
        pairs, total, matched = _pairs_in_order(truths, predictions, identifiers, published) or _scored_pairs(
            truths, predictions, identifiers, published
        )
        count, other_count = len(truths), len(predictions)
        larger = count if count > other_count else other_count
        score = 0.0 if given is None else total / larger if larger else 1.0
        statistics = sample.statistics
        statistics["task5.charts"] = 1
        statistics["task5.score"] = sample.metrics["task5.score"] = score
        sample.add("task5", score, LegendDetails(listed(pairs), other_count - matched), given is not None)


def _scored_pairs(
    truths: Sequence[LegendPair],
    predictions: Sequence[LegendPair],
    identifiers: Memo[Identifier, str | None],
    published: bool,
) -> tuple[list[ScoredPair], float, int]:
    """Returns what became of each true pair, the sum of the IoU and the number of matches.

    Pairs of the same id are matched in their order, and so are those without an id.
    """
    if not predictions:
        return [ScoredPair(identifiers[pair.id], "missed", None) for pair in truths], 0.0, 0
    waiting = {identifiers[pair.id]: pair.bb for pair in predictions}
    repeated = _repeated(predictions, identifiers) if len(waiting) < len(predictions) else {}
    total = 0.0
    matched = 0
    scored: list[ScoredPair] = []
    for pair in truths:
        key = identifiers[pair.id]
        match = waiting.pop(key, None)
        if match is None:
            scored.append(ScoredPair(key, "missed", None))
            continue
        if repeated and key in repeated:
            match = _first(key, waiting, repeated)
        iou = box_iou(pair.bb, match, published)
        total += iou
        matched += 1
        scored.append(ScoredPair(key, "matched", iou))
    return scored, total, matched


def _pairs_in_order(
    truths: Sequence[LegendPair],
    predictions: Sequence[LegendPair],
    identifiers: Memo[Identifier, str | None],
    published: bool,
) -> tuple[list[ScoredPair], float, int] | None:
    """Returns what `_scored_pairs` does where all have the same ids in the same order; None where not.

    The first pair of an id then stands in the same place on both sides, and so do the second and all further ones.
    """
    if len(truths) != len(predictions):
        return None
    total = 0.0
    scored: list[ScoredPair] = []
    for pair, match in zip(truths, predictions, strict=True):
        if pair.id != match.id:
            return None
        iou = box_iou(pair.bb, match.bb, published)
        total += iou
        scored.append(ScoredPair(identifiers[pair.id], "matched", iou))
    return scored, total, len(scored)


def _repeated(
    predictions: Sequence[LegendPair], identifiers: Memo[Identifier, str | None]
) -> dict[str | None, list[Box]]:
    """Returns the boxes of each id that is repeated, the last one first."""
    boxes: dict[str | None, list[Box]] = {}
    for pair in reversed(predictions):
        boxes.setdefault(identifiers[pair.id], []).append(pair.bb)
    return {key: of_id for key, of_id in boxes.items() if len(of_id) > 1}


def _first(key: str | None, waiting: dict[str | None, Box], repeated: dict[str | None, list[Box]]) -> Box:
    """Returns the first box left of an id that is repeated; as long as there are more, one of them waits."""
    first = repeated[key].pop()
    if repeated[key]:
        waiting[key] = first
    return first


def box_iou(first: Box, second: Box, published: bool) -> float:
    """Returns intersection over union; two boxes without area have 0 or, as published, 1 where they are equal."""
    left, top, other_left, other_top = first.x0, first.y0, second.x0, second.y0
    right, bottom = left + first.width, top + first.height
    other_right, other_bottom = other_left + second.width, other_top + second.height
    iou = corners_iou(left, top, right, bottom, other_left, other_top, other_right, other_bottom)
    if iou or not published:
        return iou
    return float(left == other_left and top == other_top and right == other_right and bottom == other_bottom)


def corners_iou(
    left: float,
    top: float,
    right: float,
    bottom: float,
    other_left: float,
    other_top: float,
    other_right: float,
    other_bottom: float,
) -> float:
    """Returns intersection over union of two boxes by their corners; boxes without area have 0.

    In plain floats, and to the last bit what `metrics.common.geometry.box_ious` computes for arrays.
    """
    width = (other_right if other_right < right else right) - (other_left if other_left > left else left)
    height = (other_bottom if other_bottom < bottom else bottom) - (other_top if other_top > top else top)
    if width <= 0.0 or height <= 0.0:
        return 0.0
    shared = width * height
    union = (right - left) * (bottom - top) + (other_right - other_left) * (other_bottom - other_top) - shared
    return shared / union if union > 0.0 else 0.0
