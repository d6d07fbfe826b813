"""The definitions read plainly, in exact fractions, for upright integer boxes: the oracle on small figures."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Box = tuple[int, int, int, int]


def area(box: Box) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def common(one: Box, other: Box) -> int:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0) * max(height, 0)


def sigma(truth: Box, detection: Box) -> Fraction:
    return Fraction(common(truth, detection), area(truth))


def tau(truth: Box, detection: Box) -> Fraction:
    return Fraction(common(truth, detection), area(detection))


@dataclass
class Outcome:
    """(regions, detections) of each match, and the detections that don't count."""

    matches: list[tuple[list[int], list[int]]] = field(default_factory=list)
    dont_care: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class DetEval:
    """One figure: its ground truth, which of it counts, and the detections; `strict` as in the paper."""

    truths: Sequence[Box]
    counts: Sequence[bool]
    detections: Sequence[Box]
    strict: bool
    t_sigma: Fraction = Fraction(4, 5)
    t_tau: Fraction = Fraction(2, 5)

    def reached(self, share: Fraction, threshold: Fraction) -> bool:
        return share > threshold if self.strict else share >= threshold

    def sum_reached(self, shares: list[Fraction], threshold: Fraction) -> bool:
        return self.reached(Fraction(round(sum(shares) * 10**4), 10**4), threshold)

    def both(self, i: int, j: int) -> bool:
        truth, detection = self.truths[i], self.detections[j]
        return self.reached(sigma(truth, detection), self.t_sigma) and self.reached(tau(truth, detection), self.t_tau)

    def near(self, i: int, j: int) -> bool:
        """2 (distance of the centres) / (sum of the diagonals) < 1; everything doubled, to stay with integers."""
        a, b = self.truths[i], self.detections[j]
        x, y = a[0] + a[2] - b[0] - b[2], a[1] + a[3] - b[1] - b[3]
        diagonals = sum(((box[2] - box[0]) ** 2 + (box[3] - box[1]) ** 2) ** 0.5 for box in (a, b))
        return bool((x * x + y * y) ** 0.5 < diagonals)

    def outcome(self) -> Outcome:
        rows, columns = range(len(self.truths)), range(len(self.detections))
        result = Outcome()
        result.dont_care = {
            j
            for j in columns
            if any(not self.counts[i] and tau(self.truths[i], self.detections[j]) > self.t_tau for i in rows)
        }
        care_rows = [i for i in rows if self.counts[i]]
        care_columns = [j for j in columns if j not in result.dont_care]

        def overlapping_detections(i: int) -> int:
            return sum(common(self.truths[i], self.detections[j]) > 0 for j in care_columns)

        def overlapping_truths(j: int) -> int:
            return sum(common(self.truths[i], self.detections[j]) > 0 for i in care_rows)

        free_rows, free_columns = set(care_rows), set(care_columns)

        def take(matched_rows: list[int], hopcroft_karp: list[int]) -> None:
            result.matches.append((matched_rows, hopcroft_karp))
            free_rows.difference_update(matched_rows)
            free_columns.difference_update(hopcroft_karp)

        for i, j in itertools.product(care_rows, care_columns):
            alone = sum(self.both(i, k) for k in columns) == 1 and sum(self.both(k, j) for k in rows) == 1
            single = overlapping_detections(i) == 1 and overlapping_truths(j) == 1
            if self.both(i, j) and alone and single and self.near(i, j):
                take([i], [j])
        for i in care_rows:
            several = [
                j
                for j in care_columns
                if j in free_columns and self.reached(tau(self.truths[i], self.detections[j]), self.t_tau)
            ]
            shares = [sigma(self.truths[i], self.detections[j]) for j in several]
            if i in free_rows and self.sum_reached(shares, self.t_sigma) and overlapping_detections(i) >= 2:
                take([i], several)
        for j in care_columns:
            merged = [
                i
                for i in care_rows
                if i in free_rows and self.reached(sigma(self.truths[i], self.detections[j]), self.t_sigma)
            ]
            shares = [tau(self.truths[i], self.detections[j]) for i in merged]
            if j in free_columns and self.sum_reached(shares, self.t_tau) and overlapping_truths(j) >= 2:
                take(merged, [j])
        return result


def most_pairs(allowed: set[tuple[int, int]]) -> int:
    """The size of the largest one-to-one choice among pairs, by trying all."""
    if not allowed:
        return 0
    row, column = min(allowed)
    without = most_pairs(allowed - {(row, column)})
    rest = {(i, j) for i, j in allowed if i != row and j != column}
    return max(without, 1 + most_pairs(rest))


def share_of_hull(one: Box, other: Box) -> Fraction:
    width = max(one[2], other[2]) - min(one[0], other[0])
    height = max(one[3], other[3]) - min(one[1], other[1])
    return Fraction(common(one, other), width * height)


def dice(one: Box, other: Box) -> Fraction:
    return Fraction(2 * common(one, other), area(one) + area(other))


def iou(one: Box, other: Box) -> Fraction:
    return Fraction(common(one, other), area(one) + area(other) - common(one, other))


def iou_script(
    truths: Sequence[Box], counts: Sequence[bool], detections: Sequence[Box]
) -> tuple[list[tuple[int, int]], set[int]]:
    """The loops of the script of ICDAR 2015: the pairs, and the detections that don't-care regions take out."""
    dont_care = {
        j
        for j, detection in enumerate(detections)
        if any(tau(truth, detection) > Fraction(1, 2) for truth, cared in zip(truths, counts, strict=True) if not cared)
    }
    matched_rows, matched_columns, pairs = set(), set(), []
    for i, truth in enumerate(truths):
        for j, detection in enumerate(detections):
            free = i not in matched_rows and j not in matched_columns and counts[i] and j not in dont_care
            if free and iou(truth, detection) > Fraction(1, 2):
                matched_rows.add(i)
                matched_columns.add(j)
                pairs.append((i, j))
    return pairs, dont_care
