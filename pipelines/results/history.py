"""What a series of nights tells: tonight against the nights before, drifts, change points, breaks, missing nights."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow.compute as pc

from metrics.registry import benchmark_class, benchmark_names
from metrics.statistics.change_points import change_points
from pipelines.results.stored import scoring_version

MAX_MAIN_METRICS = 8
NIGHTLY_S = 12 * 3600.0
"""Runs that are further apart than this, in the median, are taken for nights that should come regularly."""
MISSING_FROM = 1.5
MIN_DRIFT = 3


@dataclass(frozen=True)
class Point:
    """A metric of a system on one night."""

    value: float
    low: float | None
    high: float | None
    error: float | None
    verdict: str | None


@dataclass(frozen=True)
class Night:
    """One run of a benchmark.

    points: by system and metric, of all samples. unmeasured: the metrics without a value, with the verdict of their
    gates. gates: what all gates of the run come to, also those on slices; empty where it has none.
    """

    run: str
    started: str
    version: str
    scoring: str
    ground_truth: str | None
    points: dict[tuple[str, str], Point] = field(default_factory=dict)
    unmeasured: dict[tuple[str, str], str | None] = field(default_factory=dict)
    gates: str = ""

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems of the run, also those of which nothing was measured."""
        return tuple(dict.fromkeys(name for name, _ in (*self.points, *self.unmeasured)))

    @property
    def time(self) -> float:
        """When it started, in seconds since 1970; raises ValueError where that is no time."""
        return datetime.fromisoformat(self.started.replace("Z", "+00:00")).timestamp()


@dataclass(frozen=True)
class Break:
    """A night from which on scores cannot be compared with those before, and why."""

    night: Night
    reason: str


@dataclass(frozen=True)
class Gap:
    """Nights that are missing: some `count` between two runs."""

    before: Night
    after: Night
    count: int


@dataclass(frozen=True)
class Drift:
    """A metric that moved in one direction for several nights in a row."""

    system: str
    metric: str
    nights: tuple[Night, ...]
    first: float
    last: float


@dataclass(frozen=True)
class Change:
    """A night from which on a metric is another one. before: the mean since the change point before it."""

    system: str
    metric: str
    night: Night
    before: float
    after: float


