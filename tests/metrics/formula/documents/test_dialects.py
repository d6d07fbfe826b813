"""Displayed formulas of predictions, dialect by dialect."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.common.budget import Budget
from metrics.formula.documents.dialects import DIALECTS, Dialect, predicted_formulas


def contents(text: str, dialect: Dialect) -> list[str]:
    return [formula.content for formula in predicted_formulas(text, dialect, Budget(10**6))]


@pytest.mark.parametrize(
    ("dialect", "text", "expected"),
    [
        ("latex", "\\newcommand{\\R}{R}\\begin{document}\\[ \\R \\]", ["R"]),
        ("mathpix", "# T\n$$\nx \\tag{1}\n$$\nIt costs $5 and 50% $$ y $$ $a$$b$", ["x", "y"]),
        ("mathpix", "\\begin{equation*}\nx\\tag{1}\n\\end{equation*}\n```python\n$$ no $$\n```\n\\[ y \\]", ["x", "y"]),
        ("mathpix", "```latex\n$$ x $$\n```", []),
        ("gpt4o", "```latex\n$$ x $$ \\[ y \\]\n```\n$$ z $$", ["x", "y", "z"]),
        ("gpt4o", "```math\nx = 1 % one\n```", ["x = 1"]),
        ("gpt4o", "```latex\nx = \\frac{1}{2}\n```", ["x = \\frac{1}{2}"]),
        ("gpt4o", "```latex\n\\begin{tabular}{c} a \\end{tabular}\n```", []),
        ("gpt4o", "```markdown\nPage 1 $$ x $$\n```\n```markdown\n$$ y $$\n```\nend $$ z $$", ["x", "y", "z"]),
        ("gpt4o", "```python\n$$ no $$", []),
        ("gpt4o", "\\[ x % half\n + y \\]", ["x + y"]),
        ("gpt4o", "~~~tex\n\\newcommand{\\R}{R}\n\\[ \\R \\]\n~~~", ["R"]),
        ("nougat", "\\[x=1,\\tag{3}\\]\n\n\\(y\\) \\[z", ["x=1,", "z"]),
        ("nougat", "\\[ a + b [MISSING_PAGE_FAIL:3] text \\[ c \\]", ["a + b", "c"]),
    ],
)
def test_examples(dialect: Dialect, text: str, expected: list[str]) -> None:
    assert contents(text, dialect) == expected


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_empty_text_has_no_formula(dialect: Dialect) -> None:
    assert predicted_formulas("", dialect, Budget(10)) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_offsets_count_from_the_start_of_the_text(dialect: Dialect) -> None:
    text = "a\n```python\n1\n```\n\\[ x \\]\n\n$$ y $$\n\n\\begin{align} z \\end{align}"
    found = predicted_formulas(text, dialect, Budget(10**6))
    assert [text[formula.offset :][:2] for formula in found] == ["\\[", "$$", "\\b"]


PIECES = [
    "$",
    "$$",
    "\\[",
    "\\]",
    "\\begin{align}",
    "\\end{align}",
    "```",
    "```latex",
    "~~~",
    "\n",
    " ",
    "x",
    "%",
    "\\",
]


@given(
    st.sampled_from(DIALECTS),
    st.lists(st.sampled_from([*PIECES, "{", "}", "\\label", "\\tag{", "é", "[MISSING_PAGE_POST]"])),
)
def test_any_text_gives_formulas_in_order(dialect: Dialect, pieces: list[str]) -> None:
    text = "".join(pieces)
    found = predicted_formulas(text, dialect, Budget(10**6))
    offsets = [formula.offset for formula in found]
    assert offsets == sorted(offsets)
    assert all(formula.content and 0 <= formula.offset < len(text) for formula in found)
