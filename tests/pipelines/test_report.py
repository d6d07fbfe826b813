"""How numbers and hostile text stand in the report."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.table import Table
from pipelines.report import LONGEST_CELL, cell, code, data_table, number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.12345, "0.1235"),
        (1.0, "1.0000"),
        (0.0, "0.0000"),
        (0, "0"),
        (12, "12"),
        (12.0, "12"),
        (12.5, "12.5000"),
        (-3.0, "-3"),
        ("a|b", "a\\|b"),
    ],
)
def test_numbers(value: float | str | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text_with_1 (and) more", "plain text_with_1 (and) more"),
        ("<b>&amp;", "&lt;b&gt;&amp;amp;"),
        ("a|b\\|c", "a\\|b\\\\\\|c"),
        ("![x](y)", "!\\[x\\](y)"),
        ("**bold** `code`", "\\*\\*bold\\*\\* 'code'"),
        ("a\nb\r\n\tc", "a b c"),
        ("\x1b[31mred\u202eder", "\\[31mred der"),
        ("x" * 500, "x" * LONGEST_CELL + "..."),
        ("", ""),
    ],
)
def test_text_of_unknown_origin_is_one_cell_of_plain_text(text: str, shown: str) -> None:
    assert cell(text) == shown


@given(st.text(alphabet="\\|`<>[]*&\n\x1b\u202ea", max_size=30))
def test_no_text_breaks_out_of_its_cell(text: str) -> None:
    for shown in (cell(text), code(text)):
        assert "\n" not in shown
        assert shown.isprintable()
        # Every pipe is escaped: an odd number of backslashes stands before it.
        for index, character in enumerate(shown):
            if character == "|" and shown.startswith("`"):
                assert shown[index - 1] == "\\"
            elif character == "|":
                before = shown[:index]
                assert (len(before) - len(before.rstrip("\\"))) % 2 == 1
    assert "<" not in cell(text)
    assert "`" not in cell(text)
    assert code(text).count("`") == 2


def test_names_of_figures_stand_as_they_are_in_code() -> None:
    assert code("task1.f1[pie]") == "`task1.f1[pie]`"
    assert code("a<b>|`c`") == "`a<b>\\|'c'`"


def test_a_table_of_a_benchmark() -> None:
    table = Table("Confusion", ["", "<a>"], [["a|b", 3.0], ["c", None]])
    rows = [[text.strip() for text in row.strip("|").split(" | ")] for row in data_table(table).splitlines()]
    assert [rows[0], *rows[2:]] == [["", "&lt;a&gt;"], ["a\\|b", "3"], ["c", "–"]]
