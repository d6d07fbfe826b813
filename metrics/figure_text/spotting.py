"""What is compared pair by pair: end-to-end reading and the agreement of two annotators.

End to end, after ICDAR 2003: a detection is a correctly spotted word where (area in common) / (smallest upright
rectangle that holds both) is above a threshold and the text is the same, one to one. Always measured on upright
rectangles, which is how it is defined: an exact copy of a bent polygon would otherwise miss the threshold.

Agreement: 2 common / (sum of the areas) reaches a threshold, one to one; for the text, it is the same as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metrics.common.budget import Budget
from metrics.figure_text.overlaps import Overlaps, measure, pair_boxes
from metrics.figure_text.pairing import pair_up
from metrics.figure_text.regions import BoolArray, FloatArray, IntArray

PairList = list[tuple[int, int]]


def spot(
    overlaps: Overlaps,
    texts: tuple[IntArray, IntArray],
    threshold: float,
    counts: BoolArray,
    covered: BoolArray,
    budget: Budget,
) -> list[PairList]:
    """Returns the (ground truth, detection) pairs of correctly spotted words, one list for each of S subsets.

    texts: numbers for the texts of both sides, int [G] and [D], as `text_numbers` gives them.
    counts: bool [S, G], the ground-truth regions that count; covered: bool [S, D], the detections that don't.
    """
    if overlaps.truths.polygons is not None and (texts[1] >= 0).any():
        overlaps = measure(overlaps.truths.as_rectangles(), overlaps.detections.as_rectangles(), budget)
    candidates = np.flatnonzero(texts[0][overlaps.rows] == texts[1][overlaps.columns])
    shares = _share_of_hull(overlaps, candidates)
    return _pairs(overlaps, candidates[shares > threshold], shares[shares > threshold], counts, covered, budget)


def agree(
    overlaps: Overlaps,
    texts: tuple[IntArray, IntArray],
    threshold: float,
    counts: BoolArray,
    covered: BoolArray,
    budget: Budget,
) -> tuple[PairList, PairList]:
    """Returns the pairs that agree in location, and those that agree in location and text; `counts` has one row."""
    near = np.flatnonzero(overlaps.dice >= threshold)
    same = near[texts[0][overlaps.rows[near]] == texts[1][overlaps.columns[near]]]
    dice = overlaps.dice
    [location] = _pairs(overlaps, near, dice[near], counts, covered, budget)
    [text] = _pairs(overlaps, same, dice[same], counts, covered, budget)
    return location, text


def text_numbers(
    truths: Sequence[str | None], predictions: Sequence[str | None], case_sensitive: bool
) -> tuple[IntArray, IntArray]:
    """Returns numbers for the texts, equal for equal texts; a text that is not given is negative and equals nothing."""
    numbers: dict[str, int] = {}
    one, other = (
        np.array(
            [
                missing
                if text is None
                else numbers.setdefault(text if case_sensitive else text.casefold(), len(numbers))
                for text in texts
            ],
            dtype=np.intp,
        )
        for texts, missing in ((truths, -1), (predictions, -2))
    )
    return one, other


def _share_of_hull(overlaps: Overlaps, candidates: IntArray) -> FloatArray:
    rows, columns = overlaps.rows[candidates], overlaps.columns[candidates]
    one, other = pair_boxes(overlaps.truths, overlaps.detections, rows, columns)
    sides = np.maximum(one[:, 2:], other[:, 2:]) - np.minimum(one[:, :2], other[:, :2])
    shares: FloatArray = overlaps.common[candidates] / np.prod(sides, axis=1)
    return shares


def _pairs(
    overlaps: Overlaps, candidates: IntArray, scores: FloatArray, counts: BoolArray, covered: BoolArray, budget: Budget
) -> list[PairList]:
    rows, columns = overlaps.rows[candidates], overlaps.columns[candidates]
    taken = pair_up(rows, columns, scores, counts[:, rows] & ~covered[:, columns], budget)
    return [list(zip(rows[some].tolist(), columns[some].tolist(), strict=True)) for some in taken]
