"""Task 5: legend analysis.

    score = sum of the IoU of pairs with the same label id / max(ground truths, predictions)

A chart without a legend scores 1 where nothing is predicted, else 0; without a prediction every chart scores 0.
Published: two equal boxes have IoU 1 even without area, such as the line of a line chart. Released (metric5.py): a box
without area has IoU 0 with every box.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from .boxes import box_iou
from .options import ChartOptions
from .records import LegendPair, matched_by_identifier
from .task_score import TaskScore, listed, mean_score


class ScoredPair(msgspec.Struct, frozen=True, gc=False):
    """What became of a true pair, as the details have it; iou: None where it is missed."""

    id: str | None
    kind: str
    iou: float | None


class LegendDetails(msgspec.Struct, frozen=True, gc=False):
    """What became of the true pairs, and how many predicted ones are left."""

    pairs: Sequence[ScoredPair]
    extra: int


def score_legend(
    truths: Sequence[LegendPair], predictions: Sequence[LegendPair] | None, options: ChartOptions
) -> TaskScore:
    """Returns the score of one chart; predictions: None where the prediction has no legend."""
    given = predictions or ()
    published = options.protocol == "published"
    matched, extra = matched_by_identifier(truths, given)
    total = 0.0
    pairs: list[ScoredPair] = []
    for key, truth, match in matched:
        if match is None:
            pairs.append(ScoredPair(key, "missed", None))
            continue
        first, second = truth.bb.corners(), match.bb.corners()
        iou = 1.0 if published and first == second else box_iou(first, second)
        total += iou
        pairs.append(ScoredPair(key, "matched", iou))
    larger = max(len(truths), len(given))
    score = total / larger if larger else 1.0
    return mean_score("task5", score, LegendDetails(listed(pairs), len(extra)), predictions is not None)
