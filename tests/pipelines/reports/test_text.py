from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.pipelines.reports.text import clipped, drawable, one_line, visible, visible_json


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


@given(st.text(st.characters(codec="utf-8")) | st.text('\\/ub0\x1b\u202e\r\x08"\n'))
def test_json_is_made_visible_however_a_character_is_written(text: str) -> None:
    for written in (json.dumps([text], ensure_ascii=False), msgspec.json.encode([text]).decode()):
        assert json.loads(visible_json(written)) == [visible(text)]


def test_a_drawing_loses_what_cannot_be_seen() -> None:
    assert drawable("<svg>a\u202e\x00b</svg>") == "<svg>a\ufffd\ufffdb</svg>"
