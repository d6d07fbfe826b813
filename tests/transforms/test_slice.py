"""The slices that a sample belongs to, their sums in any order, and the metrics of those."""

from __future__ import annotations

import math
import pickle
import random
from typing import Any

import apache_beam as beam
import msgspec
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import example, given, settings
from hypothesis import strategies as st

from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.sums import Sums
from beamscore.transforms import evaluate
from beamscore.transforms.evaluate import ComputeValues, SumSlices, merge_totals
from beamscore.transforms.hashes import prediction_fingerprint, sample_fingerprint
from beamscore.transforms.records import InputProblem
from beamscore.transforms.scored import ScoredSample, ScoringPlan
from beamscore.transforms.slice_labels import ALL_SAMPLES, Slice, Slicing, slice_labels, value_text
from beamscore.transforms.totals import EvaluationCore, SliceKey, SliceTotals, slice_results
from tests.toy import Options, ToyBenchmark
from tests.transforms.samples import bundle

TOY = ToyBenchmark(Options())


@pytest.mark.parametrize(
    ("values", "slices", "labels"),
    [
        *(([value], [[0]], [f"c={label}" for label in labels]) for value, labels in [
            ("", [""]),
            ("été ☂", ["été ☂"]),
            ("C:\\x,b=y", ["C:\\\\x\\,b=y"]),
            (7, ["7"]),
            (7.0, ["7.0"]),
            (True, ["true"]),
            (None, ["null"]),
            (math.nan, ["NaN"]),
            (["a", "b", "a"], ["a", "b"]),
            ([1, "1", None], ["1", "null"]),
            ([["a", "b"], "z"], ['["a"\\, "b"]', "z"]),
            ([], []),
            ({"b": 1, "a": "é"}, ['{"a": "é"\\, "b": 1}']),
        ]),
        # Crossed columns have every combination.
        (["web", ["x", "y"]], [[0, 1]], ["c=web,d=x", "c=web,d=y"]),
        ([["x", "y"], None], [[0, 1]], ["c=x,d=null", "c=y,d=null"]),
        (["web", []], [[0, 1], [0], [0]], ["c=web"]),
        ([["x", "y"]], [[0, 0]], ["c=x,c=x", "c=x,c=y", "c=y,c=x", "c=y,c=y"]),
    ],
)  # fmt: skip
def test_the_labels_of_a_sample(values: list[Any], slices: list[list[int]], labels: list[str]) -> None:
    assert slice_labels(["c", "d"], slices, values) == labels


NAMES = st.text("a=,\\b", max_size=4)
CELLS = st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=3)


@settings(max_examples=60)
@given(CELLS, CELLS)
@example([("a=b", "c")], [("a", "b=c")])
def test_a_label_tells_its_columns_and_values(first: list[tuple[str, str]], second: list[tuple[str, str]]) -> None:
    labels = [
        slice_labels([column for column, _ in each], [range(len(each))], [value for _, value in each])
        for each in (first, second)
    ]
    assert (labels[0] == labels[1]) == (first == second)


def test_too_many_slices_of_one_sample_are_told_before_they_are_made_and_long_values_stay_apart() -> None:
    values = [list(range(10_000)), list(range(10_000)), "x"]
    assert len(Slicing(("a", "b", "c"), ((0,), (2,)), 10_001).of(values)) == 10_001
    with pytest.raises(ValueError, match=r"the columns a \(10000\), b \(10000\) put the sample into 100010000 slices"):
        Slicing(("a", "b", "c"), ((0, 1), (2, 0)), 1000).of(values)
    assert Slicing((), (), 1).of(()) == ()
    start = "x" * 200
    # The first 4 bytes of the BLAKE2b of the whole.
    texts = {"": "", "a": "...ea303388", "b": "...9b611a69"}
    assert {end: value_text(start + end) for end in texts} == {end: start + text for end, text in texts.items()}
    assert value_text("\ud800" * 300) != value_text("\ud801" * 300)


WEB, CRAWL = (Slice(("source",), (each,)) for each in ("web", "crawl"))


def sample_of(sample_id: str, slices: tuple[Slice, ...] = (), system: int = 0, **more: Any) -> ScoredSample:
    coverage = {"ground_truth.scored" if "statistics" in more else "ground_truth.rejected": 1}
    return ScoredSample(sample_id, system, "scored", None, sample_id, coverage, slices, **more)


