"""Exact sums together with their Poisson-bootstrap replicates, in one pass over the samples.

In replicate r a sample counts w(seed, unit, r) times, with w Poisson(1) distributed and drawn from a hash, where
the unit is the sample or the cluster that it belongs to. The weights depend on nothing else, so that the
replicates are the same on every runner and paired between systems that scored the same samples.

Poisson bootstrap: Chamandy et al., "Estimating Uncertainty for Massive Data Streams", Google technical report, 2012.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from .sum_table import SumTable
from .sums import FRACTION_BITS, MAX_STATISTIC, UNITS_PER_ONE, Sums, to_units

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

# A statistic is cut into three parts, `floor + (high * 2**26 + low) / 2**52`, each small enough that the weighted
# sum of a block of samples is an exact integer in float64: 2**32 * 20 * 256 < 2**53. So one matrix product by
# the BLAS library adds up the block for all replicates without rounding.
HALF_BITS = FRACTION_BITS // 2
HALF = 1 << HALF_BITS
ROWS_PER_BLOCK = 256
MAX_WEIGHT = 20
BYTES_PER_PENDING = 512
"""About what a sample takes that is not folded yet, with its statistics."""


def poisson_thresholds() -> npt.NDArray[np.uint64]:
    """Returns t with t[k] = 2**64 P(Poisson(1) <= k), k = 0..19: a uniform u has the weight #{k: u >= t[k]}.

    The chance of a weight above 20 is 8e-21, less than the 2**-64 = 5e-20 that a uniform can tell apart.
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
_LEADING_BITS = 16
_UNDECIDED = 255


def _weights_by_leading_bits() -> npt.NDArray[np.uint8]:
    """Returns the weight of the uniforms with the same leading bits, _UNDECIDED where a threshold lies among them."""
    lowest = np.arange(1 << _LEADING_BITS, dtype=np.uint64) << np.uint64(64 - _LEADING_BITS)
    weights: npt.NDArray[np.uint8] = np.searchsorted(_THRESHOLDS, lowest, side="right").astype(np.uint8)
    weights[(_THRESHOLDS >> np.uint64(64 - _LEADING_BITS)).astype(np.intp)] = _UNDECIDED
    return weights


