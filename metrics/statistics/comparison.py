"""The comparison of two systems in one slice: every metric with its difference, its swap test, and its verdict.

The swap test decides whether the difference of two systems exceeds chance, for one metric and for many at once.

If both systems were equally good, their labels would be exchangeable. So in swap r, of 999, a fair bit decides
for each unit whether the systems trade their statistics, and the difference d*_r is computed again. With d the
difference itself, p = (1 + #{|d*_r| >= |d|}) / (1 + swaps). For right and wrong answers this is McNemar's test; it
assumes no distribution and is valid for any metric (Good, Permutation, Parametric and Bootstrap Tests of Hypotheses,
2005; Noreen, Computer-Intensive Methods for Testing Hypotheses, 1989). The bits depend only on (seed, unit, r).

Among many metrics and slices some differ by chance. The same swap is made in all of them, so the largest |d*_r| / SE
of swap r shows how large any of them gets by chance: the adjusted p of one is the share of swaps in which the largest
is at least as large as its own |d| / SE (Westfall and Young, Resampling-Based Multiple Testing, 1993, max-t). SE is
the root mean square of the d*_r of a cell.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ..benchmark import AnyBenchmark
from ..registry import BrokenBenchmark
from .bootstrap import Bootstrap, hash_of_text, uniforms_of
from .measured import Measured, measure_slices, slices_with_value, spec_or_undeclared, values_of_tables
from .paired import PairedDifference, paired_differences, units_needed
from .sum_table import FloatArray, SumTable, values_at, values_of_rows
from .sums import FRACTION_BITS, UNITS_PER_ONE, Sums

SwapVerdict = Literal["better", "worse", "no difference shown", "too few differ", "not tested"]
SWAPS = 999
CHANGED_AT_ONCE = 128
"""How many statistics are changed in one call of `values`."""
RELATIVE_ROUNDING, ABSOLUTE_ROUNDING = 1e-9, 1e-14
"""Rounding may make equal differences of ratios differ by this much."""


@dataclass(frozen=True, slots=True)
class SwapWeights(Bootstrap):
    """Weights of 0 and 1 instead of Poisson weights: in replicate r, whether a unit is swapped."""

    def unit_hash(self, unit: str) -> int:
        """Returns the 64-bit hash of a unit, different from its bootstrap hash under the same seed."""
        return hash_of_text(f"swap:{self.seed}:{unit}")

    def weights(self, unit_hashes: Sequence[int]) -> FloatArray:
        """Returns [1 + swaps, B]: a row of ones, then the bits of each swap.

        Swap r of a unit is bit r % 64 of the number r // 64 of `uniforms_of`.
        """
        numbers = uniforms_of(unit_hashes, -(-self.replicates // 64)).T
        octets = np.ascontiguousarray(numbers, dtype="<u8").view(np.uint8)
        bits = np.unpackbits(octets, axis=1, bitorder="little")[:, : self.replicates]
        weights = np.ones((self.replicates + 1, len(unit_hashes)))
        weights[1:] = bits.T
        return weights


def swap_p(difference: float, swapped: FloatArray) -> float:
    """Returns (1 + #{|d*| >= |d|}) / (1 + swaps); a swap in which the metric has no value counts as extreme."""
    return (1 + int(np.sum(~(np.abs(swapped) < _at_least(abs(difference)))))) / (1 + len(swapped))


def studentized(difference: float, swapped: FloatArray) -> tuple[float, FloatArray]:
    """Returns |d| / SE and |d*| / SE, with SE the root mean square of the d*.

    A swap in which the metric has no value has 0. If all d* are 0, so are the |d*| / SE; for a d other than 0, |d| / SE
    is then as if one d* were as large, sqrt(swaps): infinity would alarm too often among many rare differences.
    """
    defined = np.nan_to_num(swapped, nan=0.0)
    error = math.sqrt(float(np.mean(defined**2))) if len(defined) else 0.0
    if error <= ABSOLUTE_ROUNDING:
        return math.sqrt(len(swapped)) * (abs(difference) > ABSOLUTE_ROUNDING), np.zeros(len(swapped))
    return abs(difference) / error, np.abs(defined) / error


def simultaneous_p(t: float, largest: FloatArray) -> float:
    """Returns (1 + #{T_r >= t}) / (1 + swaps), with T_r the largest |d*| / SE of all cells in swap r."""
    return (1 + int(np.sum(largest >= _at_least(t)))) / (1 + len(largest))


def dependencies(benchmark: AnyBenchmark, corpora: tuple[Sums, Sums]) -> dict[str, frozenset[str]]:
    """Returns, for each statistic, the metrics that change if it alone is increased or omitted; all if both fail.

    A metric may be flat at the sums of one of the two systems, or of both together, so all three are tried. `values`
    may fail, as samples have no such sums, such as a sum of squares that is below the square of the sum.
    """
    dependent: dict[str, frozenset[str]] = {}
    for sums in (*corpora, Sums.merged(corpora)):
        names = [*sums]
        for some in (names[start : start + CHANGED_AT_ONCE] for start in range(0, len(names), CHANGED_AT_ONCE)):
            for name, found in _changing(benchmark, sums, some).items():
                dependent[name] = dependent.get(name, frozenset()) | found
    return dependent


def _changing(benchmark: AnyBenchmark, sums: Sums, names: Sequence[str]) -> dict[str, frozenset[str]]:
    """Returns the `dependencies` on some statistics at these sums."""
    units = sums.units()
    changed = {name: (64 * units[name] + UNITS_PER_ONE, 0) for name in names}
    if benchmark.takes_columns:
        # One call for all: a benchmark with slices or repeats has thousands of statistics, and takes long for a row.
        with contextlib.suppress(BrokenBenchmark, OverflowError):
            return _changing_columns(benchmark, sums, changed)
    values, dependent = values_at(benchmark, sums, sums).items(), {}
    for name, totals in changed.items():
        changes: list[Iterable[tuple[str, Any]]] = []
        for total in totals:
            with contextlib.suppress(BrokenBenchmark):
                changes.append(values ^ values_at(benchmark, Sums({**units, name: total}), sums).items())
        dependent[name] = frozenset(metric for change in changes or [values] for metric, _ in change)
    return dependent


def _changing_columns(
    benchmark: AnyBenchmark, sums: Sums, changed: Mapping[str, tuple[int, int]]
) -> dict[str, frozenset[str]]:
    row, width = SumTable.of([sums]), len(changed)
    # The sums themselves, then those with each statistic increased, and those without it.
    wholes, fractions = (np.repeat(cells, 1 + 2 * width, axis=1) for cells in (row.wholes, row.fractions))
    for column, (name, totals) in enumerate(changed.items(), 1):
        place, columns = row.places[name], [column, column + width]
        wholes[place, columns] = [total >> FRACTION_BITS for total in totals]
        fractions[place, columns] = [total % UNITS_PER_ONE for total in totals]
    values = values_of_rows(benchmark, SumTable(row.names, wholes, fractions), sums)
    table = np.array([*values.values()]).reshape(len(values), 1 + 2 * width)
    first, others = table[:, :1], table[:, 1:]
    is_changed = (others != first) & ~(np.isnan(others) & np.isnan(first))
    by_name = (is_changed[:, :width] | is_changed[:, width:]).T
    return {name: frozenset(itertools.compress(values, each)) for name, each in zip(changed, by_name, strict=True)}


def _at_least(number: float) -> float:
    return number * (1 - RELATIVE_ROUNDING) - ABSOLUTE_ROUNDING


@dataclass(frozen=True, slots=True)
class SwapTest:
    """The swap test of one metric of one slice.

    p: of the metric alone. t: |d| / SE under the swaps. differing_samples: how many samples differ in a statistic of
    the metric. enough_units: whether enough units differ for the test to be significant.
    """

    p: float
    t: float
    differing_samples: int
    enough_units: bool


class ComparedMetric(NamedTuple):
    """One metric of one slice of two systems; test: None if there is no difference value, or no swaps."""

    difference: PairedDifference
    test: SwapTest | None


@dataclass(frozen=True, slots=True)
class SlicePair:
    """The samples of a slice that both systems scored.

    samples: how many. systems: for each of them, the sums of the slice in the first row, and those of each replicate
    below. changes: for each swap, in its row, the sum of candidate - baseline over the swapped units. differing: for
    each metric, how many samples and how many units differ in it; units are counted only up to the number that a test
    needs.
    """

    label: str
    samples: int
    systems: tuple[SumTable, SumTable]
    changes: SumTable
    differing: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class ComparedSlice:
    """One slice of two systems.

    samples: how many both scored. largest [swaps]: the largest |d*| / SE among the metrics in which enough units
    differ; None if nothing was swapped.
    """

    label: str
    samples: int
    metrics: dict[str, ComparedMetric]
    largest: FloatArray | None


def compare_slices(
    benchmark: AnyBenchmark, slices: Sequence[SlicePair], corpora: tuple[Sums, Sums], confidence: float, clustered: bool
) -> Iterator[ComparedSlice]:
    """Compares two systems in each slice; several at once take less time.

    corpora: the sums of all samples of the baseline and of the candidate.
    """
    before, after = (_with_swaps(benchmark, slices, corpora[side], side, clustered) for side in (0, 1))
    for each, *systems in zip(slices, before, after, strict=True):
        yield _compare(benchmark, each, corpora, systems, confidence)


def _with_swaps(
    benchmark: AnyBenchmark, slices: Sequence[SlicePair], corpus: Sums, side: int, clustered: bool
) -> Iterator[tuple[Measured, dict[str, FloatArray]]]:
    """Returns the metrics of a system in each slice, and those of itself and in each swap [1 + swaps]."""
    measured = measure_slices(benchmark, corpus, (each.systems[side] for each in slices), clustered)
    return zip(measured, values_of_tables(benchmark, corpus, (_swapped(each, side) for each in slices)), strict=True)


def _swapped(pair: SlicePair, side: int) -> SumTable:
    """Returns the sums of a system, and below those in each swap, by what it changes in them."""
    own = pair.systems[side].row(0)
    # The first row decides which slices a mean over slices has.
    return ((-pair.changes if side else pair.changes) + SumTable.of([own])).under(own)


def _compare(
    benchmark: AnyBenchmark,
    pair: SlicePair,
    corpora: tuple[Sums, Sums],
    systems: Sequence[tuple[Measured, Mapping[str, FloatArray]]],
    confidence: float,
) -> ComparedSlice:
    """Compares two systems, as `_with_swaps` measured them, in a slice."""
    (before, swapped_first), (after, swapped_second) = systems
    units = {name: count for name, (_, count) in pair.differing.items()}
    measured = before.at_most(pair.samples), after.at_most(pair.samples)
    differences = paired_differences(benchmark, *measured, confidence, units)
    firsts = [sums.row(0) for sums in pair.systems]
    largest, none = np.zeros(len(pair.changes)), np.full(1 + len(pair.changes), np.nan)
    metrics = {}
    for name, paired in differences.items():
        test, parts = None, spec_or_undeclared(type(benchmark), name).sliced
        if len({_slices_measured(benchmark, parts, *side) for side in zip(firsts, corpora, strict=True)}) > 1:
            paired = PairedDifference(paired.baseline, paired.candidate, None, None, None, paired.units, None)
        if paired.difference is not None:
            swapped = (swapped_second.get(name, none) - swapped_first.get(name, none))[1:]
            count, unit_count = pair.differing[name]
            enough = unit_count >= units_needed(confidence)
            t, others = studentized(paired.difference, swapped)
            if enough:
                largest = np.maximum(largest, others)
            test = SwapTest(swap_p(paired.difference, swapped), t, count, enough)
        metrics[name] = ComparedMetric(paired, test)
    return ComparedSlice(pair.label, pair.samples, metrics, largest)


def _slices_measured(
    benchmark: AnyBenchmark, parts: Iterable[tuple[str, str]], sums: Sums, corpus: Sums
) -> tuple[tuple[str, ...], ...]:
    """Returns the slices that each part of a mean over slices has; means over different slices do not compare."""
    return tuple(tuple(slices_with_value(benchmark, *part, sums, corpus)) for part in parts)


def significance_level(confidence: float) -> float:
    """Returns the largest p of a significant test, with a tolerance for rounding: 1 - 0.9 is a little less than 0.1."""
    return (1 - confidence) * (1 + RELATIVE_ROUNDING)


def verdict(
    benchmark: type[AnyBenchmark], name: str, compared: ComparedMetric, largest: FloatArray | None, confidence: float
) -> tuple[SwapVerdict, float | None]:
    """Returns the verdict on the candidate in one metric, and its p among all metrics and slices.

    largest [swaps]: the largest |d*| / SE of all metrics of all slices in each swap; None if nothing was swapped.
    A metric without an interval is not tested, nor any at a confidence that so few swaps cannot reach.

    `better` and `worse` hold for all metrics and slices at once: with probability `confidence` none of them is wrong
    if the systems are exchangeable. That is a stronger hypothesis than equal means: if one system loses much on few
    samples and wins a little on all others, a corpus that lacks the few would look significant. So the paired interval
    that allows for such losses must exclude 0 too.
    """
    test, difference, cautious = compared.test, compared.difference.difference, compared.difference.cautious
    level = significance_level(confidence)
    if test is None or difference is None or cautious is None or largest is None or level * (1 + len(largest)) < 1:
        return "not tested", None
    if not test.enough_units:
        return "too few differ", None
    # A swap in which the metric has no value counts as extreme in its own p, and not at all in the largest.
    p = max(test.p, simultaneous_p(test.t, largest))
    low, high = cautious
    if p > level or low <= 0 <= high:
        return "no difference shown", p
    return ("better" if spec_or_undeclared(benchmark, name).signed_value(difference) > 0 else "worse"), p
