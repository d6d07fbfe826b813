"""Makes history.html: every metric of every benchmark below a folder, over time."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from ....metrics.registry import benchmark_class, benchmark_names
from ....transforms.io.storage import STORAGE_ERRORS, is_on_disk
from ...config.errors import UsageError
from ..history import Break, History, Night
from ..history_index import run_path
from ..numbers import fixed
from ..run import PAGE as REPORT_PAGE
from ..stored import Run
from . import fallback
from .build import MAX_CELL_LENGTH, declared_metric
from .document import MetricRow
from .history_document import (
    BenchmarkHistory,
    GateLine,
    HistoryData,
    HistoryPage,
    MarkedNight,
    NightRow,
    Series,
    SliceSeries,
)
from .history_headline import history_headline
from .render import render
from .rows import DECIMALS
from .text import command_line, one_line

PAGE = "history.html"
MAX_NIGHTS = 1000
MAX_SLICE_VALUES = 400_000
"""Of all slices of a benchmark, over all nights; the slices with most samples come first."""


@dataclass(frozen=True)
class HistorySources:
    """What a history page is made of.

    folder: the one with the runs. output: where the page will be, from which it links the pages of runs. found: the
    history of each benchmark. table: all rows of all runs. unreadable: folders that look like runs and could not be
    read, a line each. command: how the history was asked for.
    """

    folder: str
    output: str
    found: Sequence[History]
    table: Any
    unreadable: Sequence[str] = ()
    command: Sequence[str] = ()


def page_or_reason(sources: HistorySources) -> fallback.MadePage:
    """Returns the page of all runs below a folder; where it cannot be made, a page that says why."""
    return fallback.page_or_reason(partial(history_page, sources), PAGE, "history.md and history.parquet")


def history_page(sources: HistorySources) -> bytes:
    """Returns the page."""
    return render(build_history_page(sources))


def build_history_page(sources: HistorySources) -> HistoryPage:
    """Returns what the page shows."""
    histories = tuple(_benchmark(sources, each) for each in sources.found)
    nights = sum(len(each.nights) for each in sources.found)
    return HistoryPage(
        title=f"History of {one_line(sources.folder, MAX_CELL_LENGTH)}",
        summary=f"{nights:,} runs of {', '.join(each.benchmark for each in histories)}.",
        unreadable=tuple(one_line(line, MAX_CELL_LENGTH) for line in sources.unreadable),
        command=command_line(sources.command),
        data=HistoryData(histories),
    )


def _benchmark(sources: HistorySources, history: History) -> BenchmarkHistory:
    folder = sources.folder
    nights = history.nights[-MAX_NIGHTS:]
    place = {night.run: number for number, night in enumerate(nights)}
    systems = tuple(dict.fromkeys(system for night in nights for system in night.systems))
    slices, left_out = _slices(history, place, sources.table)
    gates = _gates(folder, history)
    parts = list(dict.fromkeys(night.comparable_by for night in nights))
    return BenchmarkHistory(
        one_line(history.benchmark, MAX_CELL_LENGTH),
        history_headline(history),
        tuple(one_line(line, MAX_CELL_LENGTH) for line in history.warnings),
        tuple(_metric(history.benchmark, name) for name in history.metrics),
        tuple(one_line(system, MAX_CELL_LENGTH) for system in systems),
        tuple(_night(sources, night, parts.index(night.comparable_by), systems) for night in nights),
        len(history.nights) - len(nights),
        tuple(
            _series(nights, system, number, name) for number, name in enumerate(history.metrics) for system in systems
        ),
        slices,
        left_out,
        tuple(
            MarkedNight(place[each.night.run], one_line(_reason(each), MAX_CELL_LENGTH))
            for each in history.breaks
            if each.night.run in place
        ),
        tuple(_changes(history, place)),
        tuple(
            MarkedNight(place[each.after.run], f"{each.count:,} missing night{'s' * (each.count > 1)}")
            for each in history.gaps
            if each.after.run in place
        ),
        tuple(gates),
        tuple(
            MarkedNight(place[each.night.run], str(each), one_line(each.system, MAX_CELL_LENGTH))
            for each in history.drops
            if each.night.run in place
        ),
    )


def _metric(benchmark: str, name: str) -> MetricRow:
    if benchmark in benchmark_names() and (spec := benchmark_class(benchmark).spec_of(name)) is not None:
        return declared_metric(spec)
    return MetricRow(one_line(name, MAX_CELL_LENGTH), "", True, None, None, False, ())


def _reason(each: Break) -> str:
    return each.reason if each.earlier is None else f"{each.reason}; compared with {each.earlier.run}"


def _night(sources: HistorySources, night: Night, part: int, systems: Sequence[str]) -> NightRow:
    found = (night.coverage.get(system) for system in systems)
    return NightRow(
        one_line(night.run, MAX_CELL_LENGTH),
        one_line(night.started, MAX_CELL_LENGTH),
        one_line(night.version, MAX_CELL_LENGTH),
        page_link(sources.folder, sources.output, night.run),
        night.gates,
        part,
        tuple("" if each is None else f"{each.scored:,} of {each.samples:,}" for each in found),
    )


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


def _series(nights: Sequence[Night], system: str, number: int, metric: str) -> Series:
    points = [night.points.get((system, metric)) for night in nights]
    return Series(
        one_line(system, MAX_CELL_LENGTH),
        number,
        tuple(None if point is None else _rounded(point.value) for point in points),
        tuple(None if point is None else _rounded(point.low) for point in points),
        tuple(None if point is None else _rounded(point.high) for point in points),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS) + 0.0


def _changes(history: History, place: Mapping[str, int]) -> Iterator[MarkedNight]:
    for change in history.changes:
        if change.night.run in place:
            text = f"{fixed(change.before)} → {fixed(change.after)}"
            system = one_line(change.system, MAX_CELL_LENGTH)
            yield MarkedNight(place[change.night.run], text, system, history.metrics.index(change.metric))


def _slices(history: History, place: Mapping[str, int], table: Any) -> tuple[tuple[SliceSeries, ...], int]:
    """Returns the series of the slices, those with most samples first, and how many are left out."""
    metrics = list(history.metrics)
    wanted = pc.and_(
        pc.and_(pc.equal(table.column("benchmark"), history.benchmark), pc.not_equal(table.column("slice"), "")),
        pc.and_(
            pc.is_in(table.column("metric"), pa.array(metrics, pa.string())),
            pc.is_in(table.column("run"), pa.array(list(place), pa.string())),
        ),
    )
    columns = ["run", "system", "slice", "metric", "value", "samples"]
    values: dict[tuple[str, str, str], list[float | None]] = {}
    samples: dict[tuple[str, str], int] = {}
    found = table.filter(wanted).select(columns)
    for run, system, label, metric, value, count in zip(*(column.to_pylist() for column in found.columns), strict=True):
        values.setdefault((system, label, metric), [None] * len(place))[place[run]] = _rounded(value)
        samples[system, label] = count or 0
    measured = [key for key, series in values.items() if any(value is not None for value in series)]
    measured.sort(key=lambda key: (-samples[key[0], key[1]], key[1], key[0], metrics.index(key[2])))
    kept = measured[: max(1, MAX_SLICE_VALUES // max(1, len(place)))]
    series = tuple(
        SliceSeries(
            one_line(label, MAX_CELL_LENGTH),
            one_line(system, MAX_CELL_LENGTH),
            metrics.index(metric),
            tuple(values[system, label, metric]),
            samples[system, label],
        )
        for system, label, metric in kept
    )
    return series, len(measured) - len(kept)


def _gates(folder: str, history: History) -> Iterator[GateLine]:
    """Yields the bounds of the metrics of all samples in the last run."""
    try:
        gates = Run(run_path(folder, history.nights[-1].run)).summary.gates
    except (UsageError, *STORAGE_ERRORS, ValueError):
        return
    seen = set()
    for gate in gates:
        metric = gate.get("metric")
        if metric not in history.metrics or gate.get("slice"):
            continue
        number = history.metrics.index(metric)
        spec = _metric(history.benchmark, metric)
        for value, text in _bounds(gate, spec.higher_is_better):
            if (number, value, text) not in seen:
                seen.add((number, value, text))
                yield GateLine(number, value, text)


def _bounds(gate: Mapping[str, Any], higher_is_better: bool) -> Iterator[tuple[float, str]]:
    for key, words in (("minimum", "at least"), ("maximum", "at most")):
        if isinstance(gate.get(key), (int, float)):
            yield float(gate[key]), f"gate: {words} {gate[key]:g}"
    reference, margin = gate.get("reference"), gate.get("margin") or 0.0
    if gate.get("not_worse_than") and isinstance(reference, (int, float)) and isinstance(margin, (int, float)):
        against = one_line(str(gate.get("not_worse_than")), 80)
        worst = reference - margin if higher_is_better else reference + margin
        yield float(worst), f"gate: not worse than {against}, margin {margin:g}"
