"""The swap test against a plain reading of it and McNemar's exact test, and the verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.metrics.statistics.comparison import (
    ComparedMetric,
    ComparedSlice,
    SwapBits,
    SwapTest,
    compare_slice,
    dependencies,
    simultaneous_p,
    studentized,
    swap_p,
    units_needed,
    verdict,
)
from beamscore.metrics.statistics.paired import PairedDifference
from beamscore.metrics.statistics.sums import Sums
from tests.metrics.statistics.samples import TOY, Statistics, added
from tests.plain_loop import make_benchmark
from tests.toy import ToyBenchmark

METRICS = ("exact_match", "similarity")
SIMILARITIES = st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 1.0])
UNITS = st.lists(st.tuples(st.sampled_from("abcdefgh"), SIMILARITIES, SIMILARITIES), min_size=1, max_size=20)

Units = Sequence[tuple[str, float, float]]


def statistics(similarity: float, sign: int = 1) -> Statistics:
    return {"samples": sign, "equal": sign * (similarity == 1), "similarity": sign * similarity}


def values(similarities: Sequence[float]) -> dict[str, float]:
    sums = Sums.merged(Sums.of(statistics(each)) for each in similarities)
    return {name: each or 0.0 for name, each in TOY.values(sums).items()}


def compared(units: Units, bits: SwapBits, differing: int = 9) -> ComparedSlice:
    """Returns the comparison of two systems by the similarities of their units."""
    bootstrap = Bootstrap(2)
    first, second = (
        added([(bootstrap.unit_hash(name), statistics(both[side])) for name, *both in units], bootstrap).table()
        for side in (0, 1)
    )
    sides = [(name, statistics(each, sign)) for name, *both in units for each, sign in zip(both, (-1, 1), strict=True)]
    change = added([(bits.unit_hash(name), each) for name, each in sides], bits).table().below()
    counts = dict.fromkeys(METRICS, (3, differing))
    return compare_slice(TOY, "", len(units), (Sums(), Sums()), (first, second), change, counts, 0.95, clustered=False)


@given(UNITS, st.sampled_from([5, 6]))
def test_a_swap_is_that_of_systems_that_trade_units(units: Units, differing: int) -> None:
    bits = SwapBits(70, seed=3)
    found = compared(units, bits, differing)
    weights = bits.weights([bits.unit_hash(name) for name, _, _ in units]).astype(int)
    weights[0] = 0  # the systems as they are
    by_swap = [
        [values([both[side ^ bit] for (_, *both), bit in zip(units, row, strict=True)]) for side in (0, 1)]
        for row in weights.tolist()
    ]
    largest = np.zeros(70)
    for metric in METRICS:
        difference, *swapped = [after[metric] - before[metric] for before, after in by_swap]
        t, others = studentized(difference, np.array(swapped))
        largest = np.maximum(largest, others)
        test = SwapTest(swap_p(difference, np.array(swapped)), t, 3, differing > 5)
        assert (found.metrics[metric].difference.difference, found.metrics[metric].test) == (difference, test)
    assert found.largest is not None
    assert found.largest.tolist() == (largest if differing > 5 else 0 * largest).tolist()


def test_bits_are_fair_and_those_of_the_unit() -> None:
    bits = SwapBits(999, seed=5)
    hashes = [bits.unit_hash(str(number)) for number in range(400)]
    ones, *swaps = bits.weights(hashes).tolist()
    assert (len(swaps), ones, {bit for row in swaps for bit in row}) == (999, [1] * 400, {0, 1})
    # 399,600 fair bits: 199,800 with a standard deviation of 316.
    assert abs(sum(map(sum, swaps)) - 199_800) < 4 * 316
    assert bits.weights(hashes[7:8])[1:, 0].tolist() == [row[7] for row in swaps]
    assert bits.unit_hash("a") not in (SwapBits(999, seed=6).unit_hash("a"), Bootstrap(999, seed=5).unit_hash("a"))


@pytest.mark.parametrize(("wins", "losses"), [(8, 0), (9, 3), (20, 20), (40, 20)])
def test_of_flips_it_is_mcnemars_test(wins: int, losses: int) -> None:
    flips = [(0.0, 1.0)] * wins + [(1.0, 0.0)] * losses + [(1.0, 1.0)] * 30
    test = compared([(str(n), *each) for n, each in enumerate(flips)], SwapBits(seed=1)).metrics["exact_match"].test
    exact = stats.binomtest(wins, wins + losses).pvalue
    # 999 swaps estimate it with a standard error of sqrt(p (1 - p) / 999).
    assert test is not None
    assert test.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 999) + 0.0011)


def test_p_by_hand() -> None:
    assert swap_p(0.2, np.array([0.1, -0.2, 0.3, 0.0])) == 3 / 5
    assert swap_p(0.2, np.array([math.nan, 0.1])) == 2 / 3
    # 0.1 + 0.2 is 0.30000000000000004: no less extreme than 0.3.
    assert swap_p(0.1 + 0.2, np.array([0.3])) == 1
    t, others = studentized(0.3, np.array([0.1, -0.1, 0.1]))
    assert [t, *others] == pytest.approx([3, 1, 1, 1])
    assert simultaneous_p(t, np.array([1.0, 2.9, 3.0])) == 2 / 4
    assert simultaneous_p(0.1 + 0.2, np.array([0.3])) == 1
    assert studentized(0.0, np.zeros(3))[0] == 0


@given(st.lists(st.sampled_from([0.0, 0.25, -0.5, 1.0, math.nan]), min_size=1, max_size=30), st.integers(0, 29))
def test_p_among_many_is_never_smaller_than_p_alone(swapped_by: list[float], place: int) -> None:
    """Also where a metric has no value in some swaps, as no class is left on a side."""
    differences, difference = np.array(swapped_by), float(np.nan_to_num(swapped_by[place % len(swapped_by)]))
    t, largest = studentized(difference, differences)
    paired = PairedDifference(0.0, difference, difference, 0.1, (0.0, 0.0), 9, None)
    one = ComparedMetric(paired, SwapTest(swap_p(difference, differences), t, 9, enough_units=True))
    word, p = verdict(ToyBenchmark, "exact_match", one, largest, 0.95)
    assert p is not None
    assert p >= swap_p(difference, differences)
    assert (word in ("better", "worse")) == (p <= 0.05 and difference != 0)


@pytest.mark.parametrize(
    ("cautious", "enough", "word"),
    [
        ((0.1, 0.3), True, "better"),
        ((-0.1, 0.5), True, "no difference shown"),
        (None, True, "no difference shown"),
        ((0.1, 0.3), False, "too few differ"),
    ],
)
def test_a_verdict_needs_an_interval_without_zero_too(
    cautious: tuple[float, float] | None, enough: bool, word: str
) -> None:
    paired = PairedDifference(0.5, 0.7, 0.2, 0.05, (0.1, 0.3), 99, None, cautious)
    one = ComparedMetric(paired, SwapTest(0.001, 4.0, 50, enough))
    assert verdict(ToyBenchmark, "exact_match", one, np.ones(999), 0.95)[0] == word
    assert verdict(ToyBenchmark, "exact_match", one, None, 0.95) == ("not tested", None)


@given(st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_so_many_units_must_differ_that_two_of_all_swaps_are_few_enough(confidence: float) -> None:
    units = units_needed(confidence)
    assert 2 / 2**units <= 1 - confidence + 1e-12 < 2 / 2 ** (units - 1)


def test_what_depends_on_a_statistic() -> None:
    sums = Sums.of({"samples": 4, "equal": 2, "similarity": 2.5, "nothing": 1})
    assert dependencies(TOY, sums) == {
        "equal": {"exact_match"},
        "nothing": set(),
        "samples": {"exact_match", "similarity"},
        "similarity": {"similarity"},
    }
    # It sees through the larger of two.
    regions = {"detection.regions": 9, "detection.detections": 5, "agreement.location": 4, "prediction.located": 5}
    found = dependencies(make_benchmark("figure_text"), Sums.of(regions))
    assert "agreement.location_max" in found["detection.detections"] & found["detection.regions"]
