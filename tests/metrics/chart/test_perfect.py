"""A prediction that says what is true scores 1, and equal records score the same, however they are stored."""

from __future__ import annotations

import math
import random
import unicodedata
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import SampleScore
from beamscore.metrics.statistics.sums import Sums
from tests.generate.chart import CLASSES, SUMMARY, sample
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, block, blocks, chart_type, data, series

OPTIONS: list[Json] = [{}, {"edition": 2020}, {"edition": 2022}, {"protocol": "released"}]


def as_prediction(truth: Json) -> Json:
    """Returns what a perfect system says of a chart; other fields of a prediction are ignored."""
    return {**truth, "task7": truth.get("task6")}


def all_values(score: SampleScore, **options: Any) -> Json:
    """Returns the metrics of the sample and of a corpus of it, without those that are not measured."""
    values = make.benchmark(**options).values(Sums.of(score.statistics))
    return {name: value for name, value in {**values, **score.metrics}.items() if value is not None}


# Few values, so that ids, labels and places are repeated.
LABELS = (None, "", "a", "ab", "e\u0301", "\u00e9", "1", 1, 1.0, 2, -3, -0.0, 0, 1e22, 2**53, math.nan)
VALUES = (0, -0.0, 0.0, 1, 2, "2", 3.5, 1e-300, -7, 1e99)
PLACES, SIDES = (-1, 0, -0.0, 1, 1.5, 2, 7, 1e-200, 1e9), (-2, -0.0, 0, 1e-200, 0.1, 1, 3)
ROLES = (None, "", "chart_title", "axis_title", "tick_label", "legend_title", "other", "mark_label", "(none)")
IN_IMAGE: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("x0", "y0", "x", "y"), PLACES),
    "width": SIDES,
    "height": SIDES,
    "id": LABELS,
    "role": ROLES,
    "name": LABELS,
    "ambiguous": (True, False, None),
    "text": (None, "", " ", "a", "A b", "a__b", "\\alpha", "\\hat{e}", "x^{2}", "\u00ea", "e\u0302", "\\"),
    "chart_type": (*CLASSES, "a|b][", "(other)", " stacked radar bar"),
}


def varied(node: Any, chance: random.Random, pools: dict[str, tuple[Any, ...]]) -> Any:
    """Returns a part of a record with up to four entries of each list, and values of the pools."""
    if isinstance(node, list):
        return [varied(each, chance, pools) for each in chance.choices(node, k=chance.randrange(5) if node else 0)]
    if not isinstance(node, dict):
        return node
    of_series = {**IN_IMAGE, **dict.fromkeys((*SUMMARY, "y"), VALUES), "x": chance.choice((LABELS, VALUES))}
    found = {name: varied(value, chance, of_series if name == "data series" else pools) for name, value in node.items()}
    chosen = {name for name in found if name in pools and not isinstance(found[name], (dict, list))}
    return {**found, **{name: chance.choice(pools[name]) for name in sorted(chosen)}}


def record(index: int, seed: int) -> Json:
    """Returns a chart of the generator with the values of the pools, and without some of its tasks."""
    chance = random.Random(seed)
    truth = {name: value for name, value in sample(index, 5)[0].items() if name == "task1" or chance.random() < 0.8}
    found = {**varied({**truth, "ambiguous": None}, chance, IN_IMAGE), "image": {"width": 7, "height": 0.01}}
    # What data there are goes by the class.
    return {**found, "task1": truth["task1"]} if chance.random() < 0.7 else {**found, "task6": None}


RECORDS = st.builds(record, st.integers(0, 39), st.integers(0, 10**9))


@settings(max_examples=300)
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
