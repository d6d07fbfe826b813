"""Adds up the scores of a sample's formulas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ...benchmark import SampleScore
from ...common.text import truncated
from ...statistics.ratios import mean
from ..formula_pair import FormulaPair
from .bleu import ORDER, bleu
from .scoring import PairScore

RANGES = 10
"""The histogram of CDM has this many ranges of equal width below 1, and 1 itself."""
MAX_DETAILS = 200
"""Of a document with more formulas, the details list this many."""
_SHOWN_CHARACTERS = 200


def range_label(index: int) -> str:
    """Returns the name of a range of CDM: of `index` / 10 to the next tenth, or of 1 itself."""
    if index == RANGES:
        return "1"
    return f"{index / RANGES:.1f} to {(index + 1) / RANGES:.1f}"


def sample_score(pairs: Sequence[FormulaPair], scores: Sequence[PairScore], document: bool) -> SampleScore:
    """Returns the score of a sample from those of its formulas; its metrics are their means.

    The statistics of CDM leave out formulas whose ground truth is not rendered. A redundant prediction, which has no
    ground truth, counts as a formula with CDM 0. A pair whose ground truth is beyond the limits is left out of all
    statistics, and so is the prediction that answers it.
    """
    totals: Counter[str] = Counter()
    metrics: dict[str, list[float]] = {}
    scored = [(pair, score) for pair, score in zip(pairs, scores, strict=True) if not score.left_out]
    for pair, score in scored:
        _add(totals, metrics, score, predicted=pair.prediction is not None)
    if document:
        _add_document(totals, metrics, [pair for pair, _ in scored])
    coverage = {
        "ground_truth_too_large": len(pairs) - len(scored),
        "ground_truth_not_rendered": sum(score.matches is None for _, score in scored),
        "documents_without_formulas": int(not pairs),
    }
    return SampleScore(
        {name: total for name, total in totals.items() if total},
        {name: mean(values) for name, values in metrics.items()},
        details=_document_details(pairs, scores) if document else [_details(score) for score in scores],
        coverage={name: count for name, count in coverage.items() if count},
    )


def _add(totals: Counter[str], metrics: dict[str, list[float]], score: PairScore, predicted: bool) -> None:
    def measure(name: str, value: float) -> None:
        totals[name] += value  # type: ignore[assignment]
        metrics.setdefault(name, []).append(value)

    totals["formulas"] += 1
    measure("exp_rate", int(score.exact))
    measure("edit_distance", score.edits / score.length if score.length else float(not score.exact))
    for order in range(ORDER):
        totals[f"bleu_matches_{order + 1}"] += int(score.bleu.matches[order])
        totals[f"bleu_totals_{order + 1}"] += int(score.bleu.totals[order])
    totals["bleu_prediction_length"] += int(score.bleu.prediction_length)
    totals["bleu_truth_length"] += int(score.bleu.truth_length)
    metrics.setdefault("bleu", []).append(1.0 if score.exact else bleu(score.bleu, every_order=False))
    if predicted:
        totals["predicted"] += 1
        totals["render_failures"] += int(bool(score.prediction_problem))
        metrics.setdefault("render_failure", []).append(int(bool(score.prediction_problem)))
    if score.matches is not None:
        true, truth, prediction = len(score.matches.pairs), score.matches.truth_count, score.matches.prediction_count
        cdm = score.matches.cdm
        totals["rendered"] += 1
        totals[f"cdm_range[{range_label(int(cdm * RANGES))}]"] += 1
        measure("cdm", cdm)
        measure("cdm_precision", true / prediction if true else 0.0)
        measure("cdm_recall", true / truth if true else 0.0)
        measure("exp_rate_cdm", int(round(cdm, 3) == 1))
    if score.images is not None:
        totals["imaged"] += 1
        totals["image_edits"] += score.images.edits
        totals["image_columns"] += score.images.columns
        totals["image_squared_error"] += score.images.squared_error  # type: ignore[assignment]
        metrics.setdefault("image_edit_distance", []).append(score.images.edits / score.images.columns)
        metrics.setdefault("image_mse", []).append(score.images.squared_error)


def _add_document(totals: Counter[str], metrics: dict[str, list[float]], pairs: Sequence[FormulaPair]) -> None:
    """Adds what only documents have: their own mean of CDM, missing and redundant formulas."""
    totals["document_truths"] += sum(pair.truth is not None for pair in pairs)
    totals["document_missing"] += sum(pair.prediction is None for pair in pairs)
    totals["document_predictions"] += sum(pair.prediction is not None for pair in pairs)
    totals["document_redundant"] += sum(pair.truth is None for pair in pairs)
    cdm = mean(metrics.get("cdm", []))
    if cdm is not None:
        totals["documents"] += 1
        totals["document_cdm"] += cdm  # type: ignore[assignment]


def _document_details(pairs: Sequence[FormulaPair], scores: Sequence[PairScore]) -> dict[str, Any]:
    """The details of a document's formulas, of the first 200: their text, cut, and how they were matched."""
    listed = [
        {
            "ground_truth": _shown(pair.truth),
            "prediction": _shown(pair.prediction),
            "ground_truth_offset": pair.truth_offset,
            "prediction_offset": pair.prediction_offset,
            "distance": pair.distance,
            "round": pair.round,
            "cdm": None if score.matches is None else score.matches.cdm,
            **_details(score),
        }
        for pair, score in zip(pairs[:MAX_DETAILS], scores[:MAX_DETAILS], strict=True)
    ]
    return {"formulas": listed, "not_listed": len(pairs) - len(listed)}


def _shown(text: str | None) -> str | None:
    return None if text is None else truncated(text, _SHOWN_CHARACTERS)


def _details(score: PairScore) -> dict[str, Any]:
    """The counts of a pair and why a side could not be typeset."""
    details: dict[str, Any] = {}
    if score.matches is not None:
        details["tokens"] = {
            "ground_truth": score.matches.truth_count,
            "prediction": score.matches.prediction_count,
            "matched": len(score.matches.pairs),
        }
    if score.truth_problem:
        details["ground_truth_problem"] = score.truth_problem
    if score.prediction_problem:
        details["prediction_problem"] = score.prediction_problem
    return details
