"""The swap test: whether the difference of two systems is more than chance, for one metric and for many at once.

If both systems were equally good, it would not matter which is called which. So in swap r, of 999, a fair bit decides
for each unit whether the systems trade their statistics, and the difference d*_r is computed again. With d the
difference itself, p = (1 + #{|d*_r| >= |d|}) / (1 + swaps). Of right and wrong answers this is McNemar's test; it needs
no distribution and holds for any metric (Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 2005; Noreen,
Computer-Intensive Methods for Testing Hypotheses, 1989). The bits depend on nothing but (seed, unit, r).

Of many metrics and slices at once some differ by chance. The same swap is made in all of them, so the largest
|d*_r| / SE of swap r shows how large any of them gets by chance: p of one, among all, is the share of swaps in which
the largest is as large as it is (Westfall and Young, Resampling-Based Multiple Testing, 1993, max-t). SE is the root
mean square of the d*_r of a cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .bootstrap import Bootstrap, hash_of_text, uniforms_of
from .measured import AnyBenchmark
from .sum_table import SumTable, values_of_rows
from .sums import Sums

FloatArray = npt.NDArray[np.float64]

SWAPS = 999
RELATIVE_ROUNDING, ABSOLUTE_ROUNDING = 1e-9, 1e-14
"""Two differences of ratios that are equal may come out this far apart."""


@dataclass(frozen=True, slots=True)
class SwapBits(Bootstrap):
    """Weights of 0 and 1 in the place of Poisson weights: in replicate r, whether a unit is swapped."""

    replicates: int = SWAPS

    def unit_hash(self, unit: str) -> int:
        """Returns the 64-bit hash of a unit, another one than that of the bootstrap under the same seed."""
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


def swapped_differences(
    benchmark: AnyBenchmark,
    corpora: tuple[Sums, Sums],
    baseline: Sums,
    candidate: Sums,
    changes: SumTable,
    metrics: Sequence[str],
) -> dict[str, FloatArray]:
    """Returns for each metric the difference candidate - baseline in each swap; NaN where a side has no value.

    corpora: the sums of all samples of the baseline and of the candidate. changes: in the row of each swap the sum of
    candidate - baseline over the units that are swapped.
    """
    before = values_of_rows(benchmark, changes + SumTable.of([baseline]), corpora[0])
    after = values_of_rows(benchmark, -changes + SumTable.of([candidate]), corpora[1])
    none = np.full(len(changes), np.nan)
    return {metric: after.get(metric, none) - before.get(metric, none) for metric in metrics}


def swap_p(difference: float, swapped: FloatArray) -> float:
    """Returns (1 + #{|d*| >= |d|}) / (1 + swaps); a swap in which the metric has no value counts as one of them."""
    return (1 + int(np.sum(~(np.abs(swapped) < _at_least(abs(difference)))))) / (1 + len(swapped))


def studentized(difference: float, swapped: FloatArray) -> tuple[float, FloatArray]:
    """Returns |d| / SE and |d*| / SE, with SE the root mean square of the d*; all 0 where no swap changes anything.

    A swap in which the metric has no value has 0.
    """
    defined = np.nan_to_num(swapped, nan=0.0)
    error = math.sqrt(float(np.mean(defined**2))) if len(defined) else 0.0
    if error <= ABSOLUTE_ROUNDING:
        return 0.0, np.zeros(len(swapped))
    return abs(difference) / error, np.abs(defined) / error


def simultaneous_p(t: float, largest: FloatArray) -> float:
    """Returns (1 + #{T_r >= t}) / (1 + swaps), with T_r the largest |d*| / SE of all cells in swap r."""
    return (1 + int(np.sum(largest >= _at_least(t)))) / (1 + len(largest))


def units_needed(confidence: float) -> int:
    """Returns how many units must differ before any swap test can say more than chance: 6 at 95 %.

    Of m units that differ there are 2^m swaps, of which at least two are as extreme as the systems themselves.
    """
    return math.ceil(1 - math.log2(1 - confidence))


def dependencies(benchmark: AnyBenchmark, sums: Sums) -> dict[str, frozenset[str]]:
    """Returns for each statistic the metrics that change with it: it is made larger in `sums`, and left out."""
    units, values = sums.units(), benchmark.values(sums).items()
    dependent = {}
    for name, total in units.items():
        others = [Sums({**units, name: changed}) for changed in (64 * total + (1 << 52), 0)]
        changes = [values ^ benchmark.values_within(other, sums).items() for other in others]
        dependent[name] = frozenset(metric for change in changes for metric, _ in change)
    return dependent


def _at_least(number: float) -> float:
    return number * (1 - RELATIVE_ROUNDING) - ABSOLUTE_ROUNDING
