"""The metrics of the formula benchmark."""

from __future__ import annotations

from ..benchmark import MetricSpec

METRICS = (
    MetricSpec(
        "cdm",
        "mean over formulas of the F1 of matched tokens; redundant predictions of documents count 0",
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
    MetricSpec(
        "edit_distance",
        "mean edit distance of the tokens of the normal form over the longer length",
        higher_is_better=False,
        main=5,
        denominator="formulas",
    ),
    MetricSpec(
        "render_failure_rate",
        "share of predicted formulas that cannot be typeset",
        higher_is_better=False,
        main=6,
        denominator="predicted",
    ),
    MetricSpec(
        "image_edit_distance",
        "column edit distance of the images over their columns",
        higher_is_better=False,
        denominator="image_columns",
    ),
    MetricSpec(
        "image_mse", "mean squared difference of the images' grey values", higher_is_better=False, denominator="imaged"
    ),
    MetricSpec(
        "document_cdm", "mean over documents of the mean CDM of their formulas", denominator="documents", per_sample=1
    ),
    MetricSpec(
        "document_missing_rate",
        "share of the documents' formulas that no prediction answers",
        higher_is_better=False,
        denominator="document_truths",
    ),
    MetricSpec(
        "document_redundant_rate",
        "share of the formulas predicted for documents that answer none",
        higher_is_better=False,
        denominator="document_predictions",
    ),
)

SAMPLE_METRICS = (
    MetricSpec("cdm", "F1 of matched tokens", main=1),
    MetricSpec("cdm_precision", "share of predicted tokens that are matched"),
    MetricSpec("cdm_recall", "share of ground-truth tokens that are matched"),
    MetricSpec("exp_rate_cdm", "1 where CDM is 1 to three decimals"),
    MetricSpec("exp_rate", "1 where the normal forms are equal"),
    MetricSpec("bleu", "BLEU of this sample, over the orders that the prediction is long enough for"),
    MetricSpec("edit_distance", "edit distance of the tokens over the longer length", higher_is_better=False),
    MetricSpec("render_failure", "1 where the prediction cannot be typeset", higher_is_better=False),
    MetricSpec("image_edit_distance", "column edit distance of the images over their columns", higher_is_better=False),
    MetricSpec("image_mse", "mean squared difference of the images' grey values", higher_is_better=False),
)
