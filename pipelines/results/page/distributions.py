"""How each per-sample metric is spread over the samples: counts between edges, and quartiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....metrics.benchmark import MetricSpec
from .document import Distribution, SampleTable

BINS = 20
_QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


def distributions(table: SampleTable, specs: Sequence[MetricSpec], systems: int) -> tuple[Distribution, ...]:
    """Returns the distribution of each metric that any sample has, the main one first."""
    of_system = np.asarray(table.systems, dtype=np.intp)
    found = []
    for spec in sorted(specs, key=lambda spec: spec.main is None):
        column = np.asarray([np.nan if value is None else value for value in table.metrics[spec.name]], dtype=float)
        if np.isfinite(column).any():
            found.append(_distribution(spec, [_finite(column[of_system == system]) for system in range(systems)]))
    return tuple(found)


def _finite(values: np.ndarray) -> np.ndarray:
    finite: np.ndarray = values[np.isfinite(values)]
    return finite


def _distribution(spec: MetricSpec, by_system: Sequence[np.ndarray]) -> Distribution:
    edges = bin_edges(spec.bounds, np.concatenate(by_system))
    return Distribution(
        spec.name,
        spec.meaning,
        spec.higher_is_better,
        tuple(float(edge) for edge in edges),
        tuple(tuple(int(count) for count in np.histogram(values, edges)[0]) for values in by_system),
        tuple(
            tuple(float(value) for value in np.quantile(values, _QUARTILES)) if len(values) else ()
            for values in by_system
        ),
    )


def bin_edges(bounds: tuple[float | None, float | None], values: np.ndarray) -> np.ndarray:
    """Returns the edges of the bins of `values`, of which there is one at least: between the bounds, or the extremes.

    Values that are all whole numbers and few, such as counts, get a bin each, with the number in its middle.
    """
    low, high = float(values.min()), float(values.max())
    whole = bounds != (0.0, 1.0) and high - low < BINS and bool((values == np.round(values)).all())
    if whole:
        edges: np.ndarray = np.arange(low - 0.5, high + 1.0)
        return edges
    low = low if bounds[0] is None else min(low, bounds[0])
    high = high if bounds[1] is None else max(high, bounds[1])
    return np.linspace(low, high if high > low else low + 1.0, BINS + 1)