@dataclass(frozen=True)
class History:
    """The nights of one benchmark, in the order of time, and what they tell."""

    benchmark: str
    metrics: tuple[str, ...]
    nights: tuple[Night, ...]
    breaks: tuple[Break, ...]
    gaps: tuple[Gap, ...]
    drift: Drift | None
    changes: tuple[Change, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before anything else, a line each."""
        if self.benchmark in benchmark_names():
            return ()
        return (
            f"no benchmark {self.benchmark} is installed here: its first {MAX_MAIN_METRICS} metrics are shown as if "
            "higher were better in each, without paired differences; install its package",
        )

    def comparable(self) -> tuple[Night, ...]:
        """Returns the last nights that can be compared with one another: those since the last break."""
        last = self.nights.index(self.breaks[-1].night) if self.breaks else 0
        return self.nights[last:]


def histories(table: Any) -> list[History]:
    """Returns the history of each benchmark in the table of all runs."""
    return [_history(name, nights) for name, nights in _nights(table).items()]


def main_metrics(benchmark: str, known: Sequence[str]) -> tuple[str, ...]:
    """Returns the metrics that a person reads first; of a benchmark that is not installed, the first there are."""
    if benchmark in benchmark_names():
        main = [metric for metric in benchmark_class(benchmark).main_metrics() if metric in known]
        if main:
            return tuple(main)
    return tuple(known[:MAX_MAIN_METRICS])


def _nights(table: Any) -> dict[str, list[Night]]:
    nights: dict[str, dict[str, Night]] = {}
    for row in table.filter(_all_samples(table)).to_pylist():
        of_benchmark = nights.setdefault(row["benchmark"], {})
        night = of_benchmark.setdefault(
            row["run"],
            Night(
                row["run"],
                row["started"],
                row["version"],
                row["scoring"],
                row["ground_truth"],
                gates=row["gates"] or "",
            ),
        )
        if row["value"] is None:
            night.unmeasured[row["system"], row["metric"]] = row["verdict"]
        else:
            point = Point(row["value"], row["low"], row["high"], row["error"], row["verdict"])
            night.points[row["system"], row["metric"]] = point
    return {name: list(nights[name].values()) for name in sorted(nights)}


def _all_samples(table: Any) -> Any:
    return pc.equal(table.column("slice"), "")


def _history(benchmark: str, nights: Sequence[Night]) -> History:
    known = list(dict.fromkeys(metric for night in nights for _, metric in night.points))
    metrics = main_metrics(benchmark, known)
    breaks = tuple(_breaks(nights))
    series = list(_series(nights, breaks, metrics))
    tested = len({(system, metric) for system, metric, _ in series})
    changes = [change for each in series for change in _changes(*each, tested)]
    drifts = [drift for each in series for drift in _drifts(*each)]
    return History(
        benchmark,
        metrics,
        tuple(nights),
        breaks,
        tuple(_gaps(nights)),
        max(drifts, key=lambda drift: (len(drift.nights), abs(drift.last - drift.first)), default=None),
        tuple(sorted(changes, key=lambda change: (change.night.started, change.system, change.metric))),
    )


def _breaks(nights: Sequence[Night]) -> Iterator[Break]:
    for before, night in itertools.pairwise(nights):
        reasons = []
        if night.ground_truth is None or night.ground_truth != before.ground_truth:
            reasons.append("the ground truth changed" if night.ground_truth else "the ground truth is not known")
        if scoring_version(night.version) != scoring_version(before.version):
            reasons.append(f"beamscore {before.version or 'of no version'} became {night.version or 'of no version'}")
        if night.scoring != before.scoring:
            reasons.append("the options of scoring changed")
        if reasons:
            yield Break(night, "; ".join(reasons))


def _series(
    nights: Sequence[Night], breaks: Sequence[Break], metrics: Sequence[str]
) -> Iterator[tuple[str, str, list[Night]]]:
    """Yields each metric of each system between two breaks, with the nights that have it."""
    starts = [0, *(nights.index(each.night) for each in breaks), len(nights)]
    for first, last in itertools.pairwise(starts):
        part = nights[first:last]
        for system in dict.fromkeys(name for night in part for name in night.systems):
            for metric in metrics:
                having = [night for night in part if (system, metric) in night.points]
                if having:
                    yield system, metric, having


def _changes(system: str, metric: str, nights: Sequence[Night], tested: int) -> Iterator[Change]:
    points = [night.points[system, metric] for night in nights]
    values = [point.value for point in points]
    places = change_points(values, [point.error or 0.0 for point in points], max(tested, MAX_MAIN_METRICS))
    for number, place in enumerate(places):
        start = places[number - 1] if number else 0
        yield Change(system, metric, nights[place], statistics.fmean(values[start:place]), values[place])


def _drifts(system: str, metric: str, nights: Sequence[Night]) -> Iterator[Drift]:
    """Yields the longest stretches in which a metric moved in one direction every night."""
    values = [night.points[system, metric].value for night in nights]
    start = 0
    for place in range(1, len(values) + 1):
        goes_on = place < len(values) and values[place] != values[place - 1]
        rises = goes_on and values[place] > values[place - 1]
        same = goes_on and (place - start < 2 or rises == (values[place - 1] > values[start]))
        if not same:
            if place - start > MIN_DRIFT:
                yield Drift(system, metric, tuple(nights[start:place]), values[start], values[place - 1])
            start = place - 1 if goes_on else place


def _gaps(nights: Sequence[Night]) -> Iterator[Gap]:
    """Yields where runs that come every night, or every week, have left one out."""
    try:
        times = [night.time for night in nights]
    except ValueError:
        return
    steps = [after - before for before, after in itertools.pairwise(times)]
    if len(steps) < 2 or (usual := statistics.median(steps)) < NIGHTLY_S:
        return
    for place, step in enumerate(steps):
        if step >= MISSING_FROM * usual:
            yield Gap(nights[place], nights[place + 1], round(step / usual) - 1 or 1)
