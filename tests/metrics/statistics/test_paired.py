"""Differences of two systems over the same samples, and whether the samples are the same."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.measured import Measured
from beamscore.metrics.statistics.paired import (
    PairedDifference,
    distance,
    paired_differences,
    paired_interval,
    same_samples,
    widened_error,
)
from tests.metrics.statistics.samples import PAIRS, TOY, measured, system
from tests.plain_loop import make_benchmark


def exact_match(value: float | None, replicates: list[float], units: float = 30) -> Measured:
    return Measured({"exact_match": value}, {"exact_match": np.array(replicates)}, {"exact_match": units})


def difference_of(baseline: Measured, candidate: Measured) -> PairedDifference:
    return paired_differences(TOY, baseline, candidate, 0.95)["exact_match"]


def test_by_hand() -> None:
    found = difference_of(exact_match(0.5, [0.4, 0.5, 0.6], 40), exact_match(0.6, [0.6, 0.6, 0.6], 30))
    # Differences 0.2, 0.1, 0: their standard deviation is sqrt(0.02 / 3) = 0.0816497, t(29) = 2.045230.
    assert (found.difference, found.error) == pytest.approx((0.1, math.sqrt(0.02 / 3)))
    assert found.interval == pytest.approx((0.1 - 0.166992, 0.1 + 0.166992), abs=1e-6)
    assert found.units == 30
    # A chance of 80 % takes another t(29) = 0.854192 standard errors.
    assert found.detectable == pytest.approx((2.045230 + 0.854192) * math.sqrt(0.02 / 3), abs=1e-6)
    # Of 1.01 units t is 10^26 or so: no more than the metric can change. Rounding is nothing to detect.
    assert difference_of(exact_match(0.5, [0.4, 0.5, 0.6], 1.01), exact_match(0.6, [0.5] * 3, 1.01)).detectable == 1
    rounded = difference_of(exact_match(0.84, [0.84] * 3), exact_match(0.8399999999999999, [0.84] * 3))
    assert rounded.detectable is None


def test_what_one_side_lacks_has_no_difference() -> None:
    found = difference_of(exact_match(None, [math.nan]), exact_match(0.6, [0.6]))
    assert (found.baseline, found.candidate, found.difference, found.interval) == (None, 0.6, None, None)
    assert difference_of(Measured({}, {}, {}), exact_match(0.6, [0.6])).baseline is None
    few = difference_of(exact_match(0.5, [0.5, math.nan, math.nan]), exact_match(0.6, [0.6] * 3))
    assert few.difference == pytest.approx(0.1)
    assert few.interval is None
    with pytest.raises(ValueError):
        difference_of(exact_match(0.5, [0.5, 0.5]), exact_match(0.5, [0.5, 0.5, 0.5]))


@given(PAIRS)
def test_laws_of_two_systems(pairs: list[tuple[bool, bool]]) -> None:
    """Trading the sides negates; the cautious interval holds the other, and is a point only of the same predictions."""
    one, other = (system(each) for each in zip(*pairs, strict=True))
    there, back = paired_differences(TOY, one, other, 0.95), paired_differences(TOY, other, one, 0.95)
    known = replace(one, predictions="same")
    marked = paired_differences(TOY, known, replace(other, predictions="same"), 0.95)
    for name, found in there.items():
        turned = replace(back[name], baseline=found.baseline, candidate=found.candidate)
        ends = [each and (-each[1], -each[0]) for each in (turned.interval, turned.cautious)]
        assert turned.difference is not None
        assert replace(turned, difference=-turned.difference, interval=ends[0], cautious=ends[1]) == found
        if found.interval is None:
            continue
        assert found.cautious is not None
        assert found.cautious[0] < found.cautious[1]
        if found.error or found.difference:  # whatever the fingerprints say
            assert marked[name].cautious == found.cautious
        if found.error:
            assert found.cautious[0] <= found.interval[0] <= found.interval[1] <= found.cautious[1]
    for found in paired_differences(TOY, known, known, 0.95).values():
        assert (found.difference, found.error, found.interval, found.detectable) == (0, 0, (0, 0), None)
        assert (found.cautious, found.same_predictions) == ((0, 0), True)


@pytest.mark.parametrize(
    ("difference", "error", "units", "width", "expected"),
    [
        # All units change alike: as far as Wilson's interval of 10 of 10, 0.722467, and not beyond the bounds.
        (1.0, 0.0, 10, 1, (0.722467, 1)),
        (-0.5, 0.0, 10, 1, (-0.777533, -0.222467)),
        (3.0, 0.0, 10, None, None),
        # F1 of 21 of 25 is 0.84, by 2 P R / (P + R) 0.8399999999999999: two systems of which one has it so are equal.
        (0.84 - 0.8399999999999999, 1e-17, 30, 1, (0, 0.84 - 0.8399999999999999)),
        (-1e-15, 0.0, 30, None, (-1e-15, 0)),
        # One unit says nothing.
        (0.25, 0.1, 1, 1, (-1, 1)),
        (0.25, 0.1, 1, None, None),
    ],
)
def test_paired_intervals_by_hand(
    difference: float, error: float, units: float, width: float | None, expected: tuple[float, float] | None
) -> None:
    found = paired_interval(difference, error, units, 0.95, width)
    nearly = 0 if abs(difference) < 1e-12 else 1e-6
    assert found == (None if expected is None else pytest.approx(expected, rel=0, abs=nearly))


@pytest.mark.parametrize(
    ("error", "size", "differing", "expected"),
    [
        # Nothing differs: two units of 200 would, by 1.
        (0.0, 200, None, math.sqrt(2) / 200),
        # 7 of 200 differ by 1, so 9 might; of 20 it is known that they are 20.
        (math.sqrt(7) / 200, 200, None, math.sqrt(9) / 200),
        (math.sqrt(20) / 200, 200, None, math.sqrt(20) / 200),
        # 20 that differ by little, as long as nobody has counted them, may be few.
        (0.001, 200, 20, 0.001),
        (0.001, 200, 19, math.hypot(0.001, math.sqrt(2) / 200)),
        (0.0, 0, None, math.inf),
    ],
)
def test_an_error_allows_for_losses_that_no_unit_has(
    error: float, size: float, differing: int | None, expected: float
) -> None:
    assert widened_error(error, size, 1.0, differing) == pytest.approx(expected)
    assert widened_error(3 * error, size, 3.0, differing) == pytest.approx(3 * expected)
    assert widened_error(error, size, None, differing) == error


SETS = st.sets(st.integers(0, 30), min_size=1, max_size=20)
SIGNS = make_benchmark("traffic_rules")


def toy(samples: Iterable[int], replicates: int = 100) -> Measured:
    return measured(TOY, {str(each): {"samples": 1, "equal": each % 2} for each in sorted(samples)}, replicates)


def signs(samples: Iterable[int], predicted: int) -> Measured:
    """Samples with one to three rules each, of which the system found one in each, among `predicted`."""
    found = {"overall.predicted": predicted, "overall.right": 1}
    return measured(SIGNS, {str(each): {**found, "overall.true": 1 + each % 3} for each in samples})


@given(SETS, SETS)
def test_whether_two_systems_have_the_same_samples(one: set[int], other: set[int]) -> None:
    """A metric that counts samples decides for itself; else a count of the ground truth shows that they are the same.

    F1 = 2 right / (true + predicted): its own denominator differs as soon as a system predicts more.
    """
    first, second = toy(one), toy(other)
    assert same_samples(TOY, "exact_match", first, second) is (one == other)
    assert same_samples(TOY, "exact_match", first, first) is True
    assert distance("exact_match", first, second) == pytest.approx(
        abs(len(one) - len(other)) / min(len(one), len(other))
    )
    assert same_samples(SIGNS, "overall.f1", signs(one, 1), signs(one, 2)) is True
    if one != other:
        assert same_samples(SIGNS, "overall.f1", signs(one, 1), signs(other, 2)) is None


def test_all_metrics_that_count_samples_must_agree_and_few_replicates_tell_nothing() -> None:
    one, nothing = toy([1, 2, 3]), measured(TOY, {})
    other = replace(one, denominators={**one.denominators, "similarity": one.denominators["similarity"] + 1})
    assert [same_samples(TOY, "another", one, each) for each in (one, other)] == [True, False]
    assert same_samples(TOY, "exact_match", toy([1, 2], 5), toy([1, 2], 5)) is None
    assert same_samples(TOY, "exact_match", nothing, nothing) is None
    assert same_samples(TOY, "similarity", nothing, toy([1])) is False
    assert distance("exact_match", nothing, toy([1])) == math.inf
