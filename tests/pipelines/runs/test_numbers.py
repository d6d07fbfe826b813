"""Numbers as people read them: none is told as another one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.pipelines.runs.numbers import NEGLIGIBLE, digits_apart, fixed, percent, signed


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.8125, "0.8125"),
        # Four decimals would say that all is right, that nothing fails, or that nothing differs.
        (0.99996, "0.99996"),
        (-0.00003, "-0.00003"),
        (0.1 + 0.7 + 0.2, "1.0000"),
        (-1e-17, "0.0000"),
        (1e300, f"{1e300:.4f}"),
        (math.inf, "inf"),
    ],
)
def test_by_hand(value: float, text: str) -> None:
    assert fixed(value) == text


@given(st.floats(-1e6, 1e6))
def test_no_number_reads_as_a_whole_one_or_as_one_of_the_other_sign(value: float) -> None:
    shown = float(fixed(value))
    assert shown == pytest.approx(value, abs=0.5000001e-4)
    if abs(value - round(value)) > NEGLIGIBLE:
        assert shown != round(value)
        assert math.copysign(1, shown) == math.copysign(1, value)
    assert not fixed(value).startswith("-0.0000 ")
    assert signed(value).lstrip("+") == fixed(value)
    assert signed(value).startswith("+") == (shown > 0)


@given(st.floats(0.5, 0.9999))
def test_a_confidence_is_never_all(confidence: float) -> None:
    assert percent(confidence) != "100%"


@given(st.floats(-1e3, 1e3), st.floats(-1e-2, 1e-2))
def test_a_value_that_differs_from_a_limit_is_shown_differently_in_as_few_digits_as_that_takes(
    limit: float, step: float
) -> None:
    digits = digits_apart(limit, limit, limit + step)
    if abs(limit + step - limit) > NEGLIGIBLE:
        assert f"{limit + step:.{digits}g}" != f"{limit:.{digits}g}"
        assert digits == 4 or f"{limit + step:.{digits - 1}g}" == f"{limit:.{digits - 1}g}"
    else:
        assert digits == 4