def core_of(replicates: int = 0, most: int = 100) -> EvaluationCore:
    plan = ScoringPlan(TOY, "wrong", ("ours",), slicing=Slicing(("source", "tags"), ((0,), (1,))))
    return EvaluationCore(plan, Bootstrap(replicates, seed=1), 0.9, most)


def sums_of(replicates: int, most: int = 100) -> Any:
    return pickle.loads(pickle.dumps(SumSlices(core_of(replicates, most))))


def totals(do_fn: SumSlices, *batches: list[ScoredSample]) -> list[tuple[SliceKey, SliceTotals]]:
    return [(msgspec.msgpack.decode(key, type=SliceKey), found) for key, found in bundle(do_fn, *batches)["main"]]


def test_a_bundle_gives_one_sum_for_each_slice_of_each_system() -> None:
    a, b = sample_of("a", (WEB,), statistics={"n": 1}), sample_of("b", (WEB, CRAWL), statistics={"n": 2, "m": 0.5})
    c, other = sample_of("c"), sample_of("a", (WEB,), 1, statistics={"n": 4})
    found = totals(sums_of(5), [a], [], [b, other, c])
    members = {
        SliceKey(0): [a, b, c],
        SliceKey(0, WEB): [a, b],
        SliceKey(0, CRAWL): [b],
        SliceKey(1): [other],
        SliceKey(1, WEB): [other],
    }
    assert [key for key, _ in found] == list(members)
    bootstrap = Bootstrap(5, seed=1)
    for key, each in found:
        expected = BootstrapSums(bootstrap)
        for sample in members[key]:
            if sample.statistics:
                expected.add(bootstrap.unit_hash(sample.sample_id), sample.statistics)
        assert (each.sums, sum(each.coverage.values())) == (expected, len(members[key]))
    assert found[0][1].coverage == {"ground_truth.scored": 2, "ground_truth.rejected": 1}


def test_fingerprints_are_those_of_the_ground_truth_once_and_of_the_predictions_of_each_slice() -> None:
    """They do not depend on the order; a prediction that is missing is another than one that cannot be read."""
    hashes = {"a": "01", "b": None, "c": "02"}
    samples = [
        sample_of(name, (WEB,) if name != "c" else (), system, prediction_hash=found)
        for name, found in hashes.items()
        for system in (0, 1)
    ]
    found = dict(totals(sums_of(0), samples))
    truths = sum(sample_fingerprint(each, None) for each in hashes)
    assert {key: each.fingerprint for key, each in found.items() if each.fingerprint} == {SliceKey(0): truths}
    prints = {name: prediction_fingerprint(name, each, None) for name, each in hashes.items()}
    for system in (0, 1):
        assert found[SliceKey(system)].predictions == sum(prints.values())
        assert found[SliceKey(system, WEB)].predictions == prints["a"] + prints["b"]
    assert found == dict(totals(sums_of(0), samples[::-1]))
    parts = [dict(totals(sums_of(0), part))[SliceKey(0)] for part in (samples[:2], samples[2:])]
    merged = merge_totals(parts, Bootstrap(0, seed=1))
    assert (merged.predictions, merged.fingerprint) == (sum(prints.values()), truths)


def test_totals_that_become_large_leave_early_and_those_of_a_failed_bundle_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    samples = [sample_of(str(n), (Slice(("tags",), (str(n),)),), statistics={"n": n}) for n in range(50)]
    (whole,) = [each for key, each in totals(sums_of(5), samples) if key == SliceKey(0)]
    monkeypatch.setattr(evaluate, "BYTES_HELD", 1000)
    found = totals(sums_of(5), *([each] for each in samples))
    assert len(found) > 51
    assert merge_totals([each for key, each in found if key == SliceKey(0)], Bootstrap(5, seed=1)).sums == whole.sums
    do_fn = sums_of(0)
    do_fn.start_bundle()
    assert list(do_fn.process([sample_of("a")])) == []
    assert totals(do_fn) == []


