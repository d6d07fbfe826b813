"""Intervals and tests hold as often as they say, on small seeded populations; `make calibrate` measures at length."""

from __future__ import annotations

import numpy as np
import pytest

from tests.calibrate.coverage import coverage
from tests.calibrate.differences import alarms, family_alarms, wrong_passes, wrong_verdicts
from tests.calibrate.populations import CASES
from tests.calibrate.years import HARMLESS, MARGIN, NIGHTS, UNCHANGED, Cell, Course, false_failures, first_failures

BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("name", ["chemistry exact_match", "formula cdm", "figure_text detection.f1"])
def test_intervals_hold(name: str) -> None:
    # 400 corpora: a share of 95 % has a standard error of 1.1 %.
    assert 0.917 <= coverage(BY_NAME[name], 100, 400, 3).holds <= 0.983


def test_equal_systems_are_seldom_told_apart_and_a_known_effect_is_found() -> None:
    case = BY_NAME["chemistry exact_match"]
    equal, better = alarms(case, 100, 0.0, 300, 3), alarms(case, 100, 0.2, 100, 3)
    # 300 pairs: 5 % has a standard error of 1.3 %.
    assert equal.swap <= 0.09
    assert equal.plain <= 0.1
    assert better.swap > 0.6
    assert better.swap > better.apart + 0.2


def test_of_many_cells_few_alarm_at_once() -> None:
    found = family_alarms(5, 4, 200, 0, 0.0, 100, 3)
    assert found.swap > 0.3
    assert found.verdict <= 0.12


def test_a_gate_with_looks_has_no_false_failure_in_some_years_and_finds_a_loss() -> None:
    cell, years = Cell(churn=1.0, samples=50), 12
    for course in HARMLESS.values():
        assert false_failures(cell, course, years)[-1] == 0
    best, median = (false_failures(cell, UNCHANGED, years, best=best)[0] for best in (True, False))
    assert best > 0.5 > median
    nights = first_failures(cell, Course(MARGIN + 5), years)
    # With one look and with 365.
    assert (np.diff(nights, axis=1) >= 0).all()
    assert np.median(nights[:, -1]) <= 3
    assert nights.max() < NIGHTS


@pytest.mark.parametrize(("units", "loss"), [(20, 0.02), (200, 0.01)])
def test_a_candidate_that_is_worse_by_the_margin_seldom_passes(units: int, loss: float) -> None:
    """By SE alone it passes if no unit is lost: (1 - 0.02)^20 = 67 %, (1 - 0.01)^200 = 13 %."""
    found = wrong_passes(units, loss, 0.0, 500, 1)
    # 500 corpora: 4 % has a standard error of 0.9 %.
    assert (found.plain > (1 - loss) ** units - 0.07, found.cautious <= 0.06) == (True, True)


def test_a_verdict_needs_more_than_the_swap_test() -> None:
    """Where one sample of 20 loses 19 times what each other wins, 0.95^10 = 60 % of corpora of 10 have no such one."""
    found = wrong_verdicts(10, 0.05, 0.02, 500, 1)
    assert (found.swap > 0.5, found.verdict <= 0.05) == (True, True)
