"""Change points by hand and against the bivariate normal of SciPy; how often they, and gates every night, are wrong."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from beamscore.metrics.statistics.change_points import FALSE_ALARMS_A_YEAR, change_points, threshold
from tests.calibrate import years


def test_both_nights_are_beyond_the_threshold_as_often_as_is_said() -> None:
    """P(Z1 > k, Z2 > k) = P(Z1 < -k, Z2 < -k), by symmetry."""
    for step in (0, 3, 25, 50, 99):
        k, normal = threshold(step, 0.02), multivariate_normal([0, 0], [[1, step / 100], [step / 100, 1]])
        assert normal.cdf([-k, -k]) == pytest.approx(0.01, rel=1e-3)
    assert threshold(100, 0.02) == threshold(99, 0.02)


E = 0.01
LEVEL = [0.9] * 10
DROP = [0.9] + [0.87] * 2
"""Two errors of 0.01 are three of the mean of one night, sqrt(2) * 0.01: no change. Nights of which nothing is known
change nothing."""


def test_by_hand() -> None:
    for values, errors, expected in (
        ([], [], []),
        ([0.9], [E], []),
        (LEVEL + [0.8] * 5, [E] * 15, [10]),
        ([*LEVEL, 0.8], [E] * 11, []),  # no second night
        ([*LEVEL, 0.8, *LEVEL], [E] * 21, []),  # it does not persist
        ([*LEVEL, 0.8, 1.0, *LEVEL], [E] * 22, []),  # two nights, in opposite directions
        (LEVEL + [0.8] * 8 + LEVEL, [E] * 28, [10, 18]),
        (LEVEL + [0.89] * 5, [E] * 15, []),  # one standard error
        (LEVEL + [0.8] * 5, [0.0] * 15, []),
        ([0.9] * 9 + DROP, [0.0] * 9 + [E] * 3, []),
        ([0.5] * 9 + [0.9] * 6, [0.0] * 9 + [E] * 6, []),
        ([0.9] * 9 + DROP, [E] * 12, [10]),
        # The mean of 30 nights has night 30 (-300 / 30 is ten errors off) and not the next, whatever came after.
        ([0.0] * 29 + [-300.0, 0.0, 0.0], [1.0] * 32, [30]),
        ([0.0] * 30 + [-300.0, 0.0, 0.0], [1.0] * 33, []),
        ([0.0] * 30 + [-300.0, 0.0, 9.0, 9.0], [1.0] * 34, [32]),
    ):
        assert change_points(values, errors) == expected, (values, errors)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_the_direction_and_the_unit_do_not_matter(values: list[float]) -> None:
    found = change_points(values, [E] * len(values))
    # A power of two scales without rounding.
    assert change_points([-4 * value for value in values], [4 * E] * len(values)) == found
    assert all(b - a >= 2 for a, b in itertools.pairwise(found))


def test_false_alarms_are_rare_and_changes_and_slow_drifts_are_found() -> None:
    """Seeded; at the stated rate of 0.5 a year for eight metrics, 20 years see 10 +- 3."""
    assert years.false_alarms(20, seed=1) <= 2 * FALSE_ALARMS_A_YEAR
    assert years.detection_rate(5.0, 40) >= 0.95
    assert years.detection_rate(0.0, 40) == 0.0
    # A mean of the last nights would follow a drift: it would find 12 % and 60 % of these.
    assert [years.drift_detection_rate(fall, 20) for fall in (0.02, -0.02, 0.05, -0.05)] == [1.0] * 4


def test_a_gate_with_looks_has_no_false_failure_in_some_years_and_finds_a_loss() -> None:
    cell, count = years.Cell(churn=1.0, samples=50), 12
    assert [years.false_failures(cell, course, count)[-1] for course in years.HARMLESS.values()] == [0] * 3
    assert years.false_failures(cell, years.UNCHANGED, count, best=True)[0] > 0.5
    nights = years.first_failures(cell, years.Course(years.MARGIN + 5), count)
    assert (np.median(nights[:, -1]) <= 3, nights.max() < years.NIGHTS) == (True, True)
