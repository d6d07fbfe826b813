"""Sums with their bootstrap replicates: the weights, the monoid laws, and plain weighted sums as the oracle."""

from __future__ import annotations

import math
import pickle
import random
import zlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from beamscore.metrics.statistics.bootstrap import (
    MAX_WEIGHT,
    ROWS_PER_BLOCK,
    Bootstrap,
    BootstrapSums,
    PackedReplicates,
    check_statistics,
    poisson_thresholds,
)
from beamscore.metrics.statistics.sum_table import SumTable
from beamscore.metrics.statistics.sums import MAX_STATISTIC, Sums

BOOTSTRAP = Bootstrap(replicates=7, seed=3)

NUMBERS = st.one_of(
    st.integers(-MAX_STATISTIC, MAX_STATISTIC),
    st.floats(-MAX_STATISTIC, MAX_STATISTIC),
    st.floats(-1, 1),
)
STATISTICS = st.dictionaries(st.sampled_from(["a", "b", "c[é]", "d"]), NUMBERS)
SAMPLES = st.lists(st.tuples(st.integers(0, 2**64 - 1), STATISTICS), max_size=10)

Sample = tuple[int, Mapping[str, float]]


def added(samples: Sequence[Sample], bootstrap: Bootstrap = BOOTSTRAP) -> BootstrapSums:
    sums = BootstrapSums(bootstrap)
    for unit_hash, statistics in samples:
        sums.add(unit_hash, statistics)
    return sums


def many_samples(count: int, seed: int) -> list[Sample]:
    """Samples of which not each has all statistics, with integers, fractions and negative numbers."""
    rng = random.Random(seed)
    samples: list[Sample] = []
    for index in range(count):
        statistics: dict[str, float] = {"samples": 1, "score": rng.random(), "shift": rng.uniform(-1, 1) ** 9}
        if index % 3:
            statistics[f"class[{rng.randrange(5)}]"] = rng.randrange(-4, 9)
        samples.append((rng.getrandbits(64), statistics))
    return samples


def weight_of(unit_hash: int, replicate: int) -> int:
    """The weight of a unit in a replicate, from 1, in plain Python: SplitMix64, then the inverse of the CDF."""
    mask = 2**64 - 1
    state = (unit_hash + replicate * 0x9E3779B97F4A7C15) & mask
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    uniform = state ^ (state >> 31)
    return sum(uniform >= int(threshold) for threshold in poisson_thresholds())


# The weights.


def test_thresholds_are_the_distribution_function_of_poisson_one_to_the_last_bit() -> None:
    # P(X <= k) = exp(-1) sum_{i<=k} 1/i!; exp(-1) between two partial sums of its alternating series.
    partial = [sum(Fraction((-1) ** i, math.factorial(i)) for i in range(terms)) for terms in (60, 61)]
    low, high = min(partial), max(partial)
    for k, threshold in enumerate(poisson_thresholds()):
        cumulated = sum(Fraction(1, math.factorial(i)) for i in range(k + 1))
        assert math.floor(low * cumulated * 2**64) == math.floor(high * cumulated * 2**64) == int(threshold)
    # A larger weight than those has a chance that no 64 bits can tell from 0.
    assert (1 - high * sum(Fraction(1, math.factorial(i)) for i in range(MAX_WEIGHT + 1))) * 2**64 < 1


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5))
def test_weights_equal_the_plain_definition(unit_hashes: list[int]) -> None:
    weights = BOOTSTRAP.weights(unit_hashes)
    assert weights.shape == (BOOTSTRAP.replicates + 1, len(unit_hashes))
    assert weights[0].tolist() == [1.0] * len(unit_hashes)
    for replicate in range(1, BOOTSTRAP.replicates + 1):
        assert weights[replicate].tolist() == [weight_of(unit_hash, replicate) for unit_hash in unit_hashes]


