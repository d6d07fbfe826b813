"""The sums of many sets of samples at once, such as all replicates of a slice: a column of floats for each name.

A benchmark reads dozens of sums of each replicate; over columns, `Benchmark.values` is computed for all of them in one
call, with the same bits as one call for each (`values_of_rows`).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..benchmark import ENVIRONMENT_FAULTS, error_with_place, finite_number, place_of
from ..registry import BrokenBenchmark
from .sums import FRACTION_BITS, UNITS_PER_ONE, Sums

if TYPE_CHECKING:
    from ..benchmark import Benchmark

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_FRACTION = UNITS_PER_ONE - 1
_EXACT_BELOW = 1 << 53
"""Integers of smaller magnitude are exact in float64."""
BYTES_PER_SUM = 16
_WHOLE_BITS = 64 - FRACTION_BITS


@dataclass(frozen=True, eq=False)
class SumTable:
    """The sums of R sets of samples: wholes[n, r] + fractions[n, r] / 2**52 under names[n], which are in order.

    wholes, fractions: [N, R] each; a fraction lies in [0, 2**52). corpus: sums with the same value in every row.
    """

    names: tuple[str, ...]
    wholes: IntArray
    fractions: IntArray
    corpus: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Sequence[Sums]) -> SumTable:
        """Returns the table with these rows; raises ValueError if a sum is 2**63 or larger."""
        units = [row.units() for row in rows]
        names = tuple(sorted({name for row in units for name in row}))
        cells = np.array([[row.get(name, 0) for row in units] for name in names], dtype=object)
        cells = cells.reshape(len(names), len(rows))
        try:
            return cls(names, (cells >> FRACTION_BITS).astype(np.int64), (cells & _FRACTION).astype(np.int64))
        except OverflowError as error:
            raise ValueError("a sum is larger than any that samples add up to") from error

    @classmethod
    def stacked(cls, tables: Sequence[SumTable]) -> SumTable:
        """Returns a table with the rows of all tables, stacked vertically."""
        names = sorted({name for table in tables for name in table.names})
        places = {name: place for place, name in enumerate(names)}
        cells, start = np.zeros((2, len(names), sum(map(len, tables))), dtype=np.int64), 0
        for table in tables:
            own, end = [places[name] for name in table.names], start + len(table)
            cells[0, own, start:end], cells[1, own, start:end] = table.wholes, table.fractions
            start = end
        return cls(tuple(names), *cells)

    def without_zeros(self) -> SumTable:
        """Returns the table without the names whose sums are 0 in every row."""
        used: npt.NDArray[np.bool_] = np.any(self.wholes | self.fractions, axis=1)
        if used.all():
            return self
        names = tuple(name for name, has_sum in zip(self.names, used.tolist(), strict=True) if has_sum)
        return SumTable(names, self.wholes[used], self.fractions[used])

    def __reduce__(self) -> tuple[Any, ...]:
        return PackedReplicates.unpack, (PackedReplicates.of(self), len(self))

    def __len__(self) -> int:
        """The number of rows."""
        return int(self.wholes.shape[1])

    def __iter__(self) -> Iterator[str]:
        """The names that have a sum in any row, or in the corpus, in order."""
        return iter(sorted({*self.names, *self.corpus}) if self.corpus else self.names)

    def __getitem__(self, name: str) -> FloatArray | float:
        """Returns the sums under `name` as the nearest floats [R]; zeros if nothing was added."""
        if name in self.corpus:
            return self.corpus[name]
        place = self.places.get(name)
        return np.zeros(len(self)) if place is None else self.floats[place]

    def family(self, prefix: str) -> dict[str, FloatArray | float]:
        """Returns the columns named `prefix[KEY]`, by KEY, in order; a sum of the corpus is one float."""
        start = len(prefix) + 1
        return {name[start:-1]: self[name] for name in self if name.startswith(f"{prefix}[") and name.endswith("]")}

    def overridden(self, names: Iterable[str], other: Sums) -> SumTable:
        """Returns the table with the sums under `names` replaced in every row by those of `other`."""
        return replace(self, corpus={name: other[name] for name in names})

    def renamed(self, names: Mapping[str, str]) -> SumTable:
        """Returns the sums under new names; names: maps each new name to the old one."""
        order = sorted(names)
        places = [self.places[names[name]] for name in order]
        return replace(self, names=tuple(order), wholes=self.wholes[places], fractions=self.fractions[places])

    def row(self, number: int) -> Sums:
        """Returns the sums of one row."""
        cells = zip(self.names, self.wholes[:, number].tolist(), self.fractions[:, number].tolist(), strict=True)
        return Sums({name: (whole << FRACTION_BITS) + fraction for name, whole, fraction in cells})

    def rows(self) -> list[Sums]:
        """Returns the sums of each row."""
        return [self.row(number) for number in range(len(self))]

    def under(self, first: Sums) -> SumTable:
        """Returns the table with `first` inserted as the first row."""
        return SumTable.stacked([SumTable.of([first]), self])

    def below(self) -> SumTable:
        """Returns the table without its first row: only the replicates, if the first row is the samples themselves."""
        return replace(self, wholes=self.wholes[:, 1:], fractions=self.fractions[:, 1:])

    def __add__(self, other: SumTable) -> SumTable:
        """Returns the sum of each row and the same row of `other`, or its only row."""
        both, rows = SumTable.stacked([self, other]), len(self)
        wholes, fractions = (cells[:, :rows] + cells[:, rows:] for cells in (both.wholes, both.fractions))
        return SumTable(both.names, wholes + (fractions >> FRACTION_BITS), fractions & _FRACTION)

    def __neg__(self) -> SumTable:
        """Returns the negated sums of each row."""
        borrowed = self.fractions > 0
        return SumTable(self.names, -self.wholes - borrowed, np.where(borrowed, UNITS_PER_ONE - self.fractions, 0))

    @cached_property
    def floats(self) -> FloatArray:
        """The sums as the nearest floats [N, R]."""
        # Both terms are exact, so their sum is rounded once, as the quotient of the integers would be.
        values: FloatArray = self.wholes + self.fractions / UNITS_PER_ONE
        for cell in map(tuple, np.argwhere(np.abs(self.wholes) >= _EXACT_BELOW)):
            values[cell] = ((int(self.wholes[cell]) << FRACTION_BITS) + int(self.fractions[cell])) / UNITS_PER_ONE
        return values

    @cached_property
    def places(self) -> dict[str, int]:
        """The index of each name."""
        return {name: place for place, name in enumerate(self.names)}


@dataclass(frozen=True, slots=True)
class PackedReplicates:
    """The rows of a SumTable in few bytes, for shuffling and storage.

    names: of the table. data: the sums in units of 2**-52, compressed with zlib. They are integers as two's
    complement of 128 bits, the lowest byte first: byte 1 of the first name in each row, then byte 2, and so on, name by
    name. Most are small counts, so most bytes are 0 in each row. by_row: row by row, as in earlier versions.
    """

    names: tuple[str, ...]
    data: bytes
    by_row: bool = True

    @classmethod
    def of(cls, table: SumTable) -> PackedReplicates:
        """Packs a table; equal tables give equal bytes."""
        # whole * 2**52 + fraction in two words; the fraction is less than 2**52, so there is no carry.
        words = (table.wholes << FRACTION_BITS) | table.fractions, table.wholes >> _WHOLE_BITS
        octets = np.zeros((len(table.names), BYTES_PER_SUM, len(table)), dtype=np.uint8)
        for first, word in zip((0, 8), words, strict=True):
            used = int(np.bitwise_or.reduce(word, axis=None))
            for shift in range(0, 64, 8):
                if used >> shift & 255:
                    octets[:, first + shift // 8] = word >> shift
        return cls(table.names, zlib.compress(octets.data, level=1), by_row=False)

    def unpack(self, rows: int) -> SumTable:
        """Returns the table with this many rows.

        Raises ValueError if the data have a different size, are too large, or cannot be uncompressed.
        """
        try:
            raw = zlib.decompress(self.data)
        except zlib.error as error:
            raise ValueError(f"the replicates cannot be uncompressed: {error}") from error
        names, width = len(self.names), BYTES_PER_SUM * len(self.names)
        if len(raw) != rows * width:
            raise ValueError(f"the replicates have {len(raw)} bytes where {rows} of {width} are due")
        octets = np.frombuffer(raw, dtype=np.uint8)
        if self.by_row:
            octets = octets.reshape(rows, names, BYTES_PER_SUM).transpose(1, 0, 2)
        else:
            octets = octets.reshape(names, BYTES_PER_SUM, rows).transpose(0, 2, 1)
        halves = np.ascontiguousarray(octets).view("<i8")
        low, high = halves[..., 0], halves[..., 1]
        wholes = (high << _WHOLE_BITS) | (low.view("<u8") >> FRACTION_BITS).astype(np.int64)
        if (wholes >> _WHOLE_BITS != high).any():
            raise ValueError("the replicates have a sum that is larger than any that samples add up to")
        return SumTable(self.names, wholes, low & _FRACTION)


def values_of_rows(benchmark: Benchmark[Any, Any, Any], sums: SumTable | Sums, corpus: Sums) -> dict[str, Any]:
    """Returns the metrics of each row [R], as `Benchmark.values_within` returns them; NaN for None.

    A metric that no row has may be absent. For Sums, the result is that of `values_within`, checked: it is published.
    Raises BrokenBenchmark if it cannot be.
    """
    if isinstance(sums, Sums):
        return checked_values(benchmark, values_at(benchmark, sums, corpus))
    if benchmark.takes_columns:
        columns: Any = sums
        with np.errstate(divide="ignore", invalid="ignore"):
            values = values_at(benchmark, columns, corpus)
        arrays = {name: np.asarray(each, dtype=np.float64) for name, each in values.items()}
        return {name: each if each.ndim else np.full(len(sums), each) for name, each in arrays.items()}
    rows = [values_at(benchmark, row, corpus) for row in sums.rows()]
    try:
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: np.array([row.get(name) for row in rows], dtype=np.float64) for name in names}
    except (AttributeError, TypeError, ValueError, OverflowError):
        for row in rows:
            checked_values(benchmark, row)
        raise


def values_at(benchmark: Benchmark[Any, Any, Any], sums: Sums, corpus: Sums) -> dict[str, Any]:
    """Returns what `Benchmark.values_within` returns; raises BrokenBenchmark, with the line, if it fails."""
    try:
        return benchmark.values_within(sums, corpus)
    except (BrokenBenchmark, *ENVIRONMENT_FAULTS):
        raise
    except Exception as error:
        problem = " ".join(error_with_place(error).split())
        raise BrokenBenchmark(f"the benchmark {place_of(benchmark)}: values: {problem}") from error


def checked_values(benchmark: Benchmark[Any, Any, Any], values: Any) -> dict[str, float | None]:
    """Returns the `metric_values` of a benchmark; raises BrokenBenchmark, which names it, if there are none."""
    try:
        return metric_values(values)
    except ValueError as error:
        raise BrokenBenchmark(f"the benchmark {place_of(benchmark)}: {error}") from None


def metric_values(values: Any) -> dict[str, float | None]:
    """Returns what `Benchmark.values` returned, with all numbers as floats.

    Raises ValueError, with the metric and its value, if one is neither a finite number nor None.
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"values: found {values!r:.80}; allowed: a dict of numbers by the names of metrics")
    plain: dict[str, float | None] = {}
    for name, value in values.items():
        if not isinstance(name, str):
            raise ValueError(f"values: found the name {name!r:.80}; allowed: text")
        if isinstance(value, bool):
            raise ValueError(f"values: {name}: found {value}; allowed: a finite number or None")
        plain[name] = None if value is None else finite_number("values:", name, value)
    return plain
