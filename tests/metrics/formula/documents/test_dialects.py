"""Displayed formulas of LaTeX sources and of predictions, dialect by dialect."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.budget import Budget
from beamscore.metrics.formula.documents.dialects import DIALECTS, document_formulas, visible_markdown
from beamscore.metrics.formula.documents.displays import bare
from beamscore.metrics.formula.records import FormulaOptions
from tests.metrics.formula.helpers import contents, read
from tests.work import executed_lines

DELIMITERS = [
    ("\\[", "\\]"),
    ("$$", "$$"),
    *(
        (f"\\begin{{{name}}}", f"\\end{{{name}}}")
        for base in ("equation", "align", "gather", "multline", "eqnarray", "displaymath", "flalign")
        for name in (base, base + "*")
    ),
    ("\\begin{alignat}{2}", "\\end{alignat}"),
    ("\\begin{xalignat}{2}", "\\end{xalignat}"),
    ("\\begin{xxalignat}{2}", "\\end{xxalignat}"),
]


@pytest.mark.parametrize(("opening", "closing"), DELIMITERS)
def test_every_delimiter_is_known_and_dropped(opening: str, closing: str) -> None:
    assert read(f"text {opening} x\n = 1 {closing} text", "latex") == [("x = 1", "x = 1", 5)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("\\[ x \\label{eq:{1}} \\tag*{(1)} \\nonumber y \\]", ["x y"]),
        ("$$ x \\eqno(1) $$", ["x"]),
        ("\\[ \\alpha\\label{a}b \\]", ["\\alpha b"]),
        ("\\[ x\\ \\]", ["x\\ "]),  # a control space needs its blank
        ("\\[ x \\\\[2pt] y \\]", ["x \\\\[2pt] y"]),
        ("$x$ and $a$$b$ but $$ y $$", ["y"]),
        ("costs \\$$x$ and $$ y $$", ["y"]),
        ("$$ x \\text{ if $y$ or $a$$b$} $$ z", ["x \\text{ if $y$ or $a$$b$}"]),
        ("\\begin{equation}\\begin{split} a &= b \\end{split}\\end{equation}", ["a &= b"]),
        ("$$\\begin{align*} a &= b \\end{align*}$$", ["a &= b"]),
        ("\\[ \\begin{cases} a \\\\ b \\end{cases} \\]", ["\\begin{cases} a \\\\ b \\end{cases}"]),
        ("\\[ \\] $$$$ \\begin{equation}\\label{a}\\end{equation}", []),
        ("\\verb|$$ x $$| \\begin{verbatim}\\[ x \\]\\end{verbatim} \\[ y \\]", ["y"]),
        ("$$ a $$ \\begin{document} $$ b $$ \\end{document} $$ c $$", ["b"]),
        ("\\def\\be{\\begin{equation}}\\def\\ee{\\end{equation}}\\be x \\ee", ["x"]),
        ("\\newcommand{\\R}{\\ensuremath{\\mathbb{R}}\\xspace} \\[ \\R \\]", ["{\\mathbb{R}}"]),
        ("% \\[ a \\]\n\\[ b % c\n d \\]", ["b d"]),
    ],
)
def test_latex_examples(source: str, expected: list[str]) -> None:
    assert [content.replace("  ", " ") for content in contents(source, "latex")] == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("\\begin{align} a &= b \\\\ c &= d \\end{align}", "\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}"),
        ("\\begin{alignat}{2} a &= b \\end{alignat}", "\\begin{aligned} a &= b \\end{aligned}"),
        ("\\begin{gather} a \\\\ b \\end{gather}", "\\begin{gathered} a \\\\ b \\end{gathered}"),
        ("\\begin{align} a = b \\end{align}", "a = b"),
        ("\\begin{xalignat}{2} a &= b \\end{xalignat}", "\\begin{aligned} a &= b \\end{aligned}"),
        (
            "\\begin{gather} \\begin{align} a &= b \\end{align} \\\\ c \\end{gather}",
            "\\begin{gathered} \\begin{align} a &= b \\end{align} \\\\ c \\end{gathered}",
        ),
        ("\\[ \\begin{aligned}[t] a &= b \\end{aligned} \\]", "\\begin{aligned} a &= b \\end{aligned}"),
        (
            "\\begin{align} \\begin{pmatrix} a & b \\end{pmatrix} \\end{align}",
            "\\begin{pmatrix} a & b \\end{pmatrix}",
        ),
    ],
)
def test_rows_stand_in_an_environment_that_can_be_typeset(source: str, expected: str) -> None:
    assert [formula.latex for formula in read(source, "latex")] == [expected]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("\\[ a", ["a"]),
        ("\\[ a \n\n text \\[ b \\]", ["a", "b"]),
        ("\\[ a text \\[ b \\]", ["a text", "b"]),
        ("\\[ a \n\n b \\]", ["a b"]),
        ("$$ a \n\n text $$ b $$", ["a", "b"]),
        ("$$\n\na\n\n$$ text $$ b $$", ["a", "b"]),
        ("\\begin{equation} a \n\n text \\begin{align} b \\end{align}", ["a", "b"]),
        ("\\begin{align} a \\end{align*} text", ["a"]),
        ("\\] text \\end{equation} \\[ b \\]", ["b"]),
        ("$$ costs $ 5 $$ text", ["costs $ 5"]),
    ],
)
def test_unclosed_delimiters(source: str, expected: list[str]) -> None:
    assert contents(source, "latex") == expected


def test_an_offset_is_where_the_formula_opens_in_the_source() -> None:
    """Or where the macro is called that makes it."""
    source = "\\newcommand{\\keep}[1]{#1 $$ z $$}% c\n\\iffalse\\fi $$ x $$ \\keep{a \\[ x \\]} \\[ y \\]"
    assert [source[formula.offset :][:2] for formula in read(source, "latex")] == ["$$", "\\[", "\\k", "\\["]


HOSTILE = {
    "latex": (
        *(
            "$",
            "$$ $",
            "$$ a\n\n",
            "\\[ a\n\n",
            "\\begin{equation}\\tag{",
            "\\[\\begin{aligned}",
            "\\begin   ",
            "\\verb0",
        ),
        *("\n ", "\\[x\\]", "$$x$$", "\\begin{align}", "\\begin{gather}\\begin{align}x\\end{align}", "\\[ \\label{"),
        *("\\begin{align}\\begin{gather} where this thing is $$", "{\\def\\a{b}"),
    ),
    "gpt4o": ("`", "` `` ", "> ", "> $$\n", "```python\n", "```\n", "- ", "~~~ a `b` "),
}


@pytest.mark.parametrize(("dialect", "piece"), [(name, piece) for name, pieces in HOSTILE.items() for piece in pieces])
def test_twice_the_hostile_text_takes_twice_the_work(dialect: str, piece: str) -> None:
    once = executed_lines(lambda: read(piece * 300, dialect))
    twice = executed_lines(lambda: read(piece * 600, dialect))
    assert twice < 2.2 * once + 50


def test_a_long_paper_is_far_below_the_default_limit() -> None:
    page = (
        "Let $x \\in \\R$ be, see \\cite{abc} % note\n"
        "\\begin{align}\\label{a}\n \\R &= \\frac{a}{b}, \\\\ y &= 1\n\\end{align}\n"
    )
    source = "\\newcommand{\\R}{\\mathbb{R}}\\begin{document}" + page * 1_000
    budget = Budget(FormulaOptions().max_steps)
    found = document_formulas(source, "latex", budget)
    assert budget.steps < 4 * len(source)
    assert len(found) == 1_000
    assert found[-1].content == "\\mathbb{R} &= \\frac{a}{b}, \\\\ y &= 1"


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
def test_examples(dialect: str, text: str, expected: list[str]) -> None:
    assert contents(text, dialect) == expected


PIECES = [
    *["$", "\n", "x", "%", "\\", "{", "}", "é", "[", "]", "`", ">", "-"],
    *["$$", "\\[", "\\]", "\\begin{align}", "\\end{align}", "```", "```latex", "~~~", "\\label", "\\tag{"],
]


@given(st.sampled_from(DIALECTS), st.lists(st.sampled_from([*PIECES, " ", "[MISSING_PAGE_POST]"])))
def test_any_text_gives_formulas_in_order(dialect: str, pieces: list[str]) -> None:
    text = "".join(pieces)
    offsets = [formula.offset for formula in read(text, dialect) if formula.content]
    assert offsets == sorted(offsets)
    assert all(0 <= offset < len(text) for offset in offsets)
    assert len(offsets) == len(read(text, dialect))


FENCED = [("\n```latex\n", "\n```\n"), ("\n```math\n", "\n```\n")]
PARTS_OF_FORMULAS = st.sampled_from([
    *[r"x", r"= 1", r"x^2_3", r"\frac{a}{b}", r"&", r"\\", r"\ ", r"<", r"'", r"\{", r"\left\{"],
    *("| a |", "\n+ c", "\n- d", "\n# e", "* e", "1. f", "x\n> 0", "\\cite{a}", "`a'", "``b''"),
    # Words and prose, in other scripts too.
    *("profit per unit sold", "- variable cost per unit", "we see that the sum is small and", "\u5229\u6da6 \u6bcf"),
    # Dollars and inline mathematics.
    *[r"\$5", r"\%", r"\text{if $y$ holds}", r"\mbox{$a$$b$}", r"\text{item \(y\)}", r"\textrm{a $b$ \{}"],
    *[r"\begin{aligned} a & b \end{aligned}", r"\begin{cases} a \\ b \end{cases}", r"\begin{dcases} a \end{dcases}"],
])  # fmt: skip
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
MARKDOWN_TEXTS = ["from $5 to $6 for", "Write `$$` so", "``$$``", "\n```python\n$$ a\n```\n", "50% of"]
LATEX_TEXTS = ["% 5 $$\n", "\\verb|$$|", "\\begin{verbatim}$$\\end{verbatim}", "\\iffalse $$ \\fi", "\\url{a$$b}"]


@given(st.data(), st.sampled_from(DIALECTS))
def test_every_formula_is_found_whatever_its_text(data: st.DataObject, dialect: str) -> None:
    """At its place, in any of the delimiters of a dialect, with any text around it and nothing wrong."""
    texts = st.sampled_from(TEXTS + (LATEX_TEXTS if dialect == "latex" else MARKDOWN_TEXTS))
    source, expected = "", []
    for _ in range(data.draw(st.integers(1, 4))):
        opening, closing = data.draw(st.sampled_from(DELIMITERS + FENCED * (dialect == "gpt4o")))
        # A fenced block with a blank line in it is a text.
        formula = data.draw(FORMULA_TEXTS if "```" in opening else WITH_BLANK_LINES)
        blank = data.draw(st.sampled_from([" ", "\n", ""]))
        source += f" {data.draw(texts)} "
        place = len(source) + ("```" in opening)
        source += f"{opening}{blank}{formula}{blank}{closing}"
        expected.append((bare(" ".join(formula.split()))[0].split(), place))
    found = read(f"{source} {data.draw(texts)}", dialect)
    assert [(formula.content.split(), formula.offset) for formula in found] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Inline code.
        ("Write `$$ x $$` or ``\\[ ` y \\]``, then $$ z $$", ["z"]),
        ("a `lone tick $$ x $$\n\nb` $$ y $$", ["x", "y"]),  # a blank line ends the paragraph
        ("a `lone tick\n```python\n`x`\n$$ no $$\n```\n$$ y $$", ["y"]),  # and so does a fence
        ("``so'' $$ x $$ and ``on'' $$ y $$", ["x", "y"]),  # quotes of LaTeX
        ("$$ \\text{`so'} $$ and $$ \\text{`on'} $$", ["\\text{`so'}", "\\text{`on'}"]),
        ("\\`$$ x $$ \\`", ["x"]),
        # Quotes.
        ("> We have\n>\n> $$\n> x = 1\n> + y\n> $$", ["x = 1 + y"]),
        ("> \\[ x\n>\n> so \\[ z \\] and `a\n>\n> $$ y $$ `", ["x", "z", "y"]),  # a blank line of a quote
        ("> $$ x\n> > 0 $$ and $$ z\n> = 1 $$", ["x > 0", "z = 1"]),
        ("$$ x\n> 0 $$ and $$ y\n> 1 $$ so $$ z $$", ["x > 0", "y > 1", "z"]),
        ("$$\nx\n> 0\n$$ and $$ y\n> 1 $$", ["x > 0", "y > 1"]),  # relations, no quotes
        # Fences.
        ("1. One:\n   ```latex\n   x = 1\n   ```\n   - two\n     ```python\n     $$ no $$\n     ```", ["x = 1"]),
        ("- ```math\n  x = 2\n  ```\n$$ y $$", ["x = 2", "y"]),
        ("> ```latex\n> x = 1\n> ```\n> $$ y $$", ["x = 1", "y"]),
        ("````python\n```\n$$ no $$\n````\n$$ y $$", ["y"]),
        ("```python\n- ```\n$$ no $$\n```\n$$ y $$", ["y"]),
    ],
)
def test_what_markdown_hides(text: str, expected: list[str]) -> None:
    assert contents(text, "gpt4o") == expected


@given(st.lists(st.sampled_from([*PIECES, "``", "''", "1. ", "latex", "python"]), max_size=40))
def test_every_visible_character_keeps_its_place(pieces: list[str]) -> None:
    text = "".join(pieces)
    visible = visible_markdown(text, Budget(10**6))
    assert len(visible) == len(text)
    assert all(shown == kept or (shown == " " and kept != "\n") for shown, kept in zip(visible, text, strict=True))
