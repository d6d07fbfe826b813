"""Packed replicates hold every sum to the last bit, whatever its sign and size."""

from __future__ import annotations

import zlib
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.replicates import PackedReplicates
from beamscore.metrics.statistics.sums import MAX_STATISTIC

NUMBERS = st.integers(-MAX_STATISTIC, MAX_STATISTIC) | st.floats(-MAX_STATISTIC, MAX_STATISTIC)
SAMPLES = st.lists(
    st.tuples(st.integers(0, 2**64 - 1), st.dictionaries(st.sampled_from(["a", "b", "naïve", ""]), NUMBERS)), max_size=8
)


def sums_of(samples: list[tuple[int, dict[str, float]]], replicates: int) -> BootstrapSums:
    sums = BootstrapSums(Bootstrap(replicates))
    for unit_hash, statistics in samples:
        sums.add(unit_hash, statistics)
    return sums


@given(SAMPLES, st.integers(0, 5))
def test_what_is_unpacked_is_what_was_packed(samples: list[tuple[int, dict[str, float]]], replicates: int) -> None:
    sums = sums_of(samples, replicates)
    packed = PackedReplicates.of(sums)
    assert packed.unpack(replicates).rows() == sums.table().below().rows()
    # Names without a sum in any replicate take no room.
    assert set(packed.names) == {name for row in sums.table().below().rows() for name in row}


@given(SAMPLES, st.randoms(use_true_random=False))
def test_equal_sums_have_equal_bytes(samples: list[tuple[int, dict[str, float]]], rng: Random) -> None:
    shuffled = rng.sample(samples, len(samples))
    assert PackedReplicates.of(sums_of(samples, 4)) == PackedReplicates.of(sums_of(shuffled, 4))


def test_data_that_do_not_fit_are_refused() -> None:
    packed = PackedReplicates.of(sums_of([(1, {"a": 1, "b": 0.5})], 40))
    with pytest.raises(ValueError, match="have 1280 bytes where 39 of 32 are due"):  # 40 * 2 names * 16 bytes
        packed.unpack(39)
    with pytest.raises(ValueError, match="cannot be uncompressed"):
        PackedReplicates(("a",), b"\0\0").unpack(1)
    with pytest.raises(ValueError, match="larger than any"):
        PackedReplicates(("a",), zlib.compress((1 << 120).to_bytes(16, "little"))).unpack(1)
