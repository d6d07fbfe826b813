"""Numbers and hostile text in pages and in Markdown: none is told as another one."""

import json
import math
import re
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import example, given, strategies as st
from markdown_it import MarkdownIt
from markupsafe import Markup

from beamscore.metrics.benchmark import Table
from beamscore.metrics.common import svg
from beamscore.pipelines.reports import text as texts
from beamscore.pipelines.reports.cells import as_html, block_table, breakable, cell_markdown
from beamscore.pipelines.reports.document import Counts
from beamscore.pipelines.reports.samples import rounded
from beamscore.pipelines.reports.tables import benchmark_table
from beamscore.pipelines.reports.text import MAX_CELL_LENGTH, cell, code, number, prose
from beamscore.pipelines.runs.numbers import MAX_DIGITS, NEGLIGIBLE, digits_apart, fixed, percent, signed, typeset
from beamscore.transforms.records import printable

SHOWN = [
    (texts.visible, "a\r\nb\tc\ud800<b>\u202e", "a<U+000D>\nb\tc<U+D800><b><U+202E>"),
    (texts.visible, "co\xadop \u2764\ufe0f 5\xa0\u3164%", "co<U+00AD>op \u2764<U+FE0F> 5<U+00A0><U+3164>%"),
    (texts.drawable, "<svg>a\u202e\x00b\u115f</svg>", "<svg>a\ufffd\ufffdb\ufffd</svg>"),
    (svg.svg_text, "a\nb\u115f", "a\ufffdb\ufffd"),
    (printable, "a\nb\u115f", "a<U+000A>b<U+115F>"),
    (breakable, "to_end1.f1=0.5", "to_<wbr>end1.<wbr>f1=<wbr>0.5"),
    (typeset, -0.00001, "−0.00001"),
    *((fixed, value, shown) for value, shown in ((9 / 32, "0.2813"), (-9 / 32, "-0.2813"))),
    (rounded, 9 / 32, 0.2813),
    (as_html, -0.5, "−0.5000"),
    (cell_markdown, Counts({"missing_prediction": 1, "duplicate": 2}), "1 missing prediction, 2 duplicates"),
    *((fixed, value, shown) for value, shown in ((1e300, f"{1e300:.4f}"), (math.inf, "inf"), (-math.inf, "-inf"))),
    (number, None, "–"),
    (number, 12, "12"),
    (number, -3.0, "-3.0000"),
    (number, "a|b", "`a`\\|`b`"),
    (cell, "source=web,kind=bar", "source=web,kind=bar"),
    (cell, "_x_", "`_x_`"),
    (cell, "GH-12", "`GH-12`"),
    (cell, "<b>&amp;", "&lt;`b>&amp;`"),
    (cell, "a|b\\|c", "`a`\\|`b\\`\\|`c`"),
    (cell, "**bold** `code`", "`` **bold** `code` ``"),
    (cell, "x" * 500, "`" + "x" * MAX_CELL_LENGTH + "…`"),
    (prose, "x: it fell (-0.5 to 1.25).", "x: it fell (-0.5 to 1.25)."),
    (prose, "1. see a/b.c: no", "`1. see a/b.c: no`"),
    (prose, "see a/b.c: no; d/e; f", "see `a/b.c`: no; `d/e`; f"),
    (code, "a<b>|`c`", "`a`&lt;`b>`\\|`` `c` ``"),
]


@pytest.mark.parametrize(("show", "value", "shown"), SHOWN)
def test_how_a_value_is_shown(show: Callable[[object], str], value: object, shown: str) -> None:
    assert show(value) == shown


@given(st.text() | st.text('\\/ub0\x1b\xad\u202e\U000e0100\r\x08"\n'))
def test_visible_text_stays_as_it_is_however_a_character_is_written(text: str) -> None:
    shown = texts.visible(text)
    assert texts.visible(shown) == shown
    assert Markup(str(breakable(text)).replace("<wbr>", "")).unescape() == shown
    assert texts.clipped(text, len(text)) == text
    assert texts.clipped(text + "b" * 1000, len(text)) == f"{text}… (1,000 more characters)"
    plain = text.encode("utf-8", "replace").decode()
    for written in (json.dumps([plain], ensure_ascii=False), msgspec.json.encode([plain]).decode()):
        assert json.loads(texts.visible_json(written)) == [texts.visible(plain)]


