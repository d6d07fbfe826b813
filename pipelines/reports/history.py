"""The documents of a history: one for each benchmark with runs below a folder."""

from __future__ import annotations

import os
import posixpath
import shlex
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.io.storage import STORAGE_ERRORS, is_on_disk
from ..config.errors import UsageError
from ..runs.differences import PAIRED, differences
from ..runs.history import Differences, History, NightDifference, Point, night_differences
from ..runs.history import Night as Run_
from ..runs.history_index import run_path
from ..runs.run import PAGE as REPORT_PAGE
from ..runs.run import Run
from .document import (
    Compared,
    Difference,
    Document,
    Event,
    Fact,
    GateLine,
    Measured,
    Metric,
    Night,
    Nights,
    Notes,
    Series,
    Tonight,
    TonightMetric,
    Verdict,
)
from .evaluation import metric_of
from .judgement import judge_difference, judge_nights, lead_first
from .render import Reports, write_reports
from .text import one_line

REPORT, PAGE = "history.md", "history.html"
MAX_NIGHTS = 1000
MAX_SLICE_VALUES = 400_000
"""Of all slices of a benchmark, over all nights; the slices with most samples come first."""
DECIMALS = 6
WINDOWS = (7, 30)


@dataclass(frozen=True)
class HistorySources:
    """What a history is made of.

    folder: the one with the runs. output: where the page will be, from which it links the pages of runs. found: the
    history of each benchmark. table: all rows of all runs. unreadable: folders that look like runs and could not be
    read, a line each. command: how the history was asked for. blessed: the folder of the run that a person has blessed.
    """

    folder: str
    output: str
    found: Sequence[History]
    table: Any = None
    unreadable: Sequence[str] = ()
    command: Sequence[str] = ()
    blessed: str | None = None


def history_reports(sources: HistorySources, with_page: bool = True) -> Reports:
    """Returns history.md and, where it is asked for, history.html."""
    documents = [build_history(sources, each) for each in sources.found]
    page = (lambda: documents) if with_page else None
    return write_reports(documents, REPORT, page, PAGE, "history.md and history.parquet")


def build_history(sources: HistorySources, history: History) -> Document:
    """Returns the document of the runs of one benchmark."""
    nights, latest = history.nights[-MAX_NIGHTS:], history.nights[-1]
    place = {night.run: number for number, night in enumerate(nights)}
    systems = tuple(dict.fromkeys(system for night in nights for system in night.systems))
    slices, left_out = _slices(history, place, systems, sources.table)
    parts = list(dict.fromkeys(night.comparable_by for night in nights))
    rows = tuple(_night(sources, night, parts.index(night.comparable_by), systems) for night in nights)
    blessed, note = _blessed(sources, history)
    is_last = history is sources.found[-1]
    count = f"{len(history.nights):,} run{'s' if len(history.nights) > 1 else ''}"
    named = zip(("last night", "tonight"), rows[-2:], strict=True) if len(rows) > 1 else [("tonight", rows[-1])]
    return Document(
        kind="history",
        title=f"{history.benchmark}: {count}, {history.nights[0].started[:10]} to {latest.started[:10]}",
        benchmark=history.benchmark,
        summary=f"History of {sources.folder}",
        systems=systems,
        header=tuple(Fact(name, (night.run,), night.link) for name, night in named),
        verdict=_verdict(history),
        warnings=(*history.warnings, *_lost(history)),
        metrics=tuple(_metric(history, name) for name in history.metrics),
        history=Nights(
            rows,
            (*_series(nights, history.metrics, systems), *slices),
            tuple(_events(history, place, systems)),
            tuple(_gates(sources.folder, history)),
            tuple(_tonight(history, system, systems.index(system), blessed) for system in latest.systems),
            len(history.nights),
            left_out,
            sources.unreadable if is_last else (),
        ),
        command=shlex.join(sources.command) if is_last else "",
        notes=Notes(note),
    )


def _metric(history: History, name: str) -> Metric:
    return Metric(name) if history.kind is None else metric_of(history.kind, name)


def _verdict(history: History) -> Verdict:
    """Returns the verdict of the last night: by its gates, else against the last night that compares with it."""
    latest, compared = history.nights[-1], []
    for number, system in enumerate(latest.systems):
        before, found = history.before(system), history.differences.get(system, "")
        for name in history.metrics if before and not isinstance(found, str) else ():
            earlier, point = before[-1].points.get((system, name)), latest.points.get((system, name))
            if earlier is not None and point is not None and not isinstance(found, str) and name in found:
                metric, values = _metric(history, name), (Measured(earlier.value), Measured(point.value))
                words = name, metric.meaning, metric.higher_is_better
                compared.append(Compared(*words, number, *values, _difference(found[name])))
    lead = list(history.metrics) if history.kind is None else lead_first(history.kind)
    against = judge_difference(lead, history.metrics, compared, (), latest.systems, "Tonight")
    return judge_nights(history, lead, against)


