"""The metrics of a set of samples with their replicates and the units behind them: what every interval is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..benchmark import Benchmark, MetricSpec
from .denominators import (
    counted_units,
    denominator_columns,
    size_over_classes,
    units_over_classes,
)
from .sliced_sums import slices_of
from .sum_table import SumTable, values_of_rows
from .sums import Sums

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
    denominators: by name, what the metric is a share or a mean of, of the corpus and of each replicate [1 + R]; a
    metric made of metrics has none of its own.
    sizes: by name, of a mean over classes, how many units of equal weight would tell as much; of others see `units`.
    predictions: the fingerprint of the predictions; None where it is not known.
    """

    values: dict[str, float | None]
    replicates: dict[str, FloatArray]
    units: dict[str, float]
    denominators: dict[str, FloatArray] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    predictions: str | None = None

    def size(self, metric: str) -> float:
        """Returns how many units of equal weight would tell as much of a metric; 0 where it was not measured."""
        return self.sizes.get(metric, self.units.get(metric, 0.0))


def measure(
    benchmark: AnyBenchmark,
    corpus: Sums,
    sums: SumTable,
    clustered: bool = False,
    predictions: str | None = None,
) -> Measured:
    """Returns the metrics of a slice from its sums, the first row of `sums`, and those of its replicates, the others.

    corpus: the sums of all samples of the system. clustered: whether the bootstrap drew clusters of samples.
    predictions: their fingerprint.
    """
    values = benchmark.values_within(sums.row(0), corpus)
    columns, none = values_of_rows(benchmark, sums.below(), corpus), np.full(len(sums) - 1, np.nan)
    replicates = {name: columns.get(name, none) for name in values}
    kind = type(benchmark)
    denominators = _denominators(kind, [name for name in values if not spec_of(kind, name).parts], sums)
    units, sizes = _units(kind, denominators, clustered)
    for name in values:
        if parts := spec_of(kind, name).parts:
            units[name] = min(units.get(part, 0.0) for part in parts)
            sizes[name] = min(sizes.get(part, units.get(part, 0.0)) for part in parts)
        for metric, column in spec_of(kind, name).sliced:
            slices = [_denominators(kind, [metric], part) for part in slices_of(sums, column).values()]
            members = [_units(kind, each, clustered)[0][metric] for each in slices]
            units[name] = min(units[name], units_over_classes(members))
            sizes[name] = min(sizes[name], size_over_classes(members))
    return Measured(values, replicates, units, denominators, sizes, predictions)


@lru_cache(maxsize=65536)
def spec_of(kind: type[AnyBenchmark], metric: str) -> MetricSpec:
    """Returns the declaration of a metric, `UNDECLARED` where there is none."""
    return kind.spec_of(metric) or UNDECLARED


def _denominators(kind: type[AnyBenchmark], metrics: Sequence[str], sums: SumTable) -> dict[str, FloatArray]:
    added: dict[tuple[int, ...], FloatArray] = {}
    found = {}
    for metric in metrics:
        columns = denominator_columns(spec_of(kind, metric), metric, sums.places)
        if columns not in added:
            added[columns] = sums.floats[:, list(columns)].sum(axis=1)
        found[metric] = added[columns]
    return found


def _units(
    kind: type[AnyBenchmark], denominators: Mapping[str, FloatArray], clustered: bool
) -> tuple[dict[str, float], dict[str, float]]:
    """Returns `Measured.units` and `Measured.sizes`."""
    counted: dict[tuple[int, int | None], float] = {}
    units: dict[str, float] = {}
    sizes: dict[str, float] = {}
    for metric, denominator in denominators.items():
        # Metrics with the same denominator share the array.
        key = id(denominator), spec_of(kind, metric).per_sample
        if key not in counted:
            counted[key] = counted_units(denominator, key[1], clustered)
        units[metric] = counted[key]
    for metric in denominators:
        classes = spec_of(kind, metric).classes
        if classes:
            members = [units[each] for each in denominators if spec_of(kind, each) is spec_of(kind, classes)]
            sizes[metric] = min(units[metric], size_over_classes(members))
            units[metric] = min(units[metric], units_over_classes(members))
    return units, sizes
