"""The sums of the slices of a column among those of all samples, for a metric that is a mean over these slices.

A sample of the slice `subset=cpe` adds its statistic `cdm` a second time, as `@["subset","cpe"]cdm`. So the sums of the
slices are combined, weighted, stored and compared like all sums.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

from .sum_table import SumTable
from .sums import Sums

AnySums = TypeVar("AnySums", Sums, SumTable)

_DECODER = json.JSONDecoder()


def with_slices(
    statistics: Mapping[str, float], slices: Iterable[tuple[tuple[str, ...], tuple[str, ...]]], columns: Collection[str]
) -> Mapping[str, float]:
    """Returns the statistics of a sample, repeated under the names for its slices of `columns`.

    slices: those of the sample, each as column names and values; slices of several columns add nothing.

    >>> with_slices({"equal": 1}, [(("kind",), ("a",)), (("kind", "size"), ("a", "b"))], ["kind"])
    {'equal': 1, '@["kind","a"]equal': 1}
    """
    extended = dict(statistics)
    for names, values in slices:
        if len(names) == 1 and names[0] in columns:
            extended |= prefixed(statistics, names[0], values[0])
    return extended


def prefixed(statistics: Mapping[str, float], column: str, value: str) -> dict[str, float]:
    """Returns the statistics of a sample under the names for its slice."""
    prefix = _prefix(column, value)
    return {prefix + name: number for name, number in statistics.items()}


def slices_of(sums: AnySums, column: str) -> dict[str, AnySums]:
    """Returns the sums of each slice of a column, by its value, in order; slices without a sum are omitted."""
    names: dict[str, dict[str, str]] = {}
    for name in sums:
        value, base = of_slice(name, column)
        if value is not None:
            names.setdefault(value, {})[base] = name
    return {value: sums.renamed(names[value]) for value in sorted(names)}


def of_slice(name: str, column: str) -> tuple[str | None, str]:
    """Returns of which slice of a column a statistic is, and its name in there; None and its name if of none."""
    if not name.startswith(_start(column)):
        return None, name
    (_, value), end = _DECODER.raw_decode(name, 1)
    return value, name[end:]


@lru_cache(maxsize=64)
def _start(column: str) -> str:
    """Returns what the names of the statistics of all slices of a column start with."""
    return _prefix(column, "")[:-2]


def _prefix(column: str, value: str) -> str:
    return "@" + json.dumps([column, value], separators=(",", ":"), ensure_ascii=False)
