"""DetEval: which ground-truth and detected regions match one to one, one to many and many to one.

After Wolf and Jolion (2006), in the order of the ICDAR 2013 competition's script, which decides who gets a region
that several could have. With sigma the covered share of a ground-truth region and tau that of a detection:

1. one to one: sigma and tau reach their thresholds, for no other pair of that row or that column; neither region
   overlaps any other that counts; and 2 (distance of the centres) / (sum of the diagonals) < 1.
2. one to many, ground truth by ground truth: the free detections with tau at its threshold have sigmas that add up
   to the threshold of sigma, and at least two detections overlap the ground truth.
3. many to one, detection by detection: likewise with the sides exchanged.

A group of one region on each side counts as one to one. A don't-care region matches nothing, and a detection with
more than the threshold of tau in one don't-care region matches nothing either and leaves the counts. Several choices
of the regions that count, such as the subsets by difficulty, are matched at once from the same overlaps.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .overlaps import Overlaps

FARTHEST_CENTRES = 1.0

_CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Rules:
    """The thresholds of DetEval, and whether they must be passed (`strict`) or only reached."""

    sigma: float
    tau: float
    strict: bool

    def reached(self, shares: FloatArray, threshold: float) -> BoolArray:
        """Says which shares reach `threshold`."""
        good: BoolArray = shares > threshold if self.strict else shares >= threshold
        return good

    def sum_reached(self, shares: Sequence[float], threshold: float) -> bool:
        """Says whether shares add up to `threshold`; sums are rounded to 4 decimals, as in the script."""
        if not shares:
            return False
        total = round(functools.reduce(operator.add, shares), 4)  # from left to right, which `sum` is not everywhere
        return total > threshold if self.strict else total >= threshold


class ScatteredMatch(msgspec.Struct, frozen=True):
    """Regions that match each other: one of them on one side, one or more on the other."""

    truths: tuple[int, ...]
    detections: tuple[int, ...]


class Matching(msgspec.Struct, frozen=True):
    """How the regions match when certain ground-truth regions count.

    dont_care: bool [D], the detections that don't-care regions cover.
    pairs: int [K], the overlaps that are one-to-one matches of the first kind.
    scattered: the matches made afterwards, in order.
    """

    dont_care: BoolArray
    pairs: IntArray
    scattered: list[ScatteredMatch]


_Candidate = tuple[int, tuple[int, ...], list[float], bool]
"""A region, the regions of the other side, its shares that they cover, and whether all of them add up."""


@dataclass(frozen=True, slots=True)
class _Side:
    """The pairs in the order of one side: whose regions they start at, and what may be scattered.

    order: int [P], the pairs by region of this side, then by region of the other.
    regions, starts: the regions with any pair, ascending, and where their pairs start in `order`.
    candidates: the regions whose pairs might add up.
    """

    order: IntArray
    regions: IntArray
    starts: IntArray
    candidates: list[_Candidate]

    def open_candidates(self, free: BoolArray, overlapped: IntArray) -> list[list[_Candidate]]:
        """Returns for each choice the candidates that are free, bool [S, N], and overlap two regions, int [S, N]."""
        regions = [candidate[0] for candidate in self.candidates]
        some = (free[:, regions] & (overlapped[:, regions] >= 2)).tolist()
        return [list(itertools.compress(self.candidates, each)) for each in some]


def match(overlaps: Overlaps, care: BoolArray, rules: Rules) -> Iterator[Matching]:
    """Yields one matching for each of the S rows of `care`, bool [S, G]: which ground-truth regions count."""
    by_truth = _side(overlaps.rows, overlaps.columns, overlaps.tau, overlaps.sigma, (rules.tau, rules.sigma), rules)
    by_detection = _side(overlaps.columns, overlaps.rows, overlaps.sigma, overlaps.tau, (rules.sigma, rules.tau), rules)
    single = _single_pairs(overlaps, rules)
    step = max(1, _CELLS_AT_ONCE // max(1, len(overlaps)))
    for start in range(0, len(care), step):
        yield from _match_some(overlaps, care[start : start + step], rules, by_truth, by_detection, single)


def _match_some(
    overlaps: Overlaps, care: BoolArray, rules: Rules, by_truth: _Side, by_detection: _Side, single: IntArray
) -> Iterator[Matching]:
    rows, columns = overlaps.rows, overlaps.columns
    dont_care = dont_care_detections(overlaps, care, rules)
    # How many regions that count does each region overlap?
    truth_overlaps = _count(by_truth, ~dont_care[:, columns], len(overlaps.truths))
    detection_overlaps = _count(by_detection, care[:, rows], len(overlaps.detections))
    alone = (
        care[:, rows[single]]
        & ~dont_care[:, columns[single]]
        & (truth_overlaps[:, rows[single]] == 1)
        & (detection_overlaps[:, columns[single]] == 1)
    )
    choices, ones = np.nonzero(alone)
    free_truths, free_detections = care.copy(), ~dont_care
    free_truths[choices, rows[single[ones]]] = False
    free_detections[choices, columns[single[ones]]] = False
    open_truths = by_truth.open_candidates(free_truths, truth_overlaps)
    open_detections = by_detection.open_candidates(free_detections, detection_overlaps)
    for n in range(len(care)):
        scattered = []
        if open_truths[n] or open_detections[n]:
            free = free_truths[n].tolist(), free_detections[n].tolist()
            scattered += [
                ScatteredMatch((truth,), others)
                for truth, others in _scattered(open_truths[n], *free, rules, rules.sigma)
            ]
            scattered += [
                ScatteredMatch(others, (detection,))
                for detection, others in _scattered(open_detections[n], *free[::-1], rules, rules.tau)
            ]
        yield Matching(dont_care[n], single[alone[n]], scattered)


def _scattered(
    candidates: Sequence[_Candidate],
    free: list[bool],
    free_others: list[bool],
    rules: Rules,
    threshold: float,
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yields each region of one side that matches several of the other, with those; both are then no longer free."""
    for region, others, shares, reached_by_all in candidates:
        if not free[region]:
            continue
        matched = tuple([other for other in others if free_others[other]])
        reached = reached_by_all
        if len(matched) < len(others):
            left = [share for other, share in zip(others, shares, strict=True) if free_others[other]]
            reached = rules.sum_reached(left, threshold)
        if reached:
            free[region] = False
            for other in matched:
                free_others[other] = False
            yield region, matched


