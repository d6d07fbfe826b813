"""Figures of a few regions: scored, drawn at random, and read plainly by the definitions.

The plain reading is in exact fractions, for upright boxes of whole numbers: the oracle on small figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from beamscore.metrics.benchmark import SampleScore
from tests.metrics import samples
from tests.plain_loop import make_benchmark, total

Box = tuple[int, int, int, int]
Boxes = Sequence[Box]
Pairs = list[tuple[int, int]]
Matches = list[tuple[list[int], list[int]]]
"""The regions and the detections of each match."""
Regions = list[dict[str, Any]]
Word = tuple[Box, str | None]
Words = list[Word]


def score(truth: Regions, prediction: Regions | None, **options: Any) -> SampleScore:
    predicted = None if prediction is None else {"regions": prediction}
    return samples.score("figure_text", {"regions": truth}, predicted, **options)


def values(*scores: SampleScore, **options: Any) -> dict[str, float | None]:
    return make_benchmark("figure_text", **options).values(total(scores))


def rejection(side: str, truth: Regions, prediction: Regions, **options: Any) -> str:
    return samples.rejection("figure_text", side, {"regions": truth}, {"regions": prediction}, **options)


def at(left: float, **region: Any) -> dict[str, Any]:
    """A region of 10 by 10 pixels."""
    return {"box": [left, 0, left + 10, 10], **region}


sides = st.tuples(st.integers(0, 8), st.integers(1, 6)).map(lambda side: (side[0], side[0] + side[1]))
boxes = st.builds(lambda x, y: (x[0], y[0], x[1], y[1]), sides, sides)
# Boxes of one line overlap far more often, and give the scattered matches.
line_boxes = sides.map(lambda x: (x[0], 0, x[1], 5))
texts = st.sampled_from(["DNA", "DNA.", "dna", None])
words = st.one_of([st.lists(st.tuples(some, texts), max_size=6) for some in (boxes, line_boxes)])
cares = st.lists(st.booleans(), min_size=6, max_size=6)


def area(box: Box) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def common(one: Box, other: Box) -> int:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0) * max(height, 0)


def covered(box: Box, other: Box) -> Fraction:
    return Fraction(common(box, other), area(box))


def in_dont_care(truths: Boxes, counts: Sequence[bool], found: Boxes, share: Fraction) -> set[int]:
    """The detections with more than `share` of their area in one region that does not count."""
    others = [truth for truth, cared in zip(truths, counts, strict=True) if not cared]
    return {j for j, box in enumerate(found) if any(covered(box, other) > share for other in others)}


def deteval(truths: Boxes, counts: Sequence[bool], found: Boxes, strict: bool) -> tuple[Matches, set[int]]:
    """The matches in the order of the script, and the detections that don't-care regions take out.

    `strict`: thresholds must be passed, as in the paper; else reached, as in the script.
    """
    t_sigma, t_tau = Fraction(4, 5), Fraction(2, 5)
    dont_care = in_dont_care(truths, counts, found, t_tau)
    rows = [i for i in range(len(truths)) if counts[i]]
    columns = [j for j in range(len(found)) if j not in dont_care]
    matches: Matches = []

    def reached(share: Fraction, threshold: Fraction) -> bool:
        return share > threshold if strict else share >= threshold

    def sum_reached(shares: list[Fraction], threshold: Fraction) -> bool:
        return reached(Fraction(round(sum(shares) * 10**4), 10**4), threshold)

    def both(i: int, j: int) -> bool:
        return reached(covered(truths[i], found[j]), t_sigma) and reached(covered(found[j], truths[i]), t_tau)

    overlapping = [(i, j) for i in rows for j in columns if common(truths[i], found[j]) > 0]
    in_row, in_column = (Counter(pair[side] for pair in overlapping) for side in (0, 1))

    def free(i: int | None = None, j: int | None = None) -> bool:
        return not any(i in some or j in others for some, others in matches)

    good = [(i, j) for i in range(len(truths)) for j in range(len(found)) if both(i, j)]
    for i, j in overlapping:
        alone = [pair for pair in good if pair[0] == i or pair[1] == j] == [(i, j)]
        if alone and in_row[i] == in_column[j] == 1:  # boxes that overlap have near centres
            matches.append(([i], [j]))
    for i in rows:
        parts = [j for j in columns if free(j=j) and reached(covered(found[j], truths[i]), t_tau)]
        if free(i) and in_row[i] >= 2 and sum_reached([covered(truths[i], found[j]) for j in parts], t_sigma):
            matches.append(([i], parts))
    for j in columns:
        parts = [i for i in rows if free(i) and reached(covered(truths[i], found[j]), t_sigma)]
        if free(j=j) and in_column[j] >= 2 and sum_reached([covered(found[j], truths[i]) for i in parts], t_tau):
            matches.append((parts, [j]))
    return matches, dont_care


def iou_script(truths: Boxes, counts: Sequence[bool], found: Boxes) -> tuple[Pairs, set[int]]:
    """The loops of the script of ICDAR 2015: the pairs, and the detections that don't-care regions take out."""
    dont_care = in_dont_care(truths, counts, found, Fraction(1, 2))
    pairs: Pairs = []
    for i, truth in enumerate(truths):
        for j, box in enumerate(found):
            free = counts[i] and j not in dont_care and not any(i == row or j == column for row, column in pairs)
            both = area(truth) + area(box) - common(truth, box)
            if free and Fraction(common(truth, box), both) > Fraction(1, 2):
                pairs.append((i, j))
    return pairs, dont_care


def most_pairs(allowed: set[tuple[int, int]]) -> int:
    """The size of the largest one-to-one choice among pairs, by trying all."""
    if not allowed:
        return 0
    row, column = min(allowed)
    without = most_pairs(allowed - {(row, column)})
    return max(without, 1 + most_pairs({(i, j) for i, j in allowed if i != row and j != column}))


def share_of_hull(one: Box, other: Box) -> Fraction:
    width = max(one[2], other[2]) - min(one[0], other[0])
    height = max(one[3], other[3]) - min(one[1], other[1])
    return Fraction(common(one, other), width * height)


def dice(one: Box, other: Box) -> Fraction:
    return Fraction(2 * common(one, other), area(one) + area(other))
