"""Exact sums together with their Poisson-bootstrap replicates, in one pass over the samples.

In replicate r a sample counts w(seed, unit, r) times, with w Poisson(1) distributed and drawn from a hash, where
the unit is the sample or the cluster that it belongs to. The weights depend on nothing else, so the
replicates are the same on every runner and paired between systems that scored the same samples.

Poisson bootstrap: Chamandy et al., "Estimating Uncertainty for Massive Data Streams", Google technical report, 2012.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from .sum_table import BYTES_PER_SUM, FloatArray, SumTable
from .sums import FRACTION_BITS, MAX_STATISTIC, UNITS_PER_ONE, Sums, to_units

# A statistic is cut into three parts, `floor + (high * 2**26 + low) / 2**52`, each small enough that the weighted
# sum of a block of samples is an exact integer in float64: 2**32 * 20 * 256 < 2**53. So one matrix product by
# the BLAS library adds up the block for all replicates without rounding.
HALF_BITS = FRACTION_BITS // 2
HALF = 1 << HALF_BITS
ROWS_PER_BLOCK = 256
MAX_WEIGHT = 20
BYTES_PER_PENDING = 512
"""Approximate memory of a sample that is not folded yet, with its statistics."""


def poisson_thresholds() -> npt.NDArray[np.uint64]:
    """Returns t with t[k] = 2**64 P(Poisson(1) <= k), k = 0..19: a uniform u has the weight #{k: u >= t[k]}.

    The probability of a weight above 20 is 8e-21, below the resolution 2**-64 = 5e-20 of a uniform.
    """
    with localcontext() as context:
        context.prec = 60
        term = Decimal(-1).exp()
        cumulated, thresholds = Decimal(0), []
        for k in range(MAX_WEIGHT):
            cumulated += term
            thresholds.append(min(int(cumulated * (1 << 64)), (1 << 64) - 1))
            term /= k + 1
    return np.array(thresholds, dtype=np.uint64)


_THRESHOLDS = poisson_thresholds()
_PLAIN_NUMBERS = {float, int}


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How many replicates there are, and the seed of their weights."""

    replicates: int
    seed: int

    def unit_hash(self, unit: str) -> int:
        """Returns the 64-bit hash of a sample id or cluster id under the seed."""
        return hash_of_text(f"{self.seed}:{unit}")

    def weights(self, unit_hashes: Sequence[int]) -> FloatArray:
        """Returns the weights [1 + R, B] of B units: a row of ones for the corpus itself, then a row per replicate."""
        uniforms = uniforms_of(unit_hashes, self.replicates)
        weights = np.ones((self.replicates + 1, len(unit_hashes)))
        drawn = np.zeros(uniforms.shape, dtype=np.uint8)
        # Few weights are above 4, so a pass for each threshold takes a third of the time of np.searchsorted.
        for threshold in _THRESHOLDS:
            reached = uniforms >= threshold
            if not reached.any():
                break
            drawn += reached
        weights[1:] = drawn
        return weights


