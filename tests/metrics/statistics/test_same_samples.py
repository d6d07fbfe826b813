"""Whether two systems rest on the same samples: told by their replicates, against the samples themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.measured import AnyBenchmark, Measured, measure
from beamscore.metrics.statistics.same_samples import distance, same_samples
from tests.plain_loop import make_benchmark
from tests.toy import Options, ToyBenchmark

TOY = ToyBenchmark(Options())
SIGNS = make_benchmark("traffic_rules")
SETS = st.sets(st.integers(0, 30), min_size=1, max_size=20)


def measured(benchmark: AnyBenchmark, samples: Mapping[int, Mapping[str, float]], replicates: int = 100) -> Measured:
    bootstrap = Bootstrap(replicates)
    sums = BootstrapSums(bootstrap)
    for number, statistics in samples.items():
        sums.add(bootstrap.unit_hash(str(number)), statistics)
    return measure(benchmark, sums.sums(), sums.table())


def toy(samples: Sequence[int], replicates: int = 100) -> Measured:
    return measured(TOY, {each: {"samples": 1, "equal": each % 2} for each in samples}, replicates)


@given(SETS, SETS)
def test_a_metric_that_counts_samples_tells_whether_they_are_the_same(one: set[int], other: set[int]) -> None:
    first, second = toy(sorted(one)), toy(sorted(other))
    assert same_samples(TOY, "exact_match", first, second) is (one == other)
    assert same_samples(TOY, "exact_match", first, first) is True
    expected = abs(len(one) - len(other)) / min(len(one), len(other))
    assert distance("exact_match", first, second) == pytest.approx(expected)


def signs(samples: Mapping[int, int], predicted: int) -> Measured:
    """Samples with so many rules each, of which the system found one in each, among `predicted`."""
    counts = {
        number: {"overall.true": true, "overall.predicted": predicted, "overall.right": 1}
        for number, true in samples.items()
    }
    return measured(SIGNS, counts)


@given(st.dictionaries(st.integers(0, 30), st.integers(1, 3), min_size=1, max_size=12), SETS)
def test_what_counts_the_ground_truth_tells_of_metrics_that_count_predictions(
    samples: dict[int, int], kept: set[int]
) -> None:
    """F1 = 2 right / (true + predicted): its own denominator differs as soon as a system predicts more."""
    part = {number: true for number, true in samples.items() if number in kept}
    assert same_samples(SIGNS, "overall.f1", signs(samples, 1), signs(samples, 2)) is True
    if part and part != samples:
        assert same_samples(SIGNS, "overall.f1", signs(samples, 1), signs(part, 2)) is None


def test_all_metrics_that_count_samples_must_agree() -> None:
    one = toy([1, 2, 3])
    other = replace(one, denominators={**one.denominators, "similarity": one.denominators["similarity"] + 1})
    assert same_samples(TOY, "another", one, one) is True
    assert same_samples(TOY, "another", one, other) is False


def test_few_replicates_and_nothing_to_count_tell_nothing() -> None:
    assert same_samples(TOY, "exact_match", toy([1, 2], 5), toy([1, 2], 5)) is None
    nothing = measured(TOY, {})
    assert same_samples(TOY, "exact_match", nothing, nothing) is None
    assert same_samples(TOY, "similarity", nothing, toy([1])) is False
    assert distance("exact_match", nothing, toy([1])) == math.inf
