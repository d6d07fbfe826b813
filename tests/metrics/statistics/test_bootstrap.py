"""Sums with their bootstrap replicates: the weights, the monoid laws, and plain weighted sums as the oracle."""

from __future__ import annotations

import itertools
import math
import pickle
import random
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from beamscore.metrics.statistics import bootstrap as module
from beamscore.metrics.statistics.bootstrap import MAX_WEIGHT, Bootstrap, BootstrapSums, check_statistics
from beamscore.metrics.statistics.sums import MAX_STATISTIC, Sums
from tests.metrics.statistics.samples import STATISTICS, added

BOOTSTRAP = Bootstrap(replicates=7, seed=3)

Sample = tuple[int, Mapping[str, float]]
Corpus = tuple[list[Sample], list[Sums]]


def test_thresholds_are_the_distribution_function_of_poisson_one_to_the_last_bit() -> None:
    # P(X <= k) = exp(-1) sum_{i<=k} 1/i!; exp(-1) between two partial sums of its alternating series.
    partial = [sum(Fraction((-1) ** i, math.factorial(i)) for i in range(terms)) for terms in (60, 61)]
    low, high = min(partial), max(partial)
    for k, threshold in enumerate(module.poisson_thresholds()):
        cumulated = sum(Fraction(1, math.factorial(i)) for i in range(k + 1))
        assert math.floor(low * cumulated * 2**64) == math.floor(high * cumulated * 2**64) == int(threshold)
    # A larger weight than those has a chance that no 64 bits can tell from 0.
    assert (1 - high * sum(Fraction(1, math.factorial(i)) for i in range(MAX_WEIGHT + 1))) * 2**64 < 1


def weight_of(unit_hash: int, replicate: int) -> int:
    """The weight of a unit in a replicate, from 1, in plain Python: SplitMix64, then the inverse of the CDF."""
    mask = 2**64 - 1
    state = (unit_hash + replicate * 0x9E3779B97F4A7C15) & mask
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    uniform = state ^ (state >> 31)
    return sum(uniform >= int(threshold) for threshold in module.poisson_thresholds())


@settings(max_examples=40)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5))
def test_weights_equal_the_plain_definition(unit_hashes: list[int]) -> None:
    expected = [[weight_of(each, replicate) for each in unit_hashes] for replicate in range(1, 8)]
    assert BOOTSTRAP.weights(unit_hashes).tolist() == [[1.0] * len(unit_hashes), *expected]


def test_a_uniform_on_a_threshold_weighs_more_than_one_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "uniforms_of", lambda uniforms, count: np.array([uniforms] * count, dtype=np.uint64))
    for below in (0, 1):
        uniforms = [int(threshold) - below for threshold in module.poisson_thresholds()]
        assert BOOTSTRAP.weights([0, *uniforms])[1].tolist() == [0, *range(1 - below, MAX_WEIGHT + 1 - below)]


def test_the_hash_of_a_unit_is_fixed_for_all_time() -> None:
    # blake2b of the text `seed:unit`, 8 bytes, little-endian: `printf 7:a | b2sum -l 64` gives the bytes in order.
    assert Bootstrap(seed=7).unit_hash("a") == int.from_bytes(bytes.fromhex("7ca82ddf93883b17"), "little")
    assert Bootstrap().unit_hash("\ud800") != Bootstrap().unit_hash("\ud801")


def with_plain_rows(samples: list[Sample]) -> Corpus:
    """The samples with their sums, and those of each replicate, added up one by one."""
    weights = BOOTSTRAP.weights([unit_hash for unit_hash, _ in samples]).astype(int).tolist()
    sums = [Sums.of(statistics) for _, statistics in samples]
    return samples, [Sums.merged(each for place, each in enumerate(sums) for _ in range(row[place])) for row in weights]


