"""Differences of two systems, whether the samples are the same, the swap test against a plain reading, and verdicts."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from beamscore.metrics.derived import with_derived
from beamscore.metrics.statistics import comparison, paired
from beamscore.metrics.statistics.bootstrap import Bootstrap, hash_of_text, uniforms_of
from beamscore.metrics.statistics.comparison import ComparedMetric, SwapTest, SwapWeights, studentized, swap_p
from beamscore.metrics.statistics.measured import Measured
from beamscore.metrics.statistics.paired import PairedDifference, paired_differences, same_samples
from beamscore.metrics.statistics.slice_names import with_slices
from beamscore.metrics.statistics.sum_table import SumTable
from beamscore.metrics.statistics.sums import Sums
from tests.calibrate.populations import CASES, TRADE
from tests.calibrate.rates import alarms, family_alarms, wrong_passes
from tests.metrics.statistics.samples import TOY, Statistics, added, measured
from tests.plain_loop import make_benchmark
from tests.toy import ToyBenchmark


def exact_match(value: float | None, replicates: list[float], units: float = 30) -> Measured:
    return Measured({"exact_match": value}, {"exact_match": np.tile(replicates, 20)}, {"exact_match": units})


def difference_of(baseline: Measured, candidate: Measured) -> PairedDifference:
    return paired_differences(TOY, baseline, candidate, 0.95)["exact_match"]


def test_differences_by_hand() -> None:
    found = difference_of(exact_match(0.5, [0.4, 0.5, 0.6], 40), exact_match(0.6, [0.6] * 3))
    # Differences 0.2, 0.1, 0: their standard deviation is sqrt(0.02 / 3), t(29) = 2.045230. A chance of 80 % takes
    # another t(29) = 0.854192 standard errors; 2 units of 30 that no unit shows add 2 / 900 to its square.
    error, wider = math.sqrt(0.02 / 3), math.sqrt(0.02 / 3 + 2 / 900)
    expected = {"difference": 0.1, "error": error, "units": 30, "detectable": (2.045230 + 0.854192) * error}
    assert {name: getattr(found, name) for name in expected} == pytest.approx(expected, abs=1e-6)
    assert found.interval == pytest.approx((0.1 - 2.045230 * error, 0.1 + 2.045230 * error), abs=1e-6)
    assert found.cautious == pytest.approx((0.1 - 2.045230 * wider, 0.1 + 2.045230 * wider), abs=1e-6)
    # No more than the metric can change; by fewer than six units nothing. Rounding is nothing to detect.
    for units, most in ((6, 1), (5, None)):
        one, other = exact_match(0.5, [0, 0.5, 1], units), exact_match(0.6, [0.5] * 3, units)
        assert difference_of(one, other).detectable == most
    rounded = difference_of(exact_match(0.84, [0.84] * 3), exact_match(0.8399999999999999, [0.84] * 3))
    assert (rounded.detectable, found.same_predictions) == (None, False)
    few = Measured({}, {}, {"a": 9.0}, {}, {"a": 8.0}, {"a": 7.0}).at_most(6)
    assert few == Measured({}, {}, {"a": 6}, {}, {"a": 6}, {"a": 6})
    # Six clusters that differ are six, though there seem to be five.
    lost = exact_match(1, [1] * 3, 5), exact_match(0, [0] * 3, 5)
    for counted, is_shown in ((5, False), (6, True)):
        interval = paired_differences(TOY, *lost, 0.95, {"exact_match": counted})["exact_match"].interval
        assert interval is not None
        assert (interval[1] < 0) == is_shown


def test_what_one_side_lacks_has_no_difference() -> None:
    half, whole = exact_match(0.5, [0.5, math.nan, math.nan]), exact_match(0.625, [0.6] * 3)
    for one, other, before, after, gap, units in (
        (Measured({}, {}, {}), whole, None, 0.625, None, 0),
        (whole, exact_match(None, [0.5] * 3), 0.625, None, None, 30),
        (half, whole, 0.5, 0.625, 0.125, 30),
    ):
        assert difference_of(one, other) == PairedDifference(before, after, gap, None, None, units, None, total=units)
    with pytest.raises(ValueError):
        difference_of(exact_match(0.5, [0.5, 0.5]), whole)


def toy(right: Mapping[int, int], replicates: int = 100) -> Measured:
    samples = {str(n): {"samples": 1, "equal": each, "similarity": each / 2} for n, each in sorted(right.items())}
    return measured(TOY, samples, replicates)


@example([(1, 0)] * 40)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40))
def test_laws_of_two_systems(pairs: list[tuple[int, int]]) -> None:
    """Trading the sides negates; the cautious interval holds the other, and is a point only of the same predictions."""
    one, other = (toy(dict(enumerate(each)), 50) for each in zip(*pairs, strict=True))
    there, back = paired_differences(TOY, one, other, 0.95), paired_differences(TOY, other, one, 0.95)
    known = replace(one, predictions="same")
    marked = paired_differences(TOY, known, replace(other, predictions="same"), 0.95)
    for name, found in there.items():
        turned = replace(back[name], baseline=found.baseline, candidate=found.candidate)
        ends = [each and (-each[1], -each[0]) for each in (turned.interval, turned.cautious)]
        assert turned.difference is not None
        assert replace(turned, difference=-turned.difference, interval=ends[0], cautious=ends[1]) == found
        if found.interval is not None and found.cautious is not None:
            assert found.cautious[0] < found.cautious[1]
            if found.error or found.difference:  # whatever the fingerprints say
                assert marked[name].cautious == found.cautious
            assert found.cautious[0] <= found.interval[0] <= found.interval[1] <= found.cautious[1]
    for found in paired_differences(TOY, known, known, 0.95).values():
        assert (found.difference, found.error, found.interval, found.detectable) == (0, 0, (0, 0), None)
        assert (found.cautious, found.same_predictions) == ((0, 0), True)


def test_paired_intervals_by_hand() -> None:
    for difference, error, units, width, expected in (
        # All units change alike: as far as Wilson's interval of 10 of 10, 0.722467, and not beyond the bounds.
        (1.0, 0.0, 10, 1, (0.722467, 1)),
        (-0.5, 0.0, 10, 1, (-0.777533, -0.222467)),
        # Five, each better with the chance 1/2, are all better in one of 32 corpora: more than 2.5 %.
        (1.0, 0.0, 5, 1, (0, 1)),
        (-0.5, 0.0, 5, 1, (-1, 0)),
        # So they decide nothing if they differ in how much they lose; of clusters, whose number is estimated, 5.4 may.
        (-0.8, 0.18, 5, 1, (-1, 0)),
        (-0.8, 0.01, 5, None, (-1.6, 0)),
        (-1.0, 0.0, 5.4, 1, (-1, -0.584323)),
        (-1.0, 0.0, 6, 1, (-1, -0.609666)),
        (3.0, 0.0, 10, None, None),
        # F1 of 21 of 25 is 0.84, by 2 P R / (P + R) 0.8399999999999999: two systems of which one has it so are equal.
        (0.84 - 0.8399999999999999, 1e-17, 30, 1, (0, 0.84 - 0.8399999999999999)),
        (-1e-15, 0.0, 30, None, (-1e-15, 0)),
        # One unit says nothing.
        (0.25, 0.1, 1, 1, (-1, 1)),
        (0.25, 0.1, 1, None, None),
    ):
        found = paired.paired_interval(difference, error, units, 0.95, width)
        nearly = 0 if abs(difference) < 1e-12 else 1e-6
        assert found == (None if expected is None else pytest.approx(expected, rel=0, abs=nearly)), difference


def test_an_error_allows_for_losses_that_no_unit_has() -> None:
    for error, size, differing, expected in (
        # Nothing differs: two units of 200 would, by 1.
        (0.0, 200, None, math.sqrt(2) / 200),
        # 7 of 200 differ by 1, so 9 might; of 20 it is known that they are 20.
        (math.sqrt(7) / 200, 200, None, math.sqrt(9) / 200),
        (math.sqrt(20) / 200, 200, None, math.sqrt(20) / 200),
        # Any number that differ by little show no large loss; 19 of unequal weight are 19.
        (0.001, 200, 200, math.hypot(0.001, math.sqrt(2) / 200)),
        (math.sqrt(21) / 200, 200, 19, math.sqrt(23) / 200),
        (0.0, 0, None, math.inf),
    ):
        found = [paired.widened_error(width * error, size, width, differing) for width in (1, 3)]
        assert found == pytest.approx([expected, 3 * expected]), differing
        assert paired.widened_error(error, size, None, differing) == error


def of_kind(kind: str, equal: bool) -> Statistics:
    """Returns the statistics of a toy sample in the slice of a kind, and those of a chart of that class."""
    sample = with_slices({"samples": 1, "equal": int(equal)}, [(("kind",), (kind,))], ["kind"])
    return {**sample, f"task1.confusion[{kind}|{kind if equal else 'x' if kind == 'y' else 'y'}]": 1}


@pytest.mark.parametrize(
    ("plain", "formula", "means"),
    [
        (TOY, "slice_mean(exact_match, kind)", ["half"]),
        (make_benchmark("chart"), "task1.macro_recall", ["half", "task1.macro_recall"]),
    ],
)
def test_many_that_differ_in_some_classes_say_nothing_of_another(plain: Any, formula: str, means: list[str]) -> None:
    """The candidate wins 40 of 200 samples of x, and of y. The only sample of z is equal, and adds nothing to SE."""
    benchmark = with_derived(type(plain), {"half": f"{formula} / 2"})(plain.options)
    for kinds, is_shown in (("xy" * 200, True), ("xy" * 200 + "z", False)):
        baseline, candidate = (
            measured(
                benchmark, {str(n): of_kind(kind, won or n % 10 > 1 or kind == "z") for n, kind in enumerate(kinds)}
            )
            for won in (False, True)
        )
        found = paired_differences(benchmark, baseline, candidate, 0.95, dict.fromkeys(means, 80))
        for name in means:
            ends = found[name].interval, found[name].cautious
            assert [each is not None and each[0] > 0 for each in ends] == [True, is_shown]


SETS = st.sets(st.integers(0, 30), min_size=1, max_size=20)
SIGNS = make_benchmark("traffic_rules")


def signs(samples: Iterable[int], predicted: int) -> Measured:
    """Samples with one to three rules each, of which the system found one in each, among `predicted`."""
    found = {"overall.predicted": predicted, "overall.right": 1}
    return measured(SIGNS, {str(each): {**found, "overall.true": 1 + each % 3} for each in samples})


@given(SETS, SETS)
def test_whether_two_systems_have_the_same_samples(one: set[int], other: set[int]) -> None:
    """F1 = 2 right / (true + predicted): its own denominator differs as soon as a system predicts more."""
    first, second = (toy({each: each % 2 for each in sample}) for sample in (one, other))
    assert same_samples(TOY, "exact_match", first, second) is (one == other)
    assert same_samples(TOY, "exact_match", first, first) is True
    more, fewer = sorted((len(one), len(other)))[::-1]
    assert paired.relative_excess("exact_match", first, second) == pytest.approx((more - fewer) / fewer)
    assert same_samples(SIGNS, "overall.f1", signs(one, 1), signs(one, 2)) is True
    if one != other:
        assert same_samples(SIGNS, "overall.f1", signs(one, 1), signs(other, 2)) is None


def test_all_metrics_that_count_samples_must_agree_and_few_replicates_tell_nothing() -> None:
    nothing, (one, few, enough) = measured(TOY, {}), (toy({1: 1, 2: 0, 3: 1}, each) for each in (100, 19, 20))
    other = replace(one, denominators={**one.denominators, "similarity": one.denominators["similarity"] + 1})
    assert [same_samples(TOY, "another", one, each) for each in (one, other)] == [True, False]
    # Those that count some of the samples of a metric, as that of documents does, say nothing of the others.
    own, unlike, some = (
        replace(one, denominators={**one.denominators, name: one.denominators["similarity"] * factor})
        for name, factor in (("another", 2), ("another", 3), ("similarity", 1 / 3))
    )
    assert [same_samples(TOY, "another", one, each, 4) for each in (one, other)] == [None, False]
    assert [same_samples(TOY, "another", own, each, 4) for each in (own, unlike)] == [True, None]
    assert [same_samples(TOY, "another", each, each, 3) for each in (one, some)] == [True, True]
    assert [same_samples(TOY, "exact_match", each, each) for each in (few, nothing, enough)] == [None, None, True]
    assert [difference_of(one, each).error is None for one, each in ((few, few), (enough, enough))] == [True, False]
    # The only sample is in the first replicate of some, and not of others.
    for each in (toy({number: 1}) for number in range(9)):
        assert same_samples(TOY, "similarity", nothing, each) is same_samples(TOY, "similarity", each, nothing) is False
    assert paired.relative_excess("exact_match", nothing, one) == math.inf
    assert paired.relative_excess("none", one, one) == 0


METRICS = ("exact_match", "similarity")
SIMILARITIES = st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 1.0])
UNITS = st.lists(st.tuples(st.sampled_from("abcdefgh"), SIMILARITIES, SIMILARITIES), min_size=1, max_size=20)

Units = Sequence[tuple[str, float, float]]


def statistics(similarity: float, sign: int = 1) -> Statistics:
    return {"samples": sign, "equal": sign * (similarity == 1), "similarity": sign * similarity}


def values(similarities: Sequence[float]) -> dict[str, float]:
    sums = Sums.merged(Sums.of(statistics(each)) for each in similarities)
    return {name: each or 0.0 for name, each in TOY.values(sums).items()}


def compared(units: Units, bits: SwapWeights, differing: int = 9) -> comparison.ComparedSlice:
    bootstrap = Bootstrap(2, 0)
    first, second = (
        added([(bootstrap.unit_hash(name), statistics(both[side])) for name, *both in units], bootstrap).table()
        for side in (0, 1)
    )
    sides = [(name, statistics(each, sign)) for name, *both in units for each, sign in zip(both, (-1, 1), strict=True)]
    change = added([(bits.unit_hash(name), each) for name, each in sides], bits).table().below()
    counts, corpora = dict.fromkeys(METRICS, (3, differing)), (Sums(), Sums())
    pair = comparison.SlicePair("", len(units), (first, second), change, counts)
    (found,) = comparison.compare_slices(TOY, [pair], corpora, 0.95, False)
    return found


@given(UNITS, st.sampled_from([5, 6]))
def test_a_swap_is_that_of_systems_that_trade_units(units: Units, differing: int) -> None:
    bits = SwapWeights(70, seed=3)
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


def test_a_mean_over_slices_has_those_of_the_systems_in_every_swap() -> None:
    """A system that lost its only sample of z has no value: this swap counts as extreme, the two others do not."""
    benchmark = with_derived(ToyBenchmark, {"mean": "slice_mean(exact_match, kind)"})(TOY.options)
    z, wrong, right = (Sums.of(of_kind(*each)) for each in (("z", False), ("x", False), ("x", True)))
    before, after = (SumTable.of([Sums.merged([z, right, wrong, each, each])]) for each in (wrong, right))
    swaps = [(-SumTable.of([z])).row(0), *[(SumTable.of([right]) + -SumTable.of([wrong])).row(0)] * 2]
    for order in (1, -1):
        changes, corpora = SumTable.of(swaps[::order]), (Sums(), Sums())
        counts = dict.fromkeys(("mean", *METRICS), (9, 9))
        pair = comparison.SlicePair("", 5, (before, after), changes, counts)
        (found,) = comparison.compare_slices(benchmark, [pair], corpora, 0.95, False)
        test = found.metrics["mean"].test
        assert test is not None
        assert test.p == (1 + 1) / (1 + 3)


def test_a_swap_takes_a_bit_of_the_numbers_of_the_unit() -> None:
    """From the lowest on; the numbers are those of the bootstrap, of another hash."""
    bits = SwapWeights(130, seed=5)
    hashes = [hash_of_text(f"swap:5:{unit}") for unit in "abc"]
    assert [bits.unit_hash(unit) for unit in "abc"] == hashes
    expected = [[number >> bit & 1 for number in row] for row in uniforms_of(hashes, 3).tolist() for bit in range(64)]
    assert bits.weights(hashes).tolist() == [[1] * 3, *expected[:130]]


def test_p_by_hand() -> None:
    assert swap_p(0.2, np.array([0.1, -0.2, 0.3, 0.0])) == 3 / 5
    assert swap_p(0.2, np.array([math.nan, 0.1])) == 2 / 3
    # 0.1 + 0.2 is 0.30000000000000004: no less extreme than 0.3.
    assert swap_p(0.1 + 0.2, np.array([0.3])) == 1
    t, others = studentized(0.3, np.array([0.1, -0.1, 0.1]))
    assert [t, *others] == pytest.approx([3, 1, 1, 1])
    assert comparison.simultaneous_p(t, np.array([1.0, 2.9, 3.0])) == 2 / 4
    assert comparison.simultaneous_p(0.1 + 0.2, np.array([0.3])) == 1
    # Without a swap that changes anything, d is as if one did: infinite, many rare differences would alarm too often.
    assert [studentized(each, np.zeros(9))[0] for each in (0.0, 1e-15, -0.5)] == [0, 0, 3]
    assert studentized(-0.5, np.array([0.5] + [0] * 8))[0] == 3
    # Two of all swaps are few enough: 2 / 2^2 = 0.5, 2 / 2^5 = 0.0625, 2 / 2^6 = 0.03125, 2 / 2^8 = 0.0078
    assert [paired.units_needed(confidence) for confidence in (0.5, 0.9, 0.95, 0.99)] == [2, 5, 6, 8]


def test_a_verdict_needs_a_small_p_and_an_interval_without_zero() -> None:
    above, none, ones = (0.1, 0.3), "no difference shown", np.ones(999)
    for difference, cautious, p, enough, largest, confidence, expected in (
        (0.2, above, 0.001, True, ones, 0.95, ("better", 0.001)),
        (-0.2, (-0.3, -0.1), 0.001, True, ones, 0.95, ("worse", 0.001)),
        *((0.2, above, p, True, ones, 0.95, (word, p)) for p, word in ((0.05, "better"), (0.051, none))),
        *((0.2, each, 0.001, True, ones, 0.95, (none, 0.001)) for each in ((-0.1, 0.5), (0, 0.3))),
        (0.2, None, 0.001, True, ones, 0.95, ("not tested", None)),
        *((each, above, None, True, ones, 0.95, ("not tested", None)) for each in (0.2, None)),
        (0.2, above, 0.001, False, ones, 0.95, ("too few differ", None)),
        *((0.2, above, 0.001, each, None, 0.95, ("not tested", None)) for each in (True, False)),
        # Among many, each swap has a larger one.
        (0.2, above, 0.001, True, 4 * ones, 0.95, (none, 1)),
        # The smallest p of the swaps is 1 / 1000.
        (0.2, above, 0.001, True, ones, 0.999, ("better", 0.001)),
        (0.2, above, 0.001, True, ones, 0.9991, ("not tested", None)),
    ):
        found = PairedDifference(0.5, 0.7, difference, 0.05, above, 99, None, cautious)
        one = ComparedMetric(found, None if p is None else SwapTest(p, 4.0, 50, enough))
        assert comparison.verdict(ToyBenchmark, "exact_match", one, largest, confidence) == expected, expected


def test_what_depends_on_a_statistic() -> None:
    sums = Sums.of({"samples": 4, "equal": 2, "similarity": 2.5, "nothing": 1})
    alone = {"equal": {"exact_match"}, "nothing": set(), "similarity": {"similarity"}}
    assert comparison.dependencies(TOY, (sums, sums)) == {**alone, "samples": {"exact_match", "similarity"}}

    class Particular(ToyBenchmark):
        def values(self, sums: Sums) -> dict[str, float | None]:
            assert sums["nothing"] in (1, 2), "no samples have such sums"
            return super().values(sums)

    assert comparison.dependencies(Particular(TOY.options), (sums, sums))["nothing"] == {"exact_match", "similarity"}
    # It sees through the larger of two.
    regions = {"detection.regions": 9, "detection.detections": 5, "agreement.location": 4, "prediction.located": 5}
    benchmark, corpora = make_benchmark("figure_text"), (Sums.of(regions), Sums())
    found = comparison.dependencies(benchmark, corpora)
    by_row = type("ByRow", (type(benchmark),), {"takes_columns": False})(benchmark.options)
    assert comparison.dependencies(by_row, corpora) == found
    assert "agreement.location_max" in found["detection.detections"] & found["detection.regions"]


def test_equal_systems_are_seldom_told_apart_and_a_known_effect_is_found() -> None:
    (case,) = (each for each in CASES if each.name == "chemistry exact_match")
    equal, better = alarms(case, 100, 0.0, 300, 3), alarms(case, 100, 0.2, 100, 3)
    # 300 pairs: 5 % has a standard error of 1.3 %.
    assert (equal.swap <= 0.09, equal.plain <= 0.1, better.swap > 0.6, better.plain > 0.6) == (True,) * 4
    # Of many cells few alarm at once.
    cells = family_alarms(5, 4, 200, 0, 0.0, 100, 3)
    assert (cells.swap > 0.3, cells.verdict <= 0.12) == (True, True)


def test_losses_that_few_units_show_seldom_pass() -> None:
    """By SE alone a candidate passes if no unit is lost: (1 - 0.02)^20 = 67 %, (1 - 0.01)^200 = 13 %."""
    for units, loss in ((20, 0.02), (200, 0.01)):
        found = wrong_passes(units, loss, 500, 1)
        # 500 corpora: 4 % has a standard error of 0.9 %.
        assert (found.plain > (1 - loss) ** units - 0.07, found.cautious <= 0.06) == (True, True)

    # All units differ: 0.98^30 = 55 % of corpora show how much is won on most samples, and not what is lost on the few.
    judged = alarms(TRADE, 30, 0.02, 200, 1)
    assert (judged.swap > 0.5, judged.verdict <= 0.05) == (True, True)
