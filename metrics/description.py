"""What a data set is made of: counts over its ground truth, and the tables that show them.

A description is a pure function of one ground-truth record, like a score without a prediction. Its statistics add up
over samples. A count of distinct things, such as the articles that figures come from, does not: two samples may hold
the same one. For those a description gives the key that a sample holds (`distinct_keys`); whoever combines removes
the repeats of (slice, name, key), counts what is left and adds the count to the slice's sums under the name. So each
pass is a map and a reduction by key, and `tables` reads both kinds of count alike.

Sums with distinct counts in them cannot be merged with those of other samples: merge before counting.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping
from typing import ClassVar, Generic, TypeVar

import msgspec

from .statistics.sums import Sums
from .table import Table

TruthT = TypeVar("TruthT", bound=msgspec.Struct)


class Description(abc.ABC, Generic[TruthT]):
    """Counts what the ground truth of one benchmark holds."""

    name: ClassVar[str]
    truth_type: ClassVar[type[msgspec.Struct]]
    distinct: ClassVar[Mapping[str, str]] = {}
    """The names of the distinct counts, each with its meaning."""

    @abc.abstractmethod
    def statistics(self, truth: TruthT) -> Mapping[str, int]:
        """Returns counts of one sample that add up over samples; names without a count are left out."""

    def distinct_keys(self, truth: TruthT) -> Mapping[str, str]:
        """Returns for each name in `distinct` the key that this sample holds; a name is left out where it has none."""
        return {}

    @abc.abstractmethod
    def tables(self, sums: Sums) -> list[Table]:
        """Returns the tables of one set of samples."""

    def side_by_side(self, slices: Mapping[str, Sums]) -> list[Table]:
        """Returns the tables that compare sets of samples, such as splits, each under its label, in the given order."""
        return []


def sums_of(description: Description[TruthT], truths: Iterable[TruthT]) -> Sums:
    """Returns the sums of a set of samples, its distinct counts among them."""
    parts: list[Sums] = []
    keys: set[tuple[str, str]] = set()
    for truth in truths:
        parts.append(Sums.of(description.statistics(truth)))
        keys.update(description.distinct_keys(truth).items())
    counts: dict[str, int] = {}
    for name, _ in keys:
        counts[name] = counts.get(name, 0) + 1
    return Sums.merged([*parts, Sums.of(counts)])
