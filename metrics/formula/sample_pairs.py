"""Which pairs of formulas a sample asks a score for: its one formula, or those of its document."""

from __future__ import annotations

from collections.abc import Callable

from ..benchmark import RejectedRecord
from ..common.budget import Budget
from .documents.dialects import DIALECTS, Dialect
from .documents.pairs import paired_formulas
from .formula_pair import FormulaPair
from .records import FormulaPrediction, FormulaTruth

_DIALECTS: dict[str | None, Dialect] = {None: "latex", **{dialect: dialect for dialect in DIALECTS}}


def formula_pairs(
    truth: FormulaTruth,
    prediction: FormulaPrediction | None,
    max_formulas: int,
    budget: Budget,
    comparable: Callable[[str], str] | None = None,
) -> list[FormulaPair]:
    """Returns the pairs of formulas of a sample; those of a document are matched by `comparable` of their content.

    A sample with `latex` has one. One with `document` has one for each displayed formula of the ground truth, in
    reading order, then one for each prediction that answers none; a document without formulas has no pairs.

    Raises RejectedRecord, naming the side, where a record has neither `latex` nor `document` or both, where the two
    sides differ in which they have, where the dialect is not known, where a document has more than `max_formulas`
    formulas, and where paired_formulas does.
    """
    _check_truth(truth)
    if prediction is not None:
        _check_prediction(prediction, document=truth.document is not None)
    if truth.document is None:
        return [FormulaPair(truth.latex, prediction.latex if prediction else None)]
    document, dialect = (prediction.document, prediction.dialect) if prediction else (None, None)
    return paired_formulas(
        truth.document, document, _DIALECTS[dialect], budget, comparable=comparable, max_formulas=max_formulas
    )


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
