"""Comments and brackets: what LaTeX drops, and where each bracket is closed."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.chemistry.brackets import BracketEnds, bracket_ends, without_comments
from beamscore.metrics.chemistry.molecule import UnreadableMolecule

CLOSING = {"{": "}", "[": "]", "(": ")"}


def unescaped(text: str) -> list[tuple[int, str]]:
    """The characters that no backslash precedes, with their places; a backslash has the character after it."""
    found, position = [], 0
    while position < len(text):
        length = 2 if text[position] == "\\" else 1
        found.append((position, text[position : position + length]))
        position += length
    return found


def closed(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed, counting its kind outside braces; a `}` of an outer group ends it."""
    opening, depth, braces = text[start], 0, 0
    for place, character in unescaped(text):
        if place >= start and opening != "{" and character in ("{", "}"):
            braces += 1 if character == "{" else -1
            if braces < 0:
                return None
        elif place >= start and not braces and character in (opening, CLOSING[opening]):
            depth += 1 if character == opening else -1
            if depth == 0:
                return place + 1
    return None


@given(st.text(alphabet="a\\%\n ", max_size=30))
def test_a_comment_is_gone_with_the_end_of_its_line_and_all_else_keeps_its_place(text: str) -> None:
    kept: list[tuple[int, str]] = []
    position = 0
    for place, characters in unescaped(text):
        if place >= position and characters == "%" and "\n" in text[place:]:
            if re.search(r"(?<!\\)(?:\\\\)*\\a+\Z", text[position:place]):
                kept.append((place, " "))
            position = text.index("\n", place) + 1
        elif place >= position:
            kept += enumerate(characters, place)
    left, offsets = without_comments(text)
    assert list(zip(offsets, left, strict=False)) == kept
    assert [*offsets[len(left) :]] == [len(text)]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a%b\nc", "ac"),
        ("a%b", "a%b"),
        ("\\a%b\nc", "\\a c"),
        ("\\\\a%b\nc", "\\\\ac"),
        ("\\%b\nc", "\\%b\nc"),
        ("\\\\%b\nc", "\\\\c"),
    ],
)
def test_comments(text: str, left: str) -> None:
    assert without_comments(text)[0] == left


@given(st.text(alphabet="a\\{}()[]", max_size=30))
def test_one_pass_finds_the_same_ends_as_one_search_for_each(text: str) -> None:
    opened = [place for place, character in unescaped(text) if character in CLOSING]
    ends = {place: closed(text, place) for place in opened}
    assert bracket_ends(text) == {place: end for place, end in ends.items() if end is not None}
    for order in itertools.islice(itertools.permutations(opened), 6):
        lazy = BracketEnds(text, range(len(text)))
        for place in order:
            if ends[place] is None:
                with pytest.raises(UnreadableMolecule):
                    lazy.of(place)
            else:
                assert lazy.of(place) == ends[place]


def test_what_is_not_closed_is_told_with_its_place() -> None:
    assert BracketEnds("[{]}]", range(5)).of(0) == 5
    with pytest.raises(UnreadableMolecule) as unreadable:
        BracketEnds("({)}", range(7, 11)).of(0)
    assert (unreadable.value.offset, unreadable.value.expected) == (7, "a ')' that closes this '('")
