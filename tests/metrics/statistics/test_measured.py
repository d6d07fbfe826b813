"""Which statistics a denominator adds up, and how many units it tells of."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.benchmark import MetricSpec
from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.measured import (
    MIN_CLASS_UNITS,
    counted_units,
    denominator_columns,
    measure,
    units_over_classes,
)
from beamscore.metrics.statistics.paired import paired_differences
from beamscore.metrics.statistics.sum_table import SumTable
from beamscore.metrics.statistics.sums import Sums
from tests.plain_loop import make_benchmark

NAMES = ("all", "cell[a|a]", "cell[a|b]", "cell[b|a]", "cell[b*|a]", "cell[x + y|a]", "part[a]", "party[a]")


def columns(denominator: str, name: str = "metric", metric: str = "metric") -> list[str]:
    spec = MetricSpec(name, "", denominator=denominator)
    return [
        NAMES[place] for place in denominator_columns(spec, metric, {name: place for place, name in enumerate(NAMES)})
    ]


@pytest.mark.parametrize(
    ("denominator", "expected"),
    [
        ("all", ["all"]),
        ("all + part[a]", ["all", "part[a]"]),
        ("all + all", ["all", "all"]),
        ("part*", ["part[a]", "party[a]"]),
        ("cell[*|b]", ["cell[a|b]"]),
        ("", []),
        ("nothing", []),
    ],
)
def test_names_and_patterns(denominator: str, expected: list[str]) -> None:
    assert columns(denominator) == expected


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        ("a", ["cell[a|a]", "cell[a|b]", "part[a]"]),
        ("b", ["cell[b|a]"]),
        ("b*", ["cell[b*|a]"]),  # what is special in a declaration is not so in a member
        ("x + y", ["cell[x + y|a]"]),
        ("CLASS", []),
    ],
)
def test_a_member_of_a_family_takes_the_place_of_the_placeholder(member: str, expected: list[str]) -> None:
    assert columns("cell[CLASS|*] + part[CLASS]", "recall[CLASS]", f"recall[{member}]") == expected


def test_one_for_each_sample_is_counted_exactly() -> None:
    replicates = np.array([40.0, 35, 50, 41])
    assert counted_units(replicates, 1, clustered=False) == 40
    assert counted_units(replicates, 2, clustered=False) == 20


def test_by_hand() -> None:
    # D = 12, (8 - 12)^2 = (16 - 12)^2 = 16 on average: 144 / 16 = 9.
    assert counted_units(np.array([12.0, 8, 16]), None, clustered=True) == 9
    assert counted_units(np.array([12.0, 8, 16]), 1, clustered=True) == 9
    assert counted_units(np.array([12.0, 12, 12]), None, clustered=True) == 12  # no spread: at most the count
    assert counted_units(np.array([12.0, 11, 13]), None, clustered=True) == 12
    assert counted_units(np.array([0.0, 0, 0]), None, clustered=True) == 0
    assert counted_units(np.array([12.0]), None, clustered=False) == 12


def test_clusters_count_as_clusters() -> None:
    bootstrap = Bootstrap(replicates=2000, seed=1)
    sizes = np.array([1, 1, 2, 4, 8, 8] * 5)
    weights = bootstrap.weights([bootstrap.unit_hash(str(number)) for number in range(len(sizes))])
    # (sum d)^2 / sum d^2 = 120^2 / (5 * 150); the estimate of 2,000 replicates is good to sqrt(2 / 2000) = 3 %.
    assert counted_units(weights @ sizes, None, clustered=True) == pytest.approx(120**2 / 750, rel=0.1)


@given(st.lists(st.floats(0.5, 1e6), min_size=1, max_size=9), st.integers(1, 5))
def test_a_mean_over_classes_rests_on_no_more_units_than_there_are(classes: list[float], times: int) -> None:
    """By Cauchy and Schwarz (sum 1/n)^2 / sum 1/n^3 is at most sum n, and is sum n where all n are the same."""
    units, size = units_over_classes(classes)
    assert min(MIN_CLASS_UNITS, math.fsum(classes)) <= units <= math.fsum(classes) * (1 + 1e-9)
    # The effective size is K times the harmonic mean of the classes.
    assert len(classes) * min(classes) * (1 - 1e-9) <= size <= math.fsum(classes) * (1 + 1e-9)
    assert units_over_classes([*classes, 0.0]) == (units, size)
    assert units_over_classes([classes[0]] * times) == pytest.approx((times * classes[0],) * 2)
    assert units_over_classes([]) == (0, 0)


def test_a_mean_over_classes_by_hand() -> None:
    """30 pies, 6 bars and 3 lines: (1/30 + 1/6 + 1/3)^2 / (1/27000 + 1/216 + 1/27) = 6.83."""
    benchmark = make_benchmark("chart")
    cells = {"pie|pie": 20, "pie|bar": 10, "bar|bar": 6, "line|line": 2, "line|pie": 1}
    sums = Sums.of({f"task1.confusion[{name}]": count for name, count in cells.items()})
    units = measure(benchmark, sums, SumTable.of([sums])).units
    assert units["task1.recall[line]"] == 3
    expected = (1 / 30 + 1 / 6 + 1 / 3) ** 2 / (1 / 27000 + 1 / 216 + 1 / 27)
    for metric in ("macro_f1", "macro_precision", "macro_recall"):
        assert units[f"task1.{metric}"] == pytest.approx(expected)


def chart_sums(right: int, lone: int) -> SumTable:
    """The sums and replicates of 9 classes of 20 charts, `right` of each right, and of a class of one chart."""
    bootstrap = Bootstrap()
    sums = BootstrapSums(bootstrap)
    for number in range(180):
        true, place = number % 9, number // 9
        predicted = true if place < right else (true + 1) % 9
        sums.add(bootstrap.unit_hash(str(number)), {f"task1.confusion[c{true}|c{predicted}]": 1})
    sums.add(bootstrap.unit_hash("lone"), {f"task1.confusion[lone|{'lone' if lone else 'c0'}]": 1})
    return sums.table()


def test_one_class_of_a_single_chart_does_not_hide_a_great_loss() -> None:
    """(9/20 + 1)^2 / (9/8000 + 1) = 2.1 units: t(1.1) = 9.9 would make -0.31 an interval from -0.92 to +0.29."""
    benchmark = make_benchmark("chart")
    before, after = (measure(benchmark, Sums(), chart_sums(*each)) for each in ((18, 1), (12, 1)))
    found = paired_differences(benchmark, before, after, 0.95)["task1.macro_f1"]
    # F1 of the nine classes is 18/20 and 12/20, and 1 of the tenth: 0.91 and 0.64.
    assert found.baseline == pytest.approx(0.91)
    assert found.candidate == pytest.approx(0.64)
    assert found.units == MIN_CLASS_UNITS
    assert found.interval is not None
    assert found.interval[1] < 0
    # Its one chart alone shows nothing.
    lost = paired_differences(benchmark, before, measure(benchmark, Sums(), chart_sums(18, 0)), 0.95)["task1.macro_f1"]
    assert lost.interval is not None
    assert lost.interval[0] < 0 < lost.interval[1]
