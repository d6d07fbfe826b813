"""Samples among which slow ones are searched: pieces of what each benchmark reads, repeated and put together."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

Sample = tuple[dict[str, Any], dict[str, Any]]

MAX_REPEATS = 60
MAX_PIECES = 6

_CHEMFIG = (
    "\\chemfig{", "}", "{", "(", ")", "C", "-[:30]", "=", "*6(", "?", "?[a]", "!a", "\\definesubmol{a}{",
    "-[::-60,,1,2]", "@{", "\\", " ", "H_{2}O", "C(-N)(=O)", "~", ",", "[", "]", "#(", "\\lewis{0:,O}", "--",
)  # fmt: skip
_LATEX = (
    "$", "$$", "\\[", "\\]", "\\(", "\\begin{equation}", "\\end{equation}", "\\begin{array}{c}", "\\end{array}", "&",
    "\\\\", "{", "}", "\\newcommand{\\a}{", "\\a", "\\a\\a", "\\def\\b#1{", "\\b", "#1", "x", "x^2_3", "\\frac", "%",
    "\n", "\\begin{verbatim}", "\\end{verbatim}", "\\left(", "\\right.", "\\text{a $x$ b}", "\\", "$x$ ", "\\item ",
)  # fmt: skip
_WORDS = ("a", "b ", " ", "\n", "1", "-", "\u00e9", "CO_{2}", "\\frac{", "}", "$x$", "<b>", "a.b,c", "\ud7ff")


def texts(pieces: tuple[str, ...]) -> SearchStrategy[str]:
    """Texts of a few pieces, each repeated."""
    repeated = st.builds(lambda piece, count: piece * count, st.sampled_from(pieces), st.integers(1, MAX_REPEATS))
    return st.lists(repeated, max_size=MAX_PIECES).map("".join)


def repeats(elements: SearchStrategy[Any], most: int = MAX_REPEATS) -> SearchStrategy[list[Any]]:
    """Lists of a few elements, repeated as a whole."""
    return st.builds(lambda some, count: (some * count)[:most], st.lists(elements, max_size=4), st.integers(1, most))


def samples(benchmark: str) -> SearchStrategy[Sample]:
    """Pairs of records of a benchmark, without sample_id; half of them have equal sides."""
    sides = _SIDES[benchmark]
    truth, prediction = sides if isinstance(sides, tuple) else (sides, sides)
    pairs: SearchStrategy[Sample] = st.tuples(truth, prediction)
    return pairs | truth.map(lambda record: (record, record)) if truth is prediction else pairs


_NUMBERS = st.integers(0, 6).map(lambda n: 10 * n)
_POINTS = st.lists(st.tuples(_NUMBERS, _NUMBERS).map(list), min_size=3, max_size=12)
_REGION = st.fixed_dictionaries({"points": _POINTS, "text": texts(_WORDS)})
_VALUE = st.integers(-2, 2) | texts(_WORDS) | repeats(st.integers(0, 3) | st.lists(st.just([]), max_size=2))
_RULE = st.fixed_dictionaries(
    {
        "properties": st.dictionaries(st.sampled_from("abcdef"), _VALUE, max_size=6),
        "centerlines": repeats(st.integers(0, 20)),
    }
)
_BOX = st.fixed_dictionaries({"x0": _NUMBERS, "y0": _NUMBERS, "width": _NUMBERS, "height": _NUMBERS})
_BLOCKS = repeats(st.fixed_dictionaries({"bb": _BOX, "text": texts(_WORDS)}), 30)


def _numbered(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**item, "id": number} for number, item in enumerate(items)]


def _chart(blocks: list[dict[str, Any]], role: str, series: list[Any]) -> dict[str, Any]:
    found = _numbered(blocks)
    roles = [{"id": block["id"], "role": role} for block in found]
    data = [{"name": name, "data": [{"x": x, "y": y} for x, y in points]} for name, points in series]
    return {
        "image": {"width": 100, "height": 100},
        "task1": {"output": {"chart_type": "line"}},
        "task2": {"output": {"text_blocks": found}},
        "task3": {"output": {"text_roles": roles}},
        "task6": {"output": {"visual elements": {}, "data series": data}},
    }


_SERIES = repeats(st.tuples(texts(_WORDS), repeats(st.tuples(_NUMBERS | texts(_WORDS), _NUMBERS), 20)), 10)

_SIDES: dict[str, Any] = {
    "chart": st.builds(_chart, _BLOCKS, st.sampled_from(["legend_label", "tick_label"]), _SERIES),
    "chemistry": st.fixed_dictionaries({"text": texts(_CHEMFIG) | texts(_CHEMFIG).map("\\chemfig{{{}}}".format)}),
    "figure_text": st.fixed_dictionaries({"regions": repeats(_REGION, 30)}),
    "formula": st.fixed_dictionaries({"document": texts(_LATEX)}),
    "traffic_rules": (
        st.fixed_dictionaries({"rules": repeats(_RULE, 30).map(_numbered)}),
        st.fixed_dictionaries({"rules": repeats(_RULE, 30)}),
    ),
}
