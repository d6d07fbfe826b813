"""Comments and verbatim text of LaTeX, and the expansion of author macros."""

from __future__ import annotations

import itertools
import re

import pytest

from beamscore.metrics.common.budget import Budget, OutOfBudget
from beamscore.metrics.formula.documents import source as module
from beamscore.metrics.formula.documents.source import MAX_DEPTH, visible_source
from tests.work import executed_lines

VISIBLE = {
    "a % b\nc": "a \nc",
    "100\\% a": "100\\% a",
    "a \\\\% b\nc": "a \\\\\nc",  # `\\` is a line break, so the % after it is a comment
    "a\n  % alone\nb": "a\n  b",  # a blank line here would end the paragraph
    "a\n% alone\n\nb": "a\n\nb",
    "% all": "",
    "a \\iffalse b \\fi c": "a  c",
    "\\iffalse a \\ifx x y b \\else c \\fi d \\fi e": " e",
    "\\iffalse a \\else b \\fi c": " b  c",
    "a \\iffalse b\n\n\\else c \\fi d": "a  c  d",
    "\\iffalse a \\else \\ifx x y b \\fi c \\fi d": " \\ifx x y b \\fi c  d",
    "\\iffalse a % \\fi\n b \\fi c": " c",
    "\\newif\\ifdraft \\iffalse \\ifdraft a \\fi b \\fi c": "\\newif\\ifdraft  c",
    "\\iffalse a \\iff b \\ifthenelse{c}{d}{e} \\fi c": " c",  # a sign, and a command with arguments
    "a \\iffalse never closed": "a ",
    "a\n\\begin{comment}\n% x\n\\end{comment}\nb": "a\nb",
    "a \\begin{comment} never closed": "a ",
    "\\verb|%| \\verb*+%+ b % c": "\\verb| | \\verb*+ + b ",
    "\\begin{verbatim} % \\iffalse \\end{verbatim} % c": "\\begin{verbatim} \\end{verbatim} ",
    "\\verb{%} \\lstinline[a={%}]!%! \\verb|| \\verb*x % c": "\\verb{ } \\lstinline[a={%}]! ! \\verb|| \\verb*x ",
    "\\verb{ % a\n} \\verb*| % b\n|": "\\verb{ \n} \\verb*| \n|",  # not closed in their line
    **{f"\\verb|{'%' * count}|": f"\\verb|{shown}" for count, shown in ((2_000, " |"), (2_001, ""))},
    "\\iffalse \\verb|\\fi| a \\fi b": " b",
    "\\url{http://a/%20b} % c": "\\url{ } ",
    "\\begin{verbatim} % never closed": "\\begin{verbatim} ",
}


def test_what_is_visible() -> None:
    def paragraphs(text: str) -> list[list[str]]:
        return [paragraph.split() for paragraph in re.split(r"\n\s*\n", text)]

    for source, expected in VISIBLE.items():
        assert paragraphs(visible_source(source)) == paragraphs(expected), source


def expand_macros(text: str, max_steps: int = 10**6) -> str:
    return module.expand_macros(text, Budget(max_steps)).text


