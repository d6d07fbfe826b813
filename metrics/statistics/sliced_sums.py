"""The sums of the slices of a column among the sums of all samples, for a metric that is a mean over these slices.

A sample of the slice `subset=cpe` adds its statistic `cdm` a second time, as `@["subset","cpe"]cdm`. So the sums of the
slices are combined, weighted, stored and compared as all sums are.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from .sum_table import SumTable
from .sums import Sums

AnySums = TypeVar("AnySums", Sums, SumTable)


def with_slices(
    statistics: Mapping[str, float], slices: Iterable[tuple[tuple[str, ...], tuple[str, ...]]], columns: Collection[str]
) -> Mapping[str, float]:
    """Returns the statistics of a sample with those under its slices of `columns`.

    slices: of the sample, each as the names and the values of its columns; crossed ones add nothing.

    >>> with_slices({"equal": 1}, [(("kind",), ("a",)), (("kind", "size"), ("a", "b"))], ["kind"])
    {'equal': 1, '@["kind","a"]equal': 1}
    """
    found = [(names[0], values[0]) for names, values in slices if len(names) == 1 and names[0] in columns]
    if not found:
        return statistics
    more = [prefixed(statistics, column, value) for column, value in found]
    return {**statistics, **{name: value for each in more for name, value in each.items()}}


def prefixed(statistics: Mapping[str, float], column: str, value: str) -> dict[str, float]:
    """Returns the statistics of a sample as those of its slice."""
    prefix = _prefix(column, value)
    return {prefix + name: number for name, number in statistics.items()}


def slices_of(sums: AnySums, column: str) -> dict[str, AnySums]:
    """Returns the sums of each slice of a column, by its value, in order; without those that have no sum."""
    names: dict[str, dict[str, str]] = {}
    start = _prefix(column, "")[:-2]
    for name in sums:
        if name.startswith(start):
            (_, value), end = _DECODER.raw_decode(name, 1)
            names.setdefault(value, {})[name[end:]] = name
    return {value: _renamed(sums, names[value]) for value in sorted(names)}


def _prefix(column: str, value: str) -> str:
    return "@" + json.dumps([column, value], separators=(",", ":"), ensure_ascii=False)


def _renamed(sums: Any, names: Mapping[str, str]) -> Any:
    """Returns the sums under other names; names: the old by the new."""
    if isinstance(sums, SumTable):
        order = sorted(names)
        places = np.array([sums.places[names[name]] for name in order])
        return replace(sums, names=tuple(order), wholes=sums.wholes[:, places], fractions=sums.fractions[:, places])
    units = sums.units()
    return Sums({new: units[old] for new, old in names.items()})


_DECODER = json.JSONDecoder()
