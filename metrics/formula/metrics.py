"""The metrics of the formula benchmark: the statistics of a sample, and the values computed from their sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..benchmark import MetricSpec, SampleScore, Table
from ..common.text import in_fence, truncated
from ..statistics.ratios import entrywise, mean, ratio, where
from ..statistics.sums import Sums
from .cdm.bleu import STATISTICS, bleu
from .cdm.scoring import FormulaScore
from .pairs import FormulaPair

RANGES = 10
"""The histogram of CDM has this many ranges of equal width below 1, and 1 itself."""
MAX_DETAILS = 200
"""The details of a document list at most this many formulas."""
_SHOWN_CHARACTERS = 200

_lower = partial(MetricSpec, higher_is_better=False)
METRICS = (
    MetricSpec(
        "cdm",
        "mean over formulas of the F1 of matched tokens; redundant predictions in documents count as 0",
        main=1,
        rank=1,
        denominator="rendered",
    ),
    MetricSpec("cdm_precision", "mean share of predicted tokens that are matched", denominator="rendered"),
    MetricSpec("cdm_recall", "mean share of ground-truth tokens that are matched", denominator="rendered"),
    MetricSpec(
        "exp_rate_cdm", "share of formulas whose CDM is 1 to three decimals", main=2, rank=2, denominator="rendered"
    ),
    MetricSpec(
        "exp_rate", "share of formulas with the same normal form as the ground truth", main=3, denominator="formulas"
    ),
    MetricSpec(
        "bleu", "corpus BLEU over the tokens of the normal form, in [0, 1]", main=4, denominator="bleu_truth_length"
    ),
    _lower(
        "edit_distance",
        "mean edit distance of the tokens of the normal form over the longer length",
        main=5,
        denominator="formulas",
    ),
    _lower(
        "render_failure_rate", "share of predicted formulas that cannot be typeset", main=6, denominator="predicted"
    ),
    _lower("image_edit_distance", "column edit distance of the images over their columns", denominator="image_columns"),
    _lower("image_mse", "mean squared difference of the images' grey values", denominator="imaged"),
    MetricSpec(
        "document_cdm", "mean over documents of the mean CDM of their formulas", denominator="documents", per_sample=1
    ),
    _lower(
        "document_missing_rate",
        "share of the documents' formulas without a matching prediction",
        denominator="document_truths",
    ),
    _lower(
        "document_redundant_rate",
        "share of the formulas predicted for documents that match none",
        denominator="document_predictions",
    ),
)
NUMERATORS = {
    "render_failure_rate": "render_failures",
    "image_edit_distance": "image_edits",
    "image_mse": "image_squared_error",
    "document_missing_rate": "document_missing",
    "document_redundant_rate": "document_redundant",
}
"""The numerators of ratios that do not have the name of their metric; BLEU is no ratio, and is computed apart."""

_PLAIN = {spec.name: replace(spec, main=None, rank=None, denominator="") for spec in METRICS}
SAMPLE_METRICS = (
    replace(_PLAIN["cdm"], main=1),
    *(_PLAIN["cdm_precision"], _PLAIN["cdm_recall"]),
    *(replace(_PLAIN["exp_rate_cdm"], binary=True), replace(_PLAIN["exp_rate"], binary=True)),
    replace(_PLAIN["bleu"], meaning="BLEU of this sample, over the orders that the prediction is long enough for"),
    _PLAIN["edit_distance"],
    replace(_PLAIN["render_failure_rate"], name="render_failure"),
    *(_PLAIN["image_edit_distance"], _PLAIN["image_mse"]),
)


def values(sums: Sums) -> dict[str, float | None]:
    """Returns the metrics; None if there is nothing to measure.

    Those of CDM are over formulas whose ground truth can be typeset, and over redundant predictions, with CDM 0.
    """
    result = {spec.name: ratio(sums[NUMERATORS.get(spec.name, spec.name)], sums[spec.denominator]) for spec in METRICS}
    result["bleu"] = where(sums["bleu_truth_length"], entrywise(bleu, *(sums[name] for name in STATISTICS)))
    return result


def cdm_histogram(sums: Sums) -> Table:
    """Returns the histogram of CDM over ten ranges and 1 itself (figure 8 of the supplement)."""
    counts = {label: sums[f"cdm_range[{label}]"] for label in map(_range_label, range(RANGES + 1))}
    rows = [(label, int(count), ratio(count, sums["rendered"])) for label, count in counts.items()]
    return Table("Formulas by CDM", ("CDM", "formulas", "share"), rows)


def _range_label(index: int) -> str:
    """Returns the label of a range of CDM: from `index` / 10 to the next tenth, or 1 itself."""
    return "1" if index == RANGES else f"{index / RANGES:.1f} to {(index + 1) / RANGES:.1f}"


def sample_score(pairs: Sequence[FormulaPair], scores: Sequence[FormulaScore], predicted: str) -> SampleScore:
    """Returns the score of a sample from those of its formulas; its metrics are their means.

    The statistics of CDM leave out formulas whose ground truth is not rendered. A redundant prediction, which has no
    ground truth, counts as a formula with CDM 0. A pair whose ground truth is beyond the limits is left out of all
    statistics, and so is the prediction that answers it.

    predicted: the text of the prediction, or of its first page.
    """
    totals: Counter[str] = Counter()
    metrics: dict[str, list[float]] = {}
    document = not pairs or pairs[0].distance is not None
    scored = [(pair, score) for pair, score in zip(pairs, scores, strict=True) if not score.left_out]
    for pair, score in scored:
        for name, value in _measured(score, pair.prediction is not None, totals).items():
            metrics.setdefault(name, []).append(value)
    means = {name: mean(measured) for name, measured in metrics.items()}
    if document:
        totals["document_truths"] = sum(pair.truth is not None for pair, _ in scored)
        totals["document_missing"] = sum(pair.prediction is None for pair, _ in scored)
        totals["document_predictions"] = sum(pair.prediction is not None for pair, _ in scored)
        totals["document_redundant"] = sum(pair.truth is None for pair, _ in scored)
        if (cdm := means.get("cdm")) is not None:
            totals["documents"] = 1
            totals["document_cdm"] = cdm
    coverage = {
        "ground_truth_too_large": len(pairs) - len(scored),
        "ground_truth_not_rendered": sum(score.matches is None for _, score in scored),
        "documents_without_formulas": int(not pairs),
        # A document in a fence that its dialect reads has formulas.
        **(in_fence(predicted) if pairs and not (document and any(pair.prediction for pair in pairs)) else {}),
    }
    return SampleScore(
        {name: total for name, total in totals.items() if total},
        means,
        details=_document_details(pairs, scores) if document else [_details(score) for score in scores],
        coverage={name: count for name, count in coverage.items() if count},
    )


def _measured(score: FormulaScore, predicted: bool, totals: Counter[str]) -> dict[str, float]:
    """Returns the metrics of one formula, and adds its statistics to `totals`."""
    measured: dict[str, float] = {}

    def measure(**values: float) -> None:
        measured.update(values)
        totals.update(values)

    totals["formulas"] += 1
    measure(
        exp_rate=int(score.exact),
        edit_distance=score.edits / score.length if score.length else float(not score.exact),
    )
    totals.update(dict(zip(STATISTICS, score.bleu, strict=True)))
    measured["bleu"] = 1.0 if score.exact else bleu(*score.bleu, every_order=False)
    if predicted:
        failed = int(bool(score.prediction_problem))
        totals.update(predicted=1, render_failures=failed)
        measured["render_failure"] = failed
    if score.matches is not None:
        true, cdm = len(score.matches.pairs), score.matches.cdm
        totals.update({"rendered": 1, f"cdm_range[{_range_label(int(cdm * RANGES))}]": 1})
        measure(
            cdm=cdm,
            cdm_precision=true / score.matches.prediction_count if true else 0.0,
            cdm_recall=true / score.matches.truth_count if true else 0.0,
            exp_rate_cdm=int(round(cdm, 3) == 1),
        )
    if score.images is not None:
        totals.update(imaged=1, image_edits=score.images.edits, image_columns=score.images.columns)
        totals["image_squared_error"] += score.images.squared_error  # type: ignore[assignment]
        measured["image_edit_distance"] = score.images.edits / score.images.columns if score.images.columns else 1.0
        measured["image_mse"] = score.images.squared_error
    return measured


def _document_details(pairs: Sequence[FormulaPair], scores: Sequence[FormulaScore]) -> dict[str, Any]:
    """Returns the details of a document's first 200 formulas: truncated text and how they were matched."""
    listed = [
        {
            "ground_truth": pair.truth and truncated(pair.truth, _SHOWN_CHARACTERS),
            "prediction": pair.prediction and truncated(pair.prediction, _SHOWN_CHARACTERS),
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


def _details(score: FormulaScore) -> dict[str, Any]:
    """Returns the token counts of a pair and why a side could not be typeset."""
    tokens = score.matches and {
        "ground_truth": score.matches.truth_count,
        "prediction": score.matches.prediction_count,
        "matched": len(score.matches.pairs),
    }
    problems = {"ground_truth_problem": score.truth_problem, "prediction_problem": score.prediction_problem}
    return ({"tokens": tokens} if tokens else {}) | {name: problem for name, problem in problems.items() if problem}


def matches_in_words(details: Any) -> list[str]:
    """Returns for each formula of the details of a sample how many tokens match; empty for documents."""
    counts = [formula.get("tokens") for formula in details] if isinstance(details, list) else []
    return [
        f"{f'formula {number}: ' if len(counts) > 1 else ''}{tokens['matched']} tokens match, of"
        f" {tokens['ground_truth']} true and {tokens['prediction']} predicted ones"
        for number, tokens in enumerate(counts, start=1)
        if tokens
    ]