@cache
def many_samples(count: int) -> Corpus:
    """Samples of which not each has all statistics, with numbers of all kinds."""
    rng = random.Random(count)
    # Of many fractions just below 1 the units would pass 2**63, were they not carried.
    always = {"samples": 1, "low": -(2.0**32), "nearly": 1 - 2.0**-52}
    samples: list[Sample] = []
    for index in range(count):
        most = {f"class[{rng.randrange(5)}]": rng.randrange(-4, 9), "huge": 2.0**32 - 2.0**-20} if index % 3 else {}
        samples.append((rng.getrandbits(64), {**always, "shift": rng.uniform(-1, 1) ** 9, **most}))
    return with_plain_rows(samples)


FEW = st.lists(st.tuples(st.integers(0, 2**64 - 1), STATISTICS), max_size=10).map(with_plain_rows)
BLOCK = module.ROWS_PER_BLOCK
MANY = st.sampled_from([0, 1, 5, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 33]).map(many_samples)
# Nearer to -1 unit than to 0, though 1 + it rounds up; and carries of one unit.
ROUNDED = with_plain_rows([(0, {"a": -(2.0**-53) - 2.0**-60})])
CARRIED = with_plain_rows([(5, {"a": 2.0**32, "b": -(2.0**32)}), (5, {"a": 2**32 - 2.0**-20, "b": -0.1})])


@given(FEW | MANY, st.sampled_from([7, 0]), st.randoms(use_true_random=False))
@example(ROUNDED, 7, random.Random(0))
@example(CARRIED, 7, random.Random(0))
def test_any_split_order_and_merge_tree_gives_the_plain_weighted_sums(
    corpus: Corpus, replicates: int, rng: random.Random
) -> None:
    samples, rows = rng.sample(corpus[0], len(corpus[0])), corpus[1][: replicates + 1]
    bootstrap = Bootstrap(replicates, seed=3)
    cuts = sorted(rng.randint(0, len(samples)) for _ in range(rng.randint(0, 8)))
    parts = [added(samples[start:stop], bootstrap) for start, stop in itertools.pairwise([0, *cuts, len(samples)])]
    while len(parts) > 1:
        rng.shuffle(parts)
        part = parts.pop()
        if rng.random() < 0.3:
            part = pickle.loads(pickle.dumps(part))
        if rng.random() < 0.3:
            table = part.table()  # reading in between changes nothing, and sums can go on from a table
            part = BootstrapSums(bootstrap, table) if rng.random() < 0.5 else part
        before = pickle.dumps(part)
        parts[0].merge(part)
        assert pickle.dumps(part) == before
    table = parts[0].table()
    assert (table.rows(), parts[0].sums()) == (rows, rows[0])
    assert parts[0] == added(samples, bootstrap)
    assert parts[0] != added([*samples, (0, {"a": 1})], bootstrap)
    # The table is canonical.
    assert list(table) == sorted({name for row in rows for name in row})
    assert ((table.fractions >= 0) & (table.fractions < 2**52)).all()


def test_sums_of_different_bootstraps_do_not_merge() -> None:
    for other in [Bootstrap(7, seed=4), Bootstrap(8, seed=3)]:
        with pytest.raises(ValueError, match="do not merge"):
            BootstrapSums(BOOTSTRAP).merge(BootstrapSums(other))
        assert BootstrapSums(BOOTSTRAP) != BootstrapSums(other)
    with pytest.raises(ValueError, match="a table of 7 rows where 8 are due"):
        BootstrapSums(BOOTSTRAP, BootstrapSums(BOOTSTRAP).table().below())


def test_statistics_that_cannot_be_summed_are_refused_by_name() -> None:
    fine = {"a": MAX_STATISTIC, "b": -(2.0**32), "c": True, "d": np.int64(-3), "e": np.float32(0.5)}
    too_large: Any = (math.nan, math.inf, -(2.0**32) - 1, 2**32 + 1, 10**400)
    no_numbers = (None, "1", 1 + 0j, Decimal(1), [1.0], np.ones(2))
    for reason, bads in ((f"a statistic .* {MAX_STATISTIC}", too_large), ("must be a number, not ", no_numbers)):
        for good, bad in itertools.product(({}, fine), bads):
            check_statistics(good)
            with pytest.raises(ValueError, match=f"statistic bad: {reason}"):
                check_statistics({**good, "bad": bad})
