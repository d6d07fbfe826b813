"""The laws of exact sums: one by one, in tables, and with bootstrap replicates, by whose weights they count; ratios."""

import itertools
import math
import pickle
import random
import zlib
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from beamscore.metrics.statistics import bootstrap as module
from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums, checked_statistics
from beamscore.metrics.statistics.ratios import f_measure, mean, precision_recall_f1, ratio
from beamscore.metrics.statistics.sum_table import PackedReplicates, SumTable
from beamscore.metrics.statistics.sums import MAX_STATISTIC, Sums
from tests.laws import tries
from tests.metrics.statistics.samples import Statistics, added


def test_reading_sums() -> None:
    sums = Sums.of({"z": 1, "f1[b]": 2, "f1[a[0]]": 0.5, "f10[c]": 9, "f1": 7, "f1[c": 3})
    assert list(sums) == ["f1", "f10[c]", "f1[a[0]]", "f1[b]", "f1[c", "z"]
    assert sums.family("f1") == {"a[0]": 0.5, "b": 2.0}
    assert sums != {"z": 1}


TABLE_NAMES = ("a", "c[x]", "c[y]", "c[z", "d[x]")
EDGES = [sign * (2**bits + step) for bits in (7, 8, 31, 32, 53, 62) for sign in (1, -1) for step in (-1, 0, 1)]
WHOLES = st.integers(-3, 3) | st.integers(-(2**54), 2**54) | st.sampled_from(EDGES)
FRACTIONS = st.integers(0, 3) | st.integers(0, 2**52 - 1) | st.just(2**52 - 1)
UNITS = st.builds(lambda whole, fraction: whole * 2**52 + fraction, WHOLES, FRACTIONS)
ROWS = st.dictionaries(st.sampled_from(TABLE_NAMES), UNITS).map(Sums)
SMALL = st.dictionaries(st.sampled_from(TABLE_NAMES), UNITS.map(lambda units: units >> 4)).map(Sums)


@given(st.lists(ROWS, max_size=4))
@example([Sums({"a": 1 << 55})])  # one bit of one byte
def test_columns_are_the_sums_of_each_row_to_the_last_bit(rows: list[Sums]) -> None:
    table = SumTable.of(rows)
    assert (len(table), table.rows()) == (len(rows), rows)
    assert list(table) == sorted({name for row in rows for name in row})
    for name in [*TABLE_NAMES, "none"]:
        assert np.asarray(table[name]).tolist() == [row[name] for row in rows]
    corpus = Sums.of({"c[w]": 5, "c[x]": 0.5})
    for sums, of_rows in (
        (table, rows),
        (table.overridden(corpus, corpus), [row.overridden(corpus, corpus) for row in rows]),
    ):
        for prefix in ("c", "d", "a", ""):
            found = {key: np.broadcast_to(column, len(rows)).tolist() for key, column in sums.family(prefix).items()}
            assert list(found) == sorted(found)
            for number, row in enumerate(of_rows):
                assert {key: each[number] for key, each in found.items() if each[number]} == row.family(prefix)
    assert pickle.loads(pickle.dumps(table)).rows() == rows
    by_row = [row.units().get(name, 0).to_bytes(16, "little", signed=True) for row in rows for name in table]
    assert PackedReplicates(table.names, zlib.compress(b"".join(by_row))).unpack(len(rows)).rows() == rows


@given(st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=4), SMALL)
def test_tables_add_up_as_their_rows_do(pairs: list[tuple[Sums, Sums]], other: Sums) -> None:
    table, more = (SumTable.of(rows) for rows in zip(*pairs, strict=True))
    assert (table + more).rows() == [Sums.merged(pair) for pair in pairs]
    assert (table + SumTable.of([other])).rows() == [Sums.merged((first, other)) for first, _ in pairs]
    assert (table + -table).rows() == [Sums()] * len(pairs)
    assert table.under(other).rows() == [other, *table.rows()]
    assert table.under(other).below().rows() == table.rows()


