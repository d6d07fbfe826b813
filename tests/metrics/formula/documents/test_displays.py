"""Displayed formulas whose delimiters are forgotten, stray or within one another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.budget import Budget
from beamscore.metrics.formula.documents.displays import displays, math_score, prose_start
from tests.metrics.formula.helpers import contents


def found(text: str, markdown: bool) -> list[str]:
    return contents(text, "mathpix" if markdown else "latex")


@pytest.mark.parametrize("markdown", [False, True])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A $$ that opens nothing: its closing partner, or only it, is left.
        ("x = 1 $$\nso the sum is small.\n$$ y $$ and then $$ z = 2 $$ ends", ["y", "z = 2"]),
        ("x = 1 $$\n\nso the sum is small.\n\n$$ y $$\n\nand\n\n$$ z $$", ["y", "z"]),
        ("Prices in $$ are rounded. $$ y $$ is the mean", ["y"]),
        # One that is never closed ends where prose begins.
        (
            "$$ x = 1\nwhere the sum is small.\n$$ y = 3 $$\nand\n$$ z $$ ends",
            ["x = 1", "y = 3", "z"],
        ),
        (
            "$$ x = 1 $$ and we have $$ y^2 where the sum is small. $$ z^2 $$ then $$ w^2 $$",
            ["x = 1", "y^2", "z^2", "w^2"],
        ),
        ("$$ a $$ , $$ b $$ . $$ c", ["a", "b", "c"]),
        ("\\[ a + b and so the sum is small \\[ c \\]", ["a + b", "c"]),
        # An end that belongs to another beginning.
        (
            "\\[ a = b and so the sum is small, see \\begin{align} c \\end{align} and d = e \\]",
            ["a = b", "c"],
        ),
        (
            "\\begin{equation} a\n\n\\begin{align} b \\end{align} c \\end{equation} \\[ d \\]",
            ["a", "b", "d"],
        ),
        # One within another is part of it.
        (
            "\\begin{gather} \\begin{align} a &= b \\end{align} \\\\ c \\end{gather}",
            ["\\begin{align} a &= b \\end{align} \\\\ c"],
        ),
        ("\\begin{equation} \\begin{gather} a \\\\ b \\end{gather} \\end{equation}", ["a \\\\ b"]),
        ("$$\n\\begin{align}\na\n\nb\n\\end{align}\n$$ text $$ c $$", ["a b", "c"]),
        ("$$ \\begin{align} a $$ text $$ b $$", ["\\begin{align} a", "b"]),
        ("\\begin{align} a $$ b \\end{align} text $$ c $$", ["a $$ b", "c"]),
        # A single $ without a partner.
        ("Let $x be the sum. \\[ y \\] and $z$ more $$ w $$", ["y", "w"]),
        ("Let $x be the sum.\n\n$$ y $$ and $z$", ["y"]),
        ("$a$$b$$c$ and $$ y $$", ["y"]),
        ("$a$$$ y $$", ["y"]),
        ("\\$$a$ and \\\\$$ y $$", ["y"]),
    ],
)
def test_examples(text: str, expected: list[str], markdown: bool) -> None:
    assert found(text, markdown) == expected


def test_prices_are_no_mathematics_in_markdown() -> None:
    assert found("from $5 to $6, or $7 $$ y $$ for $8", markdown=True) == ["y"]


SENTENCES = st.sampled_from([
    "We now turn to the proof of this claim.",
    "Here the constant depends on the dimension only.\nIt is fixed from now on.",
    "where $c$ is the speed of light, and hence",
    "\n\nThis follows from the lemma above.\n\n",
])  # fmt: skip
FORMULAS = st.sampled_from([
    *("E = m c^2", "\\frac{a}{b} + 1", "\\int_0^1 f(x) \\, dx < \\infty", "x_{max} = 3 \\text{ if the sum is small}"),
])  # fmt: skip


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
    read = found(" ".join(parts), markdown=data.draw(st.booleans()))
    assert [content for content in read if content in wanted] == wanted
    assert len(read) <= len(wanted) + 1
    assert all(prose_start(content) == len(content) for content in read)


MARKS = st.sampled_from([
    *("$$", "$", "\\[", "\\]", "\\begin{align}", "\\end{align}", "\\begin{gather*}", "\\end{gather}", "\\text{"),
    *("\n\n", " ", "x = 1 ", "where the sum is ", "a"),
])  # fmt: skip


@given(st.lists(MARKS, max_size=30), st.booleans())
def test_displays_are_in_order_and_apart(marks: list[str], markdown: bool) -> None:
    text = "".join(marks)
    result = displays(text, Budget(10**6), markdown=markdown)
    edges = [edge for each in result for edge in (each.offset, each.start, each.end, each.after)]
    assert edges == sorted(edges)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = y", 1),  # one sign
        ("a^2 + \\beta_1 = 3", 5),  # ^ + \beta _ =
        ("we see that the sum is small", -5),  # see that the sum small: five words of three letters or more
        ("where x = 1", 0),  # a word and a sign
        ("the sum \\alpha", -1),
        ("\\text{if the sum is small}", 1),  # no word, no sign, but letters
        (".", -1),
        ("we", -1),
        (" ", 0),
        ("see $x$ and \\cite{a}", -6),  # see, and, and two for $x$ and for the citation each
        ("# Title", -3),  # a heading counts as two words
        ("x_{max} \\mathrm{max}", 1),  # a script is no word
        ("\u8fd9\u662f\u4e00\u4e2a\u91cd\u8981\u7ed3\u679c", -4),  # eight ideographs count as four words
    ],
)
def test_the_evidence_for_mathematics(text: str, expected: int) -> None:
    assert math_score(text) == expected


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("x = 1 where the sum", "where the sum"),
        ("the sum = where the", ""),  # a sign between
        ("x where $y$ is", "where $y$ is"),  # inline mathematics counts as two
        ("\\text{where the sum is} x", ""),
    ],
)
def test_prose_begins_at_three_words_in_a_row(text: str, rest: str) -> None:
    assert text[prose_start(text) :] == rest


def test_an_even_number_of_dollars_is_paired_whatever_is_between() -> None:
    words = "profit per unit sold = selling price - variable cost per unit"
    prose = "We see that the sum is small, see $x$.\n\n# Title\n\nIt is so, and we are done with it now"
    for text in (words, prose, "one two three four five six seven eight nine", "see \\cite{a} and \\section{b} now"):
        for markdown in (False, True):
            # As prose, each has an evidence far below 0.
            assert found(f"{prose} $$ {text} $$ x $$ x = 1 $$", markdown) == [
                " ".join(text.split()),
                "x = 1",
            ]


def test_prose_between_two_of_an_odd_number_of_dollars_is_text_where_it_is_long_enough() -> None:
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    # One of three is alone, which costs 200. x = 1 has an evidence of 25 for, the words one of 25 each against.
    # As text, nine words and the formula are worth 225 + 25, as a formula and text -225 - 25.
    assert found(f"we $$ {' '.join(words)} $$ x = 1 $$ so", markdown=True) == ["x = 1"]
