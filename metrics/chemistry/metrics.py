"""The metrics of the chemistry benchmark, and the formula of token accuracy."""

from __future__ import annotations

from dataclasses import replace

from ..benchmark import MetricSpec
from ..statistics.ratios import Value, ratio

TOKEN_ACCURACY = MetricSpec(
    "token_accuracy", "1 - (deletions + substitutions + insertions) / label tokens", bounds=(None, 1.0), main=1
)
RIGHT = "share of samples whose molecules and text are right"
STRUCTURE = "share of samples whose molecules are right; a sample without any is right"
MOLECULES = "share of the samples with molecules in the ground truth whose molecules are right"
METRICS = (
    MetricSpec("exact_match", RIGHT, main=1, rank=1, denominator="samples", per_sample=1),
    MetricSpec("structure_exact_match", STRUCTURE, main=2, rank=2, denominator="samples", per_sample=1),
    MetricSpec(
        "structure_exact_match_molecules", MOLECULES, main=3, denominator="samples_with_molecules", per_sample=1
    ),
    replace(TOKEN_ACCURACY, meaning=f"{TOKEN_ACCURACY.meaning}, over the corpus", main=4, denominator="tokens"),
)

SAMPLE_METRICS = (
    MetricSpec("exact_match", "1 if the molecules and the text are right, else 0", binary=True),
    MetricSpec("structure_exact_match", "1 if the molecules are right, else 0", binary=True),
    MetricSpec("structure_exact_match_molecules", "the same; null if the ground truth has no molecule", binary=True),
    TOKEN_ACCURACY,
)


def accuracy(errors: Value, tokens: Value) -> Value:
    """Returns 1 - errors / tokens, which is negative if errors exceed tokens; None if there are no tokens."""
    share = ratio(errors, tokens)
    return None if share is None else 1 - share
