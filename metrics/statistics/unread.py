"""Statistics of samples that nothing reads because their name, or that in `values`, is misspelled."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from ..benchmark import AnyBenchmark
from ..common.text import ALIKE, nearest
from .measured import denominator_columns, spec_or_undeclared
from .sum_table import values_at
from .sums import Sums


def misspelled_statistics(benchmark: AnyBenchmark, sums: Sums, names: Iterable[str]) -> list[str]:
    """Returns a warning for each statistic that nothing reads, if no sample has one that is read and spelled alike.

    sums: of all samples of a system. names: of all their statistics, including those whose sum is 0. The members of a
    family count as one statistic. What is not read is no mistake in itself: the rows of a run have it.
    """
    read = set(benchmark.corpus_statistics)

    class Observed(Sums):
        """Sums that record the names that are read."""

        instead_of_0 = 0.0

        def __getitem__(self, name: str) -> float:
            read.add(name)
            return super().__getitem__(name) or self.instead_of_0

        def family(self, prefix: str) -> dict[str, float]:
            read.add(f"{prefix}[]")
            return super().family(prefix)

    observed = Observed(sums.units())
    values = values_at(benchmark, observed, observed)
    with contextlib.suppress(Exception):  # the run warns of it
        benchmark.tables(observed)
    # Those of slices and repeats are other sums of the same statistics.
    own = [name for name in names if not name.startswith("@")]
    places = {name: place for place, name in enumerate(own)}
    unread, absent = _families(own) - _families(read), _families(read) - _families(own)
    if not unread or not absent:
        return []
    # What it reads only of a system that attempts a task, for example.
    Observed.instead_of_0 = 1.0
    with contextlib.suppress(Exception):  # the sums may be inconsistent
        values_at(benchmark, observed, observed)
    unread -= _families(read)
    for metric in values:
        added, subtracted = denominator_columns(spec_or_undeclared(type(benchmark), metric), metric, places)
        unread -= _families(own[place] for place in (*added, *subtracted))
    hints = {name: nearest(name, absent, ALIKE) for name in sorted(unread)}
    told = "samples have the statistic {}, which no metric reads, and values reads one that no sample has{}"
    return [told.format(name, hint) for name, hint in hints.items() if hint]


def _families(names: Iterable[str]) -> set[str]:
    """Returns names without the members of families: `n[pie]` is `n[]`; without those of slices and repeats."""
    return {name.partition("[")[0] + "[]" * ("[" in name) for name in names if not name.startswith("@")}