def hash_of_text(text: str) -> int:
    """Returns the 64-bit hash of a text, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def uniforms_of(unit_hashes: Sequence[int], count: int) -> npt.NDArray[np.uint64]:
    """Returns numbers [count, B] of 64 random bits: the SplitMix64 sequences that start at the hashes of B units.

    Source: G. Steele et al., "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
    """
    steps = np.arange(1, count + 1, dtype=np.uint64)[:, None]
    mixed: npt.NDArray[np.uint64] = np.asarray(unit_hashes, dtype=np.uint64)[None, :] + steps * np.uint64(
        0x9E3779B97F4A7C15
    )
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


class BootstrapSums:
    """The exact sums of a set of samples and of its replicates: a commutative monoid under `merge`.

    Samples are buffered and folded into a table in blocks, with no visible effect: equal sets of samples have equal
    tables. table: initial sums.

    Raises ValueError if the table does not have the number of rows of the bootstrap.
    """

    __slots__ = ("_pending", "_table", "bootstrap")

    def __init__(self, bootstrap: Bootstrap, table: SumTable | None = None) -> None:
        self.bootstrap = bootstrap
        self._pending: list[tuple[int, Mapping[str, float]]] = []
        rows = bootstrap.replicates + 1
        self._table = SumTable((), *np.zeros((2, 0, rows), dtype=np.int64)) if table is None else table
        if len(self._table) != rows:
            raise ValueError(f"a table of {len(self._table)} rows where {rows} are due")

    def add(self, unit_hash: int, statistics: Mapping[str, float]) -> None:
        """Adds one sample.

        The statistics must be of `checked_statistics`: a bad number could not be traced to its sample later.
        """
        self._pending.append((unit_hash, statistics))
        if len(self._pending) >= ROWS_PER_BLOCK:
            self._fold()

    def merge(self, other: BootstrapSums) -> None:
        """Adds all samples of `other`, which is not modified.

        Raises ValueError if the two have different seeds or numbers of replicates.
        """
        if other.bootstrap != self.bootstrap:
            raise ValueError(f"sums of {other.bootstrap} do not merge with sums of {self.bootstrap}")
        if other._table.names:
            self._table += other._table
        self._pending.extend(other._pending)
        if len(self._pending) >= ROWS_PER_BLOCK:
            self._fold()

    @property
    def size(self) -> int:
        """About how many bytes of memory the sums take."""
        return BYTES_PER_SUM * self._table.wholes.size + BYTES_PER_PENDING * len(self._pending)

    def names(self) -> tuple[str, ...]:
        """Returns the names of the statistics of the samples, in order, also of those whose sums are all 0."""
        self._fold()
        return self._table.names

    def sums(self) -> Sums:
        """Returns the sums of the samples themselves."""
        return self.table().row(0)

    def table(self) -> SumTable:
        """Returns the sums of the samples themselves, and, in the rows below, those of each replicate.

        The form is canonical: names whose sums are all 0 are omitted.
        """
        self._fold()
        return self._table.without_zeros()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BootstrapSums) or other.bootstrap != self.bootstrap:
            return False
        return other.table().rows() == self.table().rows()

    def _fold(self) -> None:
        for start in range(0, len(self._pending), ROWS_PER_BLOCK):
            self._table += self._sums_of(self._pending[start : start + ROWS_PER_BLOCK])
        self._pending = []

    def _sums_of(self, block: Sequence[tuple[int, Mapping[str, float]]]) -> SumTable:
        """Returns the sums of a block of samples; fractions may be 1 or more, and adding tables carries them."""
        names = sorted({name for _, statistics in block for name in statistics})
        places = {name: place for place, name in enumerate(names)}
        samples = np.repeat(np.arange(len(block)), [len(statistics) for _, statistics in block])
        rows = [places[name] for _, statistics in block for name in statistics]
        values = np.zeros((len(names), len(block)))
        values[rows, samples] = [value for _, statistics in block for value in statistics.values()]
        weights = self.bootstrap.weights([unit_hash for unit_hash, _ in block]).T
        # Rounded before it is split: the difference from the floor of a small negative number would round once more.
        values = np.rint(values * UNITS_PER_ONE) / UNITS_PER_ONE
        floors = np.floor(values)
        wholes = (floors @ weights).astype(np.int64)
        fractions = np.zeros_like(wholes)
        fractional = np.flatnonzero((values != floors).any(axis=1))
        if len(fractional):
            units = ((values - floors)[fractional] * UNITS_PER_ONE).astype(np.int64)
            high = ((units >> HALF_BITS).astype(np.float64) @ weights).astype(np.int64)
            low = ((units & (HALF - 1)).astype(np.float64) @ weights).astype(np.int64)
            # high * 2**26 could pass 2**63 on its way, so its whole part is carried first.
            wholes[fractional] += high >> HALF_BITS
            fractions[fractional] = ((high & (HALF - 1)) << HALF_BITS) + low
        return SumTable(tuple(names), wholes, fractions)


def checked_statistics(statistics: Mapping[str, Any]) -> dict[str, float]:
    """Returns statistics as integers and floats of Python: booleans and numbers of NumPy are not all JSON.

    Raises ValueError, with the name, if one is not a number, not finite or above 2**32 in magnitude.
    """
    values = statistics.values()
    # Almost always all are plain numbers whose sum is below the bound; with a NaN it would not be.
    with contextlib.suppress(OverflowError):
        if _PLAIN_NUMBERS.issuperset(map(type, values)) and sum(map(abs, values)) <= MAX_STATISTIC:
            return dict(statistics)
    plain: dict[str, float] = {}
    for name, value in statistics.items():
        if not isinstance(value, Real):
            raise ValueError(f"statistic {name}: must be a number, not {value!r:.80}")
        try:
            plain[name] = int(value) if isinstance(value, Integral) else float(value)
            to_units(plain[name])
        except ValueError as error:
            raise ValueError(f"statistic {name}: {error}") from None
    return plain
