"""The swap test against a plain reading of it, and against McNemar's exact test."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from beamscore.metrics.statistics.bootstrap import BootstrapSums
from beamscore.metrics.statistics.comparison import ComparedMetric, SwapTest, verdict
from beamscore.metrics.statistics.paired import PairedDifference
from beamscore.metrics.statistics.sums import Sums
from beamscore.metrics.statistics.swaps import (
    SwapBits,
    dependencies,
    simultaneous_p,
    studentized,
    swap_p,
    swapped_differences,
    units_needed,
)
from tests.plain_loop import make_benchmark
from tests.toy import Options, ToyBenchmark

TOY = ToyBenchmark(Options())
METRICS = ("exact_match", "similarity")
SIMILARITIES = st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 1.0])
UNITS = st.lists(st.tuples(st.sampled_from("abcdefgh"), SIMILARITIES, SIMILARITIES), min_size=1, max_size=20)

Units = Sequence[tuple[str, float, float]]


def statistics(similarity: float) -> dict[str, float]:
    return {"samples": 1, "equal": int(similarity == 1), "similarity": similarity}


def totals(units: Units, side: int) -> Sums:
    return Sums.merged(Sums.of(statistics((before, after)[side - 1])) for _, before, after in units)


def swapped(units: Units, bits: SwapBits) -> dict[str, np.ndarray]:
    sums = BootstrapSums(bits)
    for name, before, after in units:
        sums.add(bits.unit_hash(name), statistics(after))
        sums.add(bits.unit_hash(name), {key: -value for key, value in statistics(before).items()})
    return swapped_differences(TOY, (Sums(), Sums()), totals(units, 1), totals(units, 2), sums.table().below(), METRICS)


def plain(units: Units, bits: SwapBits) -> list[dict[str, float]]:
    """The differences under each swap, with the systems traded unit by unit."""
    weights = bits.weights([bits.unit_hash(name) for name, _, _ in units])
    found = []
    for row in weights[1:]:
        traded = [(name, *((b, a) if bit else (a, b))) for (name, a, b), bit in zip(units, row, strict=True)]
        before, after = TOY.values(totals(traded, 1)), TOY.values(totals(traded, 2))
        found.append({metric: (after[metric] or 0.0) - (before[metric] or 0.0) for metric in METRICS})
    return found


@given(UNITS)
def test_swapped_sums_are_those_of_systems_that_trade_units(units: Units) -> None:
    bits = SwapBits(70, seed=3)
    expected = plain(units, bits)
    for metric, differences in swapped(units, bits).items():
        assert differences.tolist() == [each[metric] for each in expected]


def test_bits_are_fair_and_those_of_the_unit() -> None:
    bits = SwapBits(999, seed=5)
    hashes = [bits.unit_hash(str(number)) for number in range(400)]
    weights = bits.weights(hashes)
    assert weights.shape == (1000, 400)
    assert weights[0].tolist() == [1.0] * 400
    assert set(np.unique(weights[1:])) == {0.0, 1.0}
    # 399,600 fair bits: 199,800 with a standard deviation of 316.
    assert abs(weights[1:].sum() - 199_800) < 4 * 316
    assert np.abs(np.corrcoef(weights[1:21]) - np.eye(20)).max() < 0.25
    assert bits.weights(hashes[7:8])[:, 0].tolist() == weights[:, 7].tolist()
    assert bits.unit_hash("a") != SwapBits(999, seed=6).unit_hash("a")


@pytest.mark.parametrize(("wins", "losses"), [(8, 0), (9, 3), (12, 2), (20, 20), (40, 20)])
def test_of_flips_it_is_mcnemars_test(wins: int, losses: int) -> None:
    units = [(str(number), 0.0, 1.0) for number in range(wins)]
    units += [(f"-{number}", 1.0, 0.0) for number in range(losses)]
    units += [(f"={number}", 1.0, 1.0) for number in range(30)]
    difference = (wins - losses) / len(units)
    p = swap_p(difference, swapped(units, SwapBits(seed=1))["exact_match"])
    exact = stats.binomtest(wins, wins + losses).pvalue
    # 999 swaps estimate it with a standard error of sqrt(p (1 - p) / 999).
    assert p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 999) + 0.0011)


def test_p_by_hand() -> None:
    assert swap_p(0.2, np.array([0.1, -0.2, 0.3, 0.0])) == 3 / 5
    assert swap_p(-0.2, np.array([0.1, 0.1, 0.1, 0.1])) == 1 / 5
    assert swap_p(0.0, np.zeros(4)) == 1
    assert swap_p(0.2, np.array([math.nan, 0.1])) == 2 / 3
    # 0.1 + 0.2 is 0.30000000000000004: no less extreme than 0.3.
    assert swap_p(0.1 + 0.2, np.array([0.3])) == 1


def test_among_many_by_hand() -> None:
    t, others = studentized(0.3, np.array([0.1, -0.1, 0.1]))
    assert t == pytest.approx(3)
    assert others == pytest.approx([1, 1, 1])
    assert simultaneous_p(t, np.array([1.0, 2.9, 3.0])) == 2 / 4
    assert studentized(0.0, np.zeros(3))[0] == 0


@given(st.lists(st.sampled_from([0.0, 0.25, -0.5, 1.0, math.nan]), min_size=1, max_size=30), st.integers(0, 29))
def test_p_among_many_is_never_smaller_than_p_alone(swapped_by: list[float], place: int) -> None:
    """Also where a metric has no value in some swaps, as no class is left on a side."""
    differences = np.array(swapped_by)
    difference = 0.0 if math.isnan(swapped_by[place % len(swapped_by)]) else swapped_by[place % len(swapped_by)]
    t, largest = studentized(difference, differences)
    paired = PairedDifference(0.0, difference, difference, 0.1, (0.0, 0.0), 9, None)
    compared = ComparedMetric(paired, SwapTest(swap_p(difference, differences), t, 9, enough_units=True))
    word, p = verdict(ToyBenchmark, "exact_match", compared, largest, 0.95)
    assert p is not None
    assert p >= swap_p(difference, differences)
    assert (word in ("better", "worse")) == (p <= 0.05 and difference != 0)


@pytest.mark.parametrize(
    ("cautious", "word"), [((0.1, 0.3), "better"), ((-0.1, 0.5), "no difference shown"), (None, "no difference shown")]
)
def test_a_verdict_needs_an_interval_without_zero_too(cautious: tuple[float, float] | None, word: str) -> None:
    paired = PairedDifference(0.5, 0.7, 0.2, 0.05, (0.1, 0.3), 99, None, cautious)
    compared = ComparedMetric(paired, SwapTest(0.001, 4.0, 50, enough_units=True))
    assert verdict(ToyBenchmark, "exact_match", compared, np.ones(999), 0.95)[0] == word


@pytest.mark.parametrize(("confidence", "units"), [(0.95, 6), (0.9, 5), (0.99, 8), (0.5, 2)])
def test_how_many_units_must_differ(confidence: float, units: int) -> None:
    assert units_needed(confidence) == units
    assert 2 / 2**units <= 1 - confidence + 1e-12 < 2 / 2 ** (units - 1)


def test_what_depends_on_a_statistic() -> None:
    sums = Sums.of({"samples": 4, "equal": 2, "similarity": 2.5, "nothing": 1})
    assert dependencies(TOY, sums) == {
        "equal": {"exact_match"},
        "nothing": set(),
        "samples": {"exact_match", "similarity"},
        "similarity": {"similarity"},
    }


def test_dependencies_see_through_the_larger_of_two() -> None:
    benchmark = make_benchmark("figure_text")
    sums = {"detection.regions": 9, "detection.detections": 5, "agreement.location": 4, "prediction.located": 5}
    found = dependencies(benchmark, Sums.of(sums))
    assert "agreement.location_max" in found["detection.detections"] & found["detection.regions"]
