"""The comparison of two systems in one slice: every metric with its difference, its swap test, and what both say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from .measured import AnyBenchmark, measure, spec_of
from .paired import PairedDifference, paired_differences
from .sum_table import SumTable
from .sums import Sums
from .swaps import simultaneous_p, studentized, swap_p, swapped_differences, units_needed

FloatArray = npt.NDArray[np.float64]

Verdict = Literal["better", "worse", "no difference shown", "too few differ", "not tested"]


@dataclass(frozen=True, slots=True)
class SwapTest:
    """What the swaps say of one metric of one slice.

    p: of the metric alone. t: |d| / SE under the swaps. differing_samples: how many samples differ in a statistic of
    the metric. enough_units: whether so many units differ that a test can tell anything.
    """

    p: float
    t: float
    differing_samples: int
    enough_units: bool


@dataclass(frozen=True, slots=True)
class ComparedMetric:
    """One metric of one slice of two systems; test: None where it has no difference, or nothing was swapped."""

    difference: PairedDifference
    test: SwapTest | None


@dataclass(frozen=True, slots=True)
class ComparedSlice:
    """One slice of two systems.

    samples: how many both scored; None where only sums are known. largest [swaps]: the largest |d*| / SE among the
    metrics in which enough units differ; None where nothing was swapped.
    """

    label: str
    samples: int | None
    metrics: dict[str, ComparedMetric]
    largest: FloatArray | None


def compare_slice(
    benchmark: AnyBenchmark,
    label: str,
    samples: int,
    corpora: tuple[Sums, Sums],
    systems: tuple[SumTable, SumTable],
    changes: SumTable,
    differing: Mapping[str, tuple[int, int]],
    confidence: float,
    clustered: bool,
) -> ComparedSlice:
    """Compares two systems over the samples of a slice that both scored.

    corpora: of the baseline and the candidate, the sums of all samples. systems: of both, the sums of the slice and, in
    the rows below, those of each replicate. changes: in the row of each swap the sum of candidate - baseline over the
    units that are swapped. differing: for each metric how many samples differ in it, and how many units, of which no
    more are counted than tell anything.
    """
    before, after = (measure(benchmark, corpus, sums, clustered) for corpus, sums in zip(corpora, systems, strict=True))
    units = {name: count for name, (_, count) in differing.items()}
    differences = paired_differences(benchmark, before, after, confidence, units)
    tested = [name for name, found in differences.items() if found.difference is not None]
    swapped = swapped_differences(benchmark, corpora, systems[0].row(0), systems[1].row(0), changes, tested)
    largest = np.zeros(len(changes))
    metrics = {}
    for name, found in differences.items():
        test = None
        if found.difference is not None:
            count, of_units = differing.get(name, (0, 0))
            enough = of_units >= units_needed(confidence)
            t, others = studentized(found.difference, swapped[name])
            if enough:
                largest = np.maximum(largest, others)
            test = SwapTest(swap_p(found.difference, swapped[name]), t, count, enough)
        metrics[name] = ComparedMetric(found, test)
    return ComparedSlice(label, samples, metrics, largest)


def verdict(
    benchmark: type[AnyBenchmark], name: str, compared: ComparedMetric, largest: FloatArray | None, confidence: float
) -> tuple[Verdict, float | None]:
    """Returns the verdict on the candidate in one metric, and its p among all metrics and slices.

    largest [swaps]: the largest |d*| / SE of all metrics of all slices in each swap; None where nothing was swapped.
    `better` and `worse` hold for all metrics and slices at once: with a chance of `confidence` none of them is wrong
    where it does not matter which system is called which. That asks more than equal means: if one system loses much on
    few samples and wins a little on all others, no such chance explains a corpus that lacks the few. So the paired
    interval that allows for such losses must leave out 0 too.
    """
    test, difference = compared.test, compared.difference.difference
    if test is None or difference is None or largest is None:
        return "not tested", None
    if not test.enough_units:
        return "too few differ", None
    # A swap in which the metric has no value is as extreme as any for its own p, and has no part in the largest.
    p = max(test.p, simultaneous_p(test.t, largest))
    low, high = compared.difference.cautious or (0.0, 0.0)
    # 1 - 0.95 is a little more than 0.05.
    if p > (1 - confidence) * (1 + 1e-9) or low <= 0 <= high:
        return "no difference shown", p
    return ("better" if spec_of(benchmark, name).goodness(difference) > 0 else "worse"), p
