"""The slices that a sample belongs to, their sums in any order, and the metrics of those."""

import math
import pickle
import random
from collections import Counter
from typing import Any

import apache_beam as beam
import msgspec
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import example, given, strategies as st

from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.sums import Sums
from beamscore.transforms import evaluate
from beamscore.transforms.evaluate import ComputeValues, SumSlices, merge_totals
from beamscore.transforms.hashes import prediction_fingerprint, sample_fingerprint
from beamscore.transforms.records import InputProblem
from beamscore.transforms.scored import ScoredSample, ScoringPlan
from beamscore.transforms.slice_labels import ALL_SAMPLES, Slice, Slicing, sample_slices, value_text
from beamscore.transforms.totals import EvaluationCore, SliceKey, SliceTotals, slice_results
from tests.laws import tries
from tests.metrics.statistics.samples import TOY
from tests.transforms.samples import bundle


@pytest.mark.parametrize(
    ("values", "slices", "labels"),
    [
        *(([value], ["c"], [f"c={label}" for label in labels]) for value, labels in [
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
        (["web", ["x", "y"]], ["cd"], ["c=web,d=x", "c=web,d=y"]),
        ([["x", "y"], None], ["cd"], ["c=x,d=null", "c=y,d=null"]),
        (["web", []], ["cd", "c", "c"], ["c=web"]),
        ([["x", "y"]], ["cc"], ["c=x,c=x", "c=x,c=y", "c=y,c=x", "c=y,c=y"]),
    ],
)  # fmt: skip
def test_the_labels_of_a_sample(values: list[Any], slices: list[str], labels: list[str]) -> None:
    assert [each.label for each in sample_slices(map(tuple, slices), dict(zip("cd", values, strict=False)))] == labels


NAMES = st.text("a=,\\b", max_size=4)
CELLS = st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=3)


@tries(60)
@given(CELLS, CELLS)
@example([("a=b", "c")], [("a", "b=c")])
def test_a_label_tells_its_columns_and_values(first: list[tuple[str, str]], second: list[tuple[str, str]]) -> None:
    labels = [Slice(*zip(*each, strict=True)).label for each in (first, second)]
    assert (labels[0] == labels[1]) == (first == second)


def test_too_many_slices_of_one_sample_are_told_before_they_are_made_and_long_values_stay_apart() -> None:
    values = [list(range(10_000)), list(range(10_000)), "x"]
    assert len(Slicing(("a", "b", "c"), (("a",), ("c",)), 10_001).of(values)) == 10_001
    with pytest.raises(ValueError, match=r"the columns a \(10000\), b \(10000\) put the sample into 100010000 slices"):
        Slicing(("a", "b", "c"), (("a", "b"), ("c", "a")), 1000).of(values)
    assert Slicing((), (), 1).of(()) == ()
    start = "x" * 200
    # The first 4 bytes of the BLAKE2b of the whole.
    texts = {"": "", "a": "...ea303388", "b": "...9b611a69"}
    assert {end: value_text(start + end) for end in texts} == {end: start + text for end, text in texts.items()}
    assert value_text("\ud800" * 300) != value_text("\ud801" * 300)


def sample_of(sample_id: str, slices: tuple[Slice, ...] = (), system: int = 0, **more: Any) -> ScoredSample:
    return ScoredSample(sample_id, system, "scored", None, sample_id, {}, slices, **more)


def core_of(replicates: int = 0, most: int = 100) -> EvaluationCore:
    plan = ScoringPlan(TOY, "wrong", ("ours",), slicing=Slicing(("source", "tags"), (("source",), ("tags",))))
    return EvaluationCore(plan, Bootstrap(replicates, seed=1), 0.9, most)


def totals(do_fn: SumSlices, *batches: list[ScoredSample]) -> list[tuple[SliceKey, SliceTotals]]:
    return [(msgspec.msgpack.decode(key, type=SliceKey), found) for key, found in bundle(do_fn, *batches)["main"]]


WEB, CRAWL = (Slice(("source",), (each,)) for each in ("web", "crawl"))
SAMPLES = st.lists(
    st.builds(
        ScoredSample,
        *(st.sampled_from("stuvw"), st.integers(0, 1), st.just("scored"), st.just("rejected"), st.sampled_from("xyz")),
        coverage=st.dictionaries(st.sampled_from(["ground_truth.scored", "odd"]), st.integers(1, 3)),
        slices=st.lists(st.sampled_from([WEB, CRAWL]), unique=True).map(tuple),
        statistics=st.none() | st.dictionaries(st.sampled_from("abc"), st.floats(-10, 10)),
        truth_hash=st.sampled_from(["01", "02", None]),
        prediction_hash=st.sampled_from(["01", "02", None]),
    ),
    max_size=12,
)


@tries(40)
@given(SAMPLES, st.integers(1, 4), st.sampled_from([1, 1 << 30]), st.randoms(use_true_random=False))
def test_any_bundles_orders_and_merge_trees_give_the_same(
    samples: list[ScoredSample], size: int, held: int, rng: random.Random
) -> None:
    """By hand: a local pipeline merges too little to find a wrong merge. Merging leaves the parts alone."""
    bootstrap, expected = Bootstrap(4, seed=1), dict[SliceKey, SliceTotals]()
    for each in samples:
        for slice_of in (ALL_SAMPLES, *each.slices):
            key = SliceKey(each.system, slice_of)
            whole = expected.setdefault(key, SliceTotals(BootstrapSums(bootstrap)))
            if each.statistics:
                whole.sums.add(bootstrap.unit_hash(each.unit), each.statistics)
            whole.coverage = {**Counter(whole.coverage) + Counter(each.coverage)}
            whole.predictions_fingerprint += prediction_fingerprint(each.sample_id, each.prediction_hash, "rejected")
            # All systems have the ground truth of the first.
            if not key.system:
                whole.fingerprint += sample_fingerprint(each.sample_id, each.truth_hash)
    rng.shuffle(samples)
    batches = [samples[start : start + size] for start in range(0, len(samples), size)]
    do_fn, parts = pickle.loads(pickle.dumps(SumSlices(core_of(4)))), dict[SliceKey, list[SliceTotals]]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "BYTES_HELD", held)
        for number in range(0, len(batches), 2):
            do_fn.start_bundle()
            early = list(do_fn.process([sample_of("of a bundle that failed", statistics={"a": 1})]))
            assert bool(early) == (held == 1), "totals that become large leave early"
            for key, part in totals(do_fn, *batches[number : number + 2], []):
                parts.setdefault(key, []).append(part)
    for of_slice in parts.values():
        while len(of_slice) > 1:
            rng.shuffle(of_slice)
            count = rng.randint(1, len(of_slice))
            before = pickle.dumps(of_slice[:count])
            merged = merge_totals(iter(of_slice[:count]), bootstrap)
            assert pickle.dumps(of_slice[:count]) == before
            of_slice[:count] = [merged]
    found = {key: merge_totals(each, bootstrap) for key, each in parts.items()}

    def rows(each: SliceTotals) -> Any:
        return each.sums.table().rows(), each.coverage, each.fingerprint, each.predictions_fingerprint

    assert {key: rows(each) for key, each in found.items()} == {key: rows(each) for key, each in expected.items()}


