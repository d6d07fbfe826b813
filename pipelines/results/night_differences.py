"""The paired difference of two nights on the same ground truth, from their stored sums."""

from __future__ import annotations

from dataclasses import replace

from ...metrics.statistics.paired import paired_differences
from ...metrics.statistics.same_samples import same_samples
from ..config.errors import UsageError, one_line
from .history import Differences, History, NightDifference
from .history_index import run_path
from .stored import Run
from .verdict import Interval


def with_differences(folder: str, history: History) -> History:
    """Returns a history in which each system of the last night is compared with the last night that allows it."""
    latest = history.nights[-1]
    compared = {
        system: night_differences(run_path(folder, before[-1].run), run_path(folder, latest.run), system)
        for system in latest.systems
        if (before := history.before(system))
    }
    return replace(history, differences=compared)


def night_differences(before: str, latest: str, system: str) -> Differences | str:
    """Returns the difference of each metric of a system in two runs; where their sums cannot be read, the reason."""
    try:
        runs = [Run(path) for path in (before, latest)]
        measured = [run.measured(system, "") for run in runs]
        benchmark = runs[1].configuration.benchmark
        confidence = runs[1].configuration.settings.bootstrap.confidence
        paired = paired_differences(benchmark, measured[0], measured[1], confidence)
    except (UsageError, ValueError, KeyError) as error:
        return one_line(error)
    found = {}
    for metric, each in paired.items():
        if each.difference is None:
            continue
        spec = benchmark.spec_of(metric)
        word = _word(each.interval, spec is None or spec.higher_is_better)
        if word and same_samples(benchmark, metric, *measured) is False:
            word += ", of other samples"
        found[metric] = NightDifference(each.difference, each.interval, word)
    return found


def _word(interval: Interval | None, higher_is_better: bool) -> str:
    if interval is None:
        return ""
    low, high = interval
    return "no difference shown" if low <= 0 <= high else "better" if (low > 0) == higher_is_better else "worse"
