"""What is compared pair by pair: end-to-end reading and the agreement of two annotators.

End to end, after ICDAR 2003: a detection is a correctly spotted word where (area in common) / (smallest upright
rectangle that holds both) is above a threshold and the text is the same, one to one. Always measured on upright
rectangles, which is how it is defined: an exact copy of a bent polygon would otherwise miss the threshold.

Agreement: 2 common / (sum of the areas) reaches a threshold, one to one; for the text, it is the same as well.

Under `iou` one of the special characters at either end of a word may be missing in what was read, as in the script of
the competitions' end-to-end tasks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from .overlaps import Overlap
from .pairing import Candidate
from .records import FigureTextOptions
from .regions import Region

SPECIAL_CHARACTERS = frozenset("!?.:,*\"()·[]/'")

Texts = tuple[Mapping[int, Collection[int]], Mapping[int, int]]
"""By position, the numbers of the texts that are right for a ground-truth region, and the number of a detection's."""


def text_numbers(
    truths: Iterable[tuple[int, str | None]], detections: Iterable[tuple[int, str | None]], options: FigureTextOptions
) -> Texts:
    """Returns numbers for the texts of both sides, equal for equal texts; regions without a text have none."""
    numbers: dict[str, int] = {}

    def number(text: str) -> int:
        return numbers.setdefault(options.compared(text), len(numbers))

    trims = options.protocol == "iou"
    return (
        {
            place: [number(each) for each in (_right_texts(text) if trims else (text,))]
            for place, text in truths
            if text is not None
        },
        {place: number(text) for place, text in detections if text is not None},
    )


def _right_texts(text: str) -> Iterator[str]:
    """Yields a text, and the text without the special character at either end and at both."""
    starts = (0, 1) if text[:1] in SPECIAL_CHARACTERS else (0,)
    ends = (len(text), len(text) - 1) if text[-1:] in SPECIAL_CHARACTERS else (len(text),)
    yield from [text[start:end] for start in starts for end in ends]


def same_text(texts: Texts, truth: int, detection: int) -> bool:
    """Returns whether both regions have a text, and the same."""
    return texts[1].get(detection) in texts[0].get(truth, ())


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
