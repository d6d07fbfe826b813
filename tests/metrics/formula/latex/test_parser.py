from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from beamscore.metrics.formula.latex.commands import sanitize, words
from beamscore.metrics.formula.latex.normal_form import Unbalanced, normal_form
from beamscore.metrics.formula.latex.parser import Unparsable, clean_formula, normal_tokens


def printed(text: str) -> str:
    return " ".join(normal_form(text).tokens)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x^2_i", "x _ { i } ^ { 2 }"),
        (r"\frac12", r"\frac { 1 } { 2 }"),
        (r"\dfrac{a}{b}", r"\frac { a } { b }"),
        (r"a+b \over c", r"\frac { a + b } { c }"),
        (r"{n \choose k}", r"{ \binom { n } { k } }"),
        (r"\hat\alpha", r"\hat { \alpha }"),
        ("x''", r"x ^ { \prime \prime }"),
        ("x'^2", r"x ^ { \prime 2 }"),
        (r"\text{if } x", r"\mathrm { i f ~ } x"),
        (r"{\rm d}x", r"\mathrm { d } x"),
        (r"{\cal L}", r"{ \cal L }"),
        (r"\sqrt[3]{x}", r"\sqrt [ 3 ] { x }"),
        (r"\sin x", r"\mathrm { s i n } x"),
        (r"\operatorname{sin}x", r"\mathrm { s i n } x"),
        (r"\operatorname*{argmax}_x", r"\operatorname { a r g m a x } _ { x }"),
        (r"\lim\limits_{n}", r"\operatorname { l i m } _ { n }"),
        (r"a,\ldots,b", "a , . . . , b"),
        (r"\big( x \Bigr\rangle", r"\big( x \Bigr\rangle"),
        (r"\left( x \middle| y \right]", r"\left( x \middle| y \right]"),
        (r"a \hspace { 1 . 5 c m } b", r"a \hspace{1.5cm} b"),
        (r"\color{red} x \textcolor{blue}{y}", "x { y }"),
        ("x % a comment", "x"),
        (r"50\%", r"5 0 \%"),
        (r"x \label{eq:1}", "x"),
        (r"$$x$$", "x"),
        (r"a \\ b", r"a \, b"),
        (r"\mathrm{\phi}", r"\mathrm { \  p h i }"),
    ],
)
def test_normal_form_of_formulas(text: str, expected: str) -> None:
    assert printed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            r"\begin{align*} a &= b \\ c &= d \end{align*}",
            r"\begin{array} {rl} { a } & { { } = b } \\ { c } & { { } = d } \end{array}",
        ),
        (
            r"\begin{pmatrix} a & b \\ c & d \\ \end{pmatrix}",
            r"\left( \begin{array} {ll} { a } & { b } \\ { c } & { d } \end{array} \right)",
        ),
        (
            r"\begin{cases} a & b \\ c & d \end{cases}",
            r"\left\{ \begin{array} {ll} { a } & { b } \\ { c } & { d } \end{array} \right.",
        ),
        (
            r"\begin{array}{|c|*{2}{r}@{x}} a & b & c \end{array}",
            r"\begin{array} {crr} { a } & { b } & { c } \end{array}",
        ),
        (r"\begin{array}{c} a \\[2pt] \hline b \end{array}", r"\begin{array} {c} { a } \\ \hline { b } \end{array}"),
        (r"\begin{equation} x \end{equation}", "x"),
    ],
)
def test_environments_of_rows_become_arrays(text: str, expected: str) -> None:
    assert printed(text) == expected


def test_the_spelling_of_blanks_and_braces_makes_no_difference() -> None:
    assert normal_form(r"\frac{a}{b}+x^{2}") == normal_form(r"\frac  a  b + x ^ 2")


def test_a_table_keeps_its_rules_and_loses_the_blanks_between_letters() -> None:
    form = normal_form(r"\begin{tabular}{l|c} ab & $x_1$ \\ \cmidrule(l{3pt}r{3pt}){1-1} \end{tabular}")
    assert form.parsed
    assert " ".join(form.tokens) == (
        r"\begin{tabular}{l|c} a b & $ x _ 1 $ \\ \cmidrule(l{3pt}r{3pt}){1-1} \end{tabular}"
    )


def test_a_table_without_an_end_gets_one_and_loses_its_skips() -> None:
    assert r"\hspace{1cm}" not in normal_form(r"\begin{tabular}{c} x \hspace{1cm} y").tokens
    assert normal_form(r"\begin{tabular}{c} x").tokens[-1] == r"\end{tabular}"


@pytest.mark.parametrize(
    ("text", "published", "released"),
    [
        ("x^a^b", "x ^ { a } { } ^ { b }", "x ^ { b }"),
        ("x_a_b^c", "x _ { a } { } _ { b } ^ { c }", "x _ { b } ^ { c }"),
        ("x^a_b^c_d", "x _ { b } ^ { a } { } _ { d } ^ { c }", "x _ { d } ^ { c }"),
        ("x'^2", r"x ^ { \prime 2 }", "x ^ { 2 }"),  # TeX joins what follows the primes at once, and only that
        ("x'_a^2", r"x _ { a } ^ { \prime } { } ^ { 2 }", "x _ { a } ^ { 2 }"),
        ("x^2''", r"x ^ { 2 } { } ^ { \prime \prime }", r"x ^ { \prime \prime }"),
        ("x^{a^b}^c", "x ^ { a ^ { b } } { } ^ { c }", "x ^ { c }"),
        ("x_i^2", "x _ { i } ^ { 2 }", "x _ { i } ^ { 2 }"),
    ],
)
def test_two_scripts_of_a_kind_are_both_kept_and_released_the_last(text: str, published: str, released: str) -> None:
    assert printed(text) == published
    assert " ".join(normal_form(text, released=True).tokens) == released


