from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.pipelines.results.page.text import clipped, command_line, one_line, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 面积 \U0001f600", "plain é 面积 \U0001f600"),
        ("a\u202eb", "a<U+202E>b"),
        ("\x1b[31m", "<U+001B>[31m"),
        ("a\r\nb\tc", "a<U+000D>\nb\tc"),
        ("\ud800", "<U+D800>"),
        ("<b>&", "<b>&"),
    ],
)
def test_what_cannot_be_seen_stands_as_its_number(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_visible_text_can_be_written_and_stays_as_it_is(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    visible(text).encode()


def test_long_text_says_how_much_is_left_out() -> None:
    assert clipped("a" * 1005, 5) == "aaaaa… (1,000 more characters)"
    assert one_line(" a\n\n b ", 10) == "a b"


def test_a_command_is_quoted_for_a_shell_and_cannot_hide_its_text() -> None:
    assert command_line(["beamscore", "evaluate", "a b.yaml"]) == "beamscore evaluate 'a b.yaml'"
    assert command_line(["\u202e"]) == "'<U+202E>'"
    assert command_line([]) == ""
    assert command_line(["a" * 5000]).endswith("… (1,000 more characters)")