UNREADABLE = (
    *(r"\newcommand{\a}[1]{never closed", r"\newcommand{\a}[12]{x}", r"\def\begin{x}\begin{y}", r"\def\a.{x}\a."),
    *(r"\def\a#2#1{x}\a yz", r"\def\a#1;{x}\a y;", r"\let\a\b\a", r"\DeclarePairedDelimiter{\abs}{|}{|}\abs{x}"),
)
EXPANDED = {
    r"\newcommand{\a}[1]{\alpha#1}\a b": r"\alpha b",  # two tokens never become one
    r"\newcommand*{\n}[2][2]{\|#2\|_{#1}}\n{x}+\n[p]{y}": r"\|x\|_{2}+\|y\|_{p}",
    r"\newcommand{\a}{1}\a\renewcommand{\a}{2}\a": "12",
    r"\newcommand{\a}{1}\providecommand{\a}{2}\providecommand{\b}{3}\a\b": "13",
    r"\DeclareMathOperator{\tr}{tr}\tr A": r"\operatorname{tr} A",
    r"\DeclareMathOperator*{\best}{arg\,max}\best_x": r"\operatorname*{arg\,max}_x",
    r"\def\a#1{\def\b##1{#1##1}}\a{x}\b{y}": "xy",
    r"{\def\a{1}}\gdef\b{2}\a\b": "{}12",  # a definition holds to the end
    r"\def\a{\def\a{1}\a}\a": "1",  # a definition of the same name is no recursion
    r"\newcommand{\half}{1/2}\frac\half 3\sqrt\half x^\half": r"\frac{1/2} 3\sqrt{1/2} x^1/2",
    r"\def\h{1/2}\frac{x_{1}}\h \frac{\}{}} \h\h \overset{" + "x" * 200 + r"}\h": (
        r"\frac{x_{1}}{1/2} \frac{\}{}} {1/2}1/2 \overset{" + "x" * 200 + "}{1/2}"
    ),
    r"\def\h{1/2}\xrightarrow\h\xleftarrow[{a}]\h {x}\h \frac\}\h }\h \frac\\}\h": (
        r"\xrightarrow{1/2}\xleftarrow[{a}]{1/2} {x}1/2 \frac\}{1/2} }1/2 \frac\\}1/2"
    ),
    r"\newcommand{\a}{\a b}\a": r"\a b",  # recursion is not followed
    r"\def\a#1#2{<#2|#1>}\def\b#1{\a{#1}{x#1}}\b{\b y}": "<x<xy|y>|<xy|y>>",
    r"\newcommand{\m}[1]{<#1>}\newcommand{\n}{\m}\n{x}": "<x>",  # another name of a macro takes its arguments
    r"\newcommand{\a}{\b}\newcommand{\b}{\a}\a": r"\a",
    r"\newcommand{\a}[1]{<#1>}{\a}": r"{\a}",
    r"\newcommand{\a}[1]{<#1>}\a{never closed": r"\a{never closed",
    "\\a{b} c % \\defy\n": "\\a{b} c % \\defy\n",
    **{same: same for same in UNREADABLE},
}


def test_what_is_expanded() -> None:
    assert {source: expand_macros(source) for source in EXPANDED} == EXPANDED


def test_calls_are_followed_to_a_depth() -> None:
    names = ["".join(letters) for letters in itertools.product("ghijklmn", repeat=3)]
    chain = "".join(f"\\def\\{name}{{x\\{following}}}" for name, following in itertools.pairwise(names))
    assert expand_macros(f"{chain}\\ggg") == "x" * MAX_DEPTH + f"\\{names[MAX_DEPTH]}"
    nested = "\\d{" * 1_000 + "x" + "}" * 1_000
    assert expand_macros(f"\\def\\d#1{{#1}}{nested}").count("{") == 1_000 - MAX_DEPTH


BOMBS = {
    "laughs": "".join(f"\\def\\{a}{{" + f"\\{b}" * 10 + "}" for a, b in itertools.pairwise("abcdefghij")) + "\\a",
    "wide": "\\def\\d#1{" + "#1" * 20_000 + "}\\d{\\d{\\d{x}}}",
    "quadratic": "\\def\\a{" + "\\b" * 50_000 + "}\\def\\b{" + "x" * 50_000 + "}\\a",
    "groups": "\\def\\a{xy}{" + "{x}" * 3_000 + "}\\a" * 3_000,
    "no group": "\\def\\a{xy}" + "x" * 30_000 + "}\\a" * 30,
    "no end": "\\def\\a#1{}" + "\\a{" * 3_000 + "x" * 300_000,
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_stopped(bomb: str) -> None:
    def stopped() -> None:
        with pytest.raises(OutOfBudget, match="max_steps=60000"):
            expand_macros(BOMBS[bomb], max_steps=60_000)

    assert executed_lines(stopped) < 300_000  # five to a step
