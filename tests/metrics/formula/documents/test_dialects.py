"""Displayed formulas of LaTeX sources and of predictions in each dialect, also with forgotten or stray delimiters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.budget import Budget
from beamscore.metrics.formula.documents.dialects import DIALECTS, Formula, document_formulas, visible_markdown
from beamscore.metrics.formula.documents.displays import bare, math_score, prose_start
from beamscore.metrics.formula.documents.source import visible_source

NAMES = ("equation", "align", "gather", "multline", "eqnarray", "displaymath", "flalign")
DELIMITERS = [
    *(("\\[", "\\]"), ("$$", "$$")),
    *((f"\\begin{{{name}{star}}}", f"\\end{{{name}{star}}}") for name in NAMES for star in ("", "*")),
    *((f"\\begin{{{name}}}{{2}}", f"\\end{{{name}}}") for name in ("alignat", "xalignat", "xxalignat")),
]


def read(text: str, dialect: str) -> list[Formula]:
    """The displayed formulas of a document, whatever they cost."""
    return document_formulas(text, dialect, Budget(10**9))


def contents(text: str, dialect: str) -> list[str]:
    return [formula.content for formula in read(text, dialect)]


IN_LATEX = [
    # What is no part of the content.
    (r"\[ x \label{eq:{1}} \tag*{(1)} \nonumber y \]", ["x y"]),
    (r"$$ x \eqno(1) $$ \[ \alpha\label{a}b \]", ["x", r"\alpha b"]),
    (r"\[ x\ \] \[ x \\[2pt] y \\ \]", ["x\\ ", r"x \\[2pt] y \\"]),  # a control space needs its blank
    (r"\[ \] $$$$ \begin{equation}\label{a}\end{equation}", []),
    (r"\newcommand{\R}{\ensuremath{\mathbb{R}}\xspace} \[ \R \]", [r"{\mathbb{R}}"]),
    # Where formulas are read.
    (r"$$ a $$ \begin{document} $$ b $$ \end{document} $$ c $$", ["b"]),
    (r"\verb|$$ x $$| \begin{verbatim}\[ x \]\end{verbatim} \[ y \]", ["y"]),
    ("% \\[ a \\]\n\\[ b % c\n d \\]", ["b d"]),
    (r"\def\be{\begin{equation}}\def\ee{\end{equation}}\be x \ee", ["x"]),
    (r"$$ x \text{ if $y$ or $a$$b$} $$ z $$ costs $ 5 $$", [r"x \text{ if $y$ or $a$$b$}", "costs $ 5"]),
    # Environments around the whole go, others stay.
    (r"\begin{equation}\begin{split} a &= b \end{split}\end{equation}", ["a &= b"]),
    (r"$$\begin{equation}\begin{align*} a &= b \end{align*}\end{equation}$$", ["a &= b"]),
    (r"\[ \begin{cases} a \\ b \end{cases} \]", [r"\begin{cases} a \\ b \end{cases}"]),
]
IN_ALL = [
    # Never closed: up to the next blank line, delimiter or three words.
    (r"\[ a", ["a"]),
    ("\\[ a \n\n text \\[ b \\]", ["a", "b"]),
    (r"\begin{align} a \end{align*} text \] text \end{equation} \[ b \]", ["a", "b"]),
    (r"\[ a = b and so the sum is small, see \begin{align} c \end{align} and d = e \]", ["a = b", "c"]),
    ("\\begin{equation} a\n\n\\begin{align} b \\end{align} c \\end{equation} \\[ d \\]", ["a", "b", "d"]),
    # An odd $$ opens nothing, or is never closed.
    ("x = 1 $$\nso the sum is small.\n$$ y $$ and then $$ z = 2 $$ ends", ["y", "z = 2"]),
    ("$$ x = 1 $$ and $$ y^2 where the sum is small. $$ z^2 $$ then $$ w^2 $$", ["x = 1", "y^2", "z^2", "w^2"]),
    ("$$ a $$ , $$ b $$ . $$ c", ["a", "b", "c"]),
    ("$$ x = 1 $$ y = 2 $$", ["x = 1"]),  # of equals the last
    (r"$$ and $$\begin{align} a \end{align}$$", ["a"]),
    ("$$ x = 1\n\nlet y = 2 $$ so $$", ["x = 1", "so"]),
    ("we $$ one two three four five six seven $$ x = 1 $$ so", ["x = 1"]),
    # One within another is part of it.
    (r"\begin{gather} \begin{align} a \end{align} \\ c \end{gather}", [r"\begin{align} a \end{align} \\ c"]),
    (r"\begin{equation} \begin{gather} a \\ b \end{gather} \end{equation}", [r"a \\ b"]),
    ("$$\n\\begin{align}\na\n\nb\n\\end{align}\n$$ text $$ c $$", ["a b", "c"]),
    (r"$$ \begin{align} a $$ text $$ b $$", [r"\begin{align} a", "b"]),
    (r"\begin{align} a $$ b \end{align} text $$ c $$", ["a $$ b", "c"]),
    (r"\[ a \] \begin{align} b \] c \end{align}", ["a", r"b \] c"]),
    # A single $ without a partner.
    (r"Let $x be the sum. \[ y \] and $z$ more $$ w $$", ["y", "w"]),
    ("Let $x be the sum.\n\n$$ y $$ and $z$, $a$$b$$c$ and $a$$$ z $$", ["y", "z"]),
    (r"costs \$$x$, \$$a$ and \\$$ y $$", ["y"]),
]
IN_MARKDOWN = [
    ("mathpix", "\\begin{equation*}\nx\\tag{1}\n\\end{equation*}\n```python\n$$ no $$\n```\n\\[ y \\]", ["x", "y"]),
    ("mathpix", "```latex\n$$ x $$\n``` from $5 to $6, or $7 $$ y $$ for $8", []),
    ("gpt4o", "```math\nx = 1 % one\n```\n```latex\nx = \\frac{1}{2}\n```", ["x = 1", "x = \\frac{1}{2}"]),
    ("gpt4o", "```latex\n\\begin{tabular}{c} a \\end{tabular}\n```\n```tex\nSee $x$.\n```", []),
    ("gpt4o", "```markdown\nPage 1 $$ x $$\n```\n```markdown\n$$ y $$\n```\nend $$ z $$", ["x", "y", "z"]),
    ("gpt4o", "~~~tex\n\\newcommand{\\R}{R}\n\\[ \\R \\]\n~~~\n```python\n$$ never closed $$", ["R"]),
    ("nougat", r"\[x=1,\tag{3}\] \(y\) \[z [MISSING_PAGE_FAIL:3] text \[ c \]", ["x=1,", "z", "c"]),
    # Inline code.
    ("gpt4o", "Write `$$ x $$` or ``\\[ ` y \\]``, then $$ z $$", ["z"]),
    ("gpt4o", "a `lone tick $$ x $$\n\nb` $$ y $$", ["x", "y"]),  # a blank line ends the paragraph
    ("gpt4o", "a `lone tick\n```python\n`x`\n$$ no $$\n```\n$$ y $$", ["y"]),  # and so does a fence
    ("gpt4o", "``so'' $$ x $$ and ``on'' $$ y $$ \\`$$ z $$ \\`", ["x", "y", "z"]),  # quotes of LaTeX, accents
    ("gpt4o", r"$$ \text{`so'} $$ and $$ \text{`on'} $$", [r"\text{`so'}", r"\text{`on'}"]),
    # Quotes, and relations that are none.
    ("gpt4o", "> We have\n>\n> $$\n> x = 1\n> + y\n> $$\n", ["x = 1 + y"]),
    ("gpt4o", "> \\[ x\n>\n> so \\[ z \\] and `a\n>\n> $$ y $$ `", ["x", "z", "y"]),  # a blank line of a quote
    ("gpt4o", "> $$ x\n> > 0 $$ and $$ z\n> = 1 $$", ["x > 0", "z = 1"]),
    # Fences in lists and quotes, and longer ones.
    ("gpt4o", "1. One:\n   ```latex\n   x = 1\n   ```\n   - two\n     ```python\n     $$ no $$\n     ```", ["x = 1"]),
    ("gpt4o", "> ```latex\n> x = 1\n> ```\n> $$ y $$", ["x = 1", "y"]),
    ("gpt4o", "````python\n```\n$$ no $$\n````\n```python\n- ```\n$$ no $$\n```\n$$ y $$", ["y"]),
]
EXAMPLES = [("latex", *each) for each in IN_LATEX] + IN_MARKDOWN
EXAMPLES += [(dialect, *each) for each in IN_ALL for dialect in ("latex", "mathpix")]


@pytest.mark.parametrize(("dialect", "text", "expected"), EXAMPLES)
def test_examples(dialect: str, text: str, expected: list[str]) -> None:
    assert contents(text, dialect) == expected


ROWS = {
    r"\begin{align} a &= b \\ c &= d \end{align}": r"\begin{aligned} a &= b \\ c &= d \end{aligned}",
    r"\begin{alignat}{2} a &= b \end{alignat}": r"\begin{aligned} a &= b \end{aligned}",
    r"\begin{gather} a \\ b \end{gather}": r"\begin{gathered} a \\ b \end{gathered}",
    r"\[ \begin{aligned}[t] a &= b \end{aligned} \]": r"\begin{aligned} a &= b \end{aligned}",
    r"\begin{gather} \begin{cases} a \end{cases} \\ b \end{gather}": (
        r"\begin{gathered} \begin{cases} a \end{cases} \\ b \end{gathered}"
    ),
    r"\begin{align} a = b \end{align}": "a = b",
    r"\begin{align} \begin{pmatrix} a & b \end{pmatrix} \end{align}": r"\begin{pmatrix} a & b \end{pmatrix}",
}


def test_rows_are_in_an_environment_that_can_be_typeset() -> None:
    assert {source: [each.latex for each in read(source, "latex")] for source in ROWS} == {
        source: [latex] for source, latex in ROWS.items()
    }


def test_an_offset_is_where_the_formula_opens_in_the_source() -> None:
    """Or where the macro is called that makes it."""
    source = "\\newcommand{\\keep}[1]{#1 $$ z $$}% c\n\\iffalse\\fi $$ x $$ \\keep{a \\[ x \\]} \\[ y \\]"
    assert [source[formula.offset :][:2] for formula in read(source, "latex")] == ["$$", "\\[", "\\k", "\\["]


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
    *("and", "where the sum is small.", "so $c$ is", "for $a$$b$ we", "\n\n", "\\$5 and", "(\\(x\\))"),
    *("see $x$, $y$; and", "it is so that we see that this is large"),
    *("\n\n# Title\n\n", "\n- item ", "\n\n> quote\n\n", "\n"),
]  # fmt: skip
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
        expected.append((bare(" ".join(formula.split()))[0].split(), len(source) + ("```" in opening)))
        source += f"{opening}{blank}{formula}{blank}{closing}"
    found = read(f"{source} {data.draw(texts)}", dialect)
    assert [(formula.content.split(), formula.offset) for formula in found] == expected


SENTENCES = st.sampled_from([
    *("We now turn to the proof of this claim.", "where $c$ is the speed of light, and hence"),
    "Here the constant depends on the dimension only.\nIt is fixed from now on.",
    "\n\nThis follows from the lemma above.\n\n",
])  # fmt: skip
FORMULAS = st.sampled_from(
    ["E = m c^2", r"\frac{a}{b} + 1", r"\int_0^1 f(x) \, dx < \infty", r"x_{max} = 3 \text{ if the sum is small}"]
)


@given(st.lists(st.tuples(SENTENCES, FORMULAS), min_size=3, max_size=8), st.data())
def test_one_dollar_pair_too_few_or_too_many_costs_one_formula(
    pieces: list[tuple[str, str]], data: st.DataObject
) -> None:
    """Whichever `$$` is dropped, or wherever one is added in the text, all other formulas are found."""
    numbered = [(sentence, f"{formula} + a_{{{index}}}") for index, (sentence, formula) in enumerate(pieces)]
    parts = [part for sentence, formula in numbered for part in (sentence, "$$", formula, "$$")] + ["The end is here."]
    wanted = [formula for _, formula in numbered]
    if data.draw(st.booleans()):
        dropped = data.draw(st.integers(0, 2 * len(numbered) - 1))
        del parts[4 * (dropped // 2) + (1 if dropped % 2 == 0 else 3)]
        wanted.pop(dropped // 2)
    else:
        parts.insert(4 * data.draw(st.integers(0, len(numbered))), "The prices in $$ are low here.")
    found = contents(" ".join(parts), data.draw(st.sampled_from(["latex", "mathpix"])))
    assert [content for content in found if content in wanted] == wanted
    assert len(found) <= len(wanted) + 1
    assert all(prose_start(content) == len(content) for content in found)


JUDGED = {
    "a^2 + \\beta_1 = 3": (5, ""),  # ^ + \beta _ =
    "we see that the sum is small": (-5, "see that the sum is small"),  # five words of three letters or more
    "where x = 1": (0, ""),  # a word and a sign
    "\\text{if the sum is small} x_{max}": (1, ""),  # neither text within a formula nor a script is a word
    ".": (-1, ""),
    "we": (-1, ""),
    " ": (0, ""),
    "see $x$ and \\cite{a}": (-6, "see $x$ and \\cite{a}"),  # two for $x$ and for the citation each
    "# Title": (-3, "# Title"),  # a heading counts as two words
    "\u8fd9\u662f\u4e00\u4e2a": (-2, ""),  # four ideographs count as two words
    "x = 1 where the sum": (-2, "where the sum"),  # four words are needed for two signs
    "the sum = where the": (-3, ""),  # a sign between
}


def test_mathematics_has_signs_and_prose_three_words_in_a_row() -> None:
    assert {text: (math_score(text), text[prose_start(text) :]) for text in JUDGED} == JUDGED


PIECES = [
    *["$", "\n", "x", "%", "\\", "{", "}", "é", "[", "]", "`", ">", "-", " ", "``", "''", "1. ", "latex", "python"],
    *["$$", "\\[", "\\]", "\\begin{align}", "\\end{align}", "```", "```latex", "~~~", "\\label", "\\tag{", "\n\n"],
    *["\\begin{gather*}", "\\end{gather}", "\\text{", "where the sum is ", "[MISSING_PAGE_POST]"],
    *["\\iffalse", "\\fi", "\\else", "\\verb|", "\\begin{comment}", "\\end{comment}"],
]


@given(st.sampled_from(DIALECTS), st.lists(st.sampled_from(PIECES), max_size=40))
def test_any_text_gives_formulas_in_order_and_what_is_visible_keeps_its_place(dialect: str, pieces: list[str]) -> None:
    text = "".join(pieces)
    offsets = [formula.offset for formula in read(text, dialect)]
    assert offsets == sorted(set(offsets))
    assert all(0 <= offset < len(text) for offset in offsets)
    text = text.replace("[MISSING_PAGE_POST]", "")
    both = zip(visible_markdown(text, Budget(10**6)), text, strict=True)
    assert all(shown == kept or (shown == " " and kept != "\n") for shown, kept in both)
    assert all(shown in (" ", kept) for shown, kept in zip(visible_source(text), text, strict=True))
