"""How often an interval holds the true value, and how often what tells two systems apart is wrong, or finds them so."""

from typing import NamedTuple

import numpy as np

from beamscore.metrics.statistics import comparison
from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.metrics.statistics.comparison import SWAPS, SwapWeights
from beamscore.metrics.statistics.intervals import intervals
from beamscore.metrics.statistics.paired import paired_interval, units_needed, widened_error
from beamscore.metrics.statistics.sum_table import FloatArray
from tests.calibrate.populations import UNITS, Case, Statistics, summed
from tests.plain_loop import make_benchmark

CONFIDENCE = 0.95
LEVEL = 1 - CONFIDENCE + 1e-9
REPLICATES = 200
CORPORA_PER_POPULATION, CORPORA_PER_DRAW = 200, 100
"""Corpora that share the weights of their units, by position: the weights know nothing of the samples."""


def weights_of(source: Bootstrap, units: int) -> FloatArray:
    """Returns the weights of so many units [1 + R, units]."""
    return source.weights([source.unit_hash(str(number)) for number in range(units)])


def coverage(case: Case, units: int, corpora: int, seed: int) -> float:
    """Draws corpora of `units` units with replacement, and returns in which share of them the interval holds."""
    size, benchmark = UNITS // (case.clusters or 1), make_benchmark(case.benchmark)
    (population,) = case.drawn(np.random.default_rng([seed, 1]), size, 0.0)
    truth = case.measured(summed(np.ones((1, size)), population)).values[case.metric]
    assert truth is not None
    rng, held = np.random.default_rng([seed, 2]), []
    for start in range(0, corpora, CORPORA_PER_POPULATION):
        weights = weights_of(Bootstrap(REPLICATES, seed + start), units)
        for corpus in rng.integers(0, size, (units, min(CORPORA_PER_POPULATION, corpora - start))).T:
            measured = case.measured(summed(weights, {name: values[corpus] for name, values in population.items()}))
            if measured.errors.get(case.metric) is None:
                continue
            low, high = intervals(benchmark, measured, CONFIDENCE)[case.metric] or (np.inf, np.inf)
            held.append(low <= truth <= high)
    return float(np.mean(held))


class Shares(NamedTuple):
    """In which share of the pairs of corpora each method takes one system for better, or for good enough.

    plain: by the paired interval of SE alone. cautious: by the one that allows for losses that no unit has. swap: by
    p <= 0.05 in the swap test, if enough units differ. verdict: by swap and cautious; in a family of metrics and slices
    by the largest |t|.
    """

    plain: float = 0.0
    cautious: float = 0.0
    swap: float = 0.0
    verdict: float = 0.0


def alarms(case: Case, units: int, gain: float, corpora: int, seed: int) -> Shares:
    """Draws corpora and two systems for each, of which the second is better by `gain` in chance; counts the alarms."""
    rng = np.random.default_rng([seed, 3])
    found = []
    for start in range(seed, seed + corpora, CORPORA_PER_DRAW):
        weights = weights_of(Bootstrap(REPLICATES, start), units), weights_of(SwapWeights(SWAPS, start), units)
        found += [_alarmed(case, case.drawn(rng, units, 0.0, gain), *weights) for _ in range(CORPORA_PER_DRAW)]
    return Shares(*np.mean(found, axis=0).tolist())


