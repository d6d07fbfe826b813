"""BLEU over the tokens of the normal form, from counts that add up over samples.

Source: K. Papineni et al., "BLEU", ACL 2002, as sacrebleu computes it (M. Post, WMT 2018): order 4, brevity penalty,
exponential smoothing: the first order without a match counts as half a match, the next as a quarter, and so on.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ...statistics.ratios import plain_sum

ORDER = 4
STATISTICS = (
    *(f"bleu_{count}_{order}" for order in range(1, ORDER + 1) for count in ("matches", "totals")),
    *("bleu_prediction_length", "bleu_truth_length"),
)
"""The names of the counts: matching n-grams and predicted n-grams of each order, then both lengths in tokens."""


def bleu_counts(truth: Sequence[str], prediction: Sequence[str]) -> tuple[int, ...]:
    """Returns the counts of one sample, in the order of STATISTICS; matches are clipped to the count in the truth."""
    counts: list[int] = []
    for order in range(1, ORDER + 1):
        counts += [(_grams(truth, order) & _grams(prediction, order)).total(), max(len(prediction) - order + 1, 0)]
    return (*counts, len(prediction), len(truth))


def bleu(*counts: float, every_order: bool = True) -> float:
    """Returns BLEU in [0, 1]: the brevity penalty times the geometric mean of the four precisions.

    Returns 0 if no token matches, or if the prediction is too short for an order. `every_order=False`, meant for single
    samples, leaves out the orders that the prediction is too short for.
    """
    *_, prediction_length, truth_length = counts
    if not counts[0] or not prediction_length:
        return 0.0
    smoothing = 1.0
    logarithms = []
    for matches, total in zip(counts[: 2 * ORDER : 2], counts[1 : 2 * ORDER : 2], strict=True):
        if not total:
            break
        if not matches:
            smoothing *= 2
        logarithms.append(math.log(matches / total if matches else 1 / (smoothing * total)))
    if every_order and len(logarithms) < ORDER:
        return 0.0
    brevity = min(0.0, 1 - truth_length / prediction_length)
    return math.exp(brevity + plain_sum(logarithms) / len(logarithms))


def _grams(tokens: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(order)), strict=False))
