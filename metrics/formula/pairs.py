"""Pairs the formulas of a sample: its single formula, or those of its document, matched by edit distance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from ..benchmark import RejectedRecord, Side
from ..common.budget import Budget
from .documents.dialects import DIALECTS, Formula, document_formulas
from .records import FormulaPrediction, FormulaTruth

MAX_CHARACTERS = 2_000_000
"""A longer document is rejected."""
THRESHOLDS = (0.4, 0.8)
"""The edit distances below which formulas match, round by round: section 9.4 of the CDM paper's supplement."""

_BITS_OF_WORD = 64
_WORDS_PER_STEP = 64
"""Words that a step compares, of 64 characters of the shorter text with one of the longer: half a microsecond."""
_WORDS_PER_PAIR = 32
_ROW_ENTRIES_PER_STEP = 32
_STEPS_PER_ROW = 10


@dataclass(frozen=True, slots=True)
class FormulaPair:
    """A ground-truth formula and the prediction that answers it, as LaTeX to typeset.

    truth: None for a redundant prediction.
    prediction: None for a ground truth that no prediction answers.

    Of formulas that were matched within documents, further:

    distance: the edit distance over the longer length; 1 if one is None.
    round: 1 for a match below the first threshold, 2 for one below the second; None if one is None.
    truth_offset, prediction_offset: where each opens in its document, in characters. Those of pages count on from page
    to page.
    """

    truth: str | None
    prediction: str | None
    distance: float | None = None
    round: int | None = None
    truth_offset: int | None = None
    prediction_offset: int | None = None


def formula_pairs(
    truth: FormulaTruth,
    prediction: FormulaPrediction | None,
    max_formulas: int,
    budget: Budget,
    comparable: Callable[[str], str],
) -> list[FormulaPair]:
    """Returns the pairs of formulas of a sample; those of a document are matched by `comparable` of their content.

    A sample with `latex` has one. One with `document` has one for each displayed formula of the ground truth, in
    reading order, then one for each prediction that answers none; a document without formulas has no pairs.

    Source: section 9 of the CDM paper's supplement.

    Raises RejectedRecord, naming the side, if a record has neither `latex` nor `document` or both, is blank (ground
    truth) or has an unknown dialect, if the sides differ in which they have, or if a document is too long, has more
    than `max_formulas` formulas or exceeds the budget; OutOfBudget, if the formulas would take too long to compare.
    """
    _check(truth, prediction)
    if truth.document is None:
        return [FormulaPair(truth.latex, prediction.latex if prediction else None)]
    truths = _formulas(truth.document, None, "ground_truth", budget, max_formulas)
    predictions: list[Formula] = []
    if prediction is not None and prediction.document is not None:
        predictions = _formulas(prediction.document, prediction.dialect, "prediction", budget, max_formulas)
    return match_formulas(truths, predictions, budget, comparable)


