"""The sums of many replicates, read as floats that are made for all of them at once.

A benchmark asks each replicate for hundreds of sums, of which each is the quotient of two large integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from .sums import FRACTION_BITS, UNITS_PER_ONE, Sums

IntArray = npt.NDArray[np.int64]

_EXACT_BELOW = 1 << 53
"""Integers of a smaller magnitude are floats without rounding."""


def sums_of_rows(names: Sequence[str], wholes: IntArray, fractions: IntArray) -> Iterator[Sums]:
    """Yields the sums of each row: wholes[r, n] + fractions[r, n] / 2**52 under names[n], given in order.

    fractions: each in [0, 2**52).
    """
    # Both terms are exact, so their sum is rounded once, as the quotient of the integers would be.
    values = wholes + fractions / UNITS_PER_ONE
    families: dict[str, list[tuple[str, str]]] = {}
    for row, whole, fraction in zip(values.tolist(), wholes, fractions, strict=True):
        if whole.size and int(np.abs(whole).max()) >= _EXACT_BELOW:
            yield Sums(_units(names, whole, fraction))
        else:
            yield _RowSums(names, row, (whole, fraction), families)


def _units(names: Sequence[str], whole: IntArray, fraction: IntArray) -> dict[str, int]:
    cells = zip(names, whole.tolist(), fraction.tolist(), strict=True)
    return {name: (whole << FRACTION_BITS) + fraction for name, whole, fraction in cells if whole or fraction}


class _RowSums(Sums):
    """Sums whose floats are there already; the integers are made where they are asked for.

    families: the names `prefix[KEY]` by prefix, with their keys: found once for all rows.
    """

    __slots__ = ("_arrays", "_exact", "_families", "_names", "_values")

    def __init__(
        self,
        names: Sequence[str],
        values: Sequence[float],
        arrays: tuple[IntArray, IntArray],
        families: dict[str, list[tuple[str, str]]],
    ) -> None:
        self._names = names
        self._values = {name: value for name, value in zip(names, values, strict=True) if value}
        self._arrays = arrays
        self._exact: dict[str, int] | None = None
        self._families = families

    @property
    def _units(self) -> dict[str, int]:  # type: ignore[override]
        if self._exact is None:
            self._exact = _units(self._names, *self._arrays)
        return self._exact

    def __getitem__(self, name: str) -> float:
        return self._values.get(name, 0.0)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __len__(self) -> int:
        return len(self._values)

    def bracketed(self, prefix: str) -> dict[str, float]:
        """The sums named `prefix[KEY]`, by KEY, in order."""
        family = self._families.get(prefix)
        if family is None:
            start = len(prefix) + 1
            found = [name for name in self._names if name.startswith(f"{prefix}[") and name.endswith("]")]
            family = self._families[prefix] = [(name[start:-1], name) for name in found]
        values = self._values
        return {key: values[name] for key, name in family if name in values}
