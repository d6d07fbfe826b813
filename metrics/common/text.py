"""Texts in Unicode code points: their edit distances, and their beginnings for a person."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist, cpdist

from metrics.common.arrays import indexes


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


def normalised_edit_distances(first: Sequence[str], second: Sequence[str]) -> npt.NDArray[np.float64]:
    """Returns the edit distance of each pair over the length of its longer text (at least 1), `[N, M]`.

    >>> normalised_edit_distances(["abcd", ""], ["ab"]).tolist()
    [[0.5], [1.0]]
    """
    if not first or not second:
        return np.zeros((len(first), len(second)))
    edits = cdist(first, second, scorer=Levenshtein.distance, dtype=np.uint32)
    first_lengths = np.array([len(text) for text in first])
    second_lengths = np.array([len(text) for text in second])
    longer = np.maximum(np.maximum(first_lengths[:, None], second_lengths[None, :]), 1)
    return np.asarray(edits / longer, dtype=np.float64)


def paired_edit_distances(first: Sequence[str], second: Sequence[str]) -> npt.NDArray[np.float64]:
    """Returns the edit distance of each text of `first` to that of `second` at its place, normalised as above, `[N]`.

    >>> paired_edit_distances(["abcd", ""], ["ab", ""]).tolist()
    [0.5, 0.0]
    """
    if not first:
        return np.zeros(0)
    edits = cpdist(first, second, scorer=Levenshtein.distance, dtype=np.uint32)
    longer = np.maximum(indexes(list(map(len, first))), indexes(list(map(len, second))))
    return np.asarray(edits / np.maximum(longer, 1), dtype=np.float64)