def _lost(history: History) -> Iterator[str]:
    before, after = history.nights[-2:] if len(history.nights) > 1 else (history.nights[-1],) * 2
    lost = [name for name in before.systems if name not in after.systems]
    if lost:
        yield f"tonight has no system {', '.join(lost)}, which the run before has"


def _night(sources: HistorySources, night: Run_, part: int, systems: Sequence[str]) -> Night:
    found = (night.coverage.get(system) for system in systems)
    scored = tuple("" if each is None else f"{each.scored:,} of {each.samples:,}" for each in found)
    link = page_link(sources.folder, sources.output, night.run)
    return Night(night.run, night.started, night.version, link, night.gates, part, scored)


def page_link(folder: str, output: str, run: str) -> str | None:
    """Returns the address of the page of a run, relative to a page in `output`; None where there is none.

    On a disk it is looked for. An object store would have to be asked for each run, so it is taken to be there.
    """
    path = posixpath.normpath(posixpath.join(folder, run, REPORT_PAGE)) if is_on_disk(folder) else None
    if path is not None:
        if not is_on_disk(output) or not os.path.exists(path):
            return None
        relative = os.path.relpath(path, output)
    elif posixpath.normpath(folder) == posixpath.normpath(output):
        relative = posixpath.normpath(posixpath.join(run, REPORT_PAGE))
    else:
        return None
    # What begins with a dot and a slash is never taken for a scheme.
    return "./" + quote(relative.encode("utf-8", "surrogateescape"))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS) + 0.0


def _series(nights: Sequence[Run_], metrics: Sequence[str], systems: Sequence[str]) -> Iterator[Series]:
    for metric, name in enumerate(metrics):
        for number, system in enumerate(systems):
            points = [night.points.get((system, name)) for night in nights]
            yield Series(
                *("", number, metric),
                values=tuple(None if point is None else _rounded(point.value) for point in points),
                lows=tuple(None if point is None else _rounded(point.low) for point in points),
                highs=tuple(None if point is None else _rounded(point.high) for point in points),
            )


