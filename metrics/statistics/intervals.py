"""Percentile intervals of metrics from their bootstrap replicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from metrics.statistics.sums import Sums

Values = Mapping[str, float | None]


def percentile_intervals(
    values: Callable[[Sums], Values], replicates: Sequence[Sums], confidence: float
) -> dict[str, tuple[float, float] | None]:
    """Returns for each metric the interval that holds the middle `confidence` of its replicates.

    The ends are the (1 - confidence) / 2 and (1 + confidence) / 2 quantiles, linear between order statistics
    (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13). A replicate in which a metric is
    None is left out; where that leaves fewer than half of them, the interval is None.
    """
    metrics: dict[str, list[float]] = {}
    for sums in replicates:
        for name, value in values(sums).items():
            metrics.setdefault(name, [])
            if value is not None:
                metrics[name].append(value)
    tail = (1 - confidence) / 2
    return {name: _interval(found, len(replicates), tail) for name, found in metrics.items()}


def _interval(found: Sequence[float], replicates: int, tail: float) -> tuple[float, float] | None:
    if 2 * len(found) < replicates or not found:
        return None
    low, high = np.quantile(np.sort(np.array(found)), [tail, 1 - tail])
    return float(low), float(high)
