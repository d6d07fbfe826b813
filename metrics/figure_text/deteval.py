"""Matches ground-truth and detected regions: one to one, one to many and many to one by DetEval, or one to one by IoU.

DetEval, after Wolf and Jolion (2006), with the steps in the order of the ICDAR 2013 competition's script: the order
decides which match wins a region. sigma is the covered share of a ground-truth region, tau that of a detection:

1. One to one: sigma and tau reach their thresholds for this pair and for no other pair of either region; neither
   region overlaps any other that counts; and 2 (distance of the centers) / (sum of the diagonals) < 1.
2. One to many, for each ground-truth region in order: at least two detections overlap it, and the sigmas of the
   unmatched detections whose tau reaches its threshold add up to the threshold of sigma.
3. Many to one, for each detection in order: the same with the sides exchanged.

A group of one region on each side counts as one to one. A don't-care region matches nothing. A detection that has
more than the threshold of tau in one don't-care region matches nothing either and is excluded from the counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import hypot, inf, nextafter
from typing import NamedTuple

from ..statistics.ratios import plain_sum
from .overlaps import Overlap
from .records import Box
from .regions import Region

MIN_IOU = 0.5


class Rules(NamedTuple):
    """The smallest shares that pass the thresholds of DetEval."""

    sigma: float
    tau: float

    @classmethod
    def of(cls, sigma: float, tau: float, strict: bool) -> Rules:
        """Returns the rules of two thresholds; strict: whether shares must exceed them, not only reach them."""
        return cls(nextafter(sigma, inf), nextafter(tau, inf)) if strict else cls(sigma, tau)


def sum_passes(shares: Sequence[float], least: float) -> bool:
    """Returns whether the sum of shares, rounded to 4 decimals (as released), is at least `least`; not if empty."""
    return bool(shares) and round(plain_sum(shares), 4) >= least


class Match(NamedTuple):
    """The positions of regions that match: one region on one side, one or more on the other."""

    truths: list[int]
    detections: list[int]

    @property
    def kind(self) -> str:
        """`one_to_one`, `one_to_many` or `many_to_one`."""
        if len(self.truths) == len(self.detections):
            return "one_to_one"
        return "one_to_many" if len(self.truths) == 1 else "many_to_one"


class DetEval:
    """Matches the regions of one figure by DetEval, for any choice of the ground-truth regions that count."""

    def __init__(
        self, truths: Mapping[int, Region], detections: Mapping[int, Region], overlaps: Sequence[Overlap], rules: Rules
    ) -> None:
        self._rules = rules
        self._by_truth: dict[int, list[Overlap]] = {}
        for overlap in overlaps:
            self._by_truth.setdefault(overlap.truth, []).append(overlap)
        self._single = _single_pairs(truths, detections, overlaps, rules)

    def matches(self, care: Iterable[int], dont_care: Collection[int]) -> list[Match]:
        """Returns the matches of the true regions `care`, tried in order, with detections outside `dont_care`."""
        rules = self._rules
        by_truth: dict[int, list[Overlap]] = {}
        by_detection: dict[int, list[Overlap]] = {}
        for truth in care:
            for overlap in self._by_truth.get(truth, ()):
                if overlap.detection not in dont_care:
                    by_truth.setdefault(truth, []).append(overlap)
                    by_detection.setdefault(overlap.detection, []).append(overlap)
        matches = [
            Match([truth], [mine[0].detection])
            for truth, mine in by_truth.items()
            if self._single.get(truth) == mine[0].detection and len(mine) == len(by_detection[mine[0].detection]) == 1
        ]
        several = [truth for truth, mine in by_truth.items() if len(mine) > 1]
        merging = sorted([detection for detection, mine in by_detection.items() if len(mine) > 1])
        taken_truths = {match.truths[0] for match in matches}
        taken_detections = {match.detections[0] for match in matches}
        for truth in several:
            parts = [
                each for each in by_truth[truth] if each.tau >= rules.tau and each.detection not in taken_detections
            ]
            if sum_passes([each.sigma for each in parts], rules.sigma):
                matches.append(Match([truth], [each.detection for each in parts]))
                taken_truths.add(truth)
                taken_detections.update(matches[-1].detections)
        for detection in merging:
            parts = [
                each for each in by_detection[detection] if each.sigma >= rules.sigma and each.truth not in taken_truths
            ]
            if detection not in taken_detections and sum_passes([each.tau for each in parts], rules.tau):
                matches.append(Match([each.truth for each in parts], [detection]))
                taken_truths.update(matches[-1].truths)
        return matches


class IouMatcher:
    """Matches regions one to one by IoU, as the Robust Reading Competitions do since ICDAR 2015.

    As in the script of tasks 4.1 and 4.4 (incidental scene text), each ground-truth region in order is matched to the
    first unmatched detection in order with (area in common) / (area of the union) > 0.5. End to end, a matched pair is
    right if its texts are equal; the text does not influence which pairs are matched.
    """

    def __init__(
        self, truths: Mapping[int, Region], detections: Mapping[int, Region], overlaps: Sequence[Overlap]
    ) -> None:
        self._near = [
            (each.truth, each.detection)
            for each in overlaps
            if each.common / (truths[each.truth].area + detections[each.detection].area - each.common) > MIN_IOU
        ]

    def matches(self, care: Collection[int], dont_care: Collection[int]) -> list[Match]:
        """Returns the matches of the ground-truth regions `care` with the detections not in `dont_care`."""
        matched: dict[int, int] = {}
        taken = set(dont_care)
        for truth, detection in self._near:
            if truth in care and truth not in matched and detection not in taken:
                matched[truth] = detection
                taken.add(detection)
        return [Match([truth], [detection]) for truth, detection in matched.items()]


def _single_pairs(
    truths: Mapping[int, Region], detections: Mapping[int, Region], overlaps: Iterable[Overlap], rules: Rules
) -> dict[int, int]:
    """Returns, by ground-truth region, the detection that reaches both thresholds with it and whose center is close.

    Only pairs that are the only one to reach both thresholds in their row and in their column are included.
    """
    good = [each for each in overlaps if each.sigma >= rules.sigma and each.tau >= rules.tau]
    rows, columns = Counter([each.truth for each in good]), Counter([each.detection for each in good])
    single = {}
    for each in good:
        if rows[each.truth] == columns[each.detection] == 1:
            one, other = truths[each.truth], detections[each.detection]
            apart = hypot(one.center[0] - other.center[0], one.center[1] - other.center[1])
            if 2 * apart < _diagonal(one.box) + _diagonal(other.box):
                single[each.truth] = each.detection
    return single


def _diagonal(box: Box) -> float:
    return hypot(box[2] - box[0], box[3] - box[1])
