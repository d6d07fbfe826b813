"""Comments and verbatim text of LaTeX."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.formula.documents.source import visible_source


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
        ("\\iffalse a \\iff b \\fi c", " c"),  # \iff is a sign, no conditional
        ("a \\iffalse never closed", "a "),
        ("a\n\\begin{comment}\n% x\n\\end{comment}\nb", "a\nb"),
        ("a \\begin{comment} never closed", "a "),
        ("\\verb|%| \\verb*+%+ b % c", "\\verb| | \\verb*+ + b "),
        ("\\begin{verbatim} % \\iffalse \\end{verbatim} % c", "\\begin{verbatim} \\end{verbatim} "),
        ("\\url{http://a/%20b} % c", "\\url{ } "),
        ("\\begin{verbatim} % never closed", "\\begin{verbatim} "),
    ],
)
def test_examples(source: str, expected: str) -> None:
    assert paragraphs(visible_source(source)) == paragraphs(expected)


def paragraphs(text: str) -> list[list[str]]:
    return [paragraph.split() for paragraph in re.split(r"\n\s*\n", text)]


def plainly_stripped(source: str) -> str:
    """Reads character by character; knows `%`, `\\iffalse`, `\\ifx` and `\\fi`, but neither `\\else` nor verbatim."""
    kept, depth, position = "", 0, 0
    while position < len(source):
        rest = source[position:]
        word = re.match(r"\\[a-z]+", rest)
        token = word.group() if word else rest[:2] if rest[0] == "\\" else rest[0]
        position += len(token)
        if token == "%":
            while position < len(source) and source[position] != "\n":
                position += 1
        elif depth:
            depth += {"\\iffalse": 1, "\\ifx": 1, "\\fi": -1}.get(token, 0)
        elif token == "\\iffalse":
            depth = 1
        else:
            kept += token
    return kept


@given(st.lists(st.sampled_from(["%", "\\%", "\\\\", "\\iffalse ", "\\ifx ", "\\fi ", "\n", "a", " ", "\\alpha "])))
def test_a_plain_reading_keeps_the_same(pieces: list[str]) -> None:
    source = "".join(pieces)
    assert visible_source(source).split() == plainly_stripped(source).split()


@given(st.text(alphabet="\\%{}fi else\n", max_size=60))
def test_every_visible_character_keeps_its_place(source: str) -> None:
    visible = visible_source(source)
    assert len(visible) == len(source)
    assert all(shown in (" ", original) for shown, original in zip(visible, source, strict=True))
