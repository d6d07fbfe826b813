"""Task 5: legend analysis.

    score = sum of the IoU of pairs with the same label id / max(ground truths, predictions)

A chart without a legend scores 1 where nothing is predicted, else 0; without a prediction every chart scores 0.
Published: two equal boxes have IoU 1 even without area, such as the line of a line chart. Released (metric5.py): a box
without area has IoU 0 with every box.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .boxes import box_iou
from .records import ChartOptions, LegendPair, matched_by_identifier
from .task_score import TaskScore, listed, mean_score


def score_legend(
    truths: Sequence[LegendPair], predictions: Sequence[LegendPair] | None, options: ChartOptions
) -> TaskScore:
    """Returns the score of one chart; predictions: None where the prediction has no legend."""
    given = predictions or ()
    published = options.protocol == "published"
    matched, extra = matched_by_identifier(truths, given)
    total = 0.0
    pairs: list[dict[str, Any]] = []
    for key, truth, match in matched:
        if match is None:
            pairs.append({"id": key, "kind": "missed", "iou": None})
            continue
        first, second = truth.bb.corners(), match.bb.corners()
        iou = 1.0 if published and first == second else box_iou(first, second)
        total += iou
        pairs.append({"id": key, "kind": "matched", "iou": iou})
    larger = max(len(truths), len(given))
    score = total / larger if larger else 1.0
    return mean_score("task5", score, {"pairs": listed(pairs), "extra": len(extra)}, predictions is not None)
