"""The analysis of a series of nights: comparable nights, change points, breaks, coverage, missing nights, the median.

The median of recent nights is a fair baseline; the best night owes its place to luck. If a system decodes anew every
night, its scores scatter, and the best of seven nights is about 1.35 standard deviations above their mean: all later
nights then seem to have lost that much.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import msgspec
import pyarrow.compute as pc

from ...metrics.benchmark import AnyBenchmark
from ...metrics.derived import DefinitionError, formulas_behind, with_derived
from ...metrics.registry import benchmark_class
from ...metrics.repeats import REPEATS, with_repeats
from ...metrics.statistics.change_points import change_points
from .differences import changed_formulas, redefined, scoring_version
from .provenance import seconds

MAX_MAIN_METRICS = 8
NIGHTLY_S = 12 * 3600.0
"""Runs whose median distance is larger than this are treated as regular nights."""
COVERAGE_WINDOW = 30
MAX_UNSCORED_RISE = 0.01
"""A night is flagged if its share of samples without a score exceeds the usual share by more than this."""
RECENT = 7
MIN_NIGHTS = 3
"""The median of fewer nights says little about the next one."""


@dataclass(frozen=True)
class Point:
    """A metric of a system on one night."""

    value: float
    low: float | None
    high: float | None
    error: float | None
    verdict: str | None


@dataclass(frozen=True)
class NightCounts:
    """The sample counts of a system on one night, named as in history.parquet. missing: samples without a prediction.

    repeats: those of all samples that are not rejected; 0 in a run without repeats. missing_repeats: those of them
    without a prediction.
    """

    scored: int
    missing: int
    rejected: int
    repeats: int
    missing_repeats: int

    @property
    def samples(self) -> int:
        """The number of samples."""
        return self.scored + self.missing + self.rejected

    @property
    def unscored(self) -> float:
        """The share of samples without a score, each repeat as a part of its sample; 0 if there are no samples."""
        missing: float = self.missing
        if self.repeats:
            missing = (self.scored + self.missing) * self.missing_repeats / self.repeats
        return (missing + self.rejected) / self.samples if self.samples else 0.0

    def __str__(self) -> str:
        """Returns the counts as text, such as `171 of 396 samples scored, 225 without a prediction`."""
        counts = {"without a prediction": self.missing, "rejected": self.rejected}
        parts = [f"{count:,} {what}" for what, count in counts.items() if count]
        text = ", ".join([f"{self.scored:,} of {self.samples:,} samples scored", *parts])
        return f"{text}; {self.lacking_repeats}" if self.missing_repeats else text

    @property
    def lacking_repeats(self) -> str:
        """The repeats without a prediction as text, such as `27 of 198 repeats missing`."""
        return f"{self.missing_repeats:,} of {self.repeats:,} repeats missing"


@dataclass(frozen=True)
class Night:
    """One run of a benchmark.

    points: by system and metric, of all samples. unmeasured: the metrics without a value, with the verdict of their
    gates. coverage: by system. gates: the overall verdict of all gates of the run, including gates on slices; empty if
    it has none. drawn: gates compare no nights in which it differs, as they have other replicates. derived: the
    formulas of its derived metrics, by name.
    """

    run: str
    started: str
    version: str
    scoring: str
    ground_truth: str | None
    points: dict[tuple[str, str], Point] = field(default_factory=dict)
    unmeasured: dict[tuple[str, str], str | None] = field(default_factory=dict)
    coverage: dict[str, NightCounts] = field(default_factory=dict)
    gates: str = ""
    drawn: str = ""
    derived: Mapping[str, str] = field(default_factory=dict)

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems of the run, including systems without any measured metric."""
        return tuple(dict.fromkeys(name for name, _ in (*self.points, *self.unmeasured)))

    @property
    def is_scored(self) -> bool:
        """Whether samples of each system were scored, and some metric of it has a value."""
        measured = {system for system, _ in self.points}
        return all(each.scored and name in measured for name, each in self.coverage.items())

    @property
    def comparable_by(self) -> tuple[str, ...]:
        """The scores of two nights are comparable if this is equal."""
        # If the ground truth is not known, no other night can be shown to have the same.
        return self.ground_truth or f"only {self.run}", scoring_version(self.version), self.scoring

    def formulas(self, metric: str) -> dict[str, str]:
        """Returns the formulas of the derived metrics that decide a metric; see `formulas_behind`."""
        return formulas_behind(metric, self.derived)


@dataclass(frozen=True)
class Break:
    """A night that cannot be compared with the night before, or not in all metrics, and why.

    earlier: the last comparable night before it; None if there is none. It is the night before if only formulas of
    derived metrics changed.
    """

    night: Night
    reason: str
    earlier: Night | None = None