_WEIGHTS_BY_LEADING_BITS = _weights_by_leading_bits()
_PLAIN_NUMBERS = {float, int}
_TYPES = (np.int8, np.int16, np.int32, np.int64)


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How many replicates there are, and the seed of their weights."""

    replicates: int = 200
    seed: int = 0

    def unit_hash(self, unit: str) -> int:
        """Returns the 64-bit hash of a sample id or cluster id under the seed."""
        text = f"{self.seed}:{unit}".encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")

    def weights(self, unit_hashes: Sequence[int]) -> FloatArray:
        """Returns the weights [1 + R, B] of B units: a row of ones for the corpus itself, then a row a replicate.

        The uniforms come from the SplitMix64 sequence that starts at the unit's hash (Steele et al., 2014).
        """
        state = np.asarray(unit_hashes, dtype=np.uint64)[None, :]
        steps = np.arange(1, self.replicates + 1, dtype=np.uint64)[:, None]
        mixed = state + steps * np.uint64(0x9E3779B97F4A7C15)
        shifted = mixed >> np.uint64(30)
        mixed ^= shifted
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= np.right_shift(mixed, np.uint64(27), out=shifted)
        mixed *= np.uint64(0x94D049BB133111EB)
        mixed ^= np.right_shift(mixed, np.uint64(31), out=shifted)
        leading = np.right_shift(mixed, np.uint64(64 - _LEADING_BITS), out=shifted).view(np.int64)
        drawn = np.take(_WEIGHTS_BY_LEADING_BITS, leading)
        undecided = np.flatnonzero(drawn == _UNDECIDED)
        drawn.flat[undecided] = np.searchsorted(_THRESHOLDS, mixed.flat[undecided], side="right")
        weights = np.ones((self.replicates + 1, len(unit_hashes)))
        weights[1:] = drawn
        return weights


class BootstrapSums:
    """The exact sums of a set of samples and of its replicates: a commutative monoid under `merge`.

    Few samples are kept as they came, more are folded into arrays of integers; which of the two holds is never
    seen from outside, and equal sets of samples have equal `to_bytes()`.
    """

    __slots__ = ("_fractions", "_names", "_pending", "_wholes", "bootstrap")

    def __init__(self, bootstrap: Bootstrap) -> None:
        self.bootstrap = bootstrap
        self._pending: list[tuple[int, Mapping[str, float]]] = []
        self._names: dict[str, int] = {}
        self._wholes = np.zeros((bootstrap.replicates + 1, 0), dtype=np.int64)
        self._fractions = np.zeros((bootstrap.replicates + 1, 0), dtype=np.int64)

    def add(self, unit_hash: int, statistics: Mapping[str, float]) -> None:
        """Adds one sample.

        The statistics must have passed `check_statistics`: a bad number found later could not be told apart.
        """
        self._pending.append((unit_hash, statistics))
        if len(self._pending) >= ROWS_PER_BLOCK:
            self._fold()

    def merge(self, other: BootstrapSums) -> None:
        """Adds all samples of `other`, which stays as it is.

        Raises ValueError where the two were made under different seeds or numbers of replicates.
        """
        if other.bootstrap != self.bootstrap:
            raise ValueError(f"sums of {other.bootstrap} do not merge with sums of {self.bootstrap}")
        if other._names:
            columns = self._columns(other._names)
            self._wholes[:, columns] += other._wholes
            self._fractions[:, columns] += other._fractions
            self._carry()
        self._pending.extend(other._pending)
        if len(self._pending) >= ROWS_PER_BLOCK:
            self._fold()

    @property
    def size(self) -> int:
        """About how many bytes of memory the sums take."""
        return self._wholes.nbytes + self._fractions.nbytes + BYTES_PER_PENDING * len(self._pending)

    def sums(self, replicate: int = 0) -> Sums:
        """Returns the sums of replicate 1..R, or, by default, of the samples themselves."""
        return self.table().row(replicate)

    def table(self) -> SumTable:
        """Returns the sums of the samples themselves, and, in the rows below, those of each replicate.

        The form is canonical: names without any count are left out.
        """
        self._fold()
        used = (self._wholes != 0).any(axis=0) | (self._fractions != 0).any(axis=0)
        names = tuple(sorted(name for name, column in self._names.items() if used[column]))
        columns = [self._names[name] for name in names]
        return SumTable(names, self._wholes[:, columns], self._fractions[:, columns])

    @classmethod
    def of(cls, bootstrap: Bootstrap, table: SumTable) -> BootstrapSums:
        """Returns the sums that `table` gave this table for.

        Raises ValueError where it has another number of rows than the bootstrap.
        """
        if len(table) != bootstrap.replicates + 1:
            raise ValueError(f"a table of {len(table)} rows where {bootstrap.replicates + 1} are due")
        made = cls(bootstrap)
        made._names = {name: column for column, name in enumerate(table.names)}
        made._wholes, made._fractions = table.wholes.copy(), table.fractions.copy()
        return made

    def to_bytes(self) -> bytes:
        """Returns the canonical bytes: equal for equal sets of samples, however they were merged."""
        table = self.table()
        head = json.dumps([self.bootstrap.replicates, self.bootstrap.seed, *table.names]).encode()
        return b"\0".join([head, table.wholes.astype("<i8").tobytes(), table.fractions.astype("<i8").tobytes()])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BootstrapSums) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> tuple[Any, ...]:
        return self.bootstrap, self._pending, self._names, _narrow(self._wholes), _narrow(self._fractions)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.bootstrap, self._pending, self._names, wholes, fractions = state
        self._wholes, self._fractions = _widened(wholes), _widened(fractions)

    def _columns(self, names: Mapping[str, Any]) -> list[int]:
        """Returns the columns of `names`, and makes those that were not there."""
        before = len(self._names)
        columns = [self._names.setdefault(name, len(self._names)) for name in names]
        added = len(self._names) - before
        if added:
            more = np.zeros((self.bootstrap.replicates + 1, added), dtype=np.int64)
            self._wholes = np.hstack((self._wholes, more))
            self._fractions = np.hstack((self._fractions, more))
        return columns

    def _fold(self) -> None:
        for start in range(0, len(self._pending), ROWS_PER_BLOCK):
            self._fold_block(self._pending[start : start + ROWS_PER_BLOCK])
        self._pending = []

    def _fold_block(self, block: Sequence[tuple[int, Mapping[str, float]]]) -> None:
        columns: defaultdict[str, int] = defaultdict(itertools.count().__next__)
        rows = np.repeat(np.arange(len(block)), [len(statistics) for _, statistics in block])
        names = itertools.chain.from_iterable([statistics for _, statistics in block])
        cells = np.fromiter(map(columns.__getitem__, names), np.intp, len(rows))
        given = itertools.chain.from_iterable([statistics.values() for _, statistics in block])
        numbers = np.fromiter(given, np.float64, len(rows))
        values = np.zeros((len(block), len(columns)))
        values[rows, cells] = numbers
        weights = self.bootstrap.weights([unit_hash for unit_hash, _ in block])
        # Rounded before it is cut: the difference from the floor of a small negative number would round once more.
        values = np.rint(values * UNITS_PER_ONE) / UNITS_PER_ONE
        floors = np.floor(values)
        targets = np.array(self._columns(columns), dtype=np.intp)
        self._wholes[:, targets] += (weights @ floors).astype(np.int64)
        fractional = np.flatnonzero((values != floors).any(axis=0))
        if len(fractional):
            self._fold_fractions((values - floors)[:, fractional], weights, targets[fractional])

    def _fold_fractions(self, fractions: FloatArray, weights: FloatArray, targets: IntArray) -> None:
        """Adds the fractions [B, N], multiples of 2**-52, to the columns `targets`."""
        units = (fractions * UNITS_PER_ONE).astype(np.int64)
        high = (weights @ (units >> HALF_BITS).astype(np.float64)).astype(np.int64)
        low = (weights @ (units & (HALF - 1)).astype(np.float64)).astype(np.int64)
        # high * 2**26 could pass 2**63 on its way, so its whole part is carried first.
        self._wholes[:, targets] += high >> HALF_BITS
        self._fractions[:, targets] += ((high & (HALF - 1)) << HALF_BITS) + low
        self._carry()

    def _carry(self) -> None:
        self._wholes += self._fractions >> FRACTION_BITS
        self._fractions &= (1 << FRACTION_BITS) - 1


def _narrow(array: IntArray) -> tuple[tuple[int, int], IntArray, npt.NDArray[Any]]:
    """Returns the shape, the columns that hold anything, and those in the smallest type of integers that holds them.

    Most statistics are small counts, without fractions: they travel in a half to an eighth of the bytes.
    """
    columns = np.flatnonzero(array.any(axis=0))
    kept = array[:, columns]
    lowest, highest = (int(kept.min()), int(kept.max())) if kept.size else (0, 0)
    fitting = (each for each in _TYPES if np.iinfo(each).min <= lowest and highest <= np.iinfo(each).max)
    return (array.shape[0], array.shape[1]), columns, kept.astype(next(fitting))


def _widened(narrow: tuple[tuple[int, int], IntArray, npt.NDArray[Any]]) -> IntArray:
    shape, columns, kept = narrow
    array = np.zeros(shape, dtype=np.int64)
    array[:, columns] = kept
    return array


def check_statistics(statistics: Mapping[str, float]) -> None:
    """Raises ValueError where a statistic is no number, not finite or above 2**32 in magnitude, with its name."""
    values = statistics.values()
    # Almost always all are plain numbers that together stay below the bound, which a NaN among them would not.
    if _PLAIN_NUMBERS.issuperset(map(type, values)) and _stay_below(MAX_STATISTIC, values):
        return
    for name, value in statistics.items():
        if not _is_number(value):
            raise ValueError(f"statistic {name}: must be a number, not {value!r:.80}")
        try:
            to_units(value)
        except ValueError as error:
            raise ValueError(f"statistic {name}: {error}") from None


def _is_number(value: Any) -> bool:
    return isinstance(value, Real)


def _stay_below(bound: float, values: Iterable[float]) -> bool:
    try:
        return sum(map(abs, values)) <= bound
    except OverflowError:
        # An integer beyond all floats, beside a float.
        return False
