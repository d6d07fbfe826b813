"""The slices that a sample belongs to."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.bootstrap import Bootstrap
from transforms.score import ScoredSample
from transforms.slice import LONGEST_LABEL, SliceKey, SliceSamples, slice_labels, value_text


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        ("web", ["c=web"]),
        ("", ["c="]),
        ("été ☂", ["c=été ☂"]),
        (7, ["c=7"]),
        (7.0, ["c=7.0"]),
        (True, ["c=true"]),
        (None, ["c=null"]),
        (math.nan, ["c=NaN"]),
        (["a", "b", "a"], ["c=a", "c=b"]),
        ([1, "1", None], ["c=1", "c=null"]),
        ([["a", "b"], "z"], ['c=["a", "b"]', "c=z"]),
        ([], []),
        ({"b": 1, "a": "é"}, ['c={"a": "é", "b": 1}']),
    ],
)
def test_labels_of_one_column(value: Any, labels: list[str]) -> None:
    assert slice_labels(["c"], [[0]], [value]) == labels


def test_crossed_columns_take_every_combination() -> None:
    values = ["web", ["x", "y"], None, []]
    columns = ["source", "tags", "kind", "none"]
    assert slice_labels(columns, [[0, 1]], values) == ["source=web,tags=x", "source=web,tags=y"]
    assert slice_labels(columns, [[1, 2]], values) == ["tags=x,kind=null", "tags=y,kind=null"]
    assert slice_labels(columns, [[0, 3]], values) == []
    assert slice_labels(columns, [[0], [0], [2]], values) == ["source=web", "kind=null"]
    assert slice_labels(columns, [[1, 1]], values) == [
        "tags=x,tags=x",
        "tags=x,tags=y",
        "tags=y,tags=x",
        "tags=y,tags=y",
    ]


def test_without_columns_there_are_no_slices() -> None:
    assert slice_labels([], [], []) == []
    assert slice_labels(["c"], [[0]], None) == []


def test_long_values_are_cut_and_stay_apart() -> None:
    texts = [("x" * LONGEST_LABEL) + end for end in ("", "a", "b")]
    shown = [value_text(text) for text in texts]
    assert shown[0] == texts[0]
    assert len(set(shown)) == 3
    assert all(len(text) <= LONGEST_LABEL + 11 and text.startswith(texts[0]) for text in shown)
    assert value_text("\ud800" * 300) != value_text("\ud801" * 300)


@given(st.integers(0, 1000), st.text())
def test_keys_survive_encoding(system: int, label: str) -> None:
    key = SliceKey(system, label)
    assert SliceKey.decode(key.encode()) == key


def test_a_sample_contributes_once_to_the_corpus_and_to_each_slice() -> None:
    bootstrap = Bootstrap(5, seed=1)
    fan_out = SliceSamples(["source", "tags"], [[0], [1], [0, 1]], bootstrap)._fan_out
    sample = ScoredSample(
        "s", 3, "scored", "unit", ("web", ["x", "y"]), {"n": 1}, {}, b"null", {"ground_truth.scored": 1}
    )
    found = list(fan_out(sample))
    assert [SliceKey.decode(key) for key, _ in found] == [
        SliceKey(3, ""),
        SliceKey(3, "source=web"),
        SliceKey(3, "tags=x"),
        SliceKey(3, "tags=y"),
        SliceKey(3, "source=web,tags=x"),
        SliceKey(3, "source=web,tags=y"),
    ]
    assert {id(contribution) for _, contribution in found} == {id(found[0][1])}
    assert found[0][1] == (bootstrap.unit_hash("unit"), {"n": 1}, {"ground_truth.scored": 1})
