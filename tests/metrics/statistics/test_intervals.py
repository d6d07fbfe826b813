"""Intervals by hand and by their laws; how often they hold is measured by `make calibrate`."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from beamscore.metrics.benchmark import MetricSpec
from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.intervals import (
    Interval,
    expanded_percentile,
    interval,
    intervals,
    log_t,
    logit_t,
    spread,
    standard_error,
    standard_errors,
    t_quantile,
    wilson,
)
from beamscore.metrics.statistics.measured import Measured, measure
from beamscore.metrics.statistics.sums import Sums
from tests.toy import Options, ToyBenchmark

SHARE = MetricSpec("share", "")
ERRORS = MetricSpec("errors", "", bounds=(0.0, None))
DISTANCE = MetricSpec("distance", "", bounds=(None, None))

GRID = st.integers(0, 64).map(lambda place: place / 64)
SHARES = st.lists(GRID, min_size=2, max_size=40)
UNITS = st.floats(0, 1e6)
CONFIDENCES = st.sampled_from([0.5, 0.9, 0.95, 0.99])


def test_logit_t_by_hand() -> None:
    # v = 0.8, SE = 0.04, n = 30: logit 1.386294, half width t(29) = 2.045230 times 0.04 / (0.8 * 0.2) = 0.511307.
    # 0.874987 and 1.897602 are the logits of 0.705782 and 0.869620.
    assert logit_t(0.8, 0.04, 30, 0.95) == pytest.approx((0.705782, 0.869620), abs=1e-6)


def test_wilson_by_hand() -> None:
    # z^2 = 3.841459: all 10 of 10 right, 10 / (10 + z^2) = 0.722467.
    assert wilson(1.0, 10, 0.95) == pytest.approx((0.722467, 1.0), abs=1e-6)
    assert wilson(0.0, 10, 0.95) == pytest.approx((0.0, 1 - 0.722467), abs=1e-6)
    # 8 of 10: the centre (0.8 + z^2 / 20) / (1 + z^2 / 10) = 0.716740, the half width 0.226578.
    assert wilson(0.8, 10, 0.95) == pytest.approx((0.716740 - 0.226578, 0.716740 + 0.226578), abs=1e-5)
    assert wilson(0.5, 0, 0.95) == (0.0, 1.0)


def test_expanded_percentile_by_hand() -> None:
    # n = 20: t(19) = 2.093024, times sqrt(20 / 19) = 2.147402, whose lower tail is 0.0158805. Of 199 replicates
    # 1 to 199 the quantile is 200 * 0.0158805 = 3.1761.
    found = expanded_percentile(np.arange(1.0, 200.0), 20, 0.95)
    assert found == pytest.approx((3.1761, 200 - 3.1761), abs=1e-3)


def test_log_t_by_hand() -> None:
    # e = 0.2, SE = 0.04, n = 30: a factor of exp(2.045230 * 0.04 / 0.2) = exp(0.409046) = 1.505381 either way.
    assert log_t(0.2, 0.04, 30, 0.95) == pytest.approx((0.2 / 1.505381, 0.2 * 1.505381), abs=1e-6)
    replicates = np.array([0.16, 0.24])
    assert interval(ERRORS, 0.2, replicates, 30, 0.95) == pytest.approx((0.2 / 1.505381, 0.2 * 1.505381), abs=1e-6)
    accuracy = MetricSpec("", "", bounds=(None, 1.0))
    mirrored = interval(accuracy, 0.8, 1 - replicates, 30, 0.95)
    assert mirrored == pytest.approx((1 - 0.2 * 1.505381, 1 - 0.2 / 1.505381), abs=1e-6)
    assert interval(ERRORS, 0.5, np.array([0.25, 0.75]), 1, 0.95) is None


def test_t_quantiles_are_those_of_student() -> None:
    for units in (2.0, 7.5, 30.0, 1e6):
        assert t_quantile(units, 0.95) == pytest.approx(stats.t.ppf(0.975, units - 1), rel=1e-9)
    assert t_quantile(1.0, 0.95) == t_quantile(0.3, 0.95) == math.inf


@given(SHARES, st.floats(0, 1), UNITS, CONFIDENCES)
def test_an_interval_of_a_bounded_metric_holds_its_value_and_stays_within_the_bounds(
    shares: list[float], value: float, units: float, confidence: float
) -> None:
    found = interval(SHARE, value, np.array(shares), units, confidence)
    assert found is not None
    assert 0 <= found[0] <= value + 1e-12
    assert value - 1e-12 <= found[1] <= 1


@given(SHARES, GRID, UNITS)
def test_more_confidence_is_never_narrower(shares: list[float], value: float, units: float) -> None:
    inner = interval(SHARE, value, np.array(shares), units, 0.9)
    outer = interval(SHARE, value, np.array(shares), units, 0.99)
    assert inner is not None
    assert outer is not None
    assert outer[0] <= inner[0] + 1e-12
    assert inner[1] <= outer[1] + 1e-12


@given(SHARES, GRID, st.floats(2, 1e6))
def test_a_metric_and_its_complement_have_mirrored_intervals(shares: list[float], value: float, units: float) -> None:
    found = interval(SHARE, value, np.array(shares), units, 0.95)
    mirrored = interval(SHARE, 1 - value, 1 - np.array(shares), units, 0.95)
    assert found is not None
    assert mirrored is not None
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx(found, abs=1e-9)


@given(SHARES, GRID, st.floats(2, 1e6))
def test_other_bounds_are_scaled(shares: list[float], value: float, units: float) -> None:
    # Powers of two, so that scaling rounds nothing.
    wide = MetricSpec("", "", bounds=(-4.0, 4.0))
    found = interval(SHARE, value, np.array(shares), units, 0.95)
    scaled = interval(wide, 8 * value - 4, 8 * np.array(shares) - 4, units, 0.95)
    assert found is not None
    assert scaled == pytest.approx((8 * found[0] - 4, 8 * found[1] - 4), abs=1e-9)


@pytest.mark.parametrize(("value", "expected"), [(1.0, (0.722467, 1.0)), (0.0, (0.0, 0.277533))])
def test_without_spread_or_at_a_bound_it_is_wilsons(value: float, expected: Interval) -> None:
    for replicates in ([value] * 5, [value, 0.5, 0.5, 0.5]):
        assert interval(SHARE, value, np.array(replicates), 10, 0.95) == pytest.approx(expected, abs=1e-6)


def test_a_single_bound_without_an_error_is_not_taken_for_certain() -> None:
    assert interval(ERRORS, 0.0, np.zeros(5), 10, 0.95) == pytest.approx((0, 0.277533), abs=1e-6)
    accuracy = MetricSpec("", "", bounds=(None, 1.0))
    assert interval(accuracy, 1.0, np.ones(5), 10, 0.95) == pytest.approx((0.722467, 1), abs=1e-6)
    assert interval(DISTANCE, 3.0, np.full(5, 3.0), 10, 0.95) is None


def test_rounding_is_no_spread() -> None:
    thirds = np.array([1 / 3, np.nextafter(1 / 3, 1)] * 5)
    assert interval(SHARE, 1 / 3, thirds, 10, 0.95) == wilson(1 / 3, 10, 0.95)
    assert interval(ERRORS, 1 / 3, thirds, 10, 0.95) is None


def test_one_unit_says_nothing_of_the_spread() -> None:
    assert interval(SHARE, 0.5, np.array([0.25, 0.75]), 1, 0.95) == (0, 1)
    assert interval(DISTANCE, 0.5, np.array([0.25, 0.75]), 1, 0.95) is None


@pytest.mark.parametrize(
    ("shares", "measured"),
    [
        ([0.5, 0.5], True),
        ([0.5, math.nan], True),  # half of the replicates is enough
        ([0.5, math.nan, math.nan], False),
        ([0.5, 0.5, 0.5, math.nan, math.nan, math.nan, math.nan], False),
        ([math.nan, math.nan], False),
        ([], False),
    ],
)
def test_an_interval_needs_half_of_the_replicates(shares: list[float], measured: bool) -> None:
    assert (interval(SHARE, 0.5, np.array(shares), 9, 0.95) is not None) == measured


def test_intervals_of_a_slice_are_those_of_each_metric() -> None:
    benchmark = ToyBenchmark(Options())
    replicates = {"exact_match": np.array([0.4, 0.6]), "similarity": np.array([math.nan, math.nan])}
    measured = Measured({"exact_match": 0.5, "similarity": None}, replicates, {"exact_match": 9, "similarity": 0})
    assert intervals(benchmark, measured, 0.95) == {
        "exact_match": interval(SHARE, 0.5, np.array([0.4, 0.6]), 9, 0.95),
        "similarity": None,
    }


@pytest.mark.parametrize(
    ("spec", "value", "replicates", "units", "expected"),
    [
        (SHARE, 0.8, [0.76, 0.84], 30, 0.04),
        # Near its bound a share has a logit-t interval of 0.755 to 0.999: half of it divided by t would be 0.060.
        (SHARE, 0.98, [0.95, 1.0], 30, 0.025),
        (MetricSpec("", "", bounds=(0.0, 100.0)), 80.0, [76.0, 84.0], 30, 4.0),
        (ERRORS, 0.2, [0.16, 0.24], 30, 0.04),
        (MetricSpec("", "", bounds=(None, 1.0)), 0.8, [0.76, 0.84], 30, 0.04),
        (DISTANCE, -3.0, [-4.0, -2.0], 30, 1.0),
        # No spread: half of Wilson's interval, 3.841459 / (10 + 3.841459) wide, divided by 1.959964.
        (SHARE, 1.0, [1.0, 1.0], 10, 0.277533 / 2 / 1.959964),
        (MetricSpec("", "", bounds=(0.0, 100.0)), 100.0, [100.0, 100.0], 10, 27.7533 / 2 / 1.959964),
        (ERRORS, 0.0, [0.0, 0.0], 10, 0.277533 / 2 / 1.959964),
        (ERRORS, 0.2, [0.2, 0.2], 10, None),
        (DISTANCE, 5.0, [5.0, 5.0], 10, None),
        (SHARE, 0.8, [0.76, 0.84], 1, None),
        (SHARE, None, [0.76, 0.84], 30, None),
        (SHARE, 0.8, [], 30, None),
        (SHARE, 0.8, [0.76, math.nan, math.nan], 30, None),
    ],
)
def test_standard_errors_by_hand(
    spec: MetricSpec, value: float | None, replicates: list[float], units: float, expected: float | None
) -> None:
    found = standard_error(spec, value, spread(np.array(replicates)), units)
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-5))


@pytest.mark.parametrize("right", [5, 40, 100, 160, 195])
def test_the_standard_error_of_a_share_is_that_of_a_binomial(right: int) -> None:
    """sqrt(p (1 - p) / n), within four standard errors of that of 2,000 replicates, 1 / sqrt(4,000) = 1.6 %."""
    bootstrap, count = Bootstrap(2000), 200
    sums = BootstrapSums(bootstrap)
    for number in range(count):
        equal = int(number < right)
        sums.add(bootstrap.unit_hash(f"s{number}"), {"samples": 1, "equal": equal, "similarity": equal})
    benchmark = ToyBenchmark(Options())
    found = standard_errors(benchmark, measure(benchmark, Sums(), sums.table()))["exact_match"]
    share = right / count
    assert found == pytest.approx(math.sqrt(share * (1 - share) / count), rel=0.065)
