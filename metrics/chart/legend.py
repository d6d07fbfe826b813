"""Task 5: legend analysis.

    score = sum of the IoU of pairs with the same label id / max(ground truths, predictions)

A chart without a legend scores 1 where nothing is predicted, else 0; without a prediction every chart scores 0.
Published: two equal boxes have IoU 1 even without area, such as the line of a line chart. Released (metric5.py): a box
without area has IoU 0 with every box.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from metrics.chart.options import ChartOptions
from metrics.chart.records import Box, Identifier, LegendPair
from metrics.chart.sample import ChartSample, Memo, TaskResults
from metrics.chart.task_score import TaskScore, listed, mean_score


def score_legends(
    samples: Iterable[ChartSample], identifiers: Memo[Identifier, str | None], options: ChartOptions
) -> TaskResults:
    """Scores task 5 of the charts that have it."""
    published = options.protocol == "published"
    for sample in samples:
        task, prediction = sample.truth.task5, sample.prediction
        if task is None or task.output is None or task.output.legend_pairs is None:
            continue
        given = None
        if prediction is not None and prediction.task5 is not None and prediction.task5.output is not None:
            given = prediction.task5.output.legend_pairs
        yield sample, _score_legend(task.output.legend_pairs, given, identifiers, published)


def _score_legend(
    truths: Sequence[LegendPair],
    given: Sequence[LegendPair] | None,
    identifiers: Memo[Identifier, str | None],
    published: bool,
) -> TaskScore:
    """Scores one chart; pairs of the same id are matched in their order, pairs without an id are not matched."""
    predictions = given or ()
    unique = {identifiers[pair.id]: pair for pair in predictions}
    repeated = _repeated(predictions, identifiers) if len(unique) < len(predictions) else None
    unique.pop(None, None)
    total = 0.0
    matched = 0
    details: list[dict[str, Any]] = []
    for pair in truths:
        key = identifiers[pair.id]
        if repeated is not None and key in repeated:
            match = repeated[key].pop() if repeated[key] else None
        else:
            match = unique.pop(key, None)
        if match is None:
            details.append({"id": key, "kind": "missed", "iou": None})
            continue
        iou = box_iou(pair.bb, match.bb, published)
        total += iou
        matched += 1
        details.append({"id": key, "kind": "matched", "iou": iou})
    larger = max(len(truths), len(predictions))
    score = total / larger if larger else 1.0
    if given is None:
        score = 0.0
    return mean_score(
        "task5", score, {"pairs": listed(details), "extra": len(predictions) - matched}, given is not None
    )


def _repeated(
    predictions: Sequence[LegendPair], identifiers: Memo[Identifier, str | None]
) -> dict[str | None, list[LegendPair]]:
    """Returns the pairs of each id, the last one first."""
    waiting: dict[str | None, list[LegendPair]] = {}
    for pair in reversed(predictions):
        waiting.setdefault(identifiers[pair.id], []).append(pair)
    waiting.pop(None, None)
    return waiting


def box_iou(first: Box, second: Box, published: bool) -> float:
    """Returns intersection over union; two boxes without area have 0 or, as published, 1 where they are equal.

    In plain floats, and to the last bit what `metrics.common.geometry.box_ious` computes for arrays.
    """
    if published and first == second:
        return 1.0
    left, top, other_left, other_top = first.x0, first.y0, second.x0, second.y0
    right, bottom = left + first.width, top + first.height
    other_right, other_bottom = other_left + second.width, other_top + second.height
    if published and (left, top, right, bottom) == (other_left, other_top, other_right, other_bottom):
        return 1.0
    width = min(right, other_right) - max(left, other_left)
    height = min(bottom, other_bottom) - max(top, other_top)
    if width <= 0.0 or height <= 0.0:
        return 0.0
    shared = width * height
    union = (right - left) * (bottom - top) + (other_right - other_left) * (other_bottom - other_top) - shared
    return shared / union if union > 0.0 else 0.0
