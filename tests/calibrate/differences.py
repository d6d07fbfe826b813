"""False alarms and power of what tells two systems apart: of one metric, and of many metrics of many slices at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.metrics.statistics.comparison import SwapWeights, simultaneous_p, studentized, swap_p, units_needed
from beamscore.metrics.statistics.intervals import interval, t_quantile
from beamscore.metrics.statistics.paired import paired_interval, widened_error
from beamscore.metrics.statistics.sum_table import FloatArray
from tests.calibrate.coverage import CONFIDENCE, REPLICATES, spec_of, spread, units_behind, weights_of
from tests.calibrate.populations import Case, difficulties

CORPORA_PER_DRAW = 100
LEVEL = 1 - CONFIDENCE + 1e-9


class Shares(NamedTuple):
    """In which share of the pairs of corpora each method takes one system for better, or for good enough.

    plain: by the paired interval of SE alone. cautious: by the one that allows for losses that no unit has. swap: by
    p <= 0.05 in the swap test, if enough units differ. verdict: by swap and cautious; in a family of metrics and slices
    by the largest |t|. apart: by intervals of both values that do not overlap.
    """

    plain: float = 0.0
    cautious: float = 0.0
    swap: float = 0.0
    verdict: float = 0.0
    apart: float = 0.0


def alarms(case: Case, units: int, gain: float, corpora: int, seed: int) -> Shares:
    """Draws corpora and two systems for each, of which the second is better by `gain` in chance; counts the alarms."""
    rng = np.random.default_rng([seed, 3])
    found = []
    for start in range(seed, seed + corpora, CORPORA_PER_DRAW):
        weights = weights_of(Bootstrap(REPLICATES, start), units), weights_of(SwapWeights(seed=start), units)
        found += [_alarmed(case, units, gain, rng, *weights) for _ in range(CORPORA_PER_DRAW)]
    return Shares(*np.mean(found, axis=0).tolist())


def _alarmed(
    case: Case, units: int, gain: float, rng: np.random.Generator, weights: FloatArray, swaps: FloatArray
) -> Shares:
    """Returns 1 or 0 for each method, of one corpus."""
    declared = spec_of(case)
    hard = difficulties(rng, case, units * (case.clusters or 1))
    # What both share, such as the number of regions, follows from the difficulty.
    drawn = [case.draw(rng, hard, of_system) for of_system in (0.0, gain)]
    before, after = ({name: values.reshape(units, -1).sum(axis=1) for name, values in each.items()} for each in drawn)
    sums = [{name: weights @ values for name, values in each.items()} for each in (before, after)]
    values = [case.value(each) for each in sums]
    behind = [units_behind(case, {name: each[name][:, None] for name in each}) for each in sums]
    counted, sizes = zip(*((units[0], of_weight[0]) for units, of_weight in behind), strict=True)
    difference = float(values[1][0] - values[0][0])
    error = spread(values[1][1:] - values[0][1:])
    if error is None or math.isnan(difference):
        return Shares()
    differing = int(np.any([before[name] != after[name] for name in before], axis=0).sum())
    errors = error, widened_error(error, min(sizes), declared.width, None if declared.classes else differing)
    plain, cautious = (
        _excludes_zero(paired_interval(difference, each, min(counted), CONFIDENCE, declared.width)) for each in errors
    )
    first, second = (
        interval(declared, float(value[0]), spread(value[1:]), value[1:], count, CONFIDENCE)
        for value, count in zip(values, counted, strict=True)
    )
    apart = first is not None and second is not None and (first[1] < second[0] or second[1] < first[0])
    traded = {name: swaps[1:] @ (after[name] - before[name]) for name in before}
    swapped = case.value({name: after[name].sum() - traded[name] for name in before})
    swapped = swapped - case.value({name: before[name].sum() + traded[name] for name in before})
    swap = differing >= units_needed(CONFIDENCE) and swap_p(difference, swapped) <= LEVEL
    return Shares(plain, cautious, swap, cautious and swap, apart)


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
            swaps = weights_of(SwapWeights(seed=start), size * slices)[1:]
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
        tested = [studentized(*cell) for cell in zip(differences, swapped, strict=True)]
        largest = np.max([others for (_, others), counts in zip(tested, enough, strict=True) if counts], axis=0)
        p = [swap_p(*cell) for cell in zip(differences, swapped, strict=True)]
        told = (np.array([p, [simultaneous_p(t, largest) for t, _ in tested]]) <= LEVEL) & enough
        found.append(told[:, : better * metrics].mean(axis=1) if better else told.any(axis=1))
    swap, verdict = np.mean(found, axis=0).tolist()
    return Shares(swap=swap, verdict=verdict)


def wrong_passes(units: int, loss: float, corpora: int, seed: int) -> Shares:
    """How often a candidate passes that is worse by exactly the margin: it may be worse by `loss`, and is.

    Samples are right or wrong. The candidate loses each with a chance of `loss`, and wins none.
    """
    rng, found = np.random.default_rng([seed, 5]), []
    for start in range(seed, seed + corpora, CORPORA_PER_DRAW):
        changes = 0.0 - (rng.random((units, CORPORA_PER_DRAW)) < loss).astype(float)
        lowest = [[low for low, _ in ends] for ends in _intervals(changes, start, None)]
        found += (np.array(lowest) >= -loss - 1e-12).tolist()
    return Shares(*np.mean(found, axis=0).tolist())


def wrong_verdicts(units: int, share: float, gain: float, corpora: int, seed: int) -> Shares:
    """How often a candidate of equal mean is told apart: it loses a `share` of the samples, and gains on the others.

    It gains `gain` +- `gain` / 2 on each of these, and loses so much on the others that the mean is the same.
    """
    rng, found = np.random.default_rng([seed, 6]), []
    for start in range(seed, seed + corpora, CORPORA_PER_DRAW):
        lost = rng.random((units, CORPORA_PER_DRAW)) < share
        gains = gain + gain / 2 * rng.normal(0, 1, lost.shape)
        changes = np.where(lost, -gain * (1 - share) / share, gains)
        swaps = weights_of(SwapWeights(seed=start), units)[1:]
        swapped = (changes.sum(axis=0) - 2 * (swaps @ changes)) / units
        for corpus, ends in enumerate(_intervals(changes, start, units)):
            plain, cautious = map(_excludes_zero, ends)
            swap = swap_p(float(changes[:, corpus].mean()), swapped[:, corpus]) <= LEVEL
            found.append((plain, cautious, swap, cautious and swap))
    return Shares(*np.mean(found, axis=0).tolist())


def _intervals(
    changes: FloatArray, seed: int, differing: int | None
) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """Yields the interval of SE alone, and the widened one, of the mean change of each corpus.

    changes [units, corpora]: of a metric between 0 and 1. differing: how many units differ, where that is known.
    """
    units = len(changes)
    weights = weights_of(Bootstrap(REPLICATES, seed), units)
    means = (weights @ changes) / weights.sum(axis=1, keepdims=True)
    for difference, *replicates in means.T.tolist():
        error = float(np.std(replicates))
        half = t_quantile(units, CONFIDENCE) * error
        found = paired_interval(difference, widened_error(error, units, 1.0, differing), units, CONFIDENCE, 1.0)
        assert found is not None
        yield (difference - half, difference + half), found
