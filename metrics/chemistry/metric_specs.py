"""The metrics of the chemistry benchmark."""

from __future__ import annotations

from ..benchmark import MetricSpec

METRICS = (
    MetricSpec(
        "exact_match",
        "share of samples whose molecules and text are right",
        main=1,
        rank=1,
        denominator="samples",
        per_sample=1,
    ),
    MetricSpec(
        "structure_exact_match",
        "share of samples whose molecules are right; a sample without any is right",
        main=2,
        rank=2,
        denominator="samples",
        per_sample=1,
    ),
    MetricSpec(
        "structure_exact_match_molecules",
        "share of the samples with molecules in the ground truth whose molecules are right",
        main=3,
        denominator="samples_with_molecules",
        per_sample=1,
    ),
    MetricSpec(
        "token_accuracy",
        "1 - (deletions + substitutions + insertions) / label tokens, over the corpus",
        bounds=(None, 1.0),
        main=4,
        denominator="tokens",
    ),
)

SAMPLE_METRICS = (
    MetricSpec("exact_match", "1 where the molecules and the text are right, else 0"),
    MetricSpec("structure_exact_match", "1 where the molecules are right, else 0"),
    MetricSpec("structure_exact_match_molecules", "the same; null where the ground truth has no molecule"),
    MetricSpec(
        "token_accuracy", "1 - (deletions + substitutions + insertions) / label tokens", bounds=(None, 1.0), main=1
    ),
)
