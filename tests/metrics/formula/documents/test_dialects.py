"""Displayed formulas of predictions, dialect by dialect."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.common.budget import Budget
from beamscore.metrics.formula.documents.content import bare
from beamscore.metrics.formula.documents.dialects import DIALECTS, Dialect, predicted_formulas
from tests.metrics.formula.documents.test_extract import DELIMITERS


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


FENCED = [("\n```latex\n", "\n```\n"), ("\n```math\n", "\n```\n")]
PARTS_OF_FORMULAS = st.sampled_from(
    [
        *(
            "x",
            "= 1",
            "x^2_3",
            "\\frac{a}{b}",
            "&",
            "\\\\",
            "\\ ",
            "<",
            "'",
            "| a |",
            "\\{",
            "\\left\\{",
            "\n+ c",
            "\n- d",
        ),
        # Words and prose, in other scripts too, and what marks prose elsewhere.
        *(
            "profit per unit sold",
            "- variable cost per unit",
            "we see that the sum is small and",
            "\u5229\u6da6 \u6bcf",
        ),
        *("\n# e", "* e", "1. f", "x\n> 0", "\\cite{a}", "`a'", "``b''"),
        # Dollars and inline mathematics.
        *("\\$5", "\\%", "\\text{if $y$ holds}", "\\mbox{$a$$b$}", "\\text{item \\(y\\)}", "\\textrm{a $b$ \\{}"),
        # Environments.
        *(
            "\\begin{aligned} a & b \\end{aligned}",
            "\\begin{cases} a \\\\ b \\end{cases}",
            "\\begin{dcases} a \\end{dcases}",
        ),
    ]
)
FORMULA_TEXTS = st.lists(PARTS_OF_FORMULAS, min_size=1, max_size=8).map(" ".join)
WITH_BLANK_LINES = st.lists(st.one_of(PARTS_OF_FORMULAS, st.just("\n\ny")), min_size=1, max_size=8).map(" ".join)
TEXTS = [
    *(
        "and",
        "where the sum is small.",
        "so $c$ is",
        "for $a$$b$ we",
        "\n\n",
        "\\$5 and",
        "(\\(x\\))",
        "see $x$, $y$; and",
    ),
    *("it is so that we see that this is large", "\n\n# Title\n\n", "\n- item ", "\n\n> quote\n\n", "\n"),
]
MARKDOWN_TEXTS = ["from $5 to $6 for", "Write `$$` so", "``$$``", "\n```python\n$$ a\n```\n", "50% of", "<!-- $$ -->"]
LATEX_TEXTS = ["% 5 $$\n", "\\verb|$$|", "\\begin{verbatim}$$\\end{verbatim}", "\\iffalse $$ \\fi", "\\url{a$$b}"]


@given(st.data(), st.sampled_from(DIALECTS))
@settings(max_examples=300)
def test_every_formula_is_found_whatever_its_text(data: st.DataObject, dialect: Dialect) -> None:
    """In any of the delimiters of a dialect, with any text around it and nothing wrong."""
    texts = st.sampled_from(TEXTS + (LATEX_TEXTS if dialect == "latex" else MARKDOWN_TEXTS))
    source, expected = "", []
    for _ in range(data.draw(st.integers(1, 4))):
        opening, closing = data.draw(st.sampled_from(DELIMITERS + FENCED * (dialect == "gpt4o")))
        # A fenced block with a blank line in it is a text.
        formula = data.draw(FORMULA_TEXTS if "```" in opening else WITH_BLANK_LINES)
        blank = data.draw(st.sampled_from([" ", "\n", ""]))
        source += f" {data.draw(texts)} {opening}{blank}{formula}{blank}{closing}"
        expected.append(bare(" ".join(formula.split()))[0].split())
    found = predicted_formulas(f"{source} {data.draw(texts)}", dialect, Budget(10**7))
    assert [(formula.content.split(), formula.closed) for formula in found] == [(each, True) for each in expected]
