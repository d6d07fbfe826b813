"""A table reads as the sums of its rows do, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.sum_table import SumTable
from beamscore.metrics.statistics.sums import FRACTION_BITS, Sums

NAMES = ("a", "c[x]", "c[y]", "c[z", "d[x]")
WHOLES = st.one_of(st.integers(-3, 3), st.integers(-(2**54), 2**54), st.integers(2**53 - 2, 2**53 + 2))
FRACTIONS = st.one_of(st.integers(0, 3), st.integers(0, 2**FRACTION_BITS - 1), st.just(2**FRACTION_BITS - 1))
UNITS = st.builds(lambda whole, fraction: (whole << FRACTION_BITS) + fraction, WHOLES, FRACTIONS)
ROWS = st.dictionaries(st.sampled_from(NAMES), UNITS).map(Sums)


@given(st.lists(ROWS, max_size=4))
def test_columns_are_the_sums_of_each_row(rows: list[Sums]) -> None:
    table = SumTable.of(rows)
    assert len(table) == len(rows)
    assert table.rows() == rows
    assert list(table) == sorted({name for row in rows for name in row})
    for name in [*NAMES, "none"]:
        assert np.asarray(table[name]).tolist() == [row[name] for row in rows]
    for prefix in ("c", "d", "a", ""):
        families = [row.bracketed(prefix) for row in rows]
        found = {key: column.tolist() for key, column in table.bracketed(prefix).items()}
        assert found == {key: [each.get(key, 0.0) for each in families] for each in families for key in each}
        assert list(found) == sorted(found)


@given(st.lists(st.tuples(ROWS, ROWS), min_size=1, max_size=4), ROWS)
def test_tables_add_up_as_their_rows_do(pairs: list[tuple[Sums, Sums]], other: Sums) -> None:
    table, more = (SumTable.of(rows) for rows in zip(*pairs, strict=True))
    assert (table + more).rows() == [first.merge(second) for first, second in pairs]
    assert (table + SumTable.of([other])).rows() == [first.merge(other) for first, _ in pairs]
    assert (-table).rows() == [first.scaled(-1) for first, _ in pairs]
    assert table.under(other).rows() == [other, *table.rows()]
    assert table.under(other).below().rows() == table.rows()


def test_a_sum_beyond_64_bits_is_refused() -> None:
    with pytest.raises(ValueError, match="larger than any"):
        SumTable.of([Sums({"a": 1 << 120})])
