"""Nights from which on a metric differs: change points in a series whose standard errors are known.

A night departs from a reference by z = (x_t - mean) / sqrt(e_t^2 + var(mean)), where e are the standard errors and the
mean is taken over the first WINDOW nights since the last change point, or all before the night if there are fewer. A
night that departed alone, as one that lost its predictions does, is not among them. The reference stays fixed: the mean
of the last nights would follow a slow drift. e_t is at least the geometric mean of the errors of the reference: a night
without the rare, large count that most have is lower, and its own error is far too small. The arithmetic mean would be
large for long after one night of few samples. A night is a change point if it and the night after it both depart in the
same direction by more than k. Without a change the two z are normal with a known correlation rho, since they share the
mean, and k solves P(Z1 > k, Z2 > k) = alpha / 2. So each night of each series is a false alarm with probability at most
alpha; over N series of 365 nights each, alpha = FALSE_ALARMS_A_YEAR / (365 N).

The errors must be independent from night to night and normal. A deterministic system has no errors, and a system that
samples its answers anew on the same corpus has less than the standard error of the metric, which includes the choice of
the corpus: the bound holds for both.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from functools import lru_cache

from scipy.special import ndtr, owens_t

WINDOW = 30
FALSE_ALARMS_A_YEAR = 0.5
NIGHTS_A_YEAR = 365
_STEPS = 100
"""Correlations are rounded up to a multiple of 1 / _STEPS: the threshold grows with them."""
_HALVINGS = 30
"""10 / 2**30 is 1e-8."""


def change_points(values: Sequence[float], errors: Sequence[float], series: int) -> dict[int, float]:
    """Returns the indices in `values` at which a change begins, in order, each with the mean that it departs from.

    errors: the standard error of each value. series: how many series of this length are tested at once; they share the
    false alarms. Nights with an error of 0 are left out, so the next night is the next one with an error. The last is
    never a change point, since no later one confirms it.
    """
    alpha = FALSE_ALARMS_A_YEAR / (NIGHTS_A_YEAR * max(1, series))
    places = [place for place, error in enumerate(errors) if error**2 > 0]
    observed, variances = [values[place] for place in places], [errors[place] ** 2 for place in places]
    changes: dict[int, float] = {}
    outliers: set[int] = set()
    start, night = 0, 1
    while night + 1 < len(places):
        known = list(itertools.islice((each for each in range(start, night) if each not in outliers), WINDOW))
        mean = math.fsum(observed[each] for each in known) / len(known)
        shared = math.fsum(variances[each] for each in known) / len(known) ** 2
        usual = statistics.geometric_mean(variances[each] for each in known)
        spreads = [math.sqrt(max(variances[each], usual) + shared) for each in (night, night + 1)]
        z = [(observed[night + each] - mean) / spreads[each] for each in (0, 1)]
        bound = threshold(math.ceil(shared / (spreads[0] * spreads[1]) * _STEPS), alpha)
        if min(z) > bound or max(z) < -bound:
            changes[places[night]] = mean
            start = night
            night += 1
        elif abs(z[0]) > bound:
            outliers.add(night)
        night += 1
    return changes


@lru_cache(maxsize=1024)
def threshold(step: int, alpha: float) -> float:
    """Returns k with P(Z1 > k, Z2 > k) = alpha / 2, for standard normals with a correlation of step / _STEPS."""
    correlation = min(step, _STEPS - 1) / _STEPS
    low, high = 0.0, 10.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if both_above(middle, correlation) > alpha / 2 else (low, middle)
    return low


def both_above(k: float, correlation: float) -> float:
    """Returns P(Z1 > k, Z2 > k) of normals, by Owen's T (Annals of Mathematical Statistics 27, 1956)."""
    return float(ndtr(-k) - 2 * owens_t(k, math.sqrt((1 - correlation) / (1 + correlation))))
