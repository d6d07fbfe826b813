"""How often change points are found in simulated nights, where there is a change and where there is none."""

from __future__ import annotations

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


def detection_rate(shift: float, trials: int, before: int = 30, series: int = 8, seed: int = 0) -> float:
    """Returns how often a change of `shift` standard errors after `before` nights is found on its first night."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(trials):
        values = rng.standard_normal(before + 2)
        values[before:] -= shift
        found += before in change_points(values.tolist(), [1.0] * len(values), series)
    return found / trials


def drift_detection_rate(
    fall: float, trials: int, nights: int = NIGHTS_A_YEAR, series: int = 8, seed: int = 0
) -> float:
    """Returns how often a value that falls by `fall` standard errors each night has a change point within `nights`."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(trials):
        values = rng.standard_normal(nights) - fall * np.arange(nights)
        found += bool(change_points(values.tolist(), [1.0] * nights, series))
    return found / trials
