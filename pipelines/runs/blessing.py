"""Which of the recent nights is a fair baseline: the median, as the best owes its place to luck.

A gate compares each night with the baseline. Where a system decodes anew every night, its scores scatter, and the best
of seven nights is about 1.35 standard deviations above their mean: all later nights then seem to have lost that much.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from ...metrics.statistics.intervals import ROUNDING
from ...metrics.statistics.measured import spec_of
from ...metrics.statistics.paired import paired_differences
from .differences import PAIRED, differences, redefined
from .history import History, Night
from .run import Run

RECENT = 7
MIN_NIGHTS = 3
"""The median of fewer nights says little of the next."""


def recent_nights(history: History, count: int = RECENT) -> list[Night]:
    """Returns the last `count` nights that compare with the last one, none from before a metric changed."""
    latest = history.nights[-1]
    changed = max((change.night.started for change in history.changes), default="")
    return [
        night
        for night in history.nights
        if night.comparable_by == latest.comparable_by
        and set(night.systems) == set(latest.systems)
        and not redefined(night.derived, latest.derived)
        and night.started >= changed
    ][-count:]


def median_night(nights: Sequence[Night], metrics: Sequence[str]) -> Night:
    """Returns the night that is nearest to the medians of the nights; of several, the last.

    Its distance is the largest |value - median| / standard error of a system and metric. Of an even number of nights
    the median is the lower of the two in the middle.
    """
    points = [key for key in nights[-1].points if key[1] in metrics and all(key in night.points for night in nights)]
    medians = {key: statistics.median_low(night.points[key].value for night in nights) for key in points}
    scales = {key: nights[-1].points[key].error or 1.0 for key in points}

    def distance(night: Night) -> float:
        return max((abs(night.points[key].value - medians[key]) / scales[key] for key in points), default=0.0)

    return min(reversed(nights), key=distance)


def luck_warnings(metrics: Sequence[str], baseline: Run, median: Run) -> Iterator[str]:
    """Yields where a baseline is better than a median night by more than the standard error of their difference.

    Runs that do not compare yield nothing. Raises UsageError where their sums are damaged.
    """
    if differences(median.signature, baseline.signature, PAIRED):
        return
    benchmark = median.configuration.benchmark
    for system in median.systems:
        theirs = baseline.system_for(system)
        if theirs is None:
            continue
        sides = median.measured(system, ""), baseline.measured(theirs, "")
        paired = paired_differences(benchmark, *sides, median.configuration.settings.bootstrap.confidence)
        for metric in metrics:
            found = paired.get(metric)
            if found is None or found.difference is None or not found.error or found.error <= ROUNDING:
                continue
            above = spec_of(type(benchmark), metric).goodness(found.difference) / found.error
            if above > 1:
                yield (
                    f"the baseline {baseline.path} is better than the median of recent nights by {above:.1f} standard "
                    f"errors in {metric} of {system}: gates that compare with it fail more often than promised"
                )
