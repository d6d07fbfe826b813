"""Which pairs of formulas a sample asks a score for: its one formula, or those of its document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..benchmark import RejectedRecord, Side
from ..common.budget import Budget
from .documents.dialects import READERS, Formula
from .documents.matching import match_formulas
from .records import FormulaPrediction, FormulaTruth

MAX_CHARACTERS = 2_000_000
"""A longer document is rejected."""


@dataclass(frozen=True, slots=True)
class FormulaPair:
    """A ground-truth formula and the prediction that answers it, as LaTeX to typeset.

    truth: None for a redundant prediction.
    prediction: None for a ground truth that no prediction answers.

    Of formulas that were matched within documents, further:

    distance: the edit distance over the longer length; 1 where one is None.
    round: 1 for a match below the first threshold, 2 for one below the second; None where one is None.
    truth_offset, prediction_offset: where each opens in its document, in characters.
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
    comparable: Callable[[str], str] = str,
) -> list[FormulaPair]:
    """Returns the pairs of formulas of a sample; those of a document are matched by `comparable` of their content.

    A sample with `latex` has one. One with `document` has one for each displayed formula of the ground truth, in
    reading order, then one for each prediction that answers none; a document without formulas has no pairs.

    Source: section 9 of the CDM paper's supplement.

    Raises RejectedRecord, naming the side, where a record has neither `latex` nor `document` or both, where the two
    sides differ in which they have, where the dialect is not known, and where a document is too long, has more than
    `max_formulas` formulas or goes beyond the budget; OutOfBudget, where its formulas would take too long to compare.
    """
    _check_truth(truth)
    if prediction is not None:
        _check_prediction(prediction, document=truth.document is not None)
    if truth.document is None:
        return [FormulaPair(truth.latex, prediction.latex if prediction else None)]
    truths = _formulas(truth.document, None, "ground_truth", budget, max_formulas)
    predictions: list[Formula] = []
    if prediction is not None and prediction.document is not None:
        predictions = _formulas(prediction.document, prediction.dialect, "prediction", budget, max_formulas)
    truth_keys, prediction_keys = ([comparable(each.content) for each in side] for side in (truths, predictions))
    pairs: list[FormulaPair] = []
    for match in match_formulas(truth_keys, prediction_keys, budget):
        left = None if match.truth is None else truths[match.truth]
        right = None if match.prediction is None else predictions[match.prediction]
        latex = (left and left.latex, right and right.latex)
        pairs.append(FormulaPair(*latex, match.distance, match.round, left and left.offset, right and right.offset))
    return pairs


def _formulas(text: str, dialect: str | None, side: Side, budget: Budget, max_formulas: int) -> list[Formula]:
    if len(text) > MAX_CHARACTERS:
        raise RejectedRecord(side, f"document: {len(text):,} characters, of which {MAX_CHARACTERS:,} are allowed")
    with budget.reading(side):
        formulas = READERS[dialect or "latex"](text, budget)
    if len(formulas) > max_formulas:
        raise RejectedRecord(
            side, f"the document has {len(formulas):,} displayed formulas; max_formulas is {max_formulas:,}"
        )
    return formulas


def _check_truth(truth: FormulaTruth) -> None:
    if truth.latex is not None and truth.document is not None:
        raise RejectedRecord("ground_truth", "the ground truth has both `latex` and `document`; give one of them")
    text, name = (truth.latex, "`latex`") if truth.document is None else (truth.document, "`document`")
    if text is None:
        raise RejectedRecord("ground_truth", "the ground truth has no `latex` and no `document`; give one of them")
    if not text.strip():
        raise RejectedRecord("ground_truth", f"the ground truth's {name} is blank")


def _check_prediction(prediction: FormulaPrediction, document: bool) -> None:
    if prediction.latex is not None and prediction.document is not None:
        raise RejectedRecord("prediction", "the prediction has both `latex` and `document`; give one of them")
    if document and prediction.document is None:
        raise RejectedRecord("prediction", "the ground truth is a document and the prediction has no `document`")
    if not document and prediction.latex is None:
        raise RejectedRecord("prediction", "the ground truth is one formula and the prediction has no `latex`")
    if prediction.dialect is not None and prediction.dialect not in READERS:
        given = str(prediction.dialect)[:40]
        raise RejectedRecord("prediction", f"the dialect {given!r} is not known; give {', '.join(READERS)}")
