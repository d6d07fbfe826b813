"""Which samples that changed are kept, in bounded memory: those that changed most, whatever else there is."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from transforms.sample_changes import KEY_BYTES, ChangedSample, SmallestKeys, pack_changed, unpack_changed
from transforms.stored_blocks import BlockWriter

KEYS = st.lists(st.binary(max_size=KEY_BYTES + 4), max_size=60)


@given(KEYS, st.integers(1, 9))
def test_the_smallest_keys_are_never_refused(keys: list[bytes], most: int) -> None:
    limit = SmallestKeys(most)
    admitted = [key for key in keys if limit.admits(key)]
    assert sorted(admitted)[:most] == sorted(keys)[:most]


@given(st.lists(st.sampled_from([b"a", b"a\0", b"a\0\0", b"", b"\0", b"b"]), max_size=40), st.integers(1, 4))
def test_keys_that_end_with_zeros_are_no_others(keys: list[bytes], most: int) -> None:
    limit = SmallestKeys(most)
    admitted = [key for key in keys if limit.admits(key)]
    assert sorted(admitted)[:most] == sorted(keys)[:most]


def test_of_many_keys_few_are_admitted() -> None:
    """After the first 2 * most, a key is admitted about most / number of keys seen: some most * (2 + ln(N / 2most))."""
    rng = random.Random(3)
    limit = SmallestKeys(100)
    admitted = sum(limit.admits(rng.randbytes(16)) for _ in range(100_000))
    assert admitted < 100 * 16


@given(st.lists(st.tuples(st.binary(max_size=30), st.binary(max_size=30)), max_size=20))
def test_a_block_holds_its_samples(samples: list[tuple[bytes, bytes]]) -> None:
    changed = [ChangedSample(*each) for each in samples]
    assert unpack_changed(BlockWriter().write(pack_changed(changed))) == changed
