"""The pairs of formulas that one document asks a score for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...benchmark import RejectedRecord, Side
from ...common.budget import Budget
from ..formula_pair import FormulaPair
from .dialects import Dialect, predicted_formulas
from .extract import Formula, latex_formulas
from .match import PUBLISHED_THRESHOLDS, match_formulas

MAX_CHARACTERS = 2_000_000
"""A longer document is rejected."""
MAX_FORMULAS = 1_000
"""By default, a document with more displayed formulas is rejected."""


def paired_formulas(
    source: str,
    prediction_text: str | None,
    dialect: Dialect,
    budget: Budget,
    *,
    thresholds: Sequence[float] = PUBLISHED_THRESHOLDS,
    comparable: Callable[[str], str] | None = None,
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
    key = comparable or _unchanged
    matches = match_formulas(
        [key(each.content) for each in truths], [key(each.content) for each in predictions], budget, thresholds
    )
    pairs: list[FormulaPair] = []
    for match in matches:
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
        found = latex_formulas(text, budget) if side == "ground_truth" else predicted_formulas(text, dialect, budget)
    if len(found) > max_formulas:
        raise RejectedRecord(
            side, f"the document has {len(found):,} displayed formulas; max_formulas is {max_formulas:,}"
        )
    return found


def _unchanged(content: str) -> str:
    return content
