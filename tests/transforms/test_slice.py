"""The slices that a sample belongs to."""

from __future__ import annotations

import math
from typing import Any

import apache_beam as beam
import msgspec
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.transforms import slice as slicing
from beamscore.transforms.evaluate import CheckSliceCount, SumSlices
from beamscore.transforms.hashes import prediction_fingerprint, sample_fingerprint
from beamscore.transforms.records import InputProblem
from beamscore.transforms.scored import ScoredSample
from beamscore.transforms.slice_labels import (
    ALL_SAMPLES,
    MAX_LABEL_LENGTH,
    Slice,
    Slicing,
    slice_labels,
    value_text,
)
from beamscore.transforms.totals import SliceKey, SliceTotals


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
    assert len(Slicing(("a", "b", "c"), ((0,), (2,)), 10_001).of(values)) == 10_001
    with pytest.raises(ValueError) as error:
        Slicing(("a", "b", "c"), ((0, 1), (2, 0)), 1000).of(values)
    assert str(error.value) == (
        "the columns a (10000), b (10000) put the sample into 100010000 slices, more than the 1000 of "
        "limits.slices_per_sample; shorten the lists, slice by fewer columns, or raise the limit"
    )
    assert Slicing((), (), 1).of(()) == ()


def test_long_values_are_cut_and_stay_apart() -> None:
    texts = [("x" * MAX_LABEL_LENGTH) + end for end in ("", "a", "b")]
    shown = [value_text(text) for text in texts]
    assert shown[0] == texts[0]
    assert len(set(shown)) == 3
    assert all(len(text) <= MAX_LABEL_LENGTH + 11 and text.startswith(texts[0]) for text in shown)
    assert value_text("\ud800" * 300) != value_text("\ud801" * 300)


KEYS = st.builds(
    lambda system, cells: SliceKey(system, Slice(*zip(*cells, strict=True)) if cells else ALL_SAMPLES),
    st.integers(0, 1000),
    st.lists(st.tuples(st.text(), st.text()), max_size=3),
)


@given(KEYS, KEYS)
def test_keys_survive_coding_and_equal_ones_have_equal_bytes(first: SliceKey, second: SliceKey) -> None:
    coded = [msgspec.msgpack.encode(key) for key in (first, second)]
    decoded = msgspec.msgpack.decode(coded[0], type=SliceKey)
    assert (decoded, type(decoded.slice)) == (first, Slice)
    assert (coded[0] == coded[1]) == (first == second)


def sample_of(
    sample_id: str, slices: tuple[Slice, ...] = (), system: int = 0, statistics: dict[str, float] | None = None
) -> ScoredSample:
    coverage = {"ground_truth.scored" if statistics else "ground_truth.rejected": 1}
    return ScoredSample(sample_id, system, "scored", None, sample_id, coverage, slices, statistics=statistics)


def bundle(do_fn: SumSlices, *batches: list[ScoredSample]) -> list[tuple[SliceKey, SliceTotals]]:
    do_fn.start_bundle()
    found = [each for batch in batches for each in do_fn.process(batch)]
    found += [each.value for each in do_fn.finish_bundle()]
    return [(msgspec.msgpack.decode(key, type=SliceKey), totals) for key, totals in found]


def sums_of(bootstrap: Bootstrap, most: int = 100) -> SumSlices:
    do_fn = SumSlices(["source", "tags"], bootstrap, most)
    do_fn.setup()
    return do_fn


WEB, CRAWL = (Slice(("source",), (each,)) for each in ("web", "crawl"))


def test_a_bundle_gives_one_sum_for_each_slice_of_each_system() -> None:
    bootstrap = Bootstrap(5, seed=1)
    samples = [
        sample_of("a", (WEB,), 0, {"n": 1}),
        sample_of("b", (WEB, CRAWL), 0, {"n": 2, "m": 0.5}),
        sample_of("a", (WEB,), 1, {"n": 4}),
        sample_of("c", (), 0),
    ]
    found = bundle(sums_of(bootstrap), samples[:1], [], samples[1:])
    members = {
        SliceKey(0): [samples[0], samples[1], samples[3]],
        SliceKey(0, WEB): samples[:2],
        SliceKey(0, CRAWL): [samples[1]],
        SliceKey(1): [samples[2]],
        SliceKey(1, WEB): [samples[2]],
    }
    assert [key for key, _ in found] == list(members)
    for key, totals in found:
        expected = BootstrapSums(bootstrap)
        for sample in members[key]:
            if sample.statistics:
                expected.add(bootstrap.unit_hash(sample.sample_id), sample.statistics)
        assert totals.sums == expected
        assert sum(totals.coverage.values()) == len(members[key])
    assert found[0][1].coverage == {"ground_truth.scored": 2, "ground_truth.rejected": 1}


