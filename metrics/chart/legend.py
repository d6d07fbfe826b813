"""Task 5: legend analysis.

    score = sum of the IoU of pairs with the same label id / max(ground truths, predictions)

A chart without a legend scores 1 where nothing is predicted, else 0; without a prediction every chart scores 0.
Published: two equal boxes have IoU 1 even without area, such as the line of a line chart. Released (metric5.py): a box
without area has IoU 0 with every box.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metrics.chart.options import ChartOptions
from metrics.chart.records import Legend, LegendPair, identifier_text
from metrics.chart.task_score import TaskScore, listed, mean_score
from metrics.common.geometry import box_ious


def score_legend(truth: Legend, prediction: Legend | None, options: ChartOptions) -> TaskScore:
    """Scores task 5 of one chart; pairs of the same id are matched in their order."""
    truths = truth.legend_pairs or []
    predictions = (prediction.legend_pairs if prediction else None) or []
    waiting: dict[str | None, list[LegendPair]] = {}
    for pair in reversed(predictions):
        waiting.setdefault(identifier_text(pair.id), []).append(pair)
    waiting.pop(None, None)
    total = 0.0
    details: list[dict[str, Any]] = []
    for pair in truths:
        key = identifier_text(pair.id)
        matches = waiting.get(key)
        iou = _iou(pair, matches.pop(), options) if matches else None
        total += iou or 0.0
        details.append({"id": key, "kind": "missed" if iou is None else "matched", "iou": iou})
    matched = sum(entry["kind"] == "matched" for entry in details)
    larger = max(len(truths), len(predictions))
    score = total / larger if larger else 1.0
    if prediction is None:
        score = 0.0
    return mean_score("task5", score, {"pairs": listed(details), "extra": len(predictions) - matched})


def _iou(truth: LegendPair, prediction: LegendPair, options: ChartOptions) -> float:
    first, second = truth.bb.corners(), prediction.bb.corners()
    if first == second and options.protocol == "published":
        return 1.0
    return float(box_ious(np.array([first]), np.array([second]))[0, 0])
