"""How numbers and hostile text stand in the report."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from beamscore.metrics.benchmark import Table
from beamscore.pipelines.reports.markdown import (
    MAX_CELL_LENGTH,
    _one_line,
    block_table,
    cell,
    code,
    number,
    prose,
    table,
)
from beamscore.pipelines.reports.tables import benchmark_table


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.12345, "0.1235"),
        (1.0, "1.0000"),
        (0.0, "0.0000"),
        (0, "0"),
        (12, "12"),
        (12.0, "12.0000"),
        (12.5, "12.5000"),
        (-3.0, "-3.0000"),
        (-1e-17, "0.0000"),
        (-0.00001, "-0.00001"),
        (0.99999, "0.99999"),
        ("a|b", "`a`\\|`b`"),
    ],
)
def test_numbers(value: float | str | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text_with_1, and 0.5 more", "plain text_with_1, and 0.5 more"),
        ("source=web,kind=bar", "source=web,kind=bar"),
        ("chart-000017", "chart-000017"),
        ("_x_", "`_x_`"),
        ("GH-12", "`GH-12`"),
        ("at d81f5ea", "`at d81f5ea`"),
        ("<b>&amp;", "&lt;`b>&amp;`"),
        ("a|b\\|c", "`a`\\|`b\\`\\|`c`"),
        ("![x](y)", "`![x](y)`"),
        ("**bold** `code`", "`` **bold** `code` ``"),
        ("a\nb\r\n\tc", "a b c"),
        ("\x1b[31mred\u202eder", "`[31mred der`"),
        ("x" * 500, "`" + "x" * MAX_CELL_LENGTH + "…`"),
        ("", ""),
    ],
)
def test_text_of_unknown_origin_is_one_cell_of_plain_text(text: str, shown: str) -> None:
    assert cell(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x: it fell (-0.5 to 1.25).", "x: it fell (-0.5 to 1.25)."),
        ("1. see a/b.c: no", "`1. see a/b.c: no`"),
        ("see a/b.c: no", "see `a/b.c`: no"),
        ("at d81f5ea", "at `d81f5ea`"),
    ],
)
def test_a_sentence_has_as_code_what_is_no_word_and_no_number(text: str, shown: str) -> None:
    assert prose(text) == shown


PIECES = [
    *("https://a.b", "www.a.b", "@name", "#123", "user/repo#1", "a@b.c", "deadbeef", "GH-1", ":tada:", "[^1]", "1."),
    *("~~a~~", "_x_", "__x__", "*x*", "`x`", "``", "```", "$x$", "$$", "[x](y)", "![x](y)", "`", "~", "a_b", "c"),
    *("x-1", "<b>", "</td>", "<!--", "&amp;", "&#124;", "<", "|", "||", "\\|", "\\", "\\\\", "=", ",", "é", "中"),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.just(" ") | st.text(max_size=3), max_size=6).map("".join)


@given(TEXTS, TEXTS)
@example("a\\", "|`")
@example("` |  a ", " `")
@example("", "a@b.c .")
def test_a_parser_of_markdown_gives_the_text_back_from_the_right_cell(first: str, second: str) -> None:
    """And outside of code there are but words: nothing that GitHub links, styles or replaces on its own."""
    for show in (cell, code, prose):
        text = table([show("a head"), "b"], [[show(first), 1], [2, show(second)]])
        cells = [
            token.children or [] for token in MarkdownIt().enable(["table", "strikethrough"]).parse(text)
            if token.type == "inline"
        ]  # fmt: skip
        assert ["".join(each.content for each in children) for children in cells] == [
            "a head", "b", _one_line(first), "1", "2", _one_line(second),
        ]  # fmt: skip
        bare = [each.content for children in cells for each in children if each.type != "code_inline"]
        assert {each.type for children in cells for each in children} <= {"text", "code_inline", "text_special"}
        for content in bare:
            # A "<" outside of code was written as an entity, which begins no HTML.
            assert not set(content) & set(r"\`*~$>&@#[]/!^{}"), content
            assert not re.search(r":\w|\w\(", content), content
            assert not re.search(r"www\.|(?<![^\W_])_|_(?![^\W_])|(?i:\bgh-\d|\b[0-9a-f]{7,40}\b)", content)


@given(TEXTS)
def test_a_cell_has_no_end_of_line_and_only_escaped_pipes(text: str) -> None:
    for shown in (cell(text), code(text)):
        assert shown.isprintable()
        # Two backslashes before a pipe would be one of the text and a border of the cell.
        assert not re.search(r"(?<!\\)(?:\\\\)*\|", shown)


def test_names_of_figures_stand_as_they_are_in_code() -> None:
    assert code("task1.f1[pie]") == "`task1.f1[pie]`"
    assert code("a<b>|`c`") == "`a`&lt;`b>`\\|`` `c` ``"


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        ([["a", 5, 0], ["b", 0, 13]], [["a", "5", "0"], ["b", "0", "13"]]),
        ([["a", 5, 0.5], ["b", 0, 1]], [["a", "5", "0.5000"], ["b", "0", "1.0000"]]),
        ([["a", 5, 0.0], ["b", None, 13.0]], [["a", "5", "0.0000"], ["b", "–", "13.0000"]]),
    ],
)
def test_a_column_has_counts_or_metrics(rows: list[list[str | float | None]], shown: list[list[str]]) -> None:
    lines = block_table(benchmark_table(Table("t", ["", "x", "y"], rows), 0, "", False)).splitlines()[2:]
    assert [[text.strip() for text in line.strip("|").split(" | ")] for line in lines] == shown


def test_a_table_of_a_benchmark() -> None:
    written = block_table(benchmark_table(Table("Confusion", ["", "<a>"], [["a|b", 3.0], ["c", None]]), 0, "", False))
    rows = [[text.strip() for text in row.strip("|").split(" | ")] for row in written.splitlines()]
    assert [rows[0], *rows[2:]] == [["", "&lt;`a>`"], ["`a`\\|`b`", "3.0000"], ["c", "–"]]
