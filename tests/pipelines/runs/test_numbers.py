"""Numbers as people read them: none is told as another one."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from beamscore.pipelines.runs.numbers import MAX_DIGITS, NEGLIGIBLE, digits_apart, fixed, percent, signed


@given(st.floats(-1e6, 1e6) | st.integers(-2, 2).flatmap(lambda whole: st.floats(whole - 1e-3, whole + 1e-3)))
@example(0.1 + 0.7 + 0.2)
@example(1 + 1.5e-9)
def test_no_number_reads_as_a_whole_one_or_as_one_of_the_other_sign(value: float) -> None:
    """It has four decimals, or as many as that takes."""
    text = fixed(value)
    shown, places = float(text), len(text.partition(".")[2])
    assert shown == pytest.approx(value, abs=0.5000001 * 10**-places)
    if abs(value - round(value)) > NEGLIGIBLE:
        assert shown != round(value)
        assert math.copysign(1, shown) == math.copysign(1, value)
        assert places == 4 or round(value, places - 1) == round(value)
    else:
        assert (places, text.startswith("-0.0000")) == (4, False)
    assert signed(value) == ("+" if shown > 0 else "") + text


def test_very_large_numbers_are_shown() -> None:
    assert [fixed(value) for value in (1e300, math.inf, -math.inf)] == [f"{1e300:.4f}", "inf", "-inf"]


@given(st.floats(0.5, 0.9999))
def test_a_confidence_is_never_all(confidence: float) -> None:
    assert percent(confidence) != "100%"
    assert float(percent(confidence)[:-1]) / 100 == pytest.approx(confidence, rel=5e-6)


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
    assert digits <= MAX_DIGITS
