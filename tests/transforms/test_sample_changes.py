"""Which samples that changed are kept, in bounded memory: those that changed most, whatever else there is."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.benchmark import MetricSpec
from beamscore.transforms.sample_changes import (
    KEY_BYTES,
    ChangeCounter,
    ChangedSample,
    ChangePlan,
    SmallestKeys,
    pack_changed,
    unpack_changed,
)
from beamscore.transforms.sample_rows import SampleRow
from beamscore.transforms.stored_blocks import BlockWriter

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


def counted(old: float | None, new: float | None, higher_is_better: bool = True) -> set[str]:
    """The ways in which one sample changed, with a threshold of 0.1."""
    spec = MetricSpec("score", "", higher_is_better, main=1)
    counter = ChangeCounter(ChangePlan((spec,), 0, 0.1, 9))
    before, after = (SampleRow("a", "scored", "a", (), (value,), "{}", "h") for value in (old, new))
    counter.add(before, after)
    ((_, counts),) = counter.counts()
    return {kind for kind, count in counts.items() if count}


@pytest.mark.parametrize("tenths", range(1, 9))
def test_a_change_of_exactly_the_threshold_is_not_beyond_it(tenths: int) -> None:
    """Whatever floats make of it: 0.4 - 0.3 > 0.1 > 0.9 - 0.8."""
    assert counted(tenths / 10, (tenths + 1) / 10) == {"better"}
    assert counted((tenths + 1) / 10, tenths / 10) == {"worse"}
    assert counted(tenths / 10, math.nextafter((tenths + 1) / 10, 2) + 1e-9) == {"better", "better_beyond"}


def test_right_is_the_best_value_in_the_direction_of_the_metric() -> None:
    assert counted(0.0, 1.0) == {"better", "wrong_to_right", "better_beyond"}
    assert counted(0.0, 1.0, higher_is_better=False) == {"worse", "right_to_wrong", "worse_beyond"}
    assert counted(None, 1.0) == {"appeared"}
    assert counted(1.0, None) == {"vanished"}
    assert counted(0.5, 0.5) == counted(None, None) == set()
