"""Finds candidate pairs for end-to-end reading and for the agreement of two annotators.

End to end, after ICDAR 2003: a detection is a correctly spotted word, one to one, if (area in common) / (smallest
upright rectangle that holds both) exceeds a threshold and the text is the same. It is defined on upright rectangles
and always measured on them: an exact copy of a bent polygon would otherwise miss the threshold.

Agreement: 2 common / (sum of the areas) reaches a threshold, one to one; for text, the texts are also the same.

End to end under `iou`, one special character at each end of a word may be missing from the text read, as in the script
of the competitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..common.boxes import spanned_area
from .overlaps import Overlap
from .pairing import Candidate
from .records import FigureTextOptions
from .regions import Region

SPECIAL_CHARACTERS = frozenset("!?.:,*\"()·[]/'")

Texts = tuple[Mapping[int, Sequence[int]], Mapping[int, int]]
"""By position: the numbers of the texts that are right for a ground-truth region, its own first; the number of a
detection's text.
"""


def text_numbers(
    truths: Iterable[tuple[int, str | None]], detections: Iterable[tuple[int, str | None]], options: FigureTextOptions
) -> Texts:
    """Returns numbers for the texts of both sides, equal for equal texts; regions without text are omitted."""
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
    """Yields the text, and the text without a special character at its start, at its end, and at both."""
    starts = (0, 1) if text[:1] in SPECIAL_CHARACTERS else (0,)
    ends = (len(text), len(text) - 1) if text[-1:] in SPECIAL_CHARACTERS else (len(text),)
    yield from [text[start:end] for start in starts for end in ends]


def same_text(texts: Texts, truth: int, detection: int) -> bool:
    """Returns whether both regions have text and that of the detection is right."""
    return texts[1].get(detection) in texts[0].get(truth, ())


def words_in_place(
    truths: Mapping[int, Region],
    detections: Mapping[int, Region],
    overlaps: Iterable[Overlap],
    texts: Texts,
    threshold: float,
) -> list[Candidate]:
    """Returns the sorted pairs with the same text that share more than `threshold` of the rectangle around both."""
    candidates = []
    for overlap in overlaps:
        if same_text(texts, overlap.truth, overlap.detection):
            truth = truths[overlap.truth]
            share = overlap.common / spanned_area(truth.box, detections[overlap.detection].beside(truth))
            if share > threshold:
                candidates.append((overlap.truth, -share, overlap.detection))
    return sorted(candidates)


def in_agreement(overlaps: Iterable[Overlap], threshold: float) -> list[Candidate]:
    """Returns the sorted pairs for which 2 common / (sum of the areas) reaches `threshold`."""
    return sorted([(each.truth, -each.dice, each.detection) for each in overlaps if each.dice >= threshold])


def with_equal_text(candidates: Iterable[Candidate], texts: Texts) -> list[Candidate]:
    """Returns the pairs in which both have text and the texts are equal, without what may be missing end to end."""
    # No text has the number -1.
    return [each for each in candidates if texts[0].get(each[0], (-1,))[0] == texts[1].get(each[2])]
