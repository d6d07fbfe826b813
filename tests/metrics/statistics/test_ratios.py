"""Ratios, and what they are where there is nothing to measure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.ratios import f_measure, mean, precision_recall_f1, ratio

SHARES = st.tuples(st.integers(0, 10**9), st.integers(1, 10**9)).map(lambda counts: min(counts) / max(counts))


def test_a_ratio_without_a_denominator_is_none() -> None:
    assert ratio(3, 4) == 0.75
    assert ratio(0, 4) == 0.0
    assert ratio(0, 0) is None


@pytest.mark.parametrize(
    ("precision", "recall", "expected"),
    [
        (0.5, 1.0, 2 / 3),  # 2 * 0.5 * 1 / 1.5
        (0.25, 0.75, 0.375),  # 2 * 0.1875 / 1
        (0.0, 0.0, 0.0),
        (1.0, 0.0, 0.0),
        (None, 0.0, 0.0),  # nothing was predicted, something was there
        (0.0, None, 0.0),  # something was predicted, nothing was there
        (None, 0.5, 0.0),
        (0.5, None, 0.0),
        (None, None, None),
    ],
)
def test_f_measure(precision: float | None, recall: float | None, expected: float | None) -> None:
    assert f_measure(precision, recall) == expected


@given(SHARES, SHARES)
def test_f_measure_is_symmetric_and_lies_between_its_parts(precision: float, recall: float) -> None:
    found = f_measure(precision, recall)
    assert found is not None
    assert found == f_measure(recall, precision)
    assert min(precision, recall) * (1 - 1e-12) <= found <= max(precision, recall) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("right", "predicted", "true", "expected"),
    [
        (3, 4, 6, (0.75, 0.5, 0.6)),  # 2 * 0.375 / 1.25
        (0, 0, 5, (0.0, 0.0, 0.0)),  # nothing was predicted, something was there
        (0, 5, 0, (0.0, 0.0, 0.0)),  # something was predicted, nothing was there
        (0, 0, 0, (None, None, None)),
    ],
)
def test_precision_recall_f1(right: int, predicted: int, true: int, expected: tuple[float | None, ...]) -> None:
    assert precision_recall_f1(right, predicted, true) == pytest.approx(expected)


def test_precision_recall_f1_where_one_prediction_finds_several() -> None:
    # Two of four predictions are right, and find three of five: 2 * 0.5 * 0.6 / 1.1.
    assert precision_recall_f1(2, 4, 5, found=3) == pytest.approx((0.5, 0.6, 0.6 / 1.1))


def test_precision_recall_f1_with_nothing_on_one_side_alone() -> None:
    assert precision_recall_f1(0, 0, 5, one_sided=None) == (None, 0.0, 0.0)
    assert precision_recall_f1(0, 5, 0, one_sided=None) == (0.0, None, 0.0)


def test_mean() -> None:
    assert mean([1.0, 2.0, 6.0]) == 3.0
    assert mean([1.0, 2.0]) == 1.5
    assert mean([]) is None
