"""The laws of exact sums, one by one and in tables, and ratios."""

from __future__ import annotations

import pickle
import random
import zlib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from beamscore.metrics.statistics.ratios import f_measure, mean, precision_recall_f1, ratio
from beamscore.metrics.statistics.sum_table import PackedReplicates, SumTable
from beamscore.metrics.statistics.sums import Sums
from tests.metrics.statistics.samples import STATISTICS, Statistics

TIES = {"a": 2.0**-53, "b": -3 * 2.0**-53, "c": 5e-324}
"""Between 0 and 1, and between -1 and -2: to the even one."""
TYPES: Any = {"a": True, "b": np.uint8(50), "c": np.float32(0.1)}


@given(st.lists(STATISTICS, max_size=12), st.randoms(use_true_random=False))
@example([TIES], random.Random(0))
@example([TYPES], random.Random(0))
def test_any_split_order_and_merge_tree_gives_the_same_bytes(samples: list[Statistics], rng: random.Random) -> None:
    names = sorted({name for sample in samples for name in sample})
    totals = {name: sum(round(Fraction(float(each.get(name, 0))) * 2**52) for each in samples) for name in names}
    parts = [Sums.of(sample) for sample in samples] or [Sums()]
    while len(parts) > 1:
        rng.shuffle(parts)
        count = rng.randint(2, len(parts))
        parts = [pickle.loads(pickle.dumps(Sums.merged(parts[:count]))), *parts[count:]]
    assert repr(parts[0].units()) == repr({name: total for name, total in totals.items() if total})
    assert pickle.dumps(parts[0]) == pickle.dumps(Sums(totals))


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


@given(st.lists(ROWS, max_size=4))
@example([Sums({"a": 1 << 55})])  # one bit of one byte
def test_columns_are_the_sums_of_each_row_to_the_last_bit(rows: list[Sums]) -> None:
    table = SumTable.of(rows)
    assert (len(table), table.rows()) == (len(rows), rows)
    assert list(table) == sorted({name for row in rows for name in row})
    for name in [*TABLE_NAMES, "none"]:
        assert np.asarray(table[name]).tolist() == [row[name] for row in rows]
    for prefix in ("c", "d", "a", ""):
        families = [row.family(prefix) for row in rows]
        found = {key: column.tolist() for key, column in table.family(prefix).items()}
        assert found == {key: [each.get(key, 0.0) for each in families] for each in families for key in each}
        assert list(found) == sorted(found)
    assert pickle.loads(pickle.dumps(table)).rows() == rows
    by_row = [row.units().get(name, 0).to_bytes(16, "little", signed=True) for row in rows for name in table]
    assert PackedReplicates(table.names, zlib.compress(b"".join(by_row))).unpack(len(rows)).rows() == rows


SMALL = st.dictionaries(st.sampled_from(TABLE_NAMES), UNITS.map(lambda units: units >> 4)).map(Sums)


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


F_MEASURES = {
    (0.5, 1.0): 2 / 3,  # 2 * 0.5 * 1 / 1.5
    (0.25, 0.75): 0.375,  # 2 * 0.1875 / 1
    (0.0, 0.0): 0.0,
    (1.0, 0.0): 0.0,
    (None, 0.0): 0.0,  # nothing was predicted, something was there, or the other way round
    (0.5, None): 0.0,
    (None, None): None,
}


def test_ratios_and_means() -> None:
    for order in (1, -1):
        assert {rates: f_measure(*rates[::order]) for rates in F_MEASURES} == F_MEASURES
    assert precision_recall_f1(3, 4, 6) == pytest.approx((0.75, 0.5, 0.6))  # 2 * 0.375 / 1.25
    assert precision_recall_f1(0, 0, 5) == precision_recall_f1(0, 5, 0) == (0, 0, 0)
    assert precision_recall_f1(0, 0, 0) == (None, None, None)
    assert (ratio(3, 4), ratio(0, 4), ratio(0, 0)) == (0.75, 0.0, None)
    assert (mean([1.0, None, 2.0, 6.0]), mean([]), mean([None])) == (3.0, None, None)
