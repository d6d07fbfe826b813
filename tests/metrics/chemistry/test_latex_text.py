"""Ways to write LaTeX text that print the same have one form."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.chemistry.latex_text import normalize, tokenize


def form(text: str) -> str:
    return " ".join(normalize(tokenize(text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CH_3", "C H _ { 3 }"),
        ("C H _ { 3 }", "C H _ { 3 }"),
        ("{C}{H}_{3}", "C H _ { 3 }"),
        ("SO_4^{2-}", "S O _ { 4 } ^ { 2 - }"),
        ("SO^{2-}_4", "S O _ { 4 } ^ { 2 - }"),
        ("CH₃", "C H _ { 3 }"),
        ("Na⁺", "N a ^ { + }"),
        ("（１）", "( 1 )"),
        ("\\textbf{(4)}", "( 4 )"),
        ("\\mathrm{O}\\quad\\rm H\\, ", "O H"),
        ("\\textcolor{red}{O}\\color{blue}H", "O H"),
        ("\\Delta △", "\\triangle \\triangle"),
        ("\\xrightarrow[\\Delta]{NaOH}", "\\underset { \\triangle } { \\overset { N a O H } { \\rightarrow } }"),
        ("\\underset{b}{\\overset{a}{\\to}}", "\\underset { b } { \\overset { a } { \\rightarrow } }"),
        ("\\overset{a}{\\underset{b}{\\to}}", "\\underset { b } { \\overset { a } { \\rightarrow } }"),
        ("\\overset{a}{\\underset{b}{\\to}c}", "\\overset { a } { \\underset { b } { \\rightarrow } c }"),
        ("\\xrightarrow{}", "\\rightarrow"),
        ("\\xrightarrow [ ] { a }", "\\overset { a } { \\rightarrow }"),
        ("\\chembelow{N}{H}", "\\Chemabove { H } { N }"),
        ("\\Charge{90=\\:, 0=+}{N}", "\\charge { 0 = + , 9 0 = \\: } { N }"),
        ("C^a^b_c", "C _ { c } ^ { a } ^ { b }"),
        ("{C^a}_c", "C _ { c } ^ { a }"),
        ("{C^a{}}x_c", "C ^ { a } x _ { c }"),
        ("_", "_ { }"),
        ("}{", ""),
        ("\\", "\\"),
        ("", ""),
    ],
)
def test_the_form_of_a_text(text: str, expected: str) -> None:
    assert form(text) == expected


@given(st.lists(st.sampled_from([*"CHx_^{}[]23+,= ", "\\chemabove", "\\overset", "\\to", "\\xrightarrow", "\\charge"])))
def test_the_form_is_its_own_form(tokens: list[str]) -> None:
    once = form(" ".join(tokens))
    assert form(once) == once


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60))
def test_any_text_has_a_form(text: str) -> None:
    assert form(form(text)) == form(text)


def test_deep_braces_do_not_exhaust_the_stack() -> None:
    assert form("{" * 100_000 + "C" + "}" * 100_000).replace(" ", "").strip("{") == "C"
