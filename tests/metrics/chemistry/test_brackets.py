"""Brackets: which are seen, and where each is closed."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.chemistry.brackets import CLOSING, BracketEnds, bracket_ends, brackets, end_of_enclosed

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


def stays_inside(text: str, start: int, end: int) -> bool:
    """Whether no brace between `start` and `end` closes a group that was open before."""
    braces = ({"{": 1, "}": -1}.get(character, 0) for character, index in seen(text) if start <= index < end)
    return all(depth >= 0 for depth in itertools.accumulate(braces))


@given(texts)
def test_escapes_and_comments_hide_brackets(text: str) -> None:
    assert list(brackets(text)) == seen(text)


@given(texts)
def test_one_pass_finds_the_same_ends_as_one_search_for_each(text: str) -> None:
    opened = [(character, index) for character, index in seen(text) if character in "{["]
    ends = {index: end_of_enclosed(text, index) for _, index in opened}
    closed = {index: end for index, end in ends.items() if end is not None}
    assert bracket_ends(text) == {index: end for index, end in closed.items() if stays_inside(text, index, end)}
    lazy = BracketEnds(text)
    assert {index: lazy.of(index) for _, index in opened if lazy.of(index)} == bracket_ends(text)


def test_braces_hide_brackets_of_other_kinds() -> None:
    assert end_of_enclosed("[{]}]", 0) == 5
    assert end_of_enclosed("({)}", 0) is None
    assert end_of_enclosed("((a)b)", 0) == 6
    assert {CLOSING[opening] for opening in "{[("} == {"}", "]", ")"}


def test_a_comment_without_a_line_end_is_none() -> None:
    assert bracket_ends("{%}") == {0: 3}
    assert bracket_ends("{%}\n}") == {0: 5}
