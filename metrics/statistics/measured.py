"""The metrics of a set of samples with their replicates and the units behind them: what every interval is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.benchmark import Benchmark, MetricSpec
from metrics.statistics.denominators import counted_units, denominator_columns, units_over_classes
from metrics.statistics.sums import Sums

FloatArray = npt.NDArray[np.float64]
AnyBenchmark = Benchmark[Any, Any, Any]

UNDECLARED = MetricSpec("", "", bounds=(None, None))
"""Stands for a metric that a benchmark returns without declaring it: nothing is known of its bounds."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The metrics of one slice of one system.

    values: by name; None where there was nothing to measure.
    replicates: by name, the value in each replicate [R]; NaN where there was nothing to measure.
    units: by name, how many samples, or clusters where clusters are drawn, count for the metric.
    """

    values: dict[str, float | None]
    replicates: dict[str, FloatArray]
    units: dict[str, float]


def measure(benchmark: AnyBenchmark, sums: Sequence[Sums], clustered: bool = False) -> Measured:
    """Returns the metrics of a slice from its sums, the first of `sums`, and those of its replicates, the others.

    clustered: whether the bootstrap drew clusters of samples.
    """
    values = benchmark.values(sums[0])
    rows = [benchmark.values(each) for each in sums[1:]]
    replicates = {name: np.array([row.get(name) for row in rows], dtype=np.float64) for name in values}
    return Measured(values, replicates, _units(type(benchmark), list(values), sums, clustered))


@lru_cache(maxsize=65536)
def spec_of(kind: type[AnyBenchmark], metric: str) -> MetricSpec:
    """Returns the declaration of a metric, `UNDECLARED` where there is none."""
    return kind.spec_of(metric) or UNDECLARED


def _units(kind: type[AnyBenchmark], metrics: Sequence[str], sums: Sequence[Sums], clustered: bool) -> dict[str, float]:
    names = tuple(sums[0])
    table = np.array([[each[name] for name in names] for each in sums], dtype=np.float64).reshape(len(sums), len(names))
    counted: dict[tuple[tuple[int, ...], int | None], float] = {}
    units = {}
    for metric in metrics:
        spec = spec_of(kind, metric)
        columns = denominator_columns(spec, metric, names)
        key = columns, spec.per_sample
        if key not in counted:
            counted[key] = counted_units(table[:, list(columns)].sum(axis=1), spec.per_sample, clustered)
        units[metric] = counted[key]
    for metric in metrics:
        classes = spec_of(kind, metric).classes
        if classes:
            members = [units[each] for each in metrics if spec_of(kind, each) is spec_of(kind, classes)]
            units[metric] = min(units[metric], units_over_classes(members))
    return units
