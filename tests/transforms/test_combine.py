"""The combiner, sharded by hand: a local pipeline merges too little to find a wrong merge."""

from __future__ import annotations

import pickle
import random
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.transforms.evaluate import SumStatistics
from beamscore.transforms.totals import SliceTotals

BOOTSTRAP = Bootstrap(4, seed=2)


class Contribution(NamedTuple):
    unit_hash: int
    statistics: dict[str, float]
    coverage: dict[str, int]


def totals_of(*contributions: Contribution) -> SliceTotals:
    """Adds samples up as a bundle does."""
    totals = SliceTotals(BootstrapSums(BOOTSTRAP))
    for contribution in contributions:
        totals.add(*contribution)
        totals.fingerprint += contribution.unit_hash
    return totals


CONTRIBUTIONS = st.lists(
    st.builds(
        Contribution,
        st.integers(0, 2**64 - 1),
        st.dictionaries(st.sampled_from("abc"), st.floats(-10, 10)),
        st.dictionaries(st.sampled_from(["ground_truth.scored", "predictions.scored", "odd"]), st.integers(0, 3)),
    ),
    max_size=12,
)


Plain = tuple[bytes, dict[str, int], int]


def plain(contributions: list[Contribution]) -> Plain:
    sums, coverage = BootstrapSums(BOOTSTRAP), dict[str, int]()
    for unit_hash, statistics, counts in contributions:
        sums.add(unit_hash, statistics)
        for name, count in counts.items():
            coverage[name] = coverage.get(name, 0) + count
    return sums.to_bytes(), coverage, sum(each.unit_hash for each in contributions)


def as_plain(totals: SliceTotals) -> Plain:
    return totals.sums.to_bytes(), totals.coverage, totals.fingerprint


@settings(max_examples=60)
@given(CONTRIBUTIONS, st.randoms(use_true_random=False))
def test_any_shards_orders_and_merge_trees_give_the_same(contributions: list[Contribution], rng: random.Random) -> None:
    expected = plain(contributions)
    combiner = SumStatistics(BOOTSTRAP)
    rng.shuffle(contributions)
    shards = [combiner.create_accumulator() for _ in range(rng.randint(1, 5))]
    while contributions:
        index, count = rng.randrange(len(shards)), rng.randint(1, len(contributions))
        shards[index] = combiner.add_input(shards[index], totals_of(*contributions[:count]))
        del contributions[:count]
    while len(shards) > 1:
        rng.shuffle(shards)
        count = rng.randint(1, len(shards))
        chosen = [pickle.loads(pickle.dumps(shard)) if rng.random() < 0.3 else shard for shard in shards[:count]]
        shards = [combiner.merge_accumulators(iter(chosen)), *shards[count:]]
    assert as_plain(combiner.extract_output(shards[0])) == expected


def test_merging_leaves_the_parts_as_they_are() -> None:
    combiner = SumStatistics(BOOTSTRAP)
    parts = [
        combiner.add_input(combiner.create_accumulator(), totals_of(Contribution(i, {"a": 1.5}, {"n": i})))
        for i in (1, 2)
    ]
    before = pickle.dumps(parts)
    merged = combiner.merge_accumulators(parts)
    combiner.add_input(merged, totals_of(Contribution(3, {"a": 1}, {"n": 1})))
    assert pickle.dumps(parts) == before