def test_slices_are_counted_in_each_worker_and_over_all() -> None:
    do_fn = sums_of(0, 2)
    for label in ("a", "b", "a", "b"):
        for system in (0, 1):
            totals(do_fn, [sample_of("s", (Slice(("source",), (label,)),), system)])
    with pytest.raises(InputProblem, match=r"slices by source, tags: there are more than 2; .* raise limits\.slices"):
        totals(do_fn, [sample_of("s", (Slice(("source",), ("c",)),))])

    def run(labels: list[str]) -> None:
        keys = [SliceKey(n, Slice(("source",), (each,)) if each else ALL_SAMPLES) for n in (0, 1) for each in labels]
        items = [(msgspec.msgpack.encode(key), SliceTotals(BootstrapSums(Bootstrap(0)))) for key in keys]
        with beam.Pipeline(runner=FnApiRunner()) as pipeline:
            found = pipeline | beam.Create(items) | ComputeValues(core_of(most=2))
            assert_that(found | beam.Map(lambda each: each.key), equal_to(keys))

    run(["", "a", "b"])
    with pytest.raises(InputProblem, match="there are more than 2"):
        run(["", "a", "b", "c"])


PARTS = st.lists(
    st.tuples(
        st.integers(0, 2**64 - 1),
        st.dictionaries(st.sampled_from("abc"), st.floats(-10, 10)),
        st.dictionaries(st.sampled_from(["ground_truth.scored", "predictions.scored", "odd"]), st.integers(0, 3)),
    ),
    max_size=12,
)


def added(*samples: Any) -> SliceTotals:
    """Adds samples up as a bundle does."""
    found = SliceTotals(BootstrapSums(Bootstrap(4, seed=2)))
    for sample in samples:
        found.add(*sample)
        found.fingerprint += sample[0]
    return found


@settings(max_examples=60)
@given(PARTS, st.randoms(use_true_random=False))
def test_any_shards_orders_and_merge_trees_give_the_same(samples: list[Any], rng: random.Random) -> None:
    """Sharded by hand: a local pipeline merges too little to find a wrong merge. Merging leaves the parts alone."""
    expected = added(*samples)
    rng.shuffle(samples)
    parts = [added(*samples[start : start + 3]) for start in range(0, len(samples), 3)]
    while len(parts) > 1:
        rng.shuffle(parts)
        count = rng.randint(1, len(parts))
        before = pickle.dumps(parts[:count])
        merged = merge_totals(iter(pickle.loads(before) if rng.random() < 0.3 else parts[:count]), Bootstrap(4, seed=2))
        assert pickle.dumps(parts[:count]) == before
        parts = [merged, *parts[count:]]
    found = merge_totals(parts, Bootstrap(4, seed=2))
    assert found.sums.table().rows() == expected.sums.table().rows()
    assert (found.coverage, found.fingerprint) == (expected.coverage, expected.fingerprint)


def of_forty(replicates: int) -> SliceTotals:
    sums = BootstrapSums(Bootstrap(replicates, seed=0))
    for index in range(40):
        sums.add(index * 2**57, {"samples": 1, "equal": index % 2, "similarity": index / 64})
    return SliceTotals(sums, {"ground_truth.scored": 40}, fingerprint=5)


def test_metrics_intervals_and_tables_follow_from_the_totals() -> None:
    (found,) = slice_results(TOY, 0.9, [(SliceKey(2), of_forty(100))], Sums(), clustered=False)
    assert (found.key, found.coverage, found.fingerprint) == (SliceKey(2), {"ground_truth.scored": 40}, 5)
    assert found.values == {"exact_match": 20 / 40, "similarity": 780 / 64 / 40}  # 0 + 1 + ... + 39 = 780
    assert found.sums == of_forty(0).sums.sums()
    assert found.replicates.unpack(100).rows() == of_forty(100).sums.table().below().rows()
    low, high = found.intervals["exact_match"] or (1, 0)
    assert 0.2 < low < 0.5 < high < 0.8
    assert [table.title for table in found.tables] == ["Counts"]
    (of_slice,) = slice_results(
        TOY, 0.9, [(SliceKey(2, Slice(("kind",), ("1",))), of_forty(0))], Sums(), clustered=False
    )
    assert (of_slice.tables, of_slice.intervals, of_slice.replicates.unpack(0).rows()) == ([], {}, [])
    (once,) = slice_results(TOY, 0.9, [(SliceKey(0), of_forty(1))], Sums(), clustered=False)
    assert once.intervals.keys() == {"exact_match", "similarity"}
    empty = SliceTotals(BootstrapSums(Bootstrap(3)), {"ground_truth.rejected": 2})
    (none,) = slice_results(TOY, 0.9, [(SliceKey(0), empty)], Sums(), clustered=False)
    assert [none.values, none.intervals] == [{"exact_match": None, "similarity": None}] * 2
    assert none.replicates.unpack(3).rows() == [Sums()] * 3
