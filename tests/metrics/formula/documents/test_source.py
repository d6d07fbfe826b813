"""Comments and verbatim text of LaTeX, and the expansion of author macros."""

from __future__ import annotations

import contextlib
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.budget import Budget, OutOfBudget
from beamscore.metrics.formula.documents import source as module
from beamscore.metrics.formula.documents.source import MAX_DEPTH, visible_source
from tests.work import executed_lines


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a % b\nc", "a \nc"),
        ("100\\% a", "100\\% a"),
        ("a \\\\% b\nc", "a \\\\\nc"),  # `\\` is a line break, so the % after it is a comment
        ("a\n  % alone\nb", "a\n  b"),  # a blank line here would end the paragraph
        ("a\n% alone\n\nb", "a\n\nb"),
        ("% all", ""),
        ("a \\iffalse b \\fi c", "a  c"),
        ("\\iffalse a \\ifx x y b \\else c \\fi d \\fi e", " e"),
        ("\\iffalse a \\else b \\fi c", " b  c"),
        ("\\iffalse a \\else \\ifx x y b \\fi c \\fi d", " \\ifx x y b \\fi c  d"),
        ("\\iffalse a % \\fi\n b \\fi c", " c"),
        ("\\newif\\ifdraft \\iffalse \\ifdraft a \\fi b \\fi c", "\\newif\\ifdraft  c"),
        ("\\iffalse a \\iff b \\ifthenelse{c}{d}{e} \\fi c", " c"),  # a sign, and a command with arguments
        ("a \\iffalse never closed", "a "),
        ("a\n\\begin{comment}\n% x\n\\end{comment}\nb", "a\nb"),
        ("a \\begin{comment} never closed", "a "),
        ("\\verb|%| \\verb*+%+ b % c", "\\verb| | \\verb*+ + b "),
        ("\\begin{verbatim} % \\iffalse \\end{verbatim} % c", "\\begin{verbatim} \\end{verbatim} "),
        ("\\url{http://a/%20b} % c", "\\url{ } "),
        ("\\begin{verbatim} % never closed", "\\begin{verbatim} "),
    ],
)
def test_what_is_visible(source: str, expected: str) -> None:
    assert paragraphs(visible_source(source)) == paragraphs(expected)


def paragraphs(text: str) -> list[list[str]]:
    return [paragraph.split() for paragraph in re.split(r"\n\s*\n", text)]


@given(st.text(alphabet="\\%{}fi else\n", max_size=60))
def test_every_visible_character_keeps_its_place(source: str) -> None:
    visible = visible_source(source)
    assert len(visible) == len(source)
    assert all(shown in (" ", original) for shown, original in zip(visible, source, strict=True))


def expand_macros(text: str, max_steps: int = 10**6) -> str:
    return module.expand_macros(text, Budget(max_steps)).text


UNREADABLE = (
    *(
        r"\newcommand{\a}[1]{never closed",
        r"\newcommand{\a}[12]{x}",
        r"\def\begin{x}\begin{y}",
        r"\def\a.{x}\a.",
        r"\def\a#2#1{x}\a yz",
    ),
    *(r"\def\a#1;{x}\a y;", r"\let\a\b\a", r"\DeclarePairedDelimiter{\abs}{|}{|}\abs{x}"),
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"\newcommand{\a}[1]{\alpha#1}\a b", r"\alpha b"),  # two tokens never become one
        (r"\newcommand*{\n}[2][2]{\|#2\|_{#1}}\n{x}+\n[p]{y}", r"\|x\|_{2}+\|y\|_{p}"),
        (r"\newcommand{\a}{1}\a\renewcommand{\a}{2}\a", "12"),
        (r"\newcommand{\a}{1}\providecommand{\a}{2}\providecommand{\b}{3}\a\b", "13"),
        (r"\DeclareMathOperator{\tr}{tr}\tr A", r"\operatorname{tr} A"),
        (r"\DeclareMathOperator*{\best}{arg\,max}\best_x", r"\operatorname*{arg\,max}_x"),
        (r"\def\a#1{\def\b##1{#1##1}}\a{x}\b{y}", "xy"),
        (r"{\def\a{1}}\gdef\b{2}\a\b", "{}12"),  # a definition holds to the end
        (r"\def\a{\def\a{1}\a}\a", "1"),  # a definition of the same name is no recursion
        (r"\newcommand{\half}{1/2}\frac\half 3\sqrt\half x^\half", r"\frac{1/2} 3\sqrt{1/2} x^1/2"),
        (r"\newcommand{\a}{\a b}\a", r"\a b"),  # recursion is not followed
        (r"\newcommand{\m}[1]{<#1>}\newcommand{\n}{\m}\n{x}", "<x>"),  # another name of a macro takes its arguments
        (r"\newcommand{\a}{\b}\newcommand{\b}{\a}\a", r"\a"),
        (r"\newcommand{\a}[1]{<#1>}{\a}", r"{\a}"),
        (r"\newcommand{\a}[1]{<#1>}\a{never closed", r"\a{never closed"),
        ("\\a{b} c % \\defy\n", "\\a{b} c % \\defy\n"),
        *((same, same) for same in UNREADABLE),
    ],
)
def test_what_is_expanded(source: str, expected: str) -> None:
    assert expand_macros(source) == expected


