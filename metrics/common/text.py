"""Texts in Unicode code points: their error rates, and their beginnings for a person."""

from __future__ import annotations

import unicodedata

from rapidfuzz.distance import Levenshtein


def truncated(text: str, length: int) -> str:
    """Returns `text`, or its first `length` characters and an ellipsis where it is longer.

    >>> truncated("abcd", 3)
    'abc…'
    """
    return text if len(text) <= length else f"{text[:length]}…"


def character_error_rate(truth: str, predicted: str) -> float:
    """Returns the edits that turn `predicted` into `truth`, over the length of `truth`, at most 1.

    An empty truth gives 0 where both are empty, else 1.

    >>> character_error_rate("abcd", "abxd")
    0.25
    """
    if not truth:
        return 1.0 if predicted else 0.0
    edits = Levenshtein.distance(truth, predicted, score_cutoff=len(truth))
    return min(1.0, edits / len(truth))


def normalized(text: str) -> str:
    """Returns the text in Unicode normalization form C, in which texts are compared."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)