def unit_with_uniform(uniform: int) -> int:
    """Returns the unit hash whose first uniform is the given one: SplitMix64 run backwards."""
    mask = 2**64 - 1

    def unshifted(mixed: int, shift: int) -> int:
        return mixed ^ (mixed >> shift) ^ (mixed >> 2 * shift)

    state = unshifted(uniform, 31)
    state = unshifted(state * pow(0x94D049BB133111EB, -1, 2**64) & mask, 27)
    state = unshifted(state * pow(0xBF58476D1CE4E5B9, -1, 2**64) & mask, 30)
    return (state - 0x9E3779B97F4A7C15) & mask


def test_a_uniform_on_a_threshold_weighs_more_than_one_below_it() -> None:
    thresholds = [int(threshold) for threshold in poisson_thresholds()]
    on = [unit_with_uniform(threshold) for threshold in thresholds]
    below = [unit_with_uniform(threshold - 1) for threshold in thresholds]
    assert BOOTSTRAP.weights(on)[1].tolist() == list(range(1, MAX_WEIGHT + 1))
    assert BOOTSTRAP.weights(below)[1].tolist() == list(range(MAX_WEIGHT))
    assert BOOTSTRAP.weights([unit_with_uniform(0), unit_with_uniform(2**64 - 1)])[1].tolist() == [0, MAX_WEIGHT]


def test_the_hash_of_a_unit_is_fixed_for_all_time() -> None:
    # blake2b of the text `seed:unit`, 8 bytes, little-endian: `printf 7:a | b2sum -l 64` gives the bytes in order.
    assert Bootstrap(seed=7).unit_hash("a") == int.from_bytes(bytes.fromhex("7ca82ddf93883b17"), "little")
    assert Bootstrap(seed=1).unit_hash("1:a") != Bootstrap(seed=11).unit_hash(":a")
    assert Bootstrap().unit_hash("\ud800") != Bootstrap().unit_hash("\ud801")


def test_weights_are_distributed_as_poisson_one() -> None:
    bootstrap = Bootstrap(replicates=200, seed=0)
    weights = bootstrap.weights([bootstrap.unit_hash(f"s{i}") for i in range(2000)])[1:]
    # 400 000 draws: the standard error of the mean is 1 / sqrt(400 000) = 0.0016.
    assert weights.mean() == pytest.approx(1, abs=0.01)
    assert weights.var() == pytest.approx(1, abs=0.02)
    for k in range(5):
        assert (weights == k).mean() == pytest.approx(math.exp(-1) / math.factorial(k), abs=0.005)
    # Neither units nor replicates go together: the correlation of neighbours is about 1 / sqrt(400 000).
    for first, second in [(weights[:-1], weights[1:]), (weights[:, :-1], weights[:, 1:])]:
        assert np.corrcoef(first.ravel(), second.ravel())[0, 1] == pytest.approx(0, abs=0.01)


# The sums.


def plain_rows(samples: Sequence[Sample], bootstrap: Bootstrap = BOOTSTRAP) -> list[Sums]:
    """The sums of the samples, and of each replicate, added up one by one."""
    weights = bootstrap.weights([unit_hash for unit_hash, _ in samples]).astype(int).tolist()
    return [
        Sums.merged(Sums.of(sample).scaled(weight) for (_, sample), weight in zip(samples, row, strict=True))
        for row in weights
    ]


@given(SAMPLES, st.sampled_from([BOOTSTRAP, Bootstrap(replicates=0)]))
@example([(0, {"a": -(2.0**-53) - 2.0**-60})], BOOTSTRAP)  # nearer to -1 unit than to 0, though 1 + it rounds up
@example([(5, {"a": 2.0**32, "b": -(2.0**32)}), (5, {"a": 2**32 - 2.0**-20, "b": -0.1})], BOOTSTRAP)
def test_each_replicate_is_the_plain_weighted_sum(samples: list[Sample], bootstrap: Bootstrap) -> None:
    found, expected = added(samples, bootstrap), plain_rows(samples, bootstrap)
    assert found.table().rows() == expected
    assert [found.sums(row) for row in range(len(expected))] == expected