@dataclass(frozen=True)
class Gap:
    """Missing nights: about `count` of them between two runs."""

    before: Night
    after: Night
    count: int


@dataclass(frozen=True)
class CoverageDrop:
    """A night on which more samples of a system than usual have no score.

    usual: the share on earlier nights; None on the first night, when every sample should have a score.
    """

    night: Night
    system: str
    usual: float | None

    def __str__(self) -> str:
        """Returns the drop as text, with the shares in percent."""
        coverage = self.night.coverage[self.system]
        what = "repeats of samples" if coverage.repeats else "samples"
        text = f"{100 * coverage.unscored:.1f}% of the {what} were not scored"
        return text if self.usual is None else f"{text}, {100 * self.usual:.1f}% on earlier nights"


@dataclass(frozen=True)
class Change:
    """A night since which a metric has a different level.

    before: the mean that it departs from, see `change_points`. after: the value of that night.
    """

    system: str
    metric: str
    night: Night
    before: float
    after: float


@dataclass(frozen=True)
class History:
    """The nights of one benchmark in order of time, and their analysis."""

    benchmark: str
    metrics: tuple[str, ...]
    nights: tuple[Night, ...]
    breaks: tuple[Break, ...]
    gaps: tuple[Gap, ...]
    changes: tuple[Change, ...]
    drops: tuple[CoverageDrop, ...]

    @property
    def kind(self) -> type[AnyBenchmark]:
        """The benchmark, with the derived metrics of all nights."""
        return _kind(self.benchmark, self.nights)

    def before(self, system: str) -> list[Night]:
        """Returns the earlier nights that a system of the last night can be compared with."""
        *earlier, latest = self.nights
        of_system = [night for night in earlier if any(name == system for name, _ in night.points)]
        return [night for night in of_system if night.comparable_by == latest.comparable_by]


def _kind(benchmark: str, nights: Sequence[Night]) -> type[AnyBenchmark]:
    """Returns a benchmark with the derived metrics of all nights (the last definition wins), and repeats if any."""
    plain = benchmark_class(benchmark)
    if any(metric == REPEATS for night in nights for _, metric in night.points):
        plain = with_repeats(plain)
    try:
        return with_derived(plain, {name: formula for night in nights for name, formula in night.derived.items()})
    except DefinitionError:
        # A different version accepted it.
        return plain


def _nights(table: Any) -> dict[str, list[Night]]:
    nights: dict[str, dict[str, Night]] = {}
    for row in table.filter(pc.equal(table.column("slice"), "")).to_pylist():
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
                drawn=row["drawn"],
                derived=msgspec.json.decode(row["derived"] or "{}"),
            ),
        )
        night.coverage[row["system"]] = NightCounts(**{each.name: row[each.name] or 0 for each in fields(NightCounts)})
        if row["value"] is None:
            night.unmeasured[row["system"], row["metric"]] = row["verdict"]
        else:
            point = Point(row["value"], row["low"], row["high"], row["error"], row["verdict"])
            night.points[row["system"], row["metric"]] = point
    return {name: _with_code([*nights[name].values()]) for name in sorted(nights)}


def _with_code(nights: Sequence[Night]) -> list[Night]:
    """Returns nights with the version of the code of the next known one if theirs is not known, as in earlier runs."""
    parts = [night.scoring.partition(" ") for night in nights]
    known, code = list[Night](), next((own for _, _, own in reversed(parts) if own), "")
    for night, (options, _, own) in zip(reversed(nights), reversed(parts), strict=True):
        code = own or code
        known.append(replace(night, scoring=f"{options} {code}"))
    return known[::-1]


def histories(table: Any) -> list[History]:
    """Returns the history of each benchmark in the table of all runs."""
    results = []
    for benchmark, nights in _nights(table).items():
        known = list(dict.fromkeys(metric for night in nights for _, metric in night.points))
        main = [metric for metric in _kind(benchmark, nights).main_metrics() if metric in known]
        metrics = tuple(main or known[:MAX_MAIN_METRICS])
        series = list(_series(nights, metrics))
        tested = len({(system, metric) for system, metric, _ in series})
        changes = [change for each in series for change in _changes(*each, tested)]
        changes.sort(key=lambda change: (change.night.started, change.system, change.metric))
        breaks, gaps, drops = tuple(_breaks(nights)), tuple(_gaps(nights)), tuple(_drops(nights))
        results.append(History(benchmark, metrics, tuple(nights), breaks, gaps, tuple(changes), drops))
    return results