def _single_pairs(overlaps: Overlaps, rules: Rules) -> IntArray:
    """Returns the pairs that reach both thresholds, alone in their row and column, with centres close enough."""
    good = np.flatnonzero(rules.reached(overlaps.sigma, rules.sigma) & rules.reached(overlaps.tau, rules.tau))
    rows, columns = overlaps.rows[good], overlaps.columns[good]
    alone = (np.bincount(rows)[rows] == 1) & (np.bincount(columns)[columns] == 1) if len(good) else slice(None)
    good, rows, columns = good[alone], rows[alone], columns[alone]
    apart = np.hypot(*(overlaps.truths.centres[rows] - overlaps.detections.centres[columns]).T)
    diagonals = overlaps.truths.diagonals[rows] + overlaps.detections.diagonals[columns]
    single: IntArray = good[2 * apart < FARTHEST_CENTRES * diagonals]
    return single


def dont_care_detections(overlaps: Overlaps, care: BoolArray, rules: Rules) -> BoolArray:
    """Says which detections lie by more than tau in one region that does not count, bool [S, D]."""
    deep = np.flatnonzero(overlaps.tau > rules.tau)
    dont_care = np.zeros((len(care), len(overlaps.detections)), dtype=np.bool_)
    choices, pairs = np.nonzero(~care[:, overlaps.rows[deep]])
    dont_care[choices, overlaps.columns[deep[pairs]]] = True
    return dont_care


def _count(side: _Side, kept: BoolArray, size: int) -> IntArray:
    """Returns how many kept pairs each region of the side has, int [S, size], of `kept`, bool [S, P]."""
    counted = np.zeros((len(kept), size), dtype=np.intp)
    if len(side.regions):
        counted[:, side.regions] = np.add.reduceat(kept[:, side.order], side.starts, axis=1, dtype=np.intp)
    return counted


def _side(
    mine: IntArray, others: IntArray, gate: FloatArray, share: FloatArray, thresholds: tuple[float, float], rules: Rules
) -> _Side:
    """Returns the pairs in the order of `mine`.

    A pair takes part in a scattered match where `gate` reaches the first threshold; the region is a candidate where
    `share` of such pairs could add up to the second and it overlaps two regions at all.
    """
    order = np.lexsort((others, mine))
    ordered = mine[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else ordered
    regions = ordered[starts]
    bounds = np.append(starts, len(order)).tolist()
    passed = rules.reached(gate, thresholds[0])[order]
    shares = np.where(passed, share[order], 0.0)
    # A little below the threshold, so that no rounding of this first look loses a region.
    likely = np.add.reduceat(shares, starts) > thresholds[1] - 0.001 if len(starts) else np.empty(0, dtype=np.bool_)
    candidates = []
    for k in np.flatnonzero(likely & (np.diff(bounds) >= 2)).tolist():
        part = order[bounds[k] : bounds[k + 1]][passed[bounds[k] : bounds[k + 1]]]
        shares_of_part = share[part].tolist()
        reached = rules.sum_reached(shares_of_part, thresholds[1])
        candidates.append((int(regions[k]), tuple(others[part].tolist()), shares_of_part, reached))
    return _Side(order, regions, starts, candidates)
