"""Ratios, and what they are where there is nothing to measure; of columns, the bits of a call for each entry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.ratios import entrywise, f_measure, is_measured, mean, precision_recall_f1, ratio

VALUES = st.none() | st.just(0.0) | st.integers(1, 10**9).map(lambda part: part / 10**9)
COUNTS = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))


@pytest.mark.parametrize(
    ("precision", "recall", "expected"),
    [
        (0.5, 1.0, 2 / 3),  # 2 * 0.5 * 1 / 1.5
        (0.25, 0.75, 0.375),  # 2 * 0.1875 / 1
        (0.0, 0.0, 0.0),
        (1.0, 0.0, 0.0),
        (None, 0.0, 0.0),  # nothing was predicted, something was there
        (0.0, None, 0.0),  # something was predicted, nothing was there
        (0.5, None, 0.0),
        (None, None, None),
    ],
)
def test_f_measure(precision: float | None, recall: float | None, expected: float | None) -> None:
    assert f_measure(precision, recall) == f_measure(recall, precision) == expected


def test_ratios_and_means() -> None:
    assert precision_recall_f1(3, 4, 6) == pytest.approx((0.75, 0.5, 0.6))  # 2 * 0.375 / 1.25
    for predicted, true in [(0, 5), (5, 0)]:  # nothing was predicted, or something where nothing was there
        assert precision_recall_f1(0, predicted, true) == (0, 0, 0)
    assert precision_recall_f1(0, 0, 0) == (None, None, None)
    assert (ratio(3, 4), ratio(0, 4), ratio(0, 0)) == (0.75, 0.0, None)
    assert (mean([1.0, None, 2.0, 6.0]), mean([]), mean([None])) == (3.0, None, None)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=5), st.lists(COUNTS, min_size=1, max_size=5))
@np.errstate(all="ignore")
def test_columns_have_the_bits_of_a_call_for_each_entry(pairs: Any, counts: Any) -> None:
    def column(values: Any) -> Any:
        return np.array([math.nan if each is None else each for each in values], dtype=float)

    first, second = (column(each) for each in zip(*pairs, strict=True))
    for function in (f_measure, lambda *each: mean(each)):
        np.testing.assert_array_equal(function(first, second), column(function(*pair) for pair in pairs))
    assert is_measured(first).tolist() == [is_measured(one) for one, _ in pairs]
    assert entrywise(math.hypot, *np.array(counts, dtype=float).T[:2]).tolist() == [math.hypot(*n[:2]) for n in counts]
    found = precision_recall_f1(*(column(each) for each in zip(*counts, strict=True)))
    expected = zip(*(precision_recall_f1(*each) for each in counts), strict=True)
    for rates, each in zip(found, expected, strict=True):
        np.testing.assert_array_equal(rates, column(each))
