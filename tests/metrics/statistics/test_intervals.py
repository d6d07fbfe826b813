"""Intervals, change points and what is measured of slices, by hand and by their laws; and how often intervals hold."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from scipy.stats import multivariate_normal

from beamscore.metrics.benchmark import MetricSpec
from beamscore.metrics.derived import with_derived
from beamscore.metrics.statistics import measured as module
from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.metrics.statistics.change_points import FALSE_ALARMS_A_YEAR, change_points, threshold
from beamscore.metrics.statistics.intervals import (
    Interval,
    interval as interval_of,
    intervals,
    standard_error,
    standard_errors,
)
from beamscore.metrics.statistics.measured import Measured, measure, measure_slices
from beamscore.metrics.statistics.slice_names import with_slices
from tests.calibrate import years
from tests.calibrate.populations import CASES
from tests.calibrate.rates import coverage
from tests.laws import tries
from tests.metrics.statistics.samples import TOY, added, measured
from tests.plain_loop import make_benchmark

SHARE = MetricSpec("share", "")
BALANCE = MetricSpec("balance", "", bounds=(-100.0, 100.0))
ERRORS = MetricSpec("errors", "", bounds=(0.0, None))
ABOVE_ONE = MetricSpec("ratio", "", bounds=(1.0, None))
DISTANCE = MetricSpec("distance", "", bounds=(None, None))
ACCURACY = MetricSpec("accuracy", "", bounds=(None, 1.0))

GRID = st.integers(0, 64).map(lambda place: place / 64)
SHARES = st.lists(GRID, min_size=2, max_size=40)
SOME = st.lists(st.one_of(GRID, st.just(math.nan)), min_size=4, max_size=4)

# Of the mean 0 and the standard deviation 1.
SPREAD = np.array([-1.0, 1.0])
CHANCE = np.array([0.0, 0.4, 0.4, 0.4])
WILSON = 0.277533 / 2 / 1.959964
THIRDS = np.array([1 / 3, np.nextafter(1 / 3, 1)] * 5)


def spread(replicates: Any) -> float | None:
    return module.spreads({"": np.array(replicates)})[""]


def interval(spec: MetricSpec, value: float | None, replicates: Any, units: float, level: float) -> Interval | None:
    return interval_of(spec, value, spread(replicates), np.array(replicates), units, level)


def test_intervals_and_standard_errors_by_hand() -> None:
    for spec, value, replicates, units, expected, error in (
        # SE = 0.04, n = 30: logit 1.386294, half width t(29) = 2.045230 times 0.04 / (0.8 * 0.2) = 0.511307. 0.874987
        # and 1.897602 are the logits of 0.705782 and 0.869620.
        (SHARE, 0.8, 0.8 + 0.04 * SPREAD, 30, (0.705782, 0.869620), 0.04),
        # Near its bound a share has a logit-t interval of 0.783 to 0.999: half of it divided by t would be 0.053.
        (SHARE, 0.98, [0.95, 1.0], 30, (0.782979, 0.998500), 0.025),
        # Wilson's, with z^2 = 3.841459: all 10 of 10 right, 10 / (10 + z^2) = 0.722467; its half is 1.959964 SE wide.
        (BALANCE, 100.0, [100.0] * 2, 10, (100 - 200 * (1 - 0.722467), 100.0), 200 * WILSON),
        (SHARE, 1.0, [1.0, 0.5, 0.5, 0.5], 10, (0.722467, 1.0), WILSON),
        (SHARE, 0.0, [0.0, 0.5, 0.5, 0.5], 10, (0.0, 1 - 0.722467), WILSON),
        # A spread of metrics that are equal by chance: t(9) = 2.262157 times 0.4 sqrt(3 / 4) = 0.346410 is 0.783634.
        *((replace(spec, spread=True), 0.0, CHANCE, 10, (0.0, 0.783634), 0.173205) for spec in (SHARE, ERRORS)),
        *((replace(spec, spread=True), 1.0, 1 - CHANCE, 10, (0.216366, 1.0), 0.173205) for spec in (SHARE, ACCURACY)),
        # No spread: 8 of 10, the centre (0.8 + z^2 / 20) / (1 + z^2 / 10) = 0.716740, the half width 0.226578.
        (SHARE, 0.8, [0.8] * 5, 10, (0.716740 - 0.226578, 0.716740 + 0.226578), 0.226578 / 1.959964),
        # One unit says nothing of the spread.
        (SHARE, 0.5, [0.25, 0.75], 1, (0.0, 1.0), None),
        *((spec, 0.5, [0.25, 0.75], 1, None, None) for spec in (ERRORS, ACCURACY, DISTANCE)),
        # A factor of exp(2.045230 * 0.04 / 0.2) = exp(0.409046) = 1.505381 either way of the distance from the bound.
        (ERRORS, 0.2, 0.2 + 0.04 * SPREAD, 30, (0.2 / 1.505381, 0.2 * 1.505381), 0.04),
        (ABOVE_ONE, 1.2, 1.2 + 0.04 * SPREAD, 30, (1 + 0.2 / 1.505381, 1 + 0.2 * 1.505381), 0.04),
        (ACCURACY, 0.8, 0.8 + 0.04 * SPREAD, 30, (1 - 0.2 * 1.505381, 1 - 0.2 / 1.505381), 0.04),
        # At a single bound no error is not taken for certain.
        (ERRORS, 0.0, np.zeros(5), 10, (0, 0.277533), WILSON),
        (ACCURACY, 1.0, np.ones(5), 10, (0.722467, 1), WILSON),
        # n = 20: t(19) = 2.093024, times sqrt(20 / 19) = 2.147402, whose lower tail is 0.0158805. Of 199 replicates 1
        # to 199 the quantile is 200 * 0.0158805 = 3.1761; those without a value have no part in it.
        (DISTANCE, 100.0, [math.nan, *range(1, 200)], 20, (3.1761, 200 - 3.1761), math.sqrt((199**2 - 1) / 12)),
        # Tails beyond all replicates: t(1) = 12.706205 times the error of 57.445626 is 729.916, either way.
        (DISTANCE, 100.0, range(1, 200), 2, (-629.916, 829.916), math.sqrt((199**2 - 1) / 12)),
        (DISTANCE, 3.0, np.full(5, 3.0), 10, None, None),
        # Rounding is no spread: 1/3 of 10, the centre 0.379589, the half width 0.252613.
        (SHARE, 1 / 3, THIRDS, 10, (0.379589 - 0.252613, 0.379589 + 0.252613), 0.252613 / 1.959964),
        (ERRORS, 1 / 3, THIRDS, 10, None, None),
        # Half of the replicates are enough.
        (SHARE, None, [0.5, 0.5], 9, None, None),
        (SHARE, 0.8, [0.76, 0.84, math.nan, math.nan], 30, (0.705782, 0.869620), 0.04),
        # Two units are enough: t(1) = 12.706205, times 0.04 / 0.16 = 3.176551 either way of logit(0.8) = 1.386294.
        (SHARE, 0.8, [0.76, 0.84], 2, (0.143041, 0.989675), 0.04),
        (SHARE, 0.8, [0.76, 0.84, math.nan, math.nan, math.nan], 30, None, None),
        (SHARE, 0.8, [], 30, None, None),
    ):
        found = interval(spec, value, replicates, units, 0.95)
        assert found == (None if expected is None else pytest.approx(expected, abs=2e-6, rel=1e-4)), (spec, value)
        found_error = standard_error(spec, value, spread(replicates), units)
        assert found_error == (None if error is None else pytest.approx(error, rel=1e-5)), (spec, value)


def test_replicates_end_before_the_tails_of_a_high_confidence() -> None:
    """The outermost of 200 are 2.8 SE away; t(399) at the level is more."""
    replicates = np.sort(np.random.default_rng(0).normal(size=200))
    assert max(-replicates[0], replicates[-1]) < 3.2
    for level, quantile in ((0.999, 3.315), (1 - 0.05 / 365, 3.848)):
        reach = quantile * (spread(replicates) or math.nan)
        assert interval(DISTANCE, 0.0, replicates, 400, level) == pytest.approx((-reach, reach), rel=1e-3)


@given(st.lists(st.tuples(st.none() | GRID, SOME), max_size=2))
def test_intervals_of_a_slice_are_those_of_each_metric(metrics: list[tuple[float | None, list[float]]]) -> None:
    drawn = dict(zip(("exact_match", "similarity"), metrics, strict=False))
    replicates = {name: np.array(row) for name, (_, row) in drawn.items()}
    slice_ = Measured({name: value for name, (value, _) in drawn.items()}, replicates, dict.fromkeys(drawn, 9.0))
    assert intervals(TOY, slice_, 0.95) == {name: interval(SHARE, *each, 9, 0.95) for name, each in drawn.items()}
    errors = {name: standard_error(SHARE, value, spread(replicates[name]), 9) for name, (value, _) in drawn.items()}
    assert standard_errors(TOY, slice_) == errors
    # Without a denominator nothing tells how many units there are.
    assert intervals(TOY, Measured({"own": 0.5}, {"own": np.array([0.4, 0.6])}, {"own": 9.0}), 0.95) == {"own": None}


@given(SHARES, GRID, st.floats(0, 1e6))
def test_laws_of_the_interval_of_a_bounded_metric(shares: list[float], value: float, units: float) -> None:
    """It holds the value within the bounds; more confidence is wider; complements mirror it, and bounds scale it."""
    rows = np.array(shares)
    found, outer = interval(SHARE, value, rows, units, 0.9), interval(SHARE, value, rows, units, 0.99)
    assert found is not None
    assert outer is not None
    ends = [0, *outer[:1], *found[:1], value, *found[1:], *outer[1:], 1]
    assert all(low <= high + 1e-12 for low, high in itertools.pairwise(ends))
    mirrored = interval(SHARE, 1 - value, 1 - rows, units, 0.9)
    assert mirrored == pytest.approx((1 - found[1], 1 - found[0]), abs=1e-9)
    # Powers of two, so that scaling rounds nothing.
    scaled = interval(MetricSpec("", "", bounds=(-4.0, 4.0)), 8 * value - 4, 8 * rows - 4, units, 0.9)
    assert scaled == pytest.approx((8 * found[0] - 4, 8 * found[1] - 4), abs=1e-9)


def test_intervals_hold() -> None:
    cases = {case.name: case for case in CASES}
    for name in ("chemistry exact_match", "formula cdm", "figure_text detection.f1"):
        # 400 corpora: a share of 95 % has a standard error of 1.1 %.
        assert 0.917 <= coverage(cases[name], 100, 400, 3) <= 0.983


def test_both_nights_are_beyond_the_threshold_as_often_as_is_said() -> None:
    """P(Z1 > k, Z2 > k) = P(Z1 < -k, Z2 < -k), by symmetry."""
    for step in (0, 3, 25, 50, 99):
        k, normal = threshold(step, 0.02), multivariate_normal([0, 0], [[1, step / 100], [step / 100, 1]])
        assert normal.cdf([-k, -k]) == pytest.approx(0.01, rel=1e-6)
    assert threshold(100, 0.02) == threshold(99, 0.02)


E = 0.01
LEVEL = [0.9] * 10
DROP = [0.9] + [0.87] * 2
"""Two errors of 0.01 are three of the mean of one night, sqrt(2) * 0.01: no change. Nights of which nothing is known
change nothing."""


def test_change_points_by_hand() -> None:
    for values, errors, expected in (
        ([], [], {}),
        ([0.9], [E], {}),
        (LEVEL + [0.8] * 5, [E] * 15, {10: 0.9}),
        ([*LEVEL, 0.8], [E] * 11, {}),  # no second night
        ([*LEVEL, 0.8, *LEVEL], [E] * 21, {}),  # it does not persist
        ([*LEVEL, 0.8, 1.0, *LEVEL], [E] * 22, {}),  # two nights, in opposite directions
        (LEVEL + [0.8] * 8 + LEVEL, [E] * 28, {10: 0.9, 18: 0.8}),
        (LEVEL + [0.89] * 5, [E] * 15, {}),  # one standard error
        (LEVEL + [0.8] * 5, [0.0] * 15, {}),
        ([*LEVEL, 0.9, 0.8, 0.8], [E] * 12 + [0.0], {}),  # nothing is known of the second night
        ([0.9] * 9 + DROP, [0.0] * 9 + [E] * 3, {}),
        ([0.5] * 9 + [0.9] * 6, [0.0] * 9 + [E] * 6, {}),
        ([0.9] * 9 + DROP, [E] * 12, {10: 0.9}),
        # A night that was off alone is not in the mean, from which the next would be 4 / sqrt(1 + 1 / 3) errors away.
        ([0.0, 0.0, -12.0, 0.0, 0.0, 0.0], [1.0] * 6, {}),
        # The night after it counts with its own error.
        ([0.0] * 10 + [-9.0] * 2, [1.0] * 11 + [20.0], {}),
        # Nor if nothing is known of the night after it, nor does that hide a change.
        ([0.9, 0.9, 0.45, 0.0] + [0.9] * 5, [E] * 3 + [0.0] + [E] * 5, {}),
        ([0.9] * 5 + [0.45, 0.0] + [0.45] * 6, [E] * 6 + [0.0] + [E] * 6, {5: 0.9}),
        # k sqrt(1 + 1 / 30) is 2.45 for k = 2.41. The mean has night 30, which moves it by 2 / 30, and not the next.
        ([0.0] * 29 + [2.0, 2.48, 2.48], [1.0] * 32, {}),
        ([0.0] * 30 + [2.0, 2.48, 2.48], [1.0] * 33, {31: 0.0}),
        # The mean of all nights before it, with those off alone, is below the night of the change.
        ([0.9, 0.0, 0.9, 0.9] * 3 + [0.75] * 4, [E] * 16, {12: 0.9}),
        # The error of a night is at least that of a usual one, which a single night of few samples hardly raises.
        ([0.0] * 10 + [-1.5] * 3, [1.0] * 10 + [0.1] * 3, {}),
        ([0.0] * 30 + [5.0] * 2, [20.0] + [1.0] * 31, {30: 0.0}),
    ):
        assert change_points(values, errors, 8) == pytest.approx(expected), (values, errors)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_a_change_leaves_the_mean_on_one_side_whatever_the_direction_and_the_unit(values: list[float]) -> None:
    found = change_points(values, [E] * len(values), 8)
    # A power of two scales without rounding.
    assert change_points([-4 * value for value in values], [4 * E] * len(values), 8) == pytest.approx(
        {place: -4 * mean for place, mean in found.items()}
    )
    assert all(b - a >= 2 for a, b in itertools.pairwise(found))
    for place, mean in found.items():
        assert min(values[place : place + 2]) > mean + E or max(values[place : place + 2]) < mean - E


def test_false_alarms_are_rare_and_changes_and_slow_drifts_are_found() -> None:
    """Seeded; at the stated rate of 0.5 a year for eight metrics, 20 years see 10 +- 3."""
    assert years.false_alarms(20, seed=1) <= 2 * FALSE_ALARMS_A_YEAR
    assert years.detection_rate(5.0, 40) >= 0.95
    assert years.detection_rate(0.0, 40) == 0.0
    # A mean of the last nights would follow a drift: it would find 12 % and 60 % of these.
    assert [years.drift_detection_rate(fall, 20) for fall in (0.02, -0.02, 0.05, -0.05)] == [1.0] * 4


def test_a_gate_with_looks_has_no_false_failure_in_some_years_and_finds_a_loss() -> None:
    cell, count = years.Cell(churn=1.0, samples=50), 12
    assert [years.false_failures(cell, losses, count)[-1] for losses in years.HARMLESS.values()] == [0] * 3
    assert years.false_failures(years.Cell(churn=0.0, samples=400), years.UNCHANGED, count)[-1] == 0
    best, median = (years.false_failures(cell, years.UNCHANGED, count, best=best)[0] for best in (True, False))
    assert best > 0.5 > median
    nights = years.first_failures(cell, years.UNCHANGED + years.MARGIN + 5, count)
    # With one look and with 365.
    assert (np.diff(nights, axis=1) >= 0).all()
    assert np.median(nights[:, -1]) <= 3
    assert nights.max() < years.NIGHTS


NAMES = ("all", "cell[a|a]", "cell[a|b]", "cell[b|a]", "cell[b*|a]", "cell[x + y|a]", "part[a]", "party[a]")
CHART = make_benchmark("chart")
FAMILY = "cell[CLASS|*] + part[CLASS]"

DERIVED = with_derived(type(CHART), {"kinds": "slice_mean(task1.macro_f1, kind)", "gap": "task1.macro_f1 - 0.5"})
CELLS = st.sampled_from([{f"task1.confusion[{a}|{b}]": 1.0} for a in "abc" for b in "ab"] + [{"task2.charts": 1.0}])
SLICES = st.lists(st.lists(CELLS, max_size=6), min_size=1, max_size=5)


@tries(25)
@example([[{"task1.confusion[a|a]": 1.0}] * 3] * 3, "xxy", 4, False)
@given(SLICES, st.sampled_from(["", "x", "xxy"]), st.integers(0, 4), st.booleans())
def test_slices_measured_together_are_those_measured_alone_and_row_by_row(
    drawn: list[list[dict[str, float]]], kinds: str, replicates: int, clustered: bool
) -> None:
    """The plain call for each replicate is the oracle; kinds: of the slices in turn that are summed up within."""
    benchmark, bootstrap, tables = DERIVED(CHART.options), Bootstrap(replicates, 0), []
    for part, kind in zip(drawn, itertools.cycle(kinds or " ")):
        within = [(("kind",), (kind,))] * bool(kinds)
        samples = [(n % 3, with_slices(each, within, ["kind"])) for n, each in enumerate(part)]
        tables.append(added(samples, bootstrap).table())
    corpus = tables[0].row(0)
    for table, found in zip(tables, measure_slices(benchmark, corpus, tables, clustered), strict=True):
        alone = measure(benchmark, corpus, table, clustered)
        assert (found.values, found.units, found.sizes) == (alone.values, alone.units, alone.sizes)
        assert found.values == benchmark.values_within(table.row(0), corpus)
        np.testing.assert_equal(found.denominators, alone.denominators)
        np.testing.assert_equal(found.replicates, alone.replicates)
        by_row = [benchmark.values_within(row, corpus) for row in table.below().rows()]
        for name, column in found.replicates.items():
            np.testing.assert_array_equal(column, np.array([row.get(name) for row in by_row], dtype=float))


def test_the_statistics_of_a_denominator() -> None:
    for denominator, member, expected in (
        ("all", None, ["all"]),
        ("all + all", None, ["all", "all"]),
        ("part*", None, ["part[a]", "party[a]"]),
        ("all - cell[CLASS|a] - part* + all", "a", ["all", "all", "-cell[a|a]", "-part[a]", "-party[a]"]),
        ("", None, []),
        # A member of a family takes the place of the placeholder.
        (FAMILY, "a", ["cell[a|a]", "cell[a|b]", "part[a]"]),
        (FAMILY, "b", ["cell[b|a]"]),
        (FAMILY, "b*", ["cell[b*|a]"]),  # what is special in a declaration is not so in a member
        (FAMILY, "x + y", ["cell[x + y|a]"]),
        (FAMILY, "CLASS", []),
    ):
        name, metric = ("metric", "metric") if member is None else ("recall[CLASS]", f"recall[{member}]")
        spec, places = MetricSpec(name, "", denominator=denominator), {each: place for place, each in enumerate(NAMES)}
        added, subtracted = module.denominator_columns(spec, metric, places)
        found = [*(NAMES[place] for place in added), *(f"-{NAMES[place]}" for place in subtracted)]
        assert found == expected, (denominator, member)


def test_counted_units_by_hand() -> None:
    for denominators, per_sample, clustered, expected in (
        ([40, 35, 50, 41], 1, False, 40),  # one for each sample is counted exactly
        ([40, 35, 50, 41], 2, False, 20),
        # D = 12, (8 - 12)^2 = (16 - 12)^2 = 16 on average: 144 / 16 = 9.
        *(([12, 8, 16], each, True, 9) for each in (None, 1)),
        ([12, 8, 16], None, False, 9),
        *((few, None, True, 12) for few in ([12, 12, 12], [12, 11, 13], [12])),  # at most the count
        ([0, 0, 0], None, True, 0),
        ([-4, -4, -5], None, True, 0),
    ):
        assert module.effective_sample_size(np.array(denominators, float), per_sample, clustered) == expected


def test_a_mean_over_classes_by_hand() -> None:
    counts = {"pie|pie": 20, "pie|bar": 10, "bar|bar": 6, "line|line": 2, "line|pie": 1}
    names = [name for name, count in counts.items() for _ in range(count)]
    samples = {str(number): {f"task1.confusion[{name}]": 1.0} for number, name in enumerate(names)}
    found = measured(CHART, samples)
    units = found.units
    # 30 pies, 6 bars and 3 lines: (1/30 + 1/6 + 1/3)^2 / (1/27000 + 1/216 + 1/27) = 6.83.
    assert units["task1.recall[line]"] == 3
    assert [units[f"task1.macro_{each}"] for each in ("f1", "precision", "recall")] == pytest.approx([6.8206] * 3, 1e-5)
    # Three classes of the same size would be as good: 9 / (1/30 + 1/6 + 1/3) = 16.875; a class without any is none.
    assert found.size("task1.macro_f1") == pytest.approx(16.875)
    assert module.satterthwaite_df([30, 0, 6, 3]) == module.satterthwaite_df([30, 6, 3])
    assert (module.satterthwaite_df([0]), found.size("unknown")) == ((0, 0), 0)