PIECES = [
    *("https://a.b", "www.a.b", "@name", "#123", "user/repo#1", "a@b.c", "deadbeef", "GH-1", ":tada:", "[^1]", "1."),
    *("~~a~~", "_x_", "__x__", "*x*", "`x`", "``", "```", "$x$", "$$", "[x](y)", "![x](y)", "`", "~", "a_b", "c"),
    *("x-1", "<b>", "</td>", "<!--", "&amp;", "&#124;", "<", "|", "||", "\\|", "\\", "\\\\", "=", ",", "é", "中"),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.just(" ") | st.text(max_size=3), max_size=6).map("".join)
MARKDOWN = MarkdownIt().enable(["table", "strikethrough"])


def plain(text: str) -> str:
    """Returns a text without what cannot be printed, on one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


@given(TEXTS, TEXTS)
@example("a\\", "|`")
@example("` |  a ", " `")
@example("", "a@b.c .")
def test_a_parser_of_markdown_gives_the_text_back_from_the_right_cell(first: str, second: str) -> None:
    """And outside of code there are but words: nothing that GitHub links, styles or replaces on its own."""
    for show in (cell, code, prose):
        text = texts.table([show("a head"), "b"], [[show(first), 1], [2, show(second)]])
        cells = [token.children or [] for token in MARKDOWN.parse(text) if token.type == "inline"]
        found = ["".join(each.content for each in children) for children in cells]
        assert found == ["a head", "b", plain(first), "1", "2", plain(second)]
        assert {each.type for children in cells for each in children} <= {"text", "code_inline", "text_special"}
        # Two backslashes before a pipe would be one of the text and a border of the cell.
        assert not any(re.search(r"(?<!\\)(?:\\\\)*\|", show(each)) for each in (first, second) if show is not prose)
        for content in (each.content for children in cells for each in children if each.type != "code_inline"):
            # A "<" outside of code was written as an entity, which begins no HTML.
            assert not set(content) & set(r"\`*~$>&@#[]/!^{}"), content
            assert not re.search(r":\w|\w\(", content), content
            assert not re.search(r"www\.|(?<![^\W_])_|_(?![^\W_])|(?i:\bgh-\d|\b[0-9a-f]{7,40}\b)", content)


def test_a_column_that_holds_any_metric_has_decimals_throughout() -> None:
    shown = block_table(benchmark_table(Table("t", ["", "x", "y"], [["a|b", 5, 0.5], ["c", None, 1]]), 0, "", False))
    lines = shown.splitlines()
    assert len(set(map(len, lines))) == 1
    rows = [[text.strip() for text in re.split(r" \| ", line.strip("|"))] for line in lines[2:]]
    assert rows == [["`a`\\|`b`", "5", "0.5000"], ["c", "–", "1.0000"]]
    # Counts alone do not make a confusion matrix: its rows are named like its columns.
    kinds = [benchmark_table(Table("t", ["", "x", "y"], [[name, 1, 2] for name in names]), 0, "", False).kind
             for names in ("xy", "abc")]  # fmt: skip
    assert kinds == ["matrix", ""]


@given(st.floats(-1e6, 1e6) | st.integers(-2, 2).flatmap(lambda whole: st.floats(whole - 1e-3, whole + 1e-3)))
@example(0.1 + 0.7 + 0.2)
@example(1 + 1.5e-9)
def test_no_number_reads_as_a_whole_one_or_as_one_of_the_other_sign(value: float) -> None:
    """It has four decimals, or as many as that takes."""
    text = fixed(value)
    shown, places = float(text), len(text.partition(".")[2])
    assert shown == pytest.approx(value, abs=0.5000001 * 10**-places)
    if abs(value - round(value)) > NEGLIGIBLE:
        assert shown != round(value)
        assert math.copysign(1, shown) == math.copysign(1, value)
        assert places == 4 or round(value, places - 1) == round(value)
    else:
        assert (places, text.startswith("-0.0000")) == (4, False)
    assert signed(value) == ("+" if shown > 0 else "") + text


@given(st.floats(0.5, 0.9999))
def test_a_confidence_is_never_all(confidence: float) -> None:
    assert percent(confidence) != "100%"
    assert float(percent(confidence)[:-1]) / 100 == pytest.approx(confidence, rel=5e-6)


@given(st.floats(-1e3, 1e3), st.floats(-1e-2, 1e-2))
def test_a_value_beside_a_limit_is_shown_differently_in_as_few_digits_as_that_takes(limit: float, step: float) -> None:
    digits = digits_apart(limit, limit, limit + step)
    if abs(limit + step - limit) > NEGLIGIBLE:
        assert f"{limit + step:.{digits}g}" != f"{limit:.{digits}g}"
        assert digits == 4 or f"{limit + step:.{digits - 1}g}" == f"{limit:.{digits - 1}g}"
    else:
        assert digits == 4
    assert digits <= MAX_DIGITS
