"""A prediction that says what is true scores 1, and equal records score the same, however they are stored."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import SampleScore
from beamscore.metrics.statistics.sums import Sums
from tests.generate.chart import CLASSES, sample
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, block, blocks, box, chart_type, data, output, series, tick

OPTIONS: list[Json] = [{}, {"edition": 2020}, {"edition": 2022}, {"protocol": "released"}]


def as_prediction(truth: Json) -> Json:
    """Returns what a perfect system says of a chart; other fields of a prediction are ignored."""
    return {**truth, "task7": truth.get("task6")}


def all_values(score: SampleScore, **options: Any) -> Json:
    """Returns the metrics of the sample and of a corpus of it, without those that are not measured."""
    values = make.benchmark(**options).values(Sums.of(score.statistics))
    return {name: value for name, value in {**values, **score.metrics}.items() if value is not None}


@pytest.mark.parametrize("options", OPTIONS)
def test_a_perfect_prediction_scores_1(options: Json) -> None:
    measured: set[str] = set()
    for truth in [sample(index, 5)[0] for index in range(20)]:
        values = all_values(make.score(truth, as_prediction(truth), **options), **options)
        assert set(values.values()) <= {1}
        measured |= {name.partition(".")[0] for name in values}
    assert measured == {*(f"task{task}" for task in ("1", "2", "3", "4", "5", "6a", "6b", "7")), "score"}


# Few values, so that ids, labels and places are repeated.
NAMES = st.sampled_from([None, "", "a", "ab", "e\u0301", "\u00e9", "1", 1, 1.0, 2, -3, -0.0, 0, 1e22, 2**53, math.nan])
PLACES = st.sampled_from([-1, 0, -0.0, 1, 1.5, 2, 7, 1e-200, 1e9])
SIDES = st.sampled_from([-2, -0.0, 0, 1e-200, 0.1, 1, 3])
NUMBERS = st.sampled_from([0, -0.0, 0.0, 1, 2, "2", 3.5, 1e-300, -7, 1e99])
BOXES = st.builds(box, PLACES, PLACES, SIDES, SIDES)
POINTS = st.lists(st.fixed_dictionaries({"x": PLACES, "y": PLACES}), max_size=4)
WORDS = st.sampled_from([None, "", " ", "a", "A b", "a__b", "\\alpha", "\\hat{e}", "x^{2}", "\u00ea", "e\u0302", "\\"])
ROLE = st.sampled_from(
    [None, "", "chart_title", "axis_title", "tick_label", "legend_title", "other", "mark_label", "(none)"]
)
SUMMARY = st.sampled_from(("min", "first_quartile", "median", "third_quartile", "max"))
XY = st.fixed_dictionaries({"x": NUMBERS | NAMES, "y": NUMBERS})
NUMERIC = st.fixed_dictionaries({"x": NUMBERS, "y": NUMBERS})
LINE = st.fixed_dictionaries({"x": PLACES, "y": PLACES}, optional={"_bb": BOXES})
LISTS = st.lists(NUMERIC, max_size=5) | st.lists(XY, max_size=5)
DATA_AND_ELEMENTS: dict[str, tuple[Any, str, Any]] = {
    "Grouped vertical bar": (st.lists(XY, max_size=5), "bars", BOXES),
    " stacked radar bar": (st.lists(XY, max_size=5), "bars", BOXES),
    "Line": (LISTS, "lines", POINTS),
    "Scatter": (LISTS, "scatter points", POINTS),
    "Vertical box": (
        st.dictionaries(SUMMARY, NUMBERS, min_size=1),
        "boxplots",
        st.dictionaries(SUMMARY, LINE, min_size=1),
    ),
}


def task6(kind: str) -> st.SearchStrategy[Json]:
    of_series, group, element = DATA_AND_ELEMENTS[kind]
    one = st.fixed_dictionaries({"name": NAMES, "data": of_series})
    elements = st.fixed_dictionaries({group: st.lists(element, max_size=4)})
    parts = {"data series": st.lists(one, max_size=3), "visual elements": elements}
    return st.fixed_dictionaries({"output": st.fixed_dictionaries({}, optional=parts)})


def listed(name: str, **fields: Any) -> st.SearchStrategy[Json]:
    return st.lists(st.fixed_dictionaries(fields), max_size=5).map(lambda items: output(**{name: items}))


TICKS = st.lists(st.builds(tick, NAMES, PLACES, PLACES), max_size=4)
IMAGE = st.fixed_dictionaries({"width": st.sampled_from([0.01, 7, 640]), "height": st.sampled_from([1, 480])})
IN_TEXT = {
    "task1": st.sampled_from([*CLASSES, "a|b][", "(other)"]).map(chart_type),
    "task2": listed("text_blocks", id=NAMES, text=WORDS, bb=BOXES),
    "task3": listed("text_roles", id=NAMES, role=ROLE),
    "task4": st.builds(make.axes, TICKS, TICKS),
    "task5": listed("legend_pairs", id=NAMES, bb=BOXES),
}
TEXTS = st.fixed_dictionaries({"image": IMAGE}, optional=IN_TEXT)
DATA = st.sampled_from(sorted(DATA_AND_ELEMENTS)).flatmap(
    lambda kind: st.fixed_dictionaries(
        {"image": IMAGE, "task1": st.just(chart_type(kind)), "task6": task6(kind)},
        optional={"ambiguous": st.sampled_from([True, False, None])},
    )
)
RECORDS = TEXTS | DATA


@settings(max_examples=200)
@given(RECORDS, st.sampled_from(OPTIONS[:3]))
def test_a_perfect_prediction_of_repeated_values_scores_1(truth: Json, options: Json) -> None:
    values = all_values(make.score(truth, as_prediction(truth), **options), **options)
    assert set(values.values()) <= {1}, values


def as_doubles(node: Any) -> Any:
    """Returns a record as a table of doubles has it: each integer as a float."""
    if isinstance(node, dict):
        return {key: as_doubles(value) for key, value in node.items()}
    if isinstance(node, list):
        return [as_doubles(value) for value in node]
    return float(node) if type(node) is int else node


@settings(max_examples=100)
@given(RECORDS, RECORDS, st.sampled_from(OPTIONS))
def test_any_pair_scores_from_0_to_1_and_the_same_as_doubles(truth: Json, other: Json, options: Json) -> None:
    prediction = as_prediction(other)
    plain = make.score(truth, prediction, **options)
    same = make.score(as_doubles(truth), as_doubles(prediction), **options)
    assert msgspec.to_builtins(same) == msgspec.to_builtins(plain)
    assert make.metrics(truth, as_doubles(prediction), **options) == plain.metrics
    assert all(0 <= value <= 1 for value in all_values(plain, **options).values())


ACCENTED = st.text(alphabet="ae\u0301\u0302\u00e9\u1100\u1161\u212b\u0323\\{}^_ ", max_size=6)
LATEX = st.sampled_from(["\\hat{\u00ea}", "\\acute{e}", "\u00e9_{2}", "\u00c9", "\u0130"])


def named(text: str) -> Json:
    """Returns a chart with the text in its class, in a text block, and as a name and a label."""
    texts = blocks(block(1, text, 0, 0, 9, 9), block(2, "x", 50, 0, 9, 9))
    return {"task1": chart_type(f"{text} bar"), "task2": texts, "task6": data(series(text, (text, 1), ("x", 2)))}


@settings(max_examples=100)
@given(ACCENTED | LATEX, ACCENTED | LATEX)
def test_texts_are_compared_in_one_unicode_form(first: str, second: str) -> None:
    truth, prediction = (unicodedata.normalize("NFC", text) for text in (first, second))
    plain = make.metrics(named(truth), named(prediction))
    assert make.metrics(named(unicodedata.normalize("NFD", truth)), named(prediction)) == plain
    assert make.metrics(named(truth), named(unicodedata.normalize("NFD", prediction))) == plain


def test_the_released_scripts_compare_texts_in_the_form_they_have() -> None:
    # Three code points against four, of text, name and label: one of four characters is replaced, and one added.
    names = named("caf\u00e9"), named("cafe\u0301")
    for protocol, text, value, same in (("published", 1, 1, 1), ("released", 1 - 2 / 4, 1 - 2 / 5, 0)):
        found = make.metrics(*names, protocol=protocol)
        assert found["task2.recognition"] == (text + 1) / 2
        assert found["task6b.score"] == pytest.approx(value * (value + 1) / 2)
        assert found["task1.correct"] == same
    # LaTeX accents are combining characters.
    assert make.metrics(named("\u00ea"), named("\\hat{e}"))["task2.recognition"] == 1