def test_blocks_of_many_samples_equal_the_plain_weighted_sum() -> None:
    samples = many_samples(2 * ROWS_PER_BLOCK + 33, seed=1)
    samples += [(unit_hash, {"huge": 2.0**32 - 2.0**-20, "low": -(2.0**32)}) for unit_hash, _ in samples]
    assert added(samples).table().rows() == plain_rows(samples)


def merged(*parts: BootstrapSums) -> BootstrapSums:
    total = BootstrapSums(BOOTSTRAP)
    for part in parts:
        total.merge(part)
    return total


@settings(max_examples=50)
@given(
    count=st.sampled_from([0, 1, 5, ROWS_PER_BLOCK - 1, ROWS_PER_BLOCK, ROWS_PER_BLOCK + 1, 3 * ROWS_PER_BLOCK]),
    rng=st.randoms(use_true_random=False),
)
def test_any_split_order_and_merge_tree_gives_the_same_bytes(count: int, rng: random.Random) -> None:
    samples = many_samples(count, seed=count)
    expected = added(samples).to_bytes()
    rng.shuffle(samples)
    cuts = sorted(rng.randint(0, count) for _ in range(rng.randint(0, 8)))
    parts = [added(samples[start:stop]) for start, stop in zip([0, *cuts], [*cuts, count], strict=True)]
    while len(parts) > 1:
        rng.shuffle(parts)
        into, part = parts[0], parts.pop()
        if rng.random() < 0.3:
            part = pickle.loads(pickle.dumps(part))
        if rng.random() < 0.3:
            part.table()  # reading in between changes nothing
        into.merge(part)
    assert parts[0].to_bytes() == expected


def test_fractions_that_add_up_to_more_than_one_are_carried_at_each_merge() -> None:
    """Of four parts with fractions just below 1, each a block of its own, the units would pass 2**63 without it."""
    fraction = 1 - 2.0**-52
    parts = [[(unit, {"a": fraction})] * ROWS_PER_BLOCK for unit in range(4)]
    total = merged(*map(added, parts))
    table = total.table()
    assert ((table.fractions >= 0) & (table.fractions < 2**52)).all()
    # 4 x 256 x (1 - 2**-52) = 1023 + (2**52 - 1024) / 2**52
    assert (table.wholes[0].tolist(), table.fractions[0].tolist()) == ([1023], [2**52 - 1024])
    assert total == added([sample for part in parts for sample in part])


def test_merging_leaves_the_other_as_it_is() -> None:
    samples = many_samples(300, seed=4)
    one, other = added(samples[:20]), added(samples[20:])
    before = pickle.dumps(other)
    one.merge(other)
    one.merge(added(samples))
    one.table()
    assert pickle.dumps(other) == before


def test_equal_bytes_mean_equal_sums() -> None:
    assert added([(1, {"a": 1})]) == added([(1, {"a": 1, "b": 0})])
    assert added([(1, {"a": 1})]) != added([(2, {"a": 1})])  # another unit has other weights
    assert added([(1, {"a": 1})]) != added([(1, {"b": 1})])
    assert added([], Bootstrap(7, 3)) != added([], Bootstrap(7, 4))
    assert added([(1, {"a\0b": 1, "c": 1})]) != added([(1, {"a": 1, "b\0c": 1})])


def test_sums_of_different_bootstraps_do_not_merge() -> None:
    for other in [Bootstrap(7, seed=4), Bootstrap(8, seed=3)]:
        with pytest.raises(ValueError, match="do not merge"):
            BootstrapSums(BOOTSTRAP).merge(BootstrapSums(other))


@given(SAMPLES)
def test_the_table_holds_everything(samples: list[Sample]) -> None:
    sums = added(samples)
    table = sums.table()
    assert list(table.names) == sorted(set(table.names))
    assert ((table.fractions >= 0) & (table.fractions < 2**52)).all()
    back = BootstrapSums.of(BOOTSTRAP, table)
    assert back.to_bytes() == sums.to_bytes()
    back.merge(sums)
    assert back == merged(sums, sums)


def test_a_table_of_other_replicates_is_refused() -> None:
    table = added([(1, {"a": 1, "b": 2})]).table()
    with pytest.raises(ValueError, match="a table of 7 rows where 8 are due"):
        BootstrapSums.of(BOOTSTRAP, table.below())


