"""The laws of exact sums."""

from __future__ import annotations

import math
import pickle
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from beamscore.metrics.statistics.sums import MAX_STATISTIC, Sums, to_units

NUMBERS = st.one_of(
    st.integers(-MAX_STATISTIC, MAX_STATISTIC),
    st.floats(-MAX_STATISTIC, MAX_STATISTIC),
    st.floats(-1, 1),
)
STATISTICS = st.dictionaries(st.sampled_from(["a", "b", "c[é]", "d"]), NUMBERS)
SUMS = STATISTICS.map(Sums.of)


def half_even(number: Fraction) -> int:
    """Rounds a fraction to the nearest integer, ties to the even one: what `round` of a Fraction is defined to do."""
    below = math.floor(number)
    rest = number - below
    if rest == Fraction(1, 2):
        return below + below % 2
    return below if rest < Fraction(1, 2) else below + 1


@given(NUMBERS)
@example(True)
@example(2.0**-53)  # a tie between 0 and 1 goes to the even one
@example(-3 * 2.0**-53)  # a tie between -1 and -2
@example(-0.0)
@example(5e-324)
@example(-(2.0**32))
@example(np.int32(5000))
@example(np.uint8(50))
@example(np.float32(0.1))
def test_a_number_becomes_the_nearest_multiple_of_two_to_the_minus_52(number: float) -> None:
    units = to_units(number)
    assert type(units) is int
    assert units == half_even(Fraction(float(number)) * 2**52)


@pytest.mark.parametrize(
    "number",
    [math.nan, math.inf, -math.inf, 2.0**32 + 1, -(2.0**33), 2**32 + 1, -(10**400), 1e308, np.float64("nan")],
)
def test_what_cannot_be_summed_is_refused(number: float) -> None:
    with pytest.raises(ValueError):
        to_units(number)
    with pytest.raises(ValueError):
        Sums.of({"fine": 1, "a": number})


@given(st.lists(STATISTICS, max_size=12), st.randoms(use_true_random=False))
def test_any_split_order_and_merge_tree_gives_the_same_bytes(
    samples: list[dict[str, float]], rng: random.Random
) -> None:
    expected: dict[str, int] = {}
    for sample in samples:
        for name, number in sample.items():
            expected[name] = expected.get(name, 0) + half_even(Fraction(number) * 2**52)
    at_once = Sums({name: expected[name] for name in sorted(expected)})
    assert all(name in at_once for name, total in expected.items() if total)
    assert len(at_once) == sum(total != 0 for total in expected.values())
    parts = [Sums.of(sample) for sample in samples] or [Sums()]
    while len(parts) > 1:
        rng.shuffle(parts)
        count = rng.randint(2, len(parts))
        merged = parts[0].merge(parts[1]) if count == 2 else Sums.merged(parts[:count])
        parts = [pickle.loads(pickle.dumps(merged)), *parts[count:]]
    assert repr(parts[0].units()) == repr(at_once.units())
    assert pickle.dumps(parts[0]) == pickle.dumps(at_once)


@given(SUMS, st.integers(0, 20))
def test_scaling_is_repeated_merging(sums: Sums, weight: int) -> None:
    assert sums.scaled(weight) == Sums.merged([sums] * weight)


def test_reading_sums() -> None:
    sums = Sums.of({"z": 1, "f1[b]": 2, "f1[a[0]]": 0.5, "f10[c]": 9, "f1": 7})
    assert list(sums) == ["f1", "f10[c]", "f1[a[0]]", "f1[b]", "z"]
    assert sums.bracketed("f1") == {"a[0]": 0.5, "b": 2.0}
    assert repr(Sums.of({"a": 2})) == "Sums({'a': 2.0})"
    assert sums != {"z": 1}
