"""Which pairs of formulas a sample asks a score for: its one formula, or those of its document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..benchmark import RejectedRecord, Side
from ..common.budget import Budget
from .documents.dialects import DIALECTS, Dialect, Formula, predicted_formulas
from .documents.matching import PUBLISHED_THRESHOLDS, match_formulas
from .records import FormulaPrediction, FormulaTruth

MAX_CHARACTERS = 2_000_000
"""A longer document is rejected."""
MAX_FORMULAS = 1_000
"""By default, a document with more displayed formulas is rejected."""

_DIALECTS: dict[str | None, Dialect] = {None: "latex", **{dialect: dialect for dialect in DIALECTS}}


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

    Raises RejectedRecord, naming the side, where a record has neither `latex` nor `document` or both, where the two
    sides differ in which they have, where the dialect is not known, and where `document_pairs` does.
    """
    _check_truth(truth)
    if prediction is not None:
        _check_prediction(prediction, document=truth.document is not None)
    if truth.document is None:
        return [FormulaPair(truth.latex, prediction.latex if prediction else None)]
    text, dialect = (prediction.document, prediction.dialect) if prediction else (None, None)
    return document_pairs(
        truth.document, text, _DIALECTS[dialect], budget, comparable=comparable, max_formulas=max_formulas
    )


def document_pairs(
    source: str,
    prediction_text: str | None,
    dialect: Dialect,
    budget: Budget,
    *,
    thresholds: Sequence[float] = PUBLISHED_THRESHOLDS,
    comparable: Callable[[str], str] = str,
    max_formulas: int = MAX_FORMULAS,
) -> list[FormulaPair]:
    """Returns the displayed formulas of a LaTeX `source`, each with the one predicted for it.

    Ground truths come in reading order, then the redundant predictions. Without a prediction (None) every ground
    truth is unanswered. Formulas are compared by `comparable` of their content; by default as they are, without
    delimiters, labels and tags, their blanks as single spaces.

    Source: section 9 of the CDM paper's supplement.

    Raises RejectedRecord, naming the side, where a document is too long, has more than `max_formulas` formulas or goes
    beyond the budget; OutOfBudget, where its formulas would take too long to compare.
    """
    truths = _formulas(source, "latex", "ground_truth", budget, max_formulas)
    predictions: list[Formula] = []
    if prediction_text is not None:
        predictions = _formulas(prediction_text, dialect, "prediction", budget, max_formulas)
    truth_keys, prediction_keys = ([comparable(each.content) for each in side] for side in (truths, predictions))
    pairs: list[FormulaPair] = []
    for match in match_formulas(truth_keys, prediction_keys, budget, thresholds):
        truth = None if match.truth is None else truths[match.truth]
        prediction = None if match.prediction is None else predictions[match.prediction]
        pairs.append(
            FormulaPair(
                truth=truth.latex if truth else None,
                prediction=prediction.latex if prediction else None,
                distance=match.distance,
                round=match.round,
                truth_offset=truth.offset if truth else None,
                prediction_offset=prediction.offset if prediction else None,
            )
        )
    return pairs


def _formulas(text: str, dialect: Dialect, side: Side, budget: Budget, max_formulas: int) -> list[Formula]:
    if len(text) > MAX_CHARACTERS:
        raise RejectedRecord(side, f"document: {len(text):,} characters, of which {MAX_CHARACTERS:,} are allowed")
    with budget.reading(side):
        formulas = predicted_formulas(text, dialect, budget)
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
    if prediction.dialect not in _DIALECTS:
        given = str(prediction.dialect)[:40]
        raise RejectedRecord("prediction", f"the dialect {given!r} is not known; give {', '.join(DIALECTS)}")
