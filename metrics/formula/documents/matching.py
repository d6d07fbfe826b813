"""Which predicted formula of a document answers which formula of the ground truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from ...common.budget import Budget

PUBLISHED_THRESHOLDS = (0.4, 0.8)
"""The edit distances below which formulas match, round by round: section 9.4 of the CDM paper's supplement."""

_BITS_OF_WORD = 64
_WORDS_OF_STEP, _WORDS_OF_STEP_BEYOND_LATIN = 128, 64
"""Words that a step compares, of 64 characters of the shorter text with one of the longer: half a microsecond."""
_LATIN = 256
_WORDS_OF_PAIR = 32
_ROW_ENTRIES_OF_STEP = 32
_STEPS_OF_ROW = 10


class Match(NamedTuple):
    """A ground truth and its prediction by their indices; None where one has no other.

    distance: the edit distance over the length of the longer text; 1 where one has no other.
    round: the round, from 1, that matched them; None where one has no other.
    """

    truth: int | None
    prediction: int | None
    distance: float = 1.0
    round: int | None = None


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

    Every comparison costs the budget what an edit distance takes: the product of both lengths, by machine words. Equal
    formulas are not compared, nor are those whose lengths alone put them out of reach.

    Raises OutOfBudget.
    """
    matches: dict[int, Match] = {}
    free = np.ones(len(predictions), dtype=bool)
    lengths = np.array([len(prediction) for prediction in predictions], dtype=np.int64)
    latin = all(max(text, default="") < chr(_LATIN) for text in (*truths, *predictions))
    words_of_step = _WORDS_OF_STEP if latin else _WORDS_OF_STEP_BEYOND_LATIN
    equal: dict[str, list[int]] = {}
    for index in reversed(range(len(predictions))):
        equal.setdefault(predictions[index], []).append(index)
    for number, threshold in enumerate(thresholds, start=1):
        for index, truth in enumerate(truths):
            if index in matches:
                continue
            same = equal.get(truth)
            while same and not free[same[-1]]:
                same.pop()
            if same:  # no other can be nearer
                nearest, distance = same[-1], 0.0
            else:
                longer = np.maximum(lengths, len(truth))
                near = np.flatnonzero((np.abs(lengths - len(truth)) / np.maximum(longer, 1) < threshold) & free)
                words = (np.minimum(lengths, len(truth)) // _BITS_OF_WORD + 1) * longer + _WORDS_OF_PAIR
                work = int(words[near].sum()) // words_of_step
                budget.spend(_STEPS_OF_ROW + len(free) // _ROW_ENTRIES_OF_STEP + work)
                if not len(near):
                    continue
                others = [predictions[other] for other in near.tolist()]
                scorer, cutoff = Levenshtein.normalized_distance, min(threshold, 1.0)
                distances = cdist([truth], others, scorer=scorer, score_cutoff=cutoff, dtype=np.float64)[0]
                best = int(np.argmin(distances))
                nearest, distance = int(near[best]), float(distances[best])
            if distance < threshold:
                free[nearest] = False
                matches[index] = Match(index, nearest, distance, number)
    redundant = [Match(None, int(index)) for index in np.flatnonzero(free)]
    return [matches.get(index, Match(index, None)) for index in range(len(truths))] + redundant