def test_the_fingerprint_is_that_of_the_ground_truth_once() -> None:
    samples = [sample_of(each, (WEB,), system) for each in "abc" for system in (0, 1)]
    found = dict(bundle(sums_of(Bootstrap(0)), samples))
    expected = sum(sample_fingerprint(each, None) for each in "abc")
    assert {key: totals.fingerprint for key, totals in found.items() if totals.fingerprint} == {SliceKey(0): expected}


def test_the_fingerprint_of_the_predictions_is_that_of_each_system_and_slice() -> None:
    """It does not depend on the order; a prediction that is missing is another than one that cannot be read."""
    hashes = {"a": "01", "b": None, "c": "02"}
    samples = [
        msgspec.structs.replace(sample_of(name, (WEB,) if name != "c" else (), system), prediction_hash=found)
        for name, found in hashes.items()
        for system in (0, 1)
    ]
    found = dict(bundle(sums_of(Bootstrap(0)), samples))
    status = samples[0].prediction_status
    prints = {name: prediction_fingerprint(name, each, status) for name, each in hashes.items()}
    for system in (0, 1):
        assert found[SliceKey(system)].predictions == sum(prints.values())
        assert found[SliceKey(system, WEB)].predictions == prints["a"] + prints["b"]
    assert found == dict(bundle(sums_of(Bootstrap(0)), samples[::-1]))
    merged = SliceTotals(BootstrapSums(Bootstrap(0)))
    for part in (samples[:2], samples[2:]):
        merged.merge(dict(bundle(sums_of(Bootstrap(0)), part))[SliceKey(0)])
    assert merged.predictions == sum(prints.values())


def test_totals_that_become_large_leave_before_the_bundle_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slicing, "BYTES_HELD", 1000)
    bootstrap = Bootstrap(5)
    samples = [sample_of(str(each), (Slice(("tags",), (str(each),)),), 0, {"n": each}) for each in range(50)]
    found = bundle(sums_of(bootstrap), *([each] for each in samples))
    assert len(found) > 51
    total = BootstrapSums(bootstrap)
    for key, totals in found:
        if key == SliceKey(0):
            total.merge(totals.sums)
    (whole,) = [totals for key, totals in bundle(sums_of(bootstrap), samples) if key == SliceKey(0)]
    assert total == whole.sums


def test_a_bundle_that_failed_leaves_nothing_behind() -> None:
    do_fn = sums_of(Bootstrap(0))
    do_fn.start_bundle()
    assert list(do_fn.process([sample_of("a")])) == []
    assert bundle(do_fn) == []


def test_a_worker_that_sees_too_many_slices_ends_the_run() -> None:
    do_fn = sums_of(Bootstrap(0), 2)
    for label in ("a", "b", "a", "b"):
        for system in (0, 1):
            bundle(do_fn, [sample_of("s", (Slice(("source",), (label,)),), system)])
    with pytest.raises(InputProblem, match=r"slices by source, tags: there are more than 2; .* raise limits\.slices"):
        bundle(do_fn, [sample_of("s", (Slice(("source",), ("c",)),))])


def test_slices_are_counted_over_all_workers() -> None:
    def run(labels: list[str]) -> None:
        items = [
            (msgspec.msgpack.encode(SliceKey(system, Slice(("source",), (label,)) if label else ALL_SAMPLES)), 1)
            for system in (0, 1)
            for label in labels
        ]
        with beam.Pipeline(runner=FnApiRunner()) as pipeline:
            found = pipeline | beam.Create(items) | CheckSliceCount(["source"], 2)
            assert_that(found, equal_to(items))

    run([])
    run(["", "a", "b"])
    with pytest.raises(InputProblem, match="there are more than 2"):
        run(["", "a", "b", "c"])
