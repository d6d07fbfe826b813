"""Which predicted formula of a document answers which formula of the ground truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from ...common.budget import Budget

PUBLISHED_THRESHOLDS = (0.4, 0.8)
"""The edit distances below which formulas match, round by round: section 9.4 of the CDM paper's supplement."""

_BITS_OF_WORD = 64
_WORDS_OF_STEP = 128
"""Words that a step compares, of 64 characters of the shorter text with one of the longer: half a microsecond."""
_WORDS_OF_STEP_BEYOND_LATIN = 64
_LATIN = 256
_WORDS_OF_PAIR = 32
_ROW_ENTRIES_OF_STEP = 32
_STEPS_OF_ROW = 10


@dataclass(frozen=True, slots=True)
class Match:
    """A ground truth and its prediction by their indices; None where one has no other.

    distance: the edit distance over the length of the longer text; 1 where one has no other.
    round: the round, from 1, that matched them; None where one has no other.
    """

    truth: int | None
    prediction: int | None
    distance: float
    round: int | None


def match_formulas(
    truths: Sequence[str],
    predictions: Sequence[str],
    budget: Budget,
    thresholds: Sequence[float] = PUBLISHED_THRESHOLDS,
) -> list[Match]:
    """Returns the matches of ground truths with predictions, by edit distance.

    In each round, in order, every ground truth that has no prediction yet takes the nearest prediction that is still
    free, if `distance = edits / max(length, length)` is below the threshold of the round; of equally near ones it
    takes the first. Two empty texts have distance 0. The result has every ground truth in order, then the
    predictions that are left over.

    Source: section 9.4 of the CDM paper's supplement, where the thresholds are 0.4 and 0.8.

    Every comparison costs the budget what an edit distance takes: the product of both lengths, by machine words.

    Raises OutOfBudget.
    """
    matcher = _Matcher(truths, predictions, budget)
    for number, threshold in enumerate(thresholds, start=1):
        matcher.run(number, threshold)
    redundant = [Match(None, int(index), 1.0, None) for index in np.flatnonzero(matcher.free)]
    return [matcher.matches.get(index, Match(index, None, 1.0, None)) for index in range(len(truths))] + redundant


class _Matcher:
    def __init__(self, truths: Sequence[str], predictions: Sequence[str], budget: Budget) -> None:
        self.matches: dict[int, Match] = {}
        self.free: npt.NDArray[np.bool_] = np.ones(len(predictions), dtype=bool)
        self._truths = truths
        self._predictions = predictions
        self._lengths = np.array([len(prediction) for prediction in predictions], dtype=np.int64)
        self._same: dict[str, list[int]] = {}
        for index in reversed(range(len(predictions))):
            self._same.setdefault(predictions[index], []).append(index)
        self._latin = all(max(text, default="") < chr(_LATIN) for text in (*truths, *predictions))
        self._budget = budget

    def run(self, number: int, threshold: float) -> None:
        """Matches the ground truths that have no prediction yet, in order."""
        for index, truth in enumerate(self._truths):
            if index in self.matches:
                continue
            nearest = self._nearest(truth, threshold)
            if nearest is not None:
                prediction, distance = nearest
                self.free[prediction] = False
                self.matches[index] = Match(index, prediction, distance, number)

    def _nearest(self, truth: str, threshold: float) -> tuple[int, float] | None:
        """The first of the nearest free predictions and its distance, if that is below the threshold."""
        equal = self._first_equal(truth)
        if equal is not None:
            return (equal, 0.0) if threshold > 0 else None
        candidates = self._candidates(truth, threshold)
        if not len(candidates):
            return None
        texts = [self._predictions[index] for index in candidates]
        distances = cdist(
            [truth],
            texts,
            scorer=Levenshtein.normalized_distance,
            score_cutoff=min(threshold, 1.0),
            dtype=np.float64,
        )[0]
        best = int(np.argmin(distances))
        distance = float(distances[best])
        return (int(candidates[best]), distance) if distance < threshold else None

    def _first_equal(self, truth: str) -> int | None:
        """The first free prediction that is equal: no other can be nearer."""
        equal = self._same.get(truth)
        while equal and not self.free[equal[-1]]:
            equal.pop()
        return equal[-1] if equal else None

    def _candidates(self, truth: str, threshold: float) -> npt.NDArray[np.intp]:
        """The free predictions whose length alone does not put them out of reach, in order."""
        longer = np.maximum(np.maximum(self._lengths, len(truth)), 1)
        within = np.abs(self._lengths - len(truth)) / longer < threshold
        candidates = np.flatnonzero(within & self.free)
        lengths = self._lengths[candidates]
        shorter, longer = np.minimum(lengths, len(truth)), np.maximum(lengths, len(truth))
        words = int(((shorter // _BITS_OF_WORD + 1) * longer + _WORDS_OF_PAIR).sum())
        in_step = _WORDS_OF_STEP if self._latin else _WORDS_OF_STEP_BEYOND_LATIN
        self._budget.spend(_STEPS_OF_ROW + len(self.free) // _ROW_ENTRIES_OF_STEP + words // in_step)
        return candidates