def match_formulas(
    truths: Sequence[Formula], predictions: Sequence[Formula], budget: Budget, comparable: Callable[[str], str]
) -> list[FormulaPair]:
    """Returns the pairs of ground truths and predictions, matched by the edit distance of `comparable` contents.

    In each round, in order, every ground truth that has no prediction yet takes the nearest prediction that is still
    free, if `distance = edits / max(length, length)` is below the threshold of the round; of equally near ones it
    takes the first. Two empty texts have distance 0. The result has every ground truth in order, then the
    predictions that are left over.

    Every comparison costs the budget what an edit distance takes: the product of both lengths, by machine words. Equal
    formulas are not compared, nor are those whose lengths alone put them out of reach.

    Raises OutOfBudget.
    """
    matches: dict[int, FormulaPair] = {}
    keys, answers = ([comparable(each.content) for each in side] for side in (truths, predictions))
    free = np.ones(len(predictions), dtype=bool)
    lengths = np.array([len(answer) for answer in answers], dtype=np.int64)
    texts = np.array(answers, dtype=object)
    for number, threshold in enumerate(THRESHOLDS, start=1):
        for index, truth in enumerate(keys):
            if index in matches:
                continue
            same = np.flatnonzero((texts == truth) & free)
            if len(same):  # no other can be nearer
                nearest, distance = int(same[0]), 0.0
            else:
                longer = np.maximum(lengths, len(truth))
                near = np.flatnonzero((np.abs(lengths - len(truth)) / np.maximum(longer, 1) < threshold) & free)
                words = (np.minimum(lengths, len(truth)) // _BITS_OF_WORD + 1) * longer + _WORDS_PER_PAIR
                work = int(words[near].sum()) // _WORDS_PER_STEP
                budget.spend(_STEPS_PER_ROW + len(free) // _ROW_ENTRIES_PER_STEP + work)
                if not len(near):
                    continue
                scorer = Levenshtein.normalized_distance
                distances = cdist([truth], texts[near], scorer=scorer, score_cutoff=threshold, dtype=np.float64)[0]
                best = int(np.argmin(distances))
                nearest, distance = int(near[best]), float(distances[best])
            if distance < threshold:
                free[nearest] = False
                matches[index] = _pair(truths[index], predictions[nearest], distance, number)
    redundant = [_pair(None, predictions[index]) for index in np.flatnonzero(free).tolist()]
    return [matches.get(index) or _pair(truth, None) for index, truth in enumerate(truths)] + redundant


def _pair(
    truth: Formula | None, prediction: Formula | None, distance: float = 1.0, number: int | None = None
) -> FormulaPair:
    latex = (truth and truth.latex, prediction and prediction.latex)
    return FormulaPair(*latex, distance, number, truth and truth.offset, prediction and prediction.offset)


def _formulas(
    document: str | tuple[str, ...], dialect: str | None, side: Side, budget: Budget, max_formulas: int
) -> list[Formula]:
    pages = (document,) if isinstance(document, str) else document
    length = sum(map(len, pages))
    if length > MAX_CHARACTERS:
        raise RejectedRecord(side, f"document: {length:,} characters, of which {MAX_CHARACTERS:,} are allowed")
    formulas: list[Formula] = []
    start = 0
    with budget.reading(side):
        for page in pages:
            on_page = document_formulas(page, dialect or "latex", budget)
            formulas += [each._replace(offset=start + each.offset) for each in on_page]
            start += len(page)
    if len(formulas) > max_formulas:
        raise RejectedRecord(
            side, f"the document has {len(formulas):,} displayed formulas; max_formulas is {max_formulas:,}"
        )
    return formulas


def _check(truth: FormulaTruth, prediction: FormulaPrediction | None) -> None:
    """Raises RejectedRecord if a side lacks its formula or document, has both, or has an unknown dialect."""
    sides: tuple[tuple[Side, FormulaTruth | FormulaPrediction | None], ...]
    sides = (("ground_truth", truth), ("prediction", prediction))
    for side, record in sides:
        if record and record.latex is not None and record.document is not None:
            words = side.replace("_", " ")
            raise RejectedRecord(side, f"the {words} has both `latex` and `document`; give one of them")
    name, kind = ("latex", "one formula") if truth.document is None else ("document", "a document")
    text = getattr(truth, name)
    if text is None:
        raise RejectedRecord("ground_truth", "the ground truth has no `latex` and no `document`; give one of them")
    if not text.strip():
        raise RejectedRecord("ground_truth", f"the ground truth's `{name}` is blank")
    if prediction is None:
        return
    if getattr(prediction, name) is None:
        raise RejectedRecord("prediction", f"the ground truth is {kind} and the prediction has no `{name}`")
    if prediction.dialect is not None and prediction.dialect not in DIALECTS:
        given = str(prediction.dialect)[:40]
        raise RejectedRecord("prediction", f"the dialect {given!r} is not known; give {', '.join(DIALECTS)}")