Body = tuple[object, ...]
"""Letters, parameters by their numbers, and calls, each a list of a macro's number and its arguments, all bodies."""
NAMES = ("\\ma", "\\mb", "\\mc", "\\md")


@st.composite
def bodies(draw: st.DrawFn, arities: tuple[int, ...], parameters: int, depth: int = 2) -> Body:
    """A body of letters, parameters and calls of the macros that `arities` has."""
    parts: list[object] = []
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["letter", "parameter", "call"]))
        if kind == "parameter" and parameters:
            parts.append(draw(st.integers(1, parameters)))
        elif kind == "call" and arities and depth:
            macro = draw(st.integers(0, len(arities) - 1))
            parts.append([macro, *(draw(bodies(arities, parameters, depth - 1)) for _ in range(arities[macro]))])
        else:
            parts.append(draw(st.sampled_from(["x", "y", "+", "{z}"])))
    return tuple(parts)


def written(body: Body) -> str:
    def part(each: object) -> str:
        if isinstance(each, list):
            return NAMES[each[0]] + "".join(f"{{{written(argument)}}}" for argument in each[1:]) + " "
        return f"#{each}" if isinstance(each, int) else str(each)

    return "".join(map(part, body))


def evaluated(body: Body, macros: list[Body], arguments: list[str]) -> str:
    """The value of a body by plain recursion, without any token stream."""

    def part(each: object) -> str:
        if isinstance(each, list):
            return evaluated(macros[each[0]], macros, [evaluated(inner, macros, arguments) for inner in each[1:]])
        return arguments[each - 1] if isinstance(each, int) else str(each)

    return "".join(map(part, body))


@given(st.data())
def test_a_plain_interpreter_gives_the_same(data: st.DataObject) -> None:
    arities = tuple(data.draw(st.lists(st.integers(0, 2), max_size=4)))
    macros = [data.draw(bodies(arities[:index], arity)) for index, arity in enumerate(arities)]
    text = data.draw(bodies(arities, 0))
    definitions = [
        f"\\newcommand{{{NAMES[index]}}}[{arity}]{{{written(macro)}}}"
        if data.draw(st.booleans())
        else f"\\def{NAMES[index]}{''.join(f'#{number + 1}' for number in range(arity))}{{{written(macro)}}}"
        for index, (arity, macro) in enumerate(zip(arities, macros, strict=True))
    ]
    found = expand_macros("\n".join([*definitions, written(text)]))
    assert "".join(found.split()) == evaluated(text, macros, [])


PIECES = ["\\a", "\\def", "\\newcommand", "\\providecommand", *"{}#1[] *="]


@given(st.lists(st.sampled_from(PIECES)))
def test_any_text_ends_in_a_text_or_in_the_limit(pieces: list[str]) -> None:
    with contextlib.suppress(OutOfBudget):
        expand_macros("".join(pieces), max_steps=5_000)


def test_calls_are_followed_to_a_depth() -> None:
    names = ["".join(letters) for letters in itertools.product("ghijklmn", repeat=3)]
    chain = "".join(f"\\def\\{name}{{x\\{following}}}" for name, following in itertools.pairwise(names))
    assert expand_macros(f"{chain}\\ggg") == "x" * MAX_DEPTH + f"\\{names[MAX_DEPTH]}"
    nested = "\\d{" * 1_000 + "x" + "}" * 1_000
    assert expand_macros(f"\\def\\d#1{{#1}}{nested}").count("{") == 1_000 - MAX_DEPTH


@pytest.mark.parametrize(
    "bomb",
    [
        "".join("\\def\\" + a + "{" + ("\\" + b) * 10 + "}" for a, b in itertools.pairwise("abcdefghij")) + "\\a",
        "\\def\\d#1{#1#1}" + "\\d{" * 60 + "x" + "}" * 60,
        "\\def\\d#1{" + "#1" * 20_000 + "}\\d{\\d{\\d{x}}}",
        "\\def\\a{" + "\\b" * 50_000 + "}\\def\\b{" + "x" * 50_000 + "}\\a",
        "\\def\\a#1{}" + "\\a{" * 3_000 + "x" * 300_000,
    ],
    ids=["laughs", "doubling", "wide", "quadratic", "no end"],
)
def test_bombs_are_stopped(bomb: str) -> None:
    def stopped() -> None:
        with pytest.raises(OutOfBudget, match="max_steps=60000"):
            expand_macros(bomb, max_steps=60_000)

    assert executed_lines(stopped) < 300_000  # five to a step
