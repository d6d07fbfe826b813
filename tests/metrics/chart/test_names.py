"""Text and numbers as the tasks compare them."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

import pytest
import unicodeit
from hypothesis import given, settings
from hypothesis import strategies as st
from unicodeit.data import SUBSUPERSCRIPTS

from beamscore.metrics.chart.classes import class_of
from beamscore.metrics.chart.names import compared_labels, numbers, read_text, without_latex


def test_texts() -> None:
    # Above 1000 characters, a text keeps its LaTeX.
    long = "x^{2}" * 200 + "x"
    found = {"  Total\nCOST \r\n": "total cost", "a\rb": "a b", "\\Alpha 5": "α 5", "x^2": "x^2", "": "", long: long}
    assert [read_text(text, "published") for text in found] == [*found.values()]
    assert read_text(long[:-1], "published") == "x²" * 200


def test_texts_are_compared_in_composed_form_also_where_lower_case_alone_has_one() -> None:
    assert read_text("J\u030c", "published") == class_of("J\u030c", "published") == "\u01f0"
    assert read_text("J\u030c", "released") == "j\u030c"
    for code in range(0x80, 0x3000):
        text = unicodedata.normalize("NFD", chr(code)).upper()
        for found in (read_text(text, "published"), class_of(text, "published")):
            assert unicodedata.is_normalized("NFC", found)


# Scripts that unicodeit replaces and others, their parts, and a few commands and accents.
LATEX = st.lists(
    st.sampled_from([*"{}_^-\u2212+=(),.:!AaSz09", "_{12}", "_{a,b}", "_{q}", "^{ab}", "^{q}", "^{-1}", "_{-x}"])
    | st.sampled_from([script for script, _ in SUBSUPERSCRIPTS])
    | st.characters().map("_{{{}}}".format)
    | st.characters().map("^{{{}}}".format)
    | st.sampled_from(["\\alpha", "\\hat{a}", "\\not\\in", "\\"]),
    max_size=8,
).map("".join)


@settings(max_examples=100, deadline=None)
@given(LATEX)
def test_latex_becomes_what_unicodeit_makes_of_it(text: str) -> None:
    assert without_latex(text) == unicodeit.replace(text)


@pytest.mark.parametrize("mark", "_^")
def test_each_character_is_a_script_where_unicodeit_has_one(mark: str) -> None:
    text = " ".join(f"{mark}{{{chr(code)}}} {mark}{chr(code)}" for code in range(32, 0x400) if chr(code) != "\\")
    assert without_latex(text) == unicodeit.replace(text)


NOT_NUMBERS = ("", "nan", "-inf", "1e999", 1e101, -1e101, 10**101, "12,5", "5 %", None, 10**400, "9" * 100_000)
NUMBERS: list[tuple[Any, float]] = [("12.5", 12.5), (" -3 ", -3), ("1e3", 1000), (7, 7)]
NUMBERS += [(value, math.nan) for value in NOT_NUMBERS]


def test_numbers_and_labels() -> None:
    found = numbers([value for value, _ in NUMBERS])
    assert found == pytest.approx([held for _, held in NUMBERS], rel=0, nan_ok=True)
    values = ("a", 2011, 2011.0, "2011.0", 1.5, -0.0, 1e22, math.nan, None)
    expected = ["a", "2011", "2011", "2011.0", "1.5", "0", "10000000000000000000000", "nan", ""]
    assert compared_labels(values, "published") == compared_labels(values, "released") == expected
