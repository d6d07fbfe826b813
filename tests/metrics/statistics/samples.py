"""Samples and systems that the tests of statistics share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hypothesis import strategies as st

from beamscore.metrics.benchmark import AnyBenchmark
from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.measured import Measured, measure
from beamscore.metrics.statistics.sums import MAX_STATISTIC
from tests.toy import Options, ToyBenchmark

TOY = ToyBenchmark(Options())
NUMBERS = st.integers(-MAX_STATISTIC, MAX_STATISTIC) | st.floats(-MAX_STATISTIC, MAX_STATISTIC) | st.floats(-1, 1)
Statistics = Mapping[str, float]
STATISTICS: st.SearchStrategy[Statistics] = st.dictionaries(st.sampled_from(["a", "b", "c[é]", "d"]), NUMBERS)


def added(samples: Iterable[tuple[int, Statistics]], bootstrap: Bootstrap) -> BootstrapSums:
    sums = BootstrapSums(bootstrap)
    for unit_hash, statistics in samples:
        sums.add(unit_hash, statistics)
    return sums


def measured(benchmark: AnyBenchmark, samples: Mapping[str, Statistics], replicates: int = 100) -> Measured:
    bootstrap = Bootstrap(replicates)
    sums = added(((bootstrap.unit_hash(unit), each) for unit, each in samples.items()), bootstrap)
    return measure(benchmark, sums.sums(), sums.table())