def _slices(history: History, place: Mapping[str, int], systems: Sequence[str], table: Any) -> tuple[list[Series], int]:
    """Returns the series of the slices, those with most samples first, and how many are left out."""
    if table is None:
        return [], 0
    metrics = list(history.metrics)
    wanted = pc.and_(
        pc.and_(pc.equal(table.column("benchmark"), history.benchmark), pc.not_equal(table.column("slice"), "")),
        pc.and_(
            pc.is_in(table.column("metric"), pa.array(metrics, pa.string())),
            pc.is_in(table.column("run"), pa.array(list(place), pa.string())),
        ),
    )
    values: dict[tuple[str, str, str], list[float | None]] = {}
    samples: dict[tuple[str, str], int] = {}
    found = table.filter(wanted).select(["run", "system", "slice", "metric", "value", "samples"])
    for run, system, label, metric, value, count in zip(*(column.to_pylist() for column in found.columns), strict=True):
        values.setdefault((system, label, metric), [None] * len(place))[place[run]] = _rounded(value)
        samples[system, label] = count or 0
    measured = [key for key, series in values.items() if any(value is not None for value in series)]
    measured.sort(key=lambda key: (-samples[key[0], key[1]], key[1], key[0], metrics.index(key[2])))
    kept = measured[: max(1, MAX_SLICE_VALUES // max(1, len(place)))]
    series = [
        Series(one_line(label), systems.index(system), metrics.index(metric), tuple(values[system, label, metric]),
               samples=samples[system, label])
        for system, label, metric in kept
    ]  # fmt: skip
    return series, len(measured) - len(kept)


def _events(history: History, place: Mapping[str, int], systems: Sequence[str]) -> list[Event]:
    """Returns all that happened on nights that are shown, the last first."""
    found = []
    for each in history.breaks:
        earlier = each.earlier.run if each.earlier else ""
        found.append((each.night, Event(0, "break", each.reason, earlier=earlier)))
    for change in history.changes:
        at = systems.index(change.system), history.metrics.index(change.metric)
        found.append((change.night, Event(0, "change point", "", *at, change.before, change.after)))
    for gap in history.gaps:
        text = f"{gap.count:,} missing night{'s' * (gap.count > 1)}"
        found.append((gap.after, Event(0, "missing before", text, earlier=gap.before.run)))
    found += [
        (drop.night, Event(0, "coverage", str(drop), systems.index(drop.system)))
        for drop in history.drops if drop.system in systems
    ]  # fmt: skip
    events = [msgspec.structs.replace(event, night=place[night.run]) for night, event in found if night.run in place]
    return sorted(events, key=lambda event: -event.night)


def _gates(folder: str, history: History) -> Iterator[GateLine]:
    """Yields the bounds of the metrics of all samples in the last run."""
    try:
        gates = Run.read(run_path(folder, history.nights[-1].run)).summary.gates
    except (UsageError, *STORAGE_ERRORS, ValueError):
        return
    seen = set()
    for gate in gates:
        metric = gate.get("metric")
        if metric not in history.metrics or gate.get("slice"):
            continue
        number = history.metrics.index(metric)
        for value, text in _bounds(gate, _metric(history, metric).higher_is_better):
            if (number, value, text) not in seen:
                seen.add((number, value, text))
                yield GateLine(number, value, text)


def _bounds(gate: Mapping[str, Any], higher_is_better: bool) -> Iterator[tuple[float, str]]:
    for key, words in (("minimum", "at least"), ("maximum", "at most")):
        if isinstance(gate.get(key), (int, float)):
            yield float(gate[key]), f"gate: {words} {gate[key]:g}"
    reference, margin = gate.get("reference"), gate.get("margin") or 0.0
    if gate.get("not_worse_than") and isinstance(reference, (int, float)) and isinstance(margin, (int, float)):
        worst = reference - margin if higher_is_better else reference + margin
        yield float(worst), f"gate: not worse than {one_line(str(gate['not_worse_than']), 80)}, margin {margin:g}"


def _tonight(history: History, system: str, number: int, blessed: Mapping[str, Differences]) -> Tonight:
    """Returns one system of the last night beside the nights before it."""
    nights, before = history.nights, history.before(system)
    latest, found = nights[-1], history.differences.get(system, {})
    reason = found if isinstance(found, str) else ""
    moved: Differences = {} if isinstance(found, str) else found
    rows = []
    for metric, name in enumerate(history.metrics):
        point = latest.points.get((system, name))
        if point is not None:
            medians = (_median([each.points.get((system, name)) for each in before[-window:]]) for window in WINDOWS)
            moved_by = tuple(None if median is None else point.value - median for median in medians)
            of_blessed = _difference(blessed.get(system, {}).get(name))
            value = Measured(point.value, point.low, point.high)
            difference = _difference(moved.get(name))
            rows.append(TonightMetric(metric, value, difference, moved_by, of_blessed, point.verdict or ""))
        elif (system, name) in latest.unmeasured:
            gate = latest.unmeasured[system, name] or ""
            rows.append(TonightMetric(metric, Measured(None), Difference(), (None,) * len(WINDOWS), gate=gate))
    # What moved most comes first; where nothing is compared, metrics keep their order.
    rows.sort(key=lambda row: -abs(row.difference.value or 0.0))
    dropped = next((str(drop) for drop in history.drops if drop.night is latest and drop.system == system), "")
    last = before[-1].run if before and before[-1] is not nights[-2] else "last night"
    return Tonight(number, str(latest.coverage[system]), dropped, last,
                   reason and f"{before[-1].run}: {reason}", tuple(rows))  # fmt: skip


def _median(points: Sequence[Point | None]) -> float | None:
    """Returns the median of the nights that have the metric; None where none has."""
    values = [point.value for point in points if point is not None]
    return statistics.median(values) if values else None


def _difference(found: NightDifference | None) -> Difference:
    if found is None:
        return Difference()
    low, high = found.interval or (None, None)
    return Difference(found.difference, low, high, found.word)


def _blessed(sources: HistorySources, history: History) -> tuple[dict[str, Differences], str]:
    """Returns the differences from the blessed run by system, and what it is, or why nothing is compared with it."""
    latest, blessed = history.nights[-1], sources.blessed
    if blessed is None:
        return {}, ""
    try:
        run = Run.read(blessed)
    except UsageError as error:
        return {}, f"Warning: {error}"
    if run.summary.benchmark != history.benchmark:
        return {}, ""
    path, named = run_path(sources.folder, latest.run), f"{blessed}, blessed by a person."
    try:
        reasons = differences(Run.read(path).signature, run.signature, PAIRED)
    except UsageError as error:
        reasons = [str(error)]
    if reasons:
        return {}, f"{named} Not compared: {reasons[0]}."
    found = {}
    for system in latest.systems:
        if system in run.summary.systems:
            moved = night_differences(blessed, path, system)
            if isinstance(moved, str):
                return {}, f"{named} Not compared: {moved}."
            found[system] = moved
    return found, named if found else f"{named} It has no system of the same name."
