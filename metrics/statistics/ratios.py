"""Ratios of sums. A ratio without a denominator is None: there was nothing to measure."""

from __future__ import annotations


def ratio(numerator: float, denominator: float) -> float | None:
    """Returns numerator / denominator, or None where the denominator is 0."""
    return numerator / denominator if denominator else None


def f_measure(precision: float | None, recall: float | None) -> float | None:
    """Returns the harmonic mean 2 P R / (P + R).

    None where both are None; 0 where both are 0 or one is missing: nothing was found of what was there, or
    something was found where nothing was.
    """
    if precision is None and recall is None:
        return None
    if not precision or not recall:
        return 0.0
    return 2 * precision * recall / (precision + recall)


def precision_recall_f1(
    right: float, predicted: float, true: float, found: float | None = None, one_sided: float | None = 0.0
) -> tuple[float | None, float | None, float | None]:
    """Returns precision = right / predicted, recall = found / true, and their F1 (see `f_measure`).

    found: how many of the true ones were found, `right` by default; they differ where one prediction may stand for
    several true ones. one_sided: the ratio whose denominator is 0 while the other's is not: something was there and
    nothing was predicted, or the other way round. Where both are 0, there was nothing to measure: all three are None.

    >>> precision_recall_f1(1, 2, 4)
    (0.5, 0.25, 0.3333333333333333)
    >>> precision_recall_f1(0, 0, 4), precision_recall_f1(0, 0, 0)
    ((0.0, 0.0, 0.0), (None, None, None))
    """
    if not predicted and not true:
        return None, None, None
    precision = right / predicted if predicted else one_sided
    recall = (right if found is None else found) / true if true else one_sided
    return precision, recall, f_measure(precision, recall)


def mean(values: list[float]) -> float | None:
    """Returns the arithmetic mean, or None of an empty list."""
    return sum(values) / len(values) if values else None
