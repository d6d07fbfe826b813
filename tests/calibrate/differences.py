"""False alarms and power of what tells two systems apart: of one metric, and of many metrics of many slices at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.metrics.statistics.comparison import SwapBits, simultaneous_p, studentized, swap_p, units_needed
from beamscore.metrics.statistics.intervals import interval, t_quantile
from beamscore.metrics.statistics.measured import spread
from beamscore.metrics.statistics.paired import paired_interval, widened_error
from tests.calibrate.coverage import CONFIDENCE, REPLICATES, spec_of, units_behind, weights_of
from tests.calibrate.populations import Case, FloatArray, difficulties

CORPORA_PER_DRAW = 100


class Alarms(NamedTuple):
    """In which share of the pairs of corpora each method says that two systems differ.

    paired: the paired interval lies on one side of 0. swap: p <= 0.05 in the swap test, and enough units differ.
    verdict: swap, and the cautious interval lies on one side of 0.
    apart: the intervals of both values do not overlap.
    """

    paired: float
    swap: float
    verdict: float
    apart: float


def alarms(case: Case, units: int, gain: float, corpora: int, seed: int) -> Alarms:
    """Draws corpora and two systems for each, of which the second is better by `gain` in chance; counts the alarms."""
    rng = np.random.default_rng([seed, 3])
    counts = np.zeros(4)
    for start in range(0, corpora, CORPORA_PER_DRAW):
        weights = weights_of(Bootstrap(REPLICATES, seed + start), units)
        swaps = weights_of(SwapBits(seed=seed + start), units)
        for _ in range(CORPORA_PER_DRAW):
            counts += _told(case, units, gain, rng, weights, swaps)
    return Alarms(*(counts / (CORPORA_PER_DRAW * math.ceil(corpora / CORPORA_PER_DRAW))).tolist())


def _told(
    case: Case, units: int, gain: float, rng: np.random.Generator, weights: FloatArray, swaps: FloatArray
) -> FloatArray:
    """Returns 1 or 0 for each method, of one corpus."""
    declared = spec_of(case)
    hard = difficulties(rng, case, units * (case.clusters or 1))
    drawn = [case.draw(rng, hard, 0.0)]
    # What both share, such as the number of regions, follows from the difficulty.
    drawn.append(case.draw(rng, hard, gain))
    systems = [{name: values.reshape(units, -1).sum(axis=1) for name, values in each.items()} for each in drawn]
    sums = [{name: weights @ values for name, values in each.items()} for each in systems]
    values = [case.value(each) for each in sums]
    behind = [units_behind(case, {name: each[name][:, None] for name in each}) for each in sums]
    counted, sizes = [units[0] for units, _ in behind], [of_weight[0] for _, of_weight in behind]
    difference = float(values[1][0] - values[0][0])
    error = spread(values[1][1:] - values[0][1:])
    if error is None or math.isnan(difference):
        return np.zeros(4)
    differing = int(np.any([systems[0][name] != systems[1][name] for name in systems[0]], axis=0).sum())
    errors = error, widened_error(error, min(sizes), declared.width, differing)
    found, cautious = (paired_interval(difference, each, min(counted), CONFIDENCE, declared.width) for each in errors)
    before, after = (
        interval(declared, float(value[0]), spread(value[1:]), value[1:], count, CONFIDENCE)
        for value, count in zip(values, counted, strict=True)
    )
    apart = before is not None and after is not None and (before[1] < after[0] or after[1] < before[0])
    paired, careful = (each is not None and not each[0] <= 0 <= each[1] for each in (found, cautious))
    enough = differing >= units_needed(CONFIDENCE)
    swap = enough and swap_p(difference, _swapped(case, systems, swaps)) <= 1 - CONFIDENCE + 1e-9
    return np.array([paired, swap, careful and swap, apart], dtype=float)


def _swapped(case: Case, systems: list[dict[str, FloatArray]], swaps: FloatArray) -> FloatArray:
    """Returns the difference under each swap."""
    first, second = {}, {}
    for name, before in systems[0].items():
        after = systems[1][name]
        traded = swaps[1:] @ (after - before)
        first[name], second[name] = before.sum() + traded, after.sum() - traded
    found: FloatArray = case.value(second) - case.value(first)
    return found


class FamilyAlarms(NamedTuple):
    """Of 20 slices x 8 metrics: in which share of the corpora any cell alarms, and how many of the true ones do.

    uncorrected: the swap p <= 0.05 of any cell. largest: by the largest |t|.
    """

    uncorrected: float
    largest: float


def family_alarms(
    slices: int, metrics: int, units: int, better: int, gain: float, corpora: int, seed: int
) -> FamilyAlarms:
    """Draws corpora of `units` samples in slices, with right and wrong in some metrics that go together.

    better: in how many slices the second system is better by `gain`. With 0 the shares are false alarms of any cell,
    else the mean share of the cells of those slices that are found.
    """
    rng = np.random.default_rng([seed, 4])
    found = np.zeros(2)
    size = units // slices
    for start in range(corpora):
        if start % 50 == 0:
            swaps = weights_of(SwapBits(seed=seed + start), size * slices)[1:]
        ease = rng.normal(0, 1, (slices, size, 1))
        sides = []
        for side in range(2):
            skill = 0.8 + np.where(np.arange(slices) < better, side * gain, 0.0)[:, None, None]
            luck = 0.6 * rng.normal(0, 1, (slices, size, 1)) + rng.normal(0, 1, (slices, size, metrics))
            sides.append((ease + luck + skill > 0).astype(float))
        change = sides[1] - sides[0]
        traded = np.stack([swaps[:, each * size : (each + 1) * size] @ change[each] for each in range(slices)], axis=1)
        total = change.sum(axis=1)
        differences, swapped = (total / size).ravel(), ((total - 2 * traded) / size).reshape(len(swaps), -1)
        enough = (change != 0).sum(axis=1).ravel() >= units_needed(CONFIDENCE)
        found += _family(differences, swapped, enough, better * metrics)
    return FamilyAlarms(*(found / corpora).tolist())


def _family(differences: FloatArray, swapped: FloatArray, enough: npt.NDArray[np.bool_], true: int) -> FloatArray:
    cells = len(differences)
    tested = [studentized(float(differences[cell]), swapped[:, cell]) for cell in range(cells)]
    largest = np.max([others for (_, others), counts in zip(tested, enough, strict=True) if counts], axis=0)
    p = np.array([swap_p(float(differences[cell]), swapped[:, cell]) for cell in range(cells)])
    simultaneous = np.array([simultaneous_p(t, largest) for t, _ in tested])
    level = 1 - CONFIDENCE + 1e-9
    alarms = np.array([(each <= level) & enough for each in (p, simultaneous)])
    return alarms[:, :true].mean(axis=1) if true else alarms.any(axis=1).astype(float)


class RareLosses(NamedTuple):
    """In which share of corpora a candidate that is worse, or no better, is taken for good enough, or for better.

    plain: by the interval of SE alone. cautious: by the one that allows for losses that no unit has. swap: by the swap
    test. verdict: by swap and cautious.
    """

    plain: float
    cautious: float
    swap: float = 0.0
    verdict: float = 0.0


def wrong_passes(units: int, loss: float, gain: float, corpora: int, seed: int) -> RareLosses:
    """How often a candidate passes that is worse by exactly the margin: it may be worse by `loss`, and is.

    Samples are right or wrong. The candidate loses each with a chance of `loss` + `gain`, and wins it with `gain`.
    """
    rng = np.random.default_rng([seed, 5])
    found = np.zeros(2)
    for start in range(0, corpora, CORPORA_PER_DRAW):
        luck = rng.random((units, CORPORA_PER_DRAW))
        changes = (luck > 1 - gain).astype(float) - (luck < loss + gain)
        for low, _, wider, _ in _intervals(changes, seed + start, None):
            found += [low >= -loss - 1e-12, wider >= -loss - 1e-12]
    return RareLosses(*(found / (CORPORA_PER_DRAW * math.ceil(corpora / CORPORA_PER_DRAW))).tolist())


def wrong_verdicts(units: int, share: float, gain: float, corpora: int, seed: int) -> RareLosses:
    """How often a candidate of equal mean is told apart: it loses a `share` of the samples, and gains on the others.

    It gains `gain` +- `gain` / 2 on each of these, and loses so much on the others that the mean is the same.
    """
    rng = np.random.default_rng([seed, 6])
    found = np.zeros(4)
    for start in range(0, corpora, CORPORA_PER_DRAW):
        lost = rng.random((units, CORPORA_PER_DRAW)) < share
        gains = gain + gain / 2 * rng.normal(0, 1, lost.shape)
        changes = np.where(lost, -gain * (1 - share) / share, gains)
        swaps = weights_of(SwapBits(seed=seed + start), units)[1:]
        swapped = (changes.sum(axis=0) - 2 * (swaps @ changes)) / units
        for corpus, (low, high, wider_low, wider_high) in enumerate(_intervals(changes, seed + start, units)):
            plain, cautious = not low <= 0 <= high, not wider_low <= 0 <= wider_high
            swap = swap_p(float(changes[:, corpus].mean()), swapped[:, corpus]) <= 1 - CONFIDENCE + 1e-9
            found += [plain, cautious, swap, cautious and swap]
    return RareLosses(*(found / (CORPORA_PER_DRAW * math.ceil(corpora / CORPORA_PER_DRAW))).tolist())


def _intervals(changes: FloatArray, seed: int, differing: int | None) -> Iterator[tuple[float, float, float, float]]:
    """Yields the ends of the interval of SE alone, and of the widened one, of the mean change of each corpus.

    changes [units, corpora]: of a metric between 0 and 1. differing: how many units differ, where that is known.
    """
    units = len(changes)
    weights = weights_of(Bootstrap(REPLICATES, seed), units)
    means = (weights @ changes) / weights.sum(axis=1, keepdims=True)
    for corpus in range(changes.shape[1]):
        difference, error = float(means[0, corpus]), float(np.std(means[1:, corpus]))
        half = t_quantile(units, CONFIDENCE) * error
        found = paired_interval(difference, widened_error(error, units, 1.0, differing), units, CONFIDENCE, 1.0)
        assert found is not None
        yield difference - half, difference + half, *found
