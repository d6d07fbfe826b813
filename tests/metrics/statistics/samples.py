"""Samples and systems that the tests of statistics share."""

from collections.abc import Iterable, Mapping

from beamscore.metrics.benchmark import AnyBenchmark
from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.measured import Measured, measure
from tests.toy import Options, ToyBenchmark

TOY = ToyBenchmark(Options())
Statistics = Mapping[str, float]


def added(samples: Iterable[tuple[int, Statistics]], bootstrap: Bootstrap) -> BootstrapSums:
    sums = BootstrapSums(bootstrap)
    for unit_hash, statistics in samples:
        sums.add(unit_hash, statistics)
    return sums


def measured(benchmark: AnyBenchmark, samples: Mapping[str, Statistics], replicates: int = 100) -> Measured:
    bootstrap = Bootstrap(replicates, 0)
    sums = added(((bootstrap.unit_hash(unit), each) for unit, each in samples.items()), bootstrap)
    return measure(benchmark, sums.sums(), sums.table())