@pytest.mark.parametrize("text", [r"\left( x", "x }", r"\begin{foo} x \end{foo}", r"a \over b \over c"])
def test_what_is_not_in_the_grammar_is_split_at_blanks(text: str) -> None:
    with pytest.raises(Unparsable):
        normal_tokens(clean_formula(text))
    assert not normal_form(text).parsed


@pytest.mark.parametrize("text", [r"\frac { a", r"\sqrt { x", r"\hat", r"\frac"])
def test_a_command_without_its_argument_has_no_normal_form(text: str) -> None:
    with pytest.raises(Unbalanced):
        normal_form(text)


def test_deep_nesting_is_not_parsed_and_does_not_overflow() -> None:
    assert not normal_form("{" * 500 + "x" + "}" * 500).parsed


PIECES = sorted(
    words(
        r"\text{ \kern \hskip \mkern \hspace{ 1 . 5 e m pt } { [ ] \\ & ^ _ ' \left( \right) \left \right \middle "
        r"\begin{array}{ \begin{array}{c} \end{array} \begin{cases} \end{cases} \begin \end \sqrt \frac \over \choose "
        r"\color{ \color[ \rm \mathrm{ \operatorname \operatorname* \mathop \hat \big \limits * - + ~ \ x"
    )
)


@given(st.lists(st.sampled_from([*"ab12{}[]^_&$%\\ '~+=()", *PIECES]), max_size=40))
@settings(max_examples=200, deadline=None)
def test_any_text_has_tokens_and_the_normal_form_is_its_own(pieces: list[str]) -> None:
    r"""But for `\(` and its kin, which leave nothing: `^a\(^a` becomes `^{a}^{a}`, of which the second has no base."""
    text = "".join(pieces)
    assume(not re.search(r"\\[()\[\]]", text))
    try:
        form = normal_form(text)
    except Unbalanced:
        return
    assert len(form.tokens) < 100 * (len(pieces) + 1)
    if form.parsed and "tabular" not in text:
        again = normal_form(" ".join(form.tokens))
        assert [token.strip() for token in again.tokens] == [token.strip() for token in form.tokens] or not again.parsed


def test_a_length_within_text_may_have_blanks() -> None:
    assert normal_tokens(r"\text{\kern 1 pt x}") == ["\\mathrm", "{", "\\kern 1pt", "~", "x", "}"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\sum_{\substack{a \\ b}}x", r"\sum _ { \substack { a \\ b } } x"),
        (r"\sum_{\substack{a \\[2pt] b\\c}}", r"\sum _ { \substack { a \\ b \\ c } }"),
        (r"\root 3 \of x", r"\sqrt [ 3 ] { x }"),
        (r"\root n+1 \of {x}", r"\sqrt [ n + 1 ] { x }"),
        (r"\buildrel a \over =", r"\stackrel { a } { = }"),
        (r"a \above 1 pt b", r"\frac { a } { b }"),
        (r"\smash[b]{x}", r"\smash { x }"),
        (r"\cfrac[l]{a}{b}", r"\frac { a } { b }"),
        (
            r"\begin{pmatrix*}[r] 1 & -1 \end{pmatrix*}",
            r"\left( \begin{array} {rr} { 1 } & { - 1 } \end{array} \right)",
        ),
        (r"\begin{bmatrix*} 1 \end{bmatrix*}", r"\left[ \begin{array} {l} { 1 } \end{array} \right]"),
    ],
)
def test_options_and_delimited_arguments(text: str, expected: str) -> None:
    assert printed(text) == expected
    assert normal_form(text).parsed


@pytest.mark.parametrize("text", [r"\root 3 x", r"\substack a", r"\substack{a & b}", r"\begin{pmatrix*}[r x"])
def test_what_lacks_its_delimiter_is_not_in_the_grammar(text: str) -> None:
    with pytest.raises(Unparsable):
        normal_tokens(clean_formula(text))


def test_a_brace_that_is_not_closed_is_a_token_of_its_own() -> None:
    assert printed(r"\sum_{n=1}^{100 x") == r"\sum _ { n = 1 } ^ { 1 0 0 x"
    assert printed(r"\sum_{n=1}^{100 x") == printed(r"\sum _ { n = 1 } ^ { 1 0 0 x")


def test_whatever_is_not_in_the_vocabulary_is_an_unknown_command() -> None:
    assert sanitize(r"\frac\alpha\input\\\newline") == "\\frac\\alpha\\unknowncommand \\\\\\newline"
    assert sanitize(r"\begin{array}\begin{filecontents}") == "\\begin{array}\\unknowncommand "
    assert "\\unknowncommand" in sanitize("x\\")
