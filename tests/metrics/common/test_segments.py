"""Sums and places over stretches of an array are what NumPy gives for each stretch alone, to the last bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.segments import numpy_sum, places_behind, segment_sums, starts_of, within

COUNTS = st.lists(st.integers(0, 30), max_size=8)


@given(COUNTS, st.integers(0, 2**32 - 1))
def test_each_stretch_is_summed_as_numpy_sums_it_alone(counts: list[int], seed: int) -> None:
    parts = [np.random.default_rng((seed, place)).random(count) for place, count in enumerate(counts)]
    sums = segment_sums(np.concatenate([np.zeros(0), *parts]), np.array(counts, dtype=np.intp))
    assert sums.tolist() == [float(part.sum()) for part in parts]
    assert [numpy_sum(part.tolist()) for part in parts] == sums.tolist()


def test_places_within_stretches() -> None:
    assert within(np.array([3, 0, 2])).tolist() == [0, 1, 2, 0, 1]


@given(st.lists(st.lists(st.integers(0, 9), max_size=12), min_size=1, max_size=5), st.integers(0, 2**32 - 1))
def test_places_behind_are_found_in_each_stretch_alone(stretches: list[list[int]], seed: int) -> None:
    draw = np.random.default_rng(seed)
    numbers, wanted = draw.integers(0, len(stretches), 20), draw.integers(-1, 11, 20).astype(np.float64)
    parts = [np.array(sorted(stretch), dtype=np.float64) for stretch in stretches]
    counts = np.array(list(map(len, parts)), dtype=np.intp)
    found = places_behind(np.concatenate([*parts, [0.0]]), starts_of(counts)[numbers], counts[numbers], wanted)
    expected = [
        np.searchsorted(parts[number], value, side="right") for number, value in zip(numbers, wanted, strict=True)
    ]
    assert found.tolist() == expected