def test_small_counts_are_packed_in_few_bytes_and_data_that_do_not_fit_are_refused() -> None:
    packed = PackedReplicates.of(SumTable.of([Sums.of({"a": 1, "b": 0.5})] * 40))
    assert len(packed.data) < 1280 / 4
    with pytest.raises(ValueError, match="have 1280 bytes where 39 of 32 are due"):  # 40 * 2 names * 16 bytes
        packed.unpack(39)
    with pytest.raises(ValueError, match="cannot be uncompressed"):
        PackedReplicates(("a",), b"\0\0").unpack(1)
    with pytest.raises(ValueError, match="larger than any"):
        PackedReplicates(("a",), zlib.compress((1 << 120).to_bytes(16, "little"))).unpack(1)
    with pytest.raises(ValueError, match="larger than any"):
        SumTable.of([Sums({"a": 1 << 120})])


def test_ratios_and_means() -> None:
    f_measures = {
        (0.5, 1.0): 2 / 3,  # 2 * 0.5 * 1 / 1.5
        (0.25, 0.75): 0.375,  # 2 * 0.1875 / 1
        (0.0, 0.0): 0.0,
        (1.0, 0.0): 0.0,
        (None, 0.0): 0.0,  # nothing was predicted, something was there, or the other way round
        (0.5, None): 0.0,
        (None, None): None,
    }
    for order in (1, -1):
        assert {rates: f_measure(*rates[::order]) for rates in f_measures} == f_measures
    assert precision_recall_f1(3, 4, 6) == pytest.approx((0.75, 0.5, 0.6))  # 2 * 0.375 / 1.25
    assert precision_recall_f1(0, 0, 5) == precision_recall_f1(0, 5, 0) == (0, 0, 0)
    assert precision_recall_f1(0, 0, 0) == (None, None, None)
    assert (ratio(3, 4), ratio(0, 4), ratio(0, 0)) == (0.75, 0.0, None)
    assert (mean([1.0, None, 2.0, 6.0]), mean([]), mean([None])) == (3.0, None, None)


BOOTSTRAP = Bootstrap(replicates=7, seed=3)

Sample = tuple[int, Statistics]
Corpus = tuple[list[Sample], list[Sums]]


def test_thresholds_are_the_distribution_function_of_poisson_one_to_the_last_bit() -> None:
    # P(X <= k) = exp(-1) sum_{i<=k} 1/i!; exp(-1) between two partial sums of its alternating series.
    partial = [sum(Fraction((-1) ** i, math.factorial(i)) for i in range(terms)) for terms in (60, 61)]
    low, high = min(partial), max(partial)
    for k, threshold in enumerate(module.poisson_thresholds()):
        cumulated = sum(Fraction(1, math.factorial(i)) for i in range(k + 1))
        assert math.floor(low * cumulated * 2**64) == math.floor(high * cumulated * 2**64) == int(threshold)
    # A larger weight than those has a chance that no 64 bits can tell from 0.
    assert (1 - high * sum(Fraction(1, math.factorial(i)) for i in range(21))) * 2**64 < 1


def weight_of(unit_hash: int, replicate: int) -> int:
    """The weight of a unit in a replicate, from 1, in plain Python: SplitMix64, then the inverse of the CDF."""
    mask = 2**64 - 1
    state = (unit_hash + replicate * 0x9E3779B97F4A7C15) & mask
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    uniform = state ^ (state >> 31)
    return sum(uniform >= int(threshold) for threshold in module.poisson_thresholds())


@tries(40)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5))
def test_weights_equal_the_plain_definition(unit_hashes: list[int]) -> None:
    expected = [[weight_of(each, replicate) for each in unit_hashes] for replicate in range(1, 8)]
    assert BOOTSTRAP.weights(unit_hashes).tolist() == [[1.0] * len(unit_hashes), *expected]


def test_a_uniform_on_a_threshold_weighs_more_than_one_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "uniforms_of", lambda uniforms, count: np.array([uniforms] * count, dtype=np.uint64))
    for below in (0, 1):
        uniforms = [int(threshold) - below for threshold in module.poisson_thresholds()]
        assert BOOTSTRAP.weights([0, *uniforms])[1].tolist() == [0, *range(1 - below, 21 - below)]


