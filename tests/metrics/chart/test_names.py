"""Text and numbers as the tasks compare them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import unicodeit
from hypothesis import given, settings
from hypothesis import strategies as st
from unicodeit.data import SUBSUPERSCRIPTS

from beamscore.metrics.chart.limits import reading_steps, text_steps
from beamscore.metrics.chart.names import compared_labels, numbers, read_text, text_scores, without_latex
from tests.metrics.common.test_common import TEXTS, plain_edit_distance


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Total\nCOST \r\n", "total cost"),
        ("CO_{2}", "co₂"),
        ("m^{-2}", "m⁻²"),
        ("\\Alpha 5", "α 5"),
        ("x^2", "x^2"),
        ("a-b", "a-b"),
        ("", ""),
        ("x^{2}" * 200 + "x", "x^{2}" * 200 + "x"),
    ],
)
def test_texts(text: str, expected: str) -> None:
    """Of more than 1000 characters, the last one keeps its LaTeX."""
    assert read_text(text, "published") == expected


# Scripts that unicodeit replaces and others, their parts, and a few commands and accents.
LATEX = st.lists(
    st.sampled_from([*"{}_^-\u2212+=(),.:!AaSz09", "_{12}", "_{a,b}", "_{q}", "^{ab}", "^{q}", "^{-1}", "_{-x}"])
    | st.sampled_from([script for script, _ in SUBSUPERSCRIPTS])
    | st.characters().map("_{{{}}}".format)
    | st.characters().map("^{{{}}}".format)
    | st.sampled_from(["\\alpha", "\\hat{a}", "\\not\\in", "\\"]),
    max_size=8,
).map("".join)


@settings(max_examples=150, deadline=None)
@given(LATEX)
def test_latex_becomes_what_unicodeit_makes_of_it(text: str) -> None:
    assert without_latex(text) == unicodeit.replace(text)


@pytest.mark.parametrize("mark", "_^")
def test_each_character_is_a_script_where_unicodeit_has_one(mark: str) -> None:
    text = " ".join(f"{mark}{{{chr(code)}}} {mark}{chr(code)}" for code in range(32, 0x400) if chr(code) != "\\")
    assert without_latex(text) == unicodeit.replace(text)


NUMBERS: list[tuple[Any, float]] = [
    ("12.5", 12.5),
    (" -3 ", -3),
    ("1e3", 1000),
    (7, 7),
    ("", math.nan),
    ("nan", math.nan),
    ("-inf", math.nan),
    ("1e999", math.nan),
    (1e101, math.nan),
    (10**101, math.nan),
    ("12,5", math.nan),
    ("5 %", math.nan),
    (None, math.nan),
    (10**400, math.nan),
    ("9" * 100_000, math.nan),
]


@given(st.lists(st.sampled_from(NUMBERS)))
def test_numbers_are_read_whatever_stands_beside_them(values: list[tuple[Any, float]]) -> None:
    found = numbers([value for value, _ in values])
    assert found == pytest.approx([held for _, held in values], rel=0, nan_ok=True)


def test_numbers_and_texts_as_labels() -> None:
    values = ("a", 2011, 2011.0, "2011.0", 1.5, -0.0, 1e22, math.nan, None)
    expected = ["a", "2011", "2011", "2011.0", "1.5", "0", "10000000000000000000000", "nan", ""]
    assert compared_labels(values, "published") == compared_labels(values, "released") == expected


@pytest.mark.parametrize("length", [10, 100, 1000])
def test_the_steps_of_reading_are_those_of_the_characters_and_of_the_commands_of_latex(length: int) -> None:
    plain = [" a" * (length // 2)] * 3
    assert reading_steps(plain) == 3 + 3 * length // 50
    for text, expected in (("_{", 40 + length), ("^{", 40 + length), ("\\a", 400 + 15 * length)):
        # A text above 1000 characters keeps its LaTeX, or is stripped to fewer.
        for long in (text * (length // 2), text * (length // 2) + " " * 5000 * (length == 1000)):
            assert reading_steps([*plain, long]) == 4 + (3 * length + len(long)) // 50 + expected


@given(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=4), st.sampled_from(["", "x" * 101]))
def test_texts_score_by_their_edits_over_the_longer_one(texts: list[str], others: list[str], long: str) -> None:
    """A long text beside them changes how they are compared, but not the scores."""
    for alpha in (1.0, 2.0):
        scores = text_scores([*texts, long], others, alpha)
        for text in texts:
            distances = [plain_edit_distance(text, other) / max(len(text), len(other), 1) for other in others]
            expected = [1 - distance**alpha for distance in distances]
            assert [scores[text][other] for other in others] == expected


@given(st.lists(st.integers(0, 200)), st.lists(st.integers(0, 200)))
def test_the_steps_of_texts_are_the_words_of_their_tables_of_edits(lengths: list[int], others: list[int]) -> None:
    """A column for each character of a side, in words of 64 characters of the other side."""
    words, other_words = (len(side) + sum(side) // 64 for side in (lengths, others))
    edits = max(words * sum(others), other_words * sum(lengths)) // 80
    texts, other_texts = (["x" * length for length in side] for side in (lengths, others))
    assert text_steps(texts, other_texts) == 2 * (1 + len(lengths) * len(others) // 20) + edits