def _breaks(nights: Sequence[Night]) -> Iterator[Break]:
    last: dict[tuple[str, ...], Night] = {}
    for before, night in itertools.pairwise(nights):
        last[before.comparable_by] = before
        reasons = []
        if night.ground_truth is None or night.ground_truth != before.ground_truth:
            reasons.append("the ground truth changed" if night.ground_truth else "the ground truth is not known")
        if scoring_version(night.version) != scoring_version(before.version):
            reasons.append(f"beamscore {before.version or 'of no version'} became {night.version or 'of no version'}")
        (options, _, code), (old_options, _, old_code) = (each.scoring.partition(" ") for each in (night, before))
        if options != old_options:
            reasons.append("the options of scoring changed")
        if code != old_code:
            reasons.append("the code of the benchmark changed")
        reasons += [f"the formula of {name} changed" for name in changed_formulas(night.derived, before.derived)]
        if reasons:
            yield Break(night, "; ".join(reasons), last.get(night.comparable_by))


def _series(nights: Sequence[Night], metrics: Sequence[str]) -> Iterator[tuple[str, str, list[Night]]]:
    """Yields each metric of each system with the comparable nights that define it by the same formula."""
    parts: dict[tuple[str, ...], list[Night]] = {}
    for night in nights:
        parts.setdefault(night.comparable_by, []).append(night)
    for part in parts.values():
        for system in dict.fromkeys(name for night in part for name in night.systems):
            for metric in metrics:
                by_formulas: dict[frozenset[tuple[str, str]], list[Night]] = {}
                for night in part:
                    if (system, metric) in night.points:
                        by_formulas.setdefault(frozenset(night.formulas(metric).items()), []).append(night)
                for same_formulas in by_formulas.values():
                    yield system, metric, same_formulas


def _drops(nights: Sequence[Night]) -> Iterator[CoverageDrop]:
    """Yields the nights with more unscored samples of a system than the median of the nights before."""
    shares: dict[str, list[float]] = {}
    for night in nights:
        for system, coverage in night.coverage.items():
            before = shares.setdefault(system, [])
            usual = statistics.median(before[-COVERAGE_WINDOW:]) if before else None
            if coverage.unscored > (usual or 0.0) + MAX_UNSCORED_RISE:
                yield CoverageDrop(night, system, usual)
            before.append(coverage.unscored)


def _changes(system: str, metric: str, nights: Sequence[Night], tested: int) -> Iterator[Change]:
    points = [night.points[system, metric] for night in nights]
    values = [point.value for point in points]
    places = change_points(values, [point.error or 0.0 for point in points], max(tested, MAX_MAIN_METRICS))
    for place, mean in places.items():
        yield Change(system, metric, nights[place], mean, values[place])


def _gaps(nights: Sequence[Night]) -> Iterator[Gap]:
    """Yields the gaps in a series of runs that are made every night, or every week."""
    steps = [after - before for before, after in itertools.pairwise(seconds(night.started) for night in nights)]
    if len(steps) < 2 or (usual := statistics.median(steps)) < NIGHTLY_S:
        return
    for place, step in enumerate(steps):
        if (count := round(step / usual) - 1) > 0:
            yield Gap(nights[place], nights[place + 1], count)


def recent_nights(history: History, count: int = RECENT) -> list[Night]:
    """Returns the last `count` nights that compare with the last one and follow the last change of their metrics.

    A night that scored nothing of a system is left out, as is one that gates cannot compare with the last.
    """
    latest = history.nights[-1]
    changes = [each for each in history.changes if each.system in latest.systems]
    nights = [each.night for each in changes if each.night.comparable_by == latest.comparable_by]
    changed = max((night.started for night in nights), default="")
    return [
        night
        for night in history.nights
        if night.is_scored
        and night.comparable_by == latest.comparable_by
        and night.drawn == latest.drawn
        and set(night.systems) == set(latest.systems)
        and not redefined(night.derived, latest.derived)
        and night.started >= changed
    ][-count:]


def median_night(nights: Sequence[Night], metrics: Sequence[str]) -> Night:
    """Returns the night nearest to the medians of the nights; the last one on ties.

    Its distance is the largest |value - median| / standard error of a system and metric. With an even number of nights
    the median is the lower of the two in the middle.
    """
    points = [key for key in nights[-1].points if key[1] in metrics and all(key in night.points for night in nights)]
    medians = {key: statistics.median_low(night.points[key].value for night in nights) for key in points}
    scales = {key: nights[-1].points[key].error or 1.0 for key in points}

    def distance(night: Night) -> float:
        return max((abs(night.points[key].value - medians[key]) / scales[key] for key in points), default=0.0)

    return min(reversed(nights), key=distance)