def _alarmed(case: Case, drawn: list[Statistics], weights: FloatArray, swaps: FloatArray) -> Shares:
    """Returns 1 or 0 for each method, of one corpus."""
    benchmark, (before, after) = make_benchmark(case.benchmark), drawn
    systems = summed(weights, before), summed(weights, after)
    differing = int(np.any([before[name] != after[name] for name in before], axis=0).sum())
    counts = {name: (differing, differing) for each in systems for name in case.measured(each).values}
    changes = summed(swaps[1:], {name: after[name] - before[name] for name in before})
    corpora, clustered = (systems[0].row(0), systems[1].row(0)), case.clusters > 0
    samples = len(next(iter(before.values()))) * max(1, case.clusters)
    pair = comparison.SlicePair("", samples, systems, changes, counts)
    (result,) = comparison.compare_slices(benchmark, [pair], corpora, CONFIDENCE, clustered)
    found = result.metrics.get(case.metric)
    if found is None or found.test is None or found.difference.error is None:
        return Shares()
    plain, cautious = _excludes_zero(found.difference.interval), _excludes_zero(found.difference.cautious)
    swap = found.test.enough_units and found.test.p <= LEVEL
    return Shares(plain, cautious, swap, cautious and swap)


def _excludes_zero(found: tuple[float, float] | None) -> bool:
    return found is not None and not found[0] <= 0 <= found[1]


def family_alarms(slices: int, metrics: int, units: int, better: int, gain: float, corpora: int, seed: int) -> Shares:
    """Draws corpora of `units` samples in slices, with right and wrong in some metrics that go together.

    better: in how many slices the second system is better by `gain`. With 0 the shares are false alarms of any cell,
    else the mean share of the cells of those slices that are found. swap: by the p of a cell, without a correction.
    """
    rng = np.random.default_rng([seed, 4])
    found, size = [], units // slices
    for start in range(seed, seed + corpora):
        if (start - seed) % 50 == 0:
            swaps = weights_of(SwapWeights(SWAPS, start), size * slices)[1:]
        ease = rng.normal(0, 1, (slices, size, 1))
        sides = []
        for side in range(2):
            skill = 0.8 + np.where(np.arange(slices) < better, side * gain, 0.0)[:, None, None]
            luck = 0.6 * rng.normal(0, 1, (slices, size, 1)) + rng.normal(0, 1, (slices, size, metrics))
            sides.append((ease + luck + skill > 0).astype(float))
        change = sides[1] - sides[0]
        traded = np.stack([swaps[:, each * size : (each + 1) * size] @ change[each] for each in range(slices)], axis=1)
        total = change.sum(axis=1)
        differences, swapped = (total / size).ravel().tolist(), ((total - 2 * traded) / size).reshape(len(swaps), -1).T
        enough = (change != 0).sum(axis=1).ravel() >= units_needed(CONFIDENCE)
        tested = [comparison.studentized(*cell) for cell in zip(differences, swapped, strict=True)]
        largest = np.max([others for (_, others), counts in zip(tested, enough, strict=True) if counts], axis=0)
        p = [comparison.swap_p(*cell) for cell in zip(differences, swapped, strict=True)]
        told = (np.array([p, [comparison.simultaneous_p(t, largest) for t, _ in tested]]) <= LEVEL) & enough
        found.append(told[:, : better * metrics].mean(axis=1) if better else told.any(axis=1))
    swap, verdict = np.mean(found, axis=0).tolist()
    return Shares(swap=swap, verdict=verdict)


def wrong_passes(units: int, loss: float, corpora: int, seed: int) -> Shares:
    """How often a candidate passes that is worse by the margin: it loses each sample with a chance of `loss`."""
    rng, found = np.random.default_rng([seed, 5]), []
    for start in range(seed, seed + corpora, CORPORA_PER_DRAW):
        changes = 0.0 - (rng.random((units, CORPORA_PER_DRAW)) < loss)
        weights = weights_of(Bootstrap(REPLICATES, start), units)
        means = (weights @ changes) / weights.sum(axis=1, keepdims=True)
        for difference, *replicates in means.T.tolist():
            error = float(np.std(replicates))
            errors = error, widened_error(error, units, 1.0, None)
            ends = [paired_interval(difference, each, units, CONFIDENCE, 1.0) for each in errors]
            found.append([each is not None and each[0] >= -loss - 1e-12 for each in ends])
    return Shares(*np.mean(found, axis=0).tolist())
