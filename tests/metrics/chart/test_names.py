"""Text and numbers as the tasks compare them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.chart.names import label, normalised_text, number


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("  Total\nCOST \r\n", "total cost"),
        ("CO_{2}", "co₂"),
        ("m^{-2}", "m⁻²"),
        ("\\Alpha 5", "α 5"),
        ("x^2", "x^2"),
        ("a-b", "a-b"),
        ("", ""),
    ],
)
def test_texts(text: str, normalised: str) -> None:
    assert normalised_text(text) == normalised


def test_a_text_too_long_for_latex_keeps_it() -> None:
    assert normalised_text("x^{2}" * 1000) == "x^{2}" * 1000


@given(st.text(alphabet="\\_^{}ab ti\n\ud800é"))
def test_any_text_is_normalised(text: str) -> None:
    assert normalised_text(text) == normalised_text(text)


@pytest.mark.parametrize(
    ("value", "held"),
    [
        ("12.5", 12.5),
        (" -3 ", -3),
        ("1e3", 1000),
        (7, 7),
        ("", None),
        ("nan", None),
        ("-inf", None),
        ("1e999", None),
        (1e101, None),
        ("12,5", None),
        ("5 %", None),
        (None, None),
        (10**400, None),
        ("9" * 100_000, None),
    ],
)
def test_numbers(value: Any, held: float | None) -> None:
    assert number(value) == held


def test_labels() -> None:
    assert [label(value) for value in ("a", 2011, 1.5, None)] == ["a", "2011", "1.5", ""]
