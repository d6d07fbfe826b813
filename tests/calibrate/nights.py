"""How often change points are found in simulated nights, where there is a change and where there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from beamscore.metrics.statistics.change_points import NIGHTS_A_YEAR, change_points


def false_alarms(years: int, series: int = 8, seed: int = 0) -> float:
    """Returns the false alarms in a year of nights over `series` unchanged series, the mean over `years` simulated.

    Each night's values are independent normals of the standard error that is known of it, which differs by night.
    """
    rng = np.random.default_rng(seed)
    count = 0
    for _ in range(years * series):
        errors = 0.01 * rng.uniform(0.8, 1.25, NIGHTS_A_YEAR)
        values = 0.9 + errors * rng.standard_normal(NIGHTS_A_YEAR)
        count += len(change_points(values.tolist(), errors.tolist(), series))
    return count / years


def detection_rate(shift: float, trials: int, before: int = 30, series: int = 8) -> float:
    """Returns how often a change of `shift` standard errors after `before` nights is found on its first night."""
    return sum(before in found for found in _found([0.0] * before + [shift] * 2, trials, series)) / trials


def drift_detection_rate(fall: float, trials: int, series: int = 8) -> float:
    """Returns how often a value that falls by `fall` standard errors each night has a change point within a year."""
    return sum(map(bool, _found([fall * night for night in range(NIGHTS_A_YEAR)], trials, series))) / trials


def _found(fall: Sequence[float], trials: int, series: int) -> Iterator[list[int]]:
    """Yields the change points of simulated nights; fall: how many standard errors each of them has lost."""
    rng = np.random.default_rng(0)
    for _ in range(trials):
        values = rng.standard_normal(len(fall)) - fall
        yield change_points(values.tolist(), [1.0] * len(fall), series)
