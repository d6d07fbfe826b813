"""Ratios of sums, and values computed from them.

A ratio whose denominator is 0 is None: there is nothing to measure. Each function also accepts columns instead of
numbers, one entry for each replicate [R], with NaN for None, and returns the same bits as a call for each entry.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

Value = Any
"""A number, None, or a column of numbers [R]."""


def ratio(numerator: Value, denominator: Value) -> Value:
    """Returns numerator / denominator, or None if the denominator is 0."""
    if isinstance(denominator, np.ndarray):
        return where(denominator, numerator / denominator)
    return numerator / denominator if denominator else None


def where(condition: Value, value: Value, otherwise: Value = None) -> Value:
    """Returns `value` where the condition, a boolean or a number, is true, else `otherwise`."""
    if isinstance(condition, np.ndarray):
        return np.where(condition != 0, *(np.nan if each is None else each for each in (value, otherwise)))
    return value if condition else otherwise


def is_measured(value: Value) -> Value:
    """Returns whether a value is not None."""
    return ~np.isnan(value) if isinstance(value, np.ndarray) else value is not None


def f_measure(precision: Value, recall: Value) -> Value:
    """Returns the harmonic mean 2 P R / (P + R).

    None if both are None; 0 if both are 0 or one is missing: either nothing was found of an existing truth, or
    something was found without any truth.
    """
    if isinstance(precision, np.ndarray) or isinstance(recall, np.ndarray):
        first, second = (np.asarray(each, dtype=np.float64) for each in (precision, recall))
        both, neither = first * second > 0, np.isnan(first) & np.isnan(second)
        return where(~neither, np.where(both, 2 * first * second / (first + second), 0.0))
    if precision is None and recall is None:
        return None
    if not precision or not recall:
        return 0.0
    return 2 * precision * recall / (precision + recall)


def precision_recall_f1(right: Value, predicted: Value, true: Value) -> tuple[Value, Value, Value]:
    """Returns precision = right / predicted, recall = right / true, and their F1 (see `f_measure`).

    A ratio whose denominator alone is 0 is 0: something was there and nothing was predicted, or the other way round.
    Where both are 0, there was nothing to measure: all three are None.

    >>> precision_recall_f1(1, 2, 4)
    (0.5, 0.25, 0.3333333333333333)
    >>> precision_recall_f1(0, 0, 4), precision_recall_f1(0, 0, 0)
    ((0.0, 0.0, 0.0), (None, None, None))
    """
    anything = predicted + true
    precision = where(anything, where(predicted, ratio(right, predicted), 0.0))
    recall = where(anything, where(true, ratio(right, true), 0.0))
    return precision, recall, f_measure(precision, recall)


def mean(values: Sequence[Value]) -> Value:
    """Returns the arithmetic mean of the values that are not None, added up in order; None without any."""
    if any(isinstance(value, np.ndarray) for value in values):
        columns = [np.asarray(value, dtype=np.float64) for value in values]
        measured = [~np.isnan(column) for column in columns]
        total = reduce(operator.add, map(np.nan_to_num, columns))
        return ratio(total, np.asarray(reduce(operator.add, (each.astype(np.float64) for each in measured))))
    there = [value for value in values if value is not None]
    return plain_sum(there) / len(there) if there else None


def plain_sum(values: Sequence[float]) -> float:
    """Returns the sum, rounded after each addition from left to right; the built-in `sum` is not, since Python 3.12."""
    return reduce(operator.add, values, 0)


def entrywise(function: Callable[..., float | None], *values: Value) -> Value:
    """Returns `function` of the values; if any is a column, applies a scalar-only function entry by entry."""
    if not any(isinstance(value, np.ndarray) for value in values):
        return function(*values)
    columns = np.broadcast_arrays(*values)
    return np.array([function(*entries) for entries in zip(*(each.tolist() for each in columns), strict=True)], float)
