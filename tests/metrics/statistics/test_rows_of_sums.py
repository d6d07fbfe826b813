"""Sums of rows read as those of integers do, to the last bit."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.rows_of_sums import sums_of_rows
from beamscore.metrics.statistics.sums import FRACTION_BITS, Sums

NAMES = ["a", "c[x]", "c[y]", "c[z", "d[x]"]
WHOLES = st.one_of(st.integers(-3, 3), st.integers(-(2**54), 2**54), st.integers(2**53 - 2, 2**53 + 2))
FRACTIONS = st.one_of(st.integers(0, 3), st.integers(0, 2**FRACTION_BITS - 1), st.just(2**FRACTION_BITS - 1))
CELLS = st.tuples(WHOLES, FRACTIONS)


@given(st.lists(st.lists(CELLS, min_size=len(NAMES), max_size=len(NAMES)), max_size=4))
def test_each_row_reads_as_sums_of_its_integers(rows: list[list[tuple[int, int]]]) -> None:
    cells = np.array(rows, dtype=np.int64).reshape(len(rows), len(NAMES), 2)
    found = list(sums_of_rows(NAMES, cells[..., 0], cells[..., 1]))
    assert len(found) == len(rows)
    for sums, row in zip(found, rows, strict=True):
        expected = Sums({name: (whole << FRACTION_BITS) + part for name, (whole, part) in zip(NAMES, row, strict=True)})
        assert sums == expected
        assert sums.units() == expected.units()
        assert list(sums) == list(expected)
        assert len(sums) == len(expected)
        assert [sums[name] for name in [*NAMES, "none"]] == [expected[name] for name in [*NAMES, "none"]]
        assert [name in sums for name in [*NAMES, "none"]] == [name in expected for name in [*NAMES, "none"]]
        for prefix in ("c", "d", "a", ""):
            assert list(sums.bracketed(prefix).items()) == list(expected.bracketed(prefix).items())
        assert sums.merge(expected) == expected.scaled(2)
        assert pickle.loads(pickle.dumps(sums)) == expected


def test_no_names() -> None:
    assert list(sums_of_rows([], np.zeros((2, 0), np.int64), np.zeros((2, 0), np.int64))) == [Sums(), Sums()]
