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


def mean(values: list[float]) -> float | None:
    """Returns the arithmetic mean, or None of an empty list."""
    return sum(values) / len(values) if values else None
