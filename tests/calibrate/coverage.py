"""How often an interval holds the value of the population that its corpus was drawn from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from beamscore.metrics.benchmark import MetricSpec
from beamscore.metrics.registry import benchmark_class
from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.metrics.statistics.intervals import interval
from beamscore.metrics.statistics.measured import denominator_columns, effective_sample_size, satterthwaite_df, spreads
from beamscore.metrics.statistics.sum_table import FloatArray
from tests.calibrate.populations import UNITS, Case, difficulties

CONFIDENCE = 0.95
REPLICATES = 200
CORPORA_PER_DRAW = 200
"""Corpora that share the weights of their units, by position: the weights know nothing of the samples."""


class Coverage(NamedTuple):
    """Of one case at one size: in which share of the corpora the interval of this project holds, and for comparison
    that of plain quantiles of the replicates."""

    units: int
    holds: float
    percentile: float


def spec_of(case: Case) -> MetricSpec:
    """Returns the declaration of the metric of a case."""
    spec = benchmark_class(case.benchmark).spec_of(case.metric)
    assert spec is not None
    return spec


def coverage(case: Case, units: int, corpora: int, seed: int) -> Coverage:
    """Draws corpora of `units` units with replacement, and returns in how many of them the interval holds."""
    rng = np.random.default_rng([seed, 1])
    population = case.draw(rng, difficulties(rng, case, UNITS), 0.0)
    truth = float(case.value({name: np.array([values.sum()]) for name, values in population.items()})[0])
    summed = {name: values.reshape(-1, case.clusters or 1).sum(axis=1) for name, values in population.items()}
    size, spec = UNITS // (case.clusters or 1), spec_of(case)
    rng = np.random.default_rng([seed, 2])
    held = plain = measured = 0
    for start in range(0, corpora, CORPORA_PER_DRAW):
        weights = weights_of(Bootstrap(REPLICATES, seed + start), units)
        chosen = rng.integers(0, size, (units, min(CORPORA_PER_DRAW, corpora - start)))
        sums = {name: weights @ values[chosen] for name, values in summed.items()}
        values, (counted, _) = case.value(sums), units_behind(case, sums)
        for corpus in range(chosen.shape[1]):
            value, replicates = float(values[0, corpus]), values[1:, corpus]
            error = spread(replicates)
            if np.isnan(value) or error is None:
                continue
            measured += 1
            found = interval(spec, value, error, replicates, counted[corpus], CONFIDENCE)
            held += found is not None and found[0] <= truth <= found[1]
            low, high = np.nanquantile(replicates, [0.025, 0.975])
            plain += bool(low <= truth <= high)
    return Coverage(units, held / measured, plain / measured)


def spread(replicates: FloatArray) -> float | None:
    """Returns the standard error of replicates, as of a metric of them."""
    return spreads({"": replicates})[""]


def weights_of(source: Bootstrap, units: int) -> FloatArray:
    """Returns the weights of so many units [1 + R, units]."""
    return source.weights([source.unit_hash(str(number)) for number in range(units)])


def units_behind(case: Case, sums: dict[str, FloatArray]) -> tuple[list[float], list[float]]:
    """Returns `Measured.units` and `Measured.size` of the metric of a case in each corpus, of sums [1 + R, corpora]."""
    spec = spec_of(case)
    names = tuple(sums)

    def counted(of: MetricSpec, metric: str) -> list[float]:
        columns = denominator_columns(of, metric, {name: place for place, name in enumerate(names)})
        total: FloatArray = np.sum([sums[names[column]] for column in columns], axis=0)
        sizes: list[float] = effective_sample_size(total.T, of.per_sample, case.clusters > 0).tolist()
        return sizes

    whole = counted(spec, case.metric)
    if not spec.classes:
        return whole, whole
    family = benchmark_class(case.benchmark).spec_of(spec.classes)
    assert family is not None
    of_class = [counted(family, f"{family.name.partition('[')[0]}[{name}]") for name in case.classes]
    found = zip(*map(satterthwaite_df, zip(*of_class, strict=True)), strict=True)
    units, sizes = ([min(pair) for pair in zip(whole, each, strict=True)] for each in found)
    return units, sizes
