"""Comments of LaTeX."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.formula.documents.comments import strip_comments, without_comments


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
        ("\\verb|%| \\verb*+%+ b % c", "\\verb|%| \\verb*+%+ b "),
        ("\\begin{verbatim} % \\iffalse \\end{verbatim} % c", "\\begin{verbatim} % \\iffalse \\end{verbatim} "),
        ("\\url{http://a/%20b} % c", "\\url{http://a/%20b} "),
        ("\\begin{verbatim} % never closed", "\\begin{verbatim} "),
    ],
)
def test_examples(source: str, expected: str) -> None:
    assert strip_comments(source) == expected


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
    assert strip_comments(source).split() == plainly_stripped(source).split()


@given(st.text(alphabet="\\%{}fi else\n", max_size=60))
def test_every_kept_character_knows_its_place(source: str) -> None:
    kept = without_comments(source)
    assert all(source[kept.origin(offset)] == character for offset, character in enumerate(kept.text))
