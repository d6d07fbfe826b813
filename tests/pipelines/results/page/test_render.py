from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.pipelines.results.page.render import number, parts, signed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("end_to_end.f1", ["end_", "to_", "end.", "f1"]),
        ("difficulty=", ["difficulty="]),
        ("", [""]),
    ],
)
def test_a_name_may_be_broken_behind_its_marks(text: str, shown: list[str]) -> None:
    assert parts(text) == shown


@given(st.text())
def test_a_broken_name_reads_as_before(text: str) -> None:
    assert "".join(parts(text)) == text


@pytest.mark.parametrize(
    ("value", "plain", "difference"),
    [
        (None, "–", "–"),
        (-1e-17, "0.0000", "0.0000"),
        (-0.00001, "-0.00001", "−0.00001"),
        (0.25, "0.2500", "+0.2500"),
        (-0.25, "-0.2500", "−0.2500"),
    ],
)
def test_numbers_have_their_decimals_and_zero_has_no_sign(value: float | None, plain: str, difference: str) -> None:
    assert number(value) == plain
    assert signed(value) == difference
