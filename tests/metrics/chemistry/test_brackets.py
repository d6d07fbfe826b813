"""Brackets: which are seen, and where each is closed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.chemistry.brackets import BracketEnds, bracket_ends, brackets
from beamscore.metrics.chemistry.molecule import UnreadableMolecule

texts = st.text(alphabet="a\\%\n{}()[]", max_size=30)


def seen(text: str) -> list[tuple[str, int]]:
    """Character by character: what is escaped or in a comment is hidden."""
    found, position = [], 0
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 2
            continue
        if character == "%" and "\n" in text[position:]:
            position = text.index("\n", position)
        elif character in "{}()[]":
            found.append((character, position))
        position += 1
    return found


def closing(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed, counting its kind outside braces; a `}` of an outer group ends it."""
    opening = text[start]
    pair = opening + {"{": "}", "[": "]", "(": ")"}[opening]
    depth = braces = 0
    for character, index in seen(text):
        if index >= start and opening != "{" and character in "{}":
            braces += 1 if character == "{" else -1
            if braces < 0:
                return None
        elif index >= start and not braces and character in pair:
            depth += 1 if character == opening else -1
            if depth == 0:
                return index + 1
    return None


@given(texts)
def test_escapes_and_comments_hide_brackets(text: str) -> None:
    assert list(brackets(text)) == seen(text)


@given(texts)
def test_one_pass_finds_the_same_ends_as_one_search_for_each(text: str) -> None:
    opened = [index for character, index in seen(text) if character in "{[("]
    ends = {index: closing(text, index) for index in opened}
    assert bracket_ends(text) == {index: end for index, end in ends.items() if end is not None}
    for order in itertools.islice(itertools.permutations(opened), 6):
        lazy = BracketEnds(text, range(len(text)))
        for index in order:
            if ends[index] is None:
                with pytest.raises(UnreadableMolecule):
                    lazy.of(index)
            else:
                assert lazy.of(index) == ends[index]


def test_what_is_not_closed_is_told_with_its_place() -> None:
    assert BracketEnds("[{]}]", range(5)).of(0) == 5
    with pytest.raises(UnreadableMolecule) as unreadable:
        BracketEnds("({)}", range(7, 11)).of(0)
    assert (unreadable.value.offset, unreadable.value.expected) == (7, "a ')' that closes this '('")
