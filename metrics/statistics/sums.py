"""Exact additive sums, from which all metrics are computed.

A statistic of one sample is a named number. Numbers of many samples are added up as fixed-point Python
integers in units of 2**-52, so that addition is associative to the last bit: for any order, bundles
or merge tree, the sums are the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

FRACTION_BITS = 52
UNITS_PER_ONE = 1 << FRACTION_BITS

# A larger statistic is a defect of a metric or hostile input, and the batched bootstrap relies on the bound.
MAX_STATISTIC = 1 << 32


def to_units(value: float) -> int:
    """Returns `value` in units of 2**-52, rounded half to even.

    Integers and floats of magnitude 1 or more are exact; below 1 the rounding error is at most 2**-53.

    Raises ValueError for NaN, infinities and magnitudes above 2**32.
    """
    if isinstance(value, int):
        if abs(value) > MAX_STATISTIC:
            raise ValueError(f"a statistic of {value} is above the largest that can be summed, {MAX_STATISTIC}")
        return value << FRACTION_BITS
    # NumPy integers come here too: without conversion they would overflow in the multiplication.
    number = float(value)
    if not math.isfinite(number) or abs(number) > MAX_STATISTIC:
        raise ValueError(f"a statistic must be finite and at most {MAX_STATISTIC} in magnitude, not {number}")
    return round(number * UNITS_PER_ONE)


class Sums:
    """Named exact sums over samples; a name that was never added reads as 0.

    Values of this class form a commutative monoid under `merged`, with `Sums()` as zero. Names whose total is 0
    are dropped, so that equal sums have equal bytes.
    """

    __slots__ = ("_units",)

    def __init__(self, units: Mapping[str, int] | None = None) -> None:
        self._units: dict[str, int] = {name: total for name, total in units.items() if total} if units else {}

    @classmethod
    def of(cls, statistics: Mapping[str, float]) -> Sums:
        """Returns the sums of one sample.

        Raises ValueError if a statistic is not finite or too large.
        """
        return cls({name: to_units(value) for name, value in statistics.items()})

    @classmethod
    def merged(cls, parts: Iterable[Sums]) -> Sums:
        """Returns the sum of all `parts`; zero if empty."""
        units: dict[str, int] = {}
        for part in parts:
            for name, total in part._units.items():
                units[name] = units.get(name, 0) + total
        return cls(units)

    def overridden(self, names: Iterable[str], other: Sums) -> Sums:
        """Returns these sums with those under `names` replaced by those of `other`."""
        units = dict(self._units)
        for name in names:
            units[name] = other._units.get(name, 0)
        return type(self)(units)

    def renamed(self, names: Mapping[str, str]) -> Sums:
        """Returns the sums under new names; names: maps each new name to the old one."""
        return type(self)({new: self._units[old] for new, old in names.items()})

    def __getitem__(self, name: str) -> float:
        """Returns the sum under `name` as the nearest float; 0.0 if nothing was added."""
        return self._units.get(name, 0) / UNITS_PER_ONE

    def __iter__(self) -> Iterator[str]:
        """The names in order of their code points."""
        return iter(sorted(self._units))

    def __len__(self) -> int:
        return len(self._units)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sums) and self._units == other._units

    def __reduce__(self) -> tuple[type[Sums], tuple[dict[str, int]]]:
        return Sums, (self.units(),)

    def units(self) -> dict[str, int]:
        """Returns the totals in units of 2**-52, in order of the names."""
        units = self._units
        return {name: units[name] for name in self}

    def family(self, prefix: str) -> dict[str, float]:
        """Returns the sums named `prefix[KEY]`, by KEY, in order: the members of a family of statistics."""
        start = len(prefix) + 1
        return {name[start:-1]: self[name] for name in self if name.startswith(f"{prefix}[") and name.endswith("]")}
