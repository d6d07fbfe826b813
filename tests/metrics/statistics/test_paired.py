"""Differences of two systems over the same samples."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.measured import Measured, measure
from beamscore.metrics.statistics.paired import paired_differences, paired_interval, widened_error
from tests.calibrate.differences import wrong_passes, wrong_verdicts
from tests.toy import Options, ToyBenchmark

TOY = ToyBenchmark(Options())


def measured(value: float | None, replicates: list[float], units: float = 30) -> Measured:
    return Measured({"exact_match": value}, {"exact_match": np.array(replicates)}, {"exact_match": units})


def system(right: list[bool]) -> Measured:
    bootstrap = Bootstrap(50)
    sums = BootstrapSums(bootstrap)
    for number, equal in enumerate(right):
        sums.add(bootstrap.unit_hash(str(number)), {"samples": 1, "equal": int(equal), "similarity": equal / 2})
    return measure(TOY, sums.sums(), sums.table())


def test_by_hand() -> None:
    baseline, candidate = measured(0.5, [0.4, 0.5, 0.6], 40), measured(0.6, [0.6, 0.6, 0.6], 30)
    found = paired_differences(TOY, baseline, candidate, 0.95)["exact_match"]
    # Differences 0.2, 0.1, 0: their standard deviation is sqrt(0.02 / 3) = 0.0816497, t(29) = 2.045230.
    assert found.difference == pytest.approx(0.1)
    assert found.error == pytest.approx(math.sqrt(0.02 / 3))
    assert found.interval == pytest.approx((0.1 - 0.166992, 0.1 + 0.166992), abs=1e-6)
    assert found.units == 30
    # A chance of 80 % takes another t(29) = 0.854192 standard errors.
    assert found.detectable == pytest.approx((2.045230 + 0.854192) * math.sqrt(0.02 / 3), abs=1e-6)


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_a_system_does_not_differ_from_itself(right: list[bool]) -> None:
    for found in paired_differences(TOY, system(right), system(right), 0.95).values():
        assert (found.difference, found.error, found.interval, found.detectable) == (0, 0, (0, 0), None)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_swapping_sides_negates(pairs: list[tuple[bool, bool]]) -> None:
    one, other = system([each for each, _ in pairs]), system([each for _, each in pairs])
    there, back = paired_differences(TOY, one, other, 0.95), paired_differences(TOY, other, one, 0.95)
    for name, found in there.items():
        assert found.difference == -(back[name].difference or 0)
        assert (found.error, found.units, found.detectable) == (
            back[name].error,
            back[name].units,
            back[name].detectable,
        )
        assert found.interval == tuple(-end for end in reversed(back[name].interval or ()))


def test_a_metric_that_one_side_lacks_has_no_difference() -> None:
    found = paired_differences(TOY, measured(None, [math.nan]), measured(0.6, [0.6]), 0.95)["exact_match"]
    assert (found.baseline, found.candidate, found.difference, found.interval) == (None, 0.6, None, None)
    few = paired_differences(TOY, measured(0.5, [0.5, math.nan, math.nan]), measured(0.6, [0.6] * 3), 0.95)
    assert few["exact_match"].difference == pytest.approx(0.1)
    assert few["exact_match"].interval is None
    one_sided = paired_differences(TOY, Measured({}, {}, {}), measured(0.6, [0.6]), 0.95)
    assert one_sided["exact_match"].baseline is None


@pytest.mark.parametrize(
    ("difference", "error", "units", "bounds", "expected"),
    [
        (0.0, 0.0, 30, (0, 1), (0, 0)),
        # All units change alike: as far as Wilson's interval of 10 of 10, 0.722467, and not beyond the bounds.
        (1.0, 0.0, 10, (0, 1), (0.722467, 1)),
        (-0.5, 0.0, 10, (0, 1), (-0.777533, -0.222467)),
        (3.0, 0.0, 10, (None, None), None),
        # F1 of 21 of 25 is 0.84, by 2 P R / (P + R) 0.8399999999999999: two systems of which one has it so are equal.
        (0.84 - 0.8399999999999999, 1e-17, 30, (0, 1), (0, 0.84 - 0.8399999999999999)),
        (-1e-15, 0.0, 30, (0, None), (-1e-15, 0)),
        # One unit says nothing.
        (0.25, 0.1, 1, (0, 1), (-1, 1)),
        (0.25, 0.1, 1, (0, None), None),
    ],
)
def test_paired_intervals_by_hand(
    difference: float, error: float, units: float, bounds: Any, expected: tuple[float, float] | None
) -> None:
    found = paired_interval(difference, error, units, 0.95, bounds)
    nearly = 0 if abs(difference) < 1e-12 else 1e-6
    assert found == (None if expected is None else pytest.approx(expected, rel=0, abs=nearly))


def test_what_is_detectable_is_more_than_rounding_and_no_more_than_the_metric_can_change() -> None:
    # Of 1.01 units t is 10^26 or so.
    found = paired_differences(TOY, measured(0.5, [0.4, 0.5, 0.6], 1.01), measured(0.6, [0.5] * 3, 1.01), 0.95)
    assert found["exact_match"].detectable == 1
    found = paired_differences(TOY, measured(0.84, [0.84] * 3), measured(0.8399999999999999, [0.84] * 3), 0.95)
    assert found["exact_match"].detectable is None


def test_other_numbers_of_replicates_do_not_pair() -> None:
    with pytest.raises(ValueError):
        paired_differences(TOY, measured(0.5, [0.5, 0.5]), measured(0.5, [0.5, 0.5, 0.5]), 0.95)


@pytest.mark.parametrize(
    ("error", "size", "differing", "expected"),
    [
        # Nothing differs: two units of 200 would, by 1.
        (0.0, 200, 0, math.sqrt(2) / 200),
        (0.0, 200, None, math.sqrt(2) / 200),
        # 7 of 200 differ by 1, so 9 might; of 20 it is known that they are 20.
        (math.sqrt(7) / 200, 200, None, math.sqrt(9) / 200),
        (math.sqrt(20) / 200, 200, None, math.sqrt(20) / 200),
        # 20 that differ by little, as long as nobody has counted them, may be few.
        (0.001, 200, 20, 0.001),
        (0.001, 200, 19, math.hypot(0.001, math.sqrt(2) / 200)),
        (0.001, 200, None, math.hypot(0.001, math.sqrt(2) / 200)),
        (0.0, 0, None, math.inf),
    ],
)
def test_an_error_allows_for_losses_that_no_unit_has(
    error: float, size: float, differing: int | None, expected: float
) -> None:
    assert widened_error(error, size, 1.0, differing) == pytest.approx(expected)
    assert widened_error(3 * error, size, 3.0, differing) == pytest.approx(3 * expected)
    assert widened_error(error, size, None, differing) == error


PAIRS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


@given(PAIRS)
def test_the_cautious_interval_holds_the_other_and_is_never_a_point_by_chance(pairs: list[tuple[bool, bool]]) -> None:
    one, other = system([each for each, _ in pairs]), system([each for _, each in pairs])
    known = replace(one, predictions="same")
    marked = paired_differences(TOY, known, replace(other, predictions="same"), 0.95)
    for name, found in paired_differences(TOY, one, other, 0.95).items():
        if found.interval is None:
            continue
        if found.error:  # whatever the fingerprints say
            assert marked[name].cautious == found.cautious
        assert found.cautious is not None
        assert found.cautious[0] < found.cautious[1]
        if found.error:
            assert found.cautious[0] <= found.interval[0] <= found.interval[1] <= found.cautious[1]
    for found in paired_differences(TOY, known, known, 0.95).values():
        assert (found.cautious, found.same_predictions) == ((0, 0) if found.interval else None, True)


@pytest.mark.parametrize(("units", "loss"), [(20, 0.02), (50, 0.02), (200, 0.01)])
def test_a_candidate_that_is_worse_by_the_margin_seldom_passes(units: int, loss: float) -> None:
    """By SE alone it passes if no unit is lost: (1 - 0.02)^20 = 67 %, (1 - 0.02)^50 = 36 %, (1 - 0.01)^200 = 13 %."""
    found = wrong_passes(units, loss, 0.0, 500, 1)
    assert found.plain > (1 - loss) ** units - 0.07
    # 500 corpora: 4 % has a standard error of 0.9 %.
    assert found.cautious <= 0.06


def test_a_verdict_needs_more_than_the_swap_test() -> None:
    """Where one sample of 20 loses 19 times what each other wins, 0.95^10 = 60 % of corpora of 10 have no such one."""
    found = wrong_verdicts(10, 0.05, 0.02, 500, 1)
    assert found.swap > 0.5
    assert found.verdict <= 0.05
