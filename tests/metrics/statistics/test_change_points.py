"""Change points: by hand, against the bivariate normal of SciPy, and how often they are false."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from beamscore.metrics.statistics.change_points import (
    FALSE_ALARMS_A_YEAR,
    WINDOW,
    both_above,
    change_points,
    threshold,
)
from tests.calibrate.nights import detection_rate, drift_detection_rate, false_alarms


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("k", [0.0, 1.0, 2.3])
def test_the_chance_that_both_nights_depart(k: float, correlation: float) -> None:
    """P(Z1 > k, Z2 > k) = P(Z1 < -k, Z2 < -k), by symmetry."""
    expected = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf([-k, -k])
    assert both_above(k, correlation) == pytest.approx(expected, rel=1e-3)


def test_the_threshold_grows_with_what_the_nights_share() -> None:
    found = [threshold(correlation, 1e-4) for correlation in (0.0, 0.03, 0.25, 0.5, 0.99)]
    assert found == sorted(found)
    # Independent nights: P(Z > k)^2 = alpha / 2, so that P(Z > k) = 0.00707 and k = 2.45.
    assert found[0] == pytest.approx(2.4537, abs=1e-3)


E = 0.01


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], []),
        ([0.9], []),
        ([0.9] * 20, []),
        ([0.9] * 10 + [0.8] * 5, [10]),
        ([0.9] * 10 + [0.8], []),  # no second night
        ([0.9] * 10 + [0.8] + [0.9] * 5, []),  # it does not persist
        ([0.9] * 10 + [0.8, 1.0] + [0.9] * 5, []),  # two nights, in opposite directions
        ([0.9] * 10 + [0.8] * 8 + [0.9] * 5, [10, 18]),
        ([0.9] * 10 + [0.89] * 5, []),  # one standard error
    ],
)
def test_by_hand(values: list[float], expected: list[int]) -> None:
    assert change_points(values, [E] * len(values)) == expected


def test_nights_whose_error_is_not_known_do_not_make_the_others_surer() -> None:
    """0.87 is two errors of 0.01 and three of the mean of one night, sqrt(2) * 0.01: no change. Nine nights more, of
    which nothing is known, change nothing."""
    values, errors = [0.9] + [0.87] * 2, [E, E, E]
    assert change_points(values, errors) == []
    assert change_points([0.9] * 10 + [0.8] * 5, [0.0] * 15) == []
    assert change_points([0.9] * 9 + values, [0.0] * 9 + errors) == []
    assert change_points([0.5] * 9 + [0.9] * 6, [0.0] * 9 + [E] * 6) == []
    assert change_points([0.9] * 9 + values, [E] * 9 + errors) == [10]
    assert change_points(values, [E] * 11 + [0.0] + [E] * 3) != [10]


@given(st.lists(st.floats(0, 1), max_size=12), st.floats(1e-3, 1))
def test_the_direction_and_the_unit_do_not_matter(values: list[float], scale: float) -> None:
    errors = [E] * len(values)
    found = change_points(values, errors)
    assert change_points([-value for value in values], errors) == found
    # A power of two scales without rounding.
    assert change_points([4 * value for value in values], [4 * error for error in errors]) == found
    assert all(b - a >= 2 for a, b in itertools.pairwise(found))


def test_false_alarms_stay_below_one_a_year_for_eight_metrics() -> None:
    """Seeded; at the stated rate of 0.5 a year, 20 years see 10 +- 3."""
    assert false_alarms(20, seed=1) <= 2 * FALSE_ALARMS_A_YEAR


def test_a_change_of_five_standard_errors_is_found() -> None:
    assert detection_rate(5.0, 40) >= 0.95
    assert detection_rate(0.0, 40) == 0.0


@pytest.mark.parametrize("fall", [0.02, 0.05])
def test_a_slow_drift_is_found(fall: float) -> None:
    """A mean of the last nights would follow it: it would find 12 % and 60 % of these."""
    assert drift_detection_rate(fall, 20) == 1.0
    assert drift_detection_rate(-fall, 20) == 1.0


@given(st.lists(st.floats(0, 1), min_size=WINDOW + 1, max_size=WINDOW + 8), st.data())
def test_nights_are_compared_with_the_first_since_the_last_change(values: list[float], data: st.DataObject) -> None:
    """What follows the first WINDOW nights has no part in the reference: it may come in any order, and a night that
    departs after it is found or not all the same."""
    later = values[WINDOW:]
    shuffled = data.draw(st.permutations(later))
    errors = [1.0] * (len(values) + 2)
    assert change_points([*values, 9.0, 9.0], errors) == change_points([*values[:WINDOW], *shuffled, 9.0, 9.0], errors)
    assert change_points([*values, 9.0, 9.0], errors)[-1:] == [len(values)]