def test_slices_are_counted_in_each_worker_and_over_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "SLICES_AT_ONCE", 2)
    do_fn = SumSlices(core_of(0, 2))
    for label in ("a", "b", "a", "b"):
        for system in (0, 1):
            totals(do_fn, [sample_of("s", (Slice(("source",), (label,)),), system)])
    with pytest.raises(InputProblem, match=r"slices by source, tags: there are more than 2; .* raise limits\.slices"):
        totals(do_fn, [sample_of("s", (Slice(("source",), ("c",)),))])

    def run(labels: list[str]) -> None:
        keys = [SliceKey(n, Slice(("source",), (each,)) if each else ALL_SAMPLES) for n in (0, 1) for each in labels]
        items = [(msgspec.msgpack.encode(key), SliceTotals(BootstrapSums(Bootstrap(0, 0)))) for key in keys]
        with beam.Pipeline(runner=FnApiRunner()) as pipeline:
            found = pipeline | beam.Create(items) | ComputeValues(core_of(most=2))
            assert_that(found | beam.Map(lambda each: each.key), equal_to(keys))

    run(["", "a", "b"])
    with pytest.raises(InputProblem, match="there are more than 2"):
        run(["", "a", "b", "c"])


@pytest.mark.parametrize("of", [ALL_SAMPLES, Slice(("kind",), ("1",))])
@pytest.mark.parametrize("replicates", [0, 1, 3])
def test_the_parts_of_a_result_are_those_of_its_totals(replicates: int, of: Slice) -> None:
    """Without a replicate there is no interval, and only all samples have tables."""
    sums = BootstrapSums(Bootstrap(replicates, seed=0))
    for index in range(4):
        sums.add(index * 2**57, {"samples": 1, "equal": index % 2, "similarity": index / 64})
    totals = SliceTotals(sums, {"ground_truth.scored": 4}, fingerprint=5)
    (found,) = slice_results(TOY, 0.9, [(SliceKey(2, of), totals)], Sums(), False, "wrong")
    assert (found.key, found.coverage, found.fingerprint) == (SliceKey(2, of), {"ground_truth.scored": 4}, 5)
    assert (found.sums, found.replicates.unpack(replicates).rows()) == (sums.sums(), sums.table().below().rows())
    assert found.values == {"exact_match": 2 / 4, "similarity": 6 / 64 / 4}  # 0 + 1 + 2 + 3 = 6
    assert (found.units, found.predictions_fingerprint) == ({"exact_match": 4, "similarity": 4}, 0)
    assert set(found.intervals) == set(found.errors) == (set(found.values) if replicates else set())
    assert [table.title for table in found.tables] == ([] if of.columns else ["Counts"])