def test_the_hash_of_a_unit_is_fixed_for_all_time() -> None:
    # blake2b of the text `seed:unit`, 8 bytes, little-endian: `printf 7:a | b2sum -l 64` gives the bytes in order.
    assert Bootstrap(1, 7).unit_hash("a") == int.from_bytes(bytes.fromhex("7ca82ddf93883b17"), "little")
    assert Bootstrap(1, 0).unit_hash("\ud800") != Bootstrap(1, 0).unit_hash("\ud801")


def with_plain_rows(samples: list[Sample]) -> Corpus:
    """The samples with their sums, and those of each replicate, added up one by one in units of 2**-52."""
    weights = BOOTSTRAP.weights([unit_hash for unit_hash, _ in samples]).astype(int).T.tolist()
    totals = [Counter[str]() for _ in range(8)]
    for (_, statistics), row in zip(samples, weights, strict=True):
        units = {name: round(Fraction(float(value)) * 2**52) for name, value in statistics.items()}
        for total, weight in zip(totals, row, strict=True):
            total.update({name: weight * each for name, each in units.items()})
    return samples, [Sums(dict(sorted(total.items()))) for total in totals]


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


NUMBERS = st.integers(-MAX_STATISTIC, MAX_STATISTIC) | st.floats(-MAX_STATISTIC, MAX_STATISTIC) | st.floats(-1, 1)
STATISTICS: st.SearchStrategy[Statistics] = st.dictionaries(st.sampled_from(["a", "b", "c[é]", "d"]), NUMBERS)
FEW = st.lists(st.tuples(st.integers(0, 2**64 - 1), STATISTICS), max_size=10).map(with_plain_rows)
BLOCK = module.ROWS_PER_BLOCK
MANY = st.sampled_from([0, 1, 5, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 33]).map(many_samples)
# Nearer to -1 unit than to 0, though 1 + it rounds up; between 0 and 1, and between -1 and -2, to the even one; types
# of numbers; and carries of one unit.
ROUNDED = with_plain_rows([(0, {"a": -(2.0**-53) - 2.0**-60, "b": 2.0**-53, "c": -3 * 2.0**-53, "d": 5e-324})])
TYPES = with_plain_rows([(0, {"a": True, "b": np.uint8(50), "c": np.float32(0.1)})])
CARRIED = with_plain_rows([(5, {"a": 2.0**32, "b": -(2.0**32)}), (5, {"a": 2**32 - 2.0**-20, "b": -0.1})])


@given(FEW | MANY, st.sampled_from([7, 0]), st.randoms(use_true_random=False))
@example(ROUNDED, 7, random.Random(0))
@example(TYPES, 7, random.Random(0))
@example(CARRIED, 7, random.Random(0))
def test_any_split_order_and_merge_tree_gives_the_plain_weighted_sums(
    corpus: Corpus, replicates: int, rng: random.Random
) -> None:
    samples, rows = rng.sample(corpus[0], len(corpus[0])), corpus[1][: replicates + 1]
    bootstrap = Bootstrap(replicates, seed=3)
    cuts = sorted(rng.randint(0, len(samples)) for _ in range(rng.randint(0, 8)))
    pieces = [samples[start:stop] for start, stop in itertools.pairwise([0, *cuts, len(samples)])]
    sums = Sums.merged(Sums.merged(Sums.of(statistics) for _, statistics in piece) for piece in pieces)
    assert pickle.dumps(pickle.loads(pickle.dumps(sums))) == pickle.dumps(rows[0])
    parts = [added(piece, bootstrap) for piece in pieces]
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
    assert str(checked_statistics(fine)) == f"{{'a': {2**32}, 'b': {-(2.0**32)}, 'c': 1, 'd': -3, 'e': 0.5}}"
    no_numbers = (None, "1", 1 + 0j, Decimal(1), [1.0], np.ones(2))
    for reason, bads in ((f"a statistic .* {MAX_STATISTIC}", too_large), ("must be a number, not ", no_numbers)):
        for good, bad in itertools.product(({}, fine), bads):
            with pytest.raises(ValueError, match=f"statistic bad: {reason}"):
                checked_statistics({**good, "bad": bad})
