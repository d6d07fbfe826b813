"""What is compared pair by pair: end-to-end reading and the agreement of two annotators.

End to end, after ICDAR 2003: a detection is a correctly spotted word where (area in common) / (smallest upright
rectangle that holds both) is above a threshold and the text is the same, one to one. Always measured on upright
rectangles, which is how it is defined: an exact copy of a bent polygon would otherwise miss the threshold.

Agreement: 2 common / (sum of the areas) reaches a threshold, one to one; for the text, it is the same as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..common.budget import Budget
from .arrays import BoolArray, FloatArray, IntArray
from .figure import compared_text
from .overlaps import Overlaps, measure, pair_boxes
from .pairing import maximum_matching

PairList = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Pairing:
    """One-to-one pairs in each of S choices of the regions that count.

    rows, columns: int [P], the ground truth and the detection of each pair that may be.
    taken: bool [S, P], the pairs that are.
    """

    rows: IntArray
    columns: IntArray
    taken: BoolArray

    def pairs(self, choice: int) -> PairList:
        """Returns the (ground truth, detection) pairs of one choice."""
        some = self.taken[choice]
        return list(zip(self.rows[some].tolist(), self.columns[some].tolist(), strict=True))

    def counts(self, owners: IntArray, figures: int) -> IntArray:
        """Returns how many pairs each choice has of each figure, int [S, F]; owners: int [G], the figures of rows."""
        mine = owners[self.rows]
        return np.array([np.bincount(mine[some], minlength=figures) for some in self.taken])


@dataclass(frozen=True, slots=True)
class CareMasks:
    """What counts in each of S choices, such as all regions or those of a subset.

    care: bool [S, G], the ground-truth regions that count; dont_care: bool [S, D], the detections that do not.
    sizes: how many of the choices each figure of a group has, the first of them.
    """

    care: BoolArray
    dont_care: BoolArray
    sizes: Sequence[int]

    def first(self) -> CareMasks:
        """The first choice alone."""
        return CareMasks(self.care[:1], self.dont_care[:1], [1] * len(self.sizes))


def end_to_end_matches(
    overlaps: Overlaps, texts: tuple[IntArray, IntArray], threshold: float, masks: CareMasks, budgets: Sequence[Budget]
) -> Pairing:
    """Returns the pairs of correctly spotted words.

    texts: numbers for the texts of both sides, int [G] and [D], as `text_numbers` returns them.
    """
    given = np.zeros(len(budgets), dtype=np.bool_)
    given[overlaps.detections.owners[texts[1] >= 0]] = True
    if overlaps.truths.outlines is not None and given.any():
        charged = [budget if has else Budget(_UNLIMITED) for budget, has in zip(budgets, given, strict=True)]
        overlaps = measure(overlaps.truths.as_rectangles(), overlaps.detections.as_rectangles(), charged)
    candidates = np.flatnonzero(texts[0][overlaps.rows] == texts[1][overlaps.columns])
    shares = _share_of_hull(overlaps, candidates)
    good = shares > threshold
    return _pairing(overlaps, candidates[good], shares[good], masks, budgets)


_UNLIMITED = 1 << 62
"""For figures whose detections have no text: they are measured with the others, and nothing comes of it."""


def annotator_agreement(
    overlaps: Overlaps, texts: tuple[IntArray, IntArray], threshold: float, masks: CareMasks, budgets: Sequence[Budget]
) -> tuple[Pairing, Pairing]:
    """Returns the pairs that agree in location, and those that agree in location and text; there is one choice."""
    dice = overlaps.dice
    near = np.flatnonzero(dice >= threshold)
    same = near[texts[0][overlaps.rows[near]] == texts[1][overlaps.columns[near]]]
    location = _pairing(overlaps, near, dice[near], masks, budgets)
    return location, _pairing(overlaps, same, dice[same], masks, budgets)


def text_numbers(
    truths: Sequence[str | None], predictions: Sequence[str | None], case_sensitive: bool, nfc: bool = False
) -> tuple[IntArray, IntArray]:
    """Returns numbers for the texts, equal for equal texts; a text that is not given is negative and equals nothing."""
    numbers: dict[str, int] = {}
    one, other = (
        np.array(
            [
                missing if text is None else numbers.setdefault(compared_text(text, case_sensitive, nfc), len(numbers))
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


def _pairing(
    overlaps: Overlaps, candidates: IntArray, scores: FloatArray, masks: CareMasks, budgets: Sequence[Budget]
) -> Pairing:
    rows, columns = overlaps.rows[candidates], overlaps.columns[candidates]
    allowed = masks.care[:, rows] & ~masks.dont_care[:, columns]
    taken = maximum_matching(rows, columns, scores, allowed, budgets, overlaps.truths.owners[rows], masks.sizes)
    return Pairing(rows, columns, taken)
