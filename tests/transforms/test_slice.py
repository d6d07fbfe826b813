"""The slices that a sample belongs to."""

from __future__ import annotations

import math
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import given
from hypothesis import strategies as st

from metrics.statistics.bootstrap import Bootstrap
from transforms.records import InputProblem
from transforms.score import ScoredSample
from transforms.slice import CheckSliceCount, FanOut, SliceKey
from transforms.slice_labels import MAX_LABEL_LENGTH, check_slice_count, slice_labels, value_text


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
        ([["a", "b"], "z"], ['c=["a"\\, "b"]', "c=z"]),
        ([], []),
        ({"b": 1, "a": "é"}, ['c={"a": "é"\\, "b": 1}']),
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


def test_labels_of_different_slices_are_different() -> None:
    # Unescaped, the value `x,b=y` of column a would be labelled as the crossed slice is.
    assert slice_labels(["a", "b"], [[0], [0, 1]], ["x,b=y", "z"]) == ["a=x\\,b=y", "a=x\\,b=y,b=z"]
    assert slice_labels(["a", "b"], [[0, 1]], ["x", "y"]) == ["a=x,b=y"]
    assert slice_labels(["a=b", "a"], [[0], [1]], ["c", "b=c"]) == ["a\\=b=c", "a=b=c"]
    assert slice_labels(["a"], [[0]], ["C:\\x"]) == ["a=C:\\\\x"]


NAMES = st.text("a=,\\b", max_size=4)


@given(
    st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=3), st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=3)
)
def test_a_label_tells_its_columns_and_values(first: list[tuple[str, str]], second: list[tuple[str, str]]) -> None:
    labels = [
        slice_labels([column for column, _ in each], [range(len(each))], [value for _, value in each])
        for each in (first, second)
    ]
    assert (labels[0] == labels[1]) == (first == second)


def test_too_many_slices_of_one_sample_are_told_before_they_are_made() -> None:
    values = [list(range(10_000)), list(range(10_000)), "x"]
    check_slice_count(["a", "b", "c"], [[0], [2]], values, 10_001)
    with pytest.raises(ValueError) as error:
        check_slice_count(["a", "b", "c"], [[0, 1], [2, 0]], values, 1000)
    assert str(error.value) == (
        "the columns a (10000), b (10000) put the sample into 100010000 slices, more than the 1000 of "
        "limits.slices_per_sample; shorten the lists, slice by fewer columns, or raise the limit"
    )
    check_slice_count([], [], (), 1)


def test_without_columns_there_are_no_slices() -> None:
    assert slice_labels([], [], []) == []
    assert slice_labels(["c"], [[0]], None) == []


def test_long_values_are_cut_and_stay_apart() -> None:
    texts = [("x" * MAX_LABEL_LENGTH) + end for end in ("", "a", "b")]
    shown = [value_text(text) for text in texts]
    assert shown[0] == texts[0]
    assert len(set(shown)) == 3
    assert all(len(text) <= MAX_LABEL_LENGTH + 11 and text.startswith(texts[0]) for text in shown)
    assert value_text("\ud800" * 300) != value_text("\ud801" * 300)


@given(st.integers(0, 1000), st.text())
def test_keys_survive_encoding(system: int, label: str) -> None:
    key = SliceKey(system, label)
    assert SliceKey.decode(key.encode()) == key


def test_a_sample_contributes_once_to_the_corpus_and_to_each_slice() -> None:
    bootstrap = Bootstrap(5, seed=1)
    fan_out = FanOut(["source", "tags"], [[0], [1], [0, 1]], bootstrap, 10).process
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


def sample_of(label: str, system: int = 0) -> ScoredSample:
    return ScoredSample(label, system, "scored", label, (label,), {"n": 1}, {}, b"null", {})


def test_a_worker_that_sees_too_many_slices_ends_the_run() -> None:
    fan_out = FanOut(["source"], [[0]], Bootstrap(0), 2)
    for label in ("a", "b", "a", "b"):
        for system in (0, 1):
            assert len(list(fan_out.process(sample_of(label, system)))) == 2
    with pytest.raises(InputProblem, match=r"slices by source: there are more than 2; .* raise limits\.slices"):
        list(fan_out.process(sample_of("c")))


def test_slices_are_counted_over_all_workers() -> None:
    def run(labels: list[str]) -> None:
        items = [(SliceKey(system, label).encode(), 1) for system in (0, 1) for label in labels]
        with beam.Pipeline(runner=FnApiRunner()) as pipeline:
            found = pipeline | beam.Create(items) | CheckSliceCount(["source"], 2)
            assert_that(found, equal_to(items))

    run([])
    run(["", "source=a", "source=b"])
    with pytest.raises(InputProblem, match="there are more than 2"):
        run(["", "source=a", "source=b", "source=c"])