EDGES = [sign * (2**bits + step) for bits in (7, 8, 15, 16, 31, 32, 62) for sign in (1, -1) for step in (-1, 0, 1)]


@given(st.lists(st.tuples(st.just(0) | st.sampled_from(EDGES), st.integers(0, 2**52 - 1)), max_size=5))
def test_pickling_keeps_numbers_of_every_size(cells: list[tuple[int, int]]) -> None:
    names = tuple(str(index) for index in range(len(cells)))
    shape = (BOOTSTRAP.replicates + 1, len(cells))
    wholes, fractions = (np.zeros(shape, dtype=np.int64) for _ in range(2))
    for column, (whole, fraction) in enumerate(cells):
        wholes[column % 3, column], fractions[column % 2, column] = whole, fraction
    sums = BootstrapSums.of(BOOTSTRAP, SumTable(names, wholes, fractions))
    assert pickle.loads(pickle.dumps(sums)) == sums


def test_small_counts_travel_in_few_bytes() -> None:
    sums = added([(unit, {"a": 1, "b": 0, "c": 2}) for unit in range(1000)], Bootstrap(200))
    table = sums.table()
    arrays = table.wholes.nbytes + table.fractions.nbytes
    assert arrays == 201 * 2 * 2 * 8  # two names with a sum, wholes and fractions, 8 bytes each
    assert len(pickle.dumps(sums)) < arrays / 4  # 2 bytes each, no fractions, and what every pickle holds


# Packed replicates.


@given(SAMPLES, st.integers(0, 5), st.randoms(use_true_random=False))
def test_what_is_unpacked_is_what_was_packed(samples: list[Sample], replicates: int, rng: random.Random) -> None:
    sums = added(samples, Bootstrap(replicates))
    packed, rows = PackedReplicates.of(sums), sums.table().below().rows()
    assert packed.unpack(replicates).rows() == rows
    by_row = [row.units().get(name, 0).to_bytes(16, "little", signed=True) for row in rows for name in packed.names]
    earlier = PackedReplicates(packed.names, zlib.compress(b"".join(by_row)))
    assert earlier.unpack(replicates).rows() == rows
    # Names without a sum in any replicate take no room, and equal sums have equal bytes.
    assert set(packed.names) == {name for row in rows for name in row}
    assert PackedReplicates.of(added(rng.sample(samples, len(samples)), Bootstrap(replicates))) == packed


def test_packed_data_that_do_not_fit_are_refused() -> None:
    packed = PackedReplicates.of(added([(1, {"a": 1, "b": 0.5})], Bootstrap(40)))
    with pytest.raises(ValueError, match="have 1280 bytes where 39 of 32 are due"):  # 40 * 2 names * 16 bytes
        packed.unpack(39)
    with pytest.raises(ValueError, match="cannot be uncompressed"):
        PackedReplicates(("a",), b"\0\0").unpack(1)
    with pytest.raises(ValueError, match="larger than any"):
        PackedReplicates(("a",), zlib.compress((1 << 120).to_bytes(16, "little"))).unpack(1)


# What may be added.


@given(STATISTICS)
@example({"a": MAX_STATISTIC, "b": 2.0**32, "c": True, "d": np.int64(-3), "e": np.float32(0.5)})
def test_statistics_that_can_be_summed_pass(statistics: dict[str, float]) -> None:
    check_statistics(statistics)


@pytest.mark.parametrize("good", [1, 1.5])
@pytest.mark.parametrize(
    ("bad", "reason"),
    [(number, f"a statistic .* {MAX_STATISTIC}") for number in (math.nan, math.inf, -math.inf, 2.0**32 * 1.5, 10**400)]
    + [(value, "must be a number, not ") for value in (None, "1", 1 + 0j, Decimal(1), [1.0], np.ones(2))],
)
def test_statistics_that_cannot_be_summed_are_refused_by_name(good: float, bad: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=f"statistic bad: {reason}"):
        check_statistics({"good": good, "bad": bad})
