"""What is compared pair by pair: end-to-end reading and the agreement of two annotators.

End to end, after ICDAR 2003: a detection is a correctly spotted word where (area in common) / (smallest upright
rectangle that holds both) is above a threshold and the text is the same, one to one. Always measured on upright
rectangles, which is how it is defined: an exact copy of a bent polygon would otherwise miss the threshold.

Agreement: 2 common / (sum of the areas) reaches a threshold, one to one; for the text, it is the same as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .figure import compared_text
from .overlaps import Overlap
from .pairing import Candidate
from .records import FigureTextOptions
from .regions import Region

Texts = tuple[Mapping[int, int], Mapping[int, int]]
"""Numbers for the texts of the ground truth and of the detections by position, equal for equal texts."""


def text_numbers(
    truths: Iterable[tuple[int, str | None]], detections: Iterable[tuple[int, str | None]], options: FigureTextOptions
) -> Texts:
    """Returns numbers for the texts of both sides; regions without a text have none."""
    numbers: dict[str, int] = {}
    one, other = (
        {
            position: numbers.setdefault(compared_text(text, options.case_sensitive, options.nfc), len(numbers))
            for position, text in side
            if text is not None
        }
        for side in (truths, detections)
    )
    return one, other


def same_text(texts: Texts, truth: int, detection: int) -> bool:
    """Says whether both regions have a text, and the same."""
    number = texts[0].get(truth)
    return number is not None and number == texts[1].get(detection)


def words_in_place(
    truths: Mapping[int, Region],
    detections: Mapping[int, Region],
    overlaps: Iterable[Overlap],
    texts: Texts,
    threshold: float,
) -> list[Candidate]:
    """Returns the pairs of rectangles with the same text that share more than `threshold` of their hull."""
    candidates = []
    for overlap in overlaps:
        if same_text(texts, overlap.truth, overlap.detection):
            truth = truths[overlap.truth]
            (left, top, right, bottom), (x1, y1, x2, y2) = truth.box, detections[overlap.detection].beside(truth)
            share = overlap.common / ((max(right, x2) - min(left, x1)) * (max(bottom, y2) - min(top, y1)))
            if share > threshold:
                candidates.append((overlap.truth, -share, overlap.detection))
    return sorted(candidates)


def in_agreement(overlaps: Iterable[Overlap], threshold: float) -> list[Candidate]:
    """Returns the pairs whose 2 common / (sum of the areas) reaches `threshold`."""
    return sorted([(each.truth, -each.dice, each.detection) for each in overlaps if each.dice >= threshold])
