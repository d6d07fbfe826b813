"""The documents of a history: one for each benchmark that has runs in a folder."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
import pyarrow.compute as pc

from ...metrics.common.text import some_of
from ...transforms.rows import is_one_of
from ..config.errors import UsageError
from ..runs.documents import GateVerdict
from ..runs.gates import RecordFailure, stored_failures
from ..runs.history import History, Night, Point
from ..runs.history_index import run_path
from ..runs.numbers import count_of, fixed, typeset
from ..runs.run import Run
from . import document as doc
from .against import NOTHING, SLICES_NAMED, BaselineDiff, against_baseline, page_link, run_differences
from .judgement import judge_difference, judge_nights, lead_first
from .render import Reports, write_reports
from .samples import columns_of
from .tables import compared_table
from .text import distinct_line, one_line

REPORT, PAGE = "history.md", "history.html"
MAX_NIGHTS = 1000
MAX_SLICE_VALUES = 400_000
"""The limit for all slices of a benchmark over all nights; the slices with most samples come first."""
DECIMALS = 6
WINDOWS = (7, 30)
NIGHTS_LISTED = 30


@dataclass(frozen=True)
class HistorySources:
    """What a history is made of.

    folder: the folder with the runs. output: the folder of the page, to which links to runs are relative. histories:
    one for each benchmark. table: all rows of all runs. unreadable: a line for each folder that looks like a run and
    could not be read. command: how the history was started. blessed: the run that a person has blessed.
    """

    folder: str
    output: str
    histories: Sequence[History]
    table: Any
    unreadable: Sequence[str] = ()
    command: Sequence[str] = ()
    blessed: Run | None = None


def history_reports(sources: HistorySources, with_page: bool) -> Reports:
    """Returns history.md and, if `with_page`, history.html."""
    documents = [build_history(sources, each) for each in sources.histories]
    page = (lambda: documents) if with_page else None
    return write_reports(documents, REPORT, page, PAGE, "history.md and history.parquet")


def build_history(sources: HistorySources, history: History) -> doc.Document:
    """Returns the document of the runs of one benchmark."""
    nights, latest = history.nights[-MAX_NIGHTS:], history.nights[-1]
    place = {night.run: number for number, night in enumerate(nights)}
    systems = tuple(dict.fromkeys(system for night in nights for system in night.systems))
    slices, left_out = _slices(history, place, systems, sources.table)
    parts = list(dict.fromkeys(night.comparable_by for night in nights))
    rows = tuple(_night(sources, night, parts.index(night.comparable_by), systems) for night in nights)
    last = _stored(sources.folder, latest.run)
    blessed = _blessed(sources, history, last)
    nightly = dict(_nightly(sources.folder, last, history))
    differences = tuple(
        msgspec.structs.replace(compared, system=systems.index(system))
        for system, against in nightly.items()
        for (_, label, metric), compared in against.differences.items()
        if not label and metric in history.metrics
    )
    document = doc.Document(
        kind="history",
        title=f"{history.benchmark}: {count_of(len(history.nights), 'run')}, "
        f"{history.nights[0].started[:10]} to {latest.started[:10]}",
        benchmark=history.benchmark,
        summary=f"History of {sources.folder}",
        systems=systems,
        header=tuple(_neighbors(sources, history, rows, blessed)),
        verdict=_verdict(last, history, systems, differences, nightly),
        differences=differences,
        samples_page=rows[-1].link or "",
        metrics=tuple(_metric(history, name) for name in history.metrics),
        lead=lead_first(history.kind)[0],
        history=doc.Nights(
            rows,
            (*_series(nights, history.metrics, systems), *slices),
            tuple(_events(history, place, systems)),
            tuple(dict.fromkeys(_gates(last, history))),
        ),
    )
    against: list[doc.Block] = [doc.Text(blessed.note)] if blessed.note else []
    if rows_of_blessed := [each for (_, label, _), each in blessed.differences.items() if not label]:
        sides = ("baseline", "latest run")
        against.append(compared_table("Against the baseline", rows_of_blessed, latest.systems, sides))
    multiples: list[doc.Block] = [doc.Slot("multiples") if slices else doc.Text("No run has slices.")]
    if left_out:
        others = f"{left_out:,} series of smaller slices are not in this page; history.parquet has them."
        multiples.append(doc.Text(others, "caption"))
    sections: tuple[doc.Section, ...] = (
        doc.Section("verdict", "Latest run", [doc.Slot("verdict", "both"), *_latest(document, history, nightly)]),
        doc.Section("baseline", "Against the baseline", against),
        doc.Section("metrics", "Metrics over time", [doc.Slot("series")], "page"),
        doc.Section("events", "What happened", [*_event_blocks(document)]),
        doc.Section("slices", "Slices over time", multiples, "page"),
        doc.Section("nights", "Nights", [doc.Slot("nights"), *_night_table(document, len(history.nights))]),
    )
    if history is sources.histories[-1]:
        command = shlex.join(sources.command)
        sections += (
            doc.Section("unreadable", "Not read", [doc.Text(line, "item") for line in sources.unreadable]),
            doc.Section("provenance", "Provenance", [doc.Text(command, "code")] if command else [], "page"),
        )
    return msgspec.structs.replace(document, sections=sections)


def _neighbors(
    sources: HistorySources, history: History, rows: Sequence[doc.NightRow], blessed: BaselineDiff
) -> Iterator[tuple[str, doc.Cell]]:
    """Yields the benchmark, and links to the last run, the run before it and the blessed run."""
    yield "benchmark", history.benchmark
    for name, night in zip(("latest run", "run before"), rows[:-3:-1], strict=False):
        yield name, doc.Link(night.run, address=night.link)
    if blessed.path and sources.blessed is not None:
        yield "baseline", doc.Link(blessed.path, address=page_link(sources.blessed.path, sources.output, "."))


def _metric(history: History, name: str) -> doc.Metric:
    return doc.Metric.of(history.kind.spec_of(name), name)


def _stored(folder: str, run: str) -> Run | None:
    """Returns a run of the folder; None if it can no longer be read."""
    try:
        return Run.read(run_path(folder, run))
    except (UsageError, OSError, ValueError):
        return None


def _failures(last: Run | None) -> list[RecordFailure]:
    """Returns why the last run fails, other than its gates, in the words of its own report."""
    try:
        return stored_failures(last, last.configuration.settings) if last else []
    except (UsageError, OSError, ValueError, KeyError, TypeError):
        return []


def _gate_verdicts(last: Run | None) -> list[GateVerdict] | None:
    """Returns the verdicts of the last run; None if they cannot be read."""
    try:
        return msgspec.convert(last.summary.gates, list[GateVerdict]) if last else None
    except msgspec.ValidationError:
        return None


def _verdict(
    last: Run | None,
    history: History,
    systems: Sequence[str],
    differences: Sequence[doc.Compared],
    nightly: Mapping[str, BaselineDiff],
) -> doc.Verdict:
    """Returns the verdict of the last night: by its gates, else against the last comparable night."""
    slices = []
    for system, against in nightly.items():
        for label in dict.fromkeys(label for _, label, _ in against.differences if label):
            moved = (against.differences.get((system, label, name)) for name in history.metrics)
            cells = tuple(each.difference if each else doc.Difference() for each in moved)
            slices.append(doc.Sliced(distinct_line(label), systems.index(system), None, (), cells, columns_of(label)))
    lead = lead_first(history.kind)
    judged = judge_difference(lead, history.metrics, differences, slices, systems, "The latest run")
    return judge_nights(history, lead, systems, judged, _gate_verdicts(last), _failures(last))


def _nightly(folder: str, last: Run | None, history: History) -> Iterator[tuple[str, BaselineDiff]]:
    """Yields the systems of the last night with their differences from the last comparable night, if it has any."""
    # Most systems have the same night before, whose sums take long to read.
    read = cache(lambda run: Run.read(run_path(folder, run)))
    for system in history.nights[-1].systems:
        if not (before := history.before(system)):
            continue
        run = before[-1].run
        try:
            if last is None:
                raise UsageError("the last run cannot be read")
            if before[-1].drawn != history.nights[-1].drawn:
                raise UsageError("the options of the bootstrap changed")
            earlier = read(run)
            compared, labels = run_differences(last, earlier, {system: system})
        except (UsageError, OSError, ValueError, KeyError) as error:
            yield system, BaselineDiff(f"Not compared with {run}: {error}.")
        else:
            others = f"The samples are not those of {run} in {some_of(labels, SLICES_NAMED)}." if labels else ""
            yield system, BaselineDiff(others, compared)


def _night(sources: HistorySources, night: Night, part: int, systems: Sequence[str]) -> doc.NightRow:
    scored = []
    for coverage in map(night.coverage.get, systems):
        text = f"{coverage.scored:,} of {coverage.samples:,}" if coverage else ""
        scored.append(f"{text}, {coverage.lacking_repeats}" if coverage and coverage.missing_repeats else text)
    link = page_link(sources.folder, sources.output, night.run)
    return doc.NightRow(night.run, night.started, night.version, link, night.gates, part, tuple(scored))


def _latest(document: doc.Document, history: History, nightly: Mapping[str, BaselineDiff]) -> Iterator[doc.Block]:
    """Yields a warning of lost systems, the gates of the last night, and its systems next to earlier nights."""
    nights, latest = history.nights, history.nights[-1]
    if lost := [name for night in nights[-2:-1] for name in night.systems if name not in latest.systems]:
        yield doc.Text(f"the latest run has no system {', '.join(lost)}, which the run before has.", label="Warning")
    if latest.gates:
        yield doc.Text(("Gates", doc.Word(latest.gates)))
    for system in latest.systems:
        before, against = history.before(system), nightly.get(system, NOTHING)
        yield doc.Text(system, "heading")
        yield doc.Text(f"{latest.coverage[system]}.")
        if against.note:
            yield doc.Text(against.note)
        last = before[-1].run if before and before[-1] is not nights[-2] else "the run before"
        of_medians = [f"against the median of {window}" for window in WINDOWS]
        header = ("metric", "latest run", f"against {last}", *of_medians, "gate")
        rows: list[tuple[float, Sequence[doc.Cells]]] = []
        for metric in document.metrics:
            key = system, metric.name
            point, compared = latest.points.get(key), against.differences.get((system, "", metric.name))
            moved = doc.Difference() if compared is None else compared.difference
            if point is not None:
                formulas = latest.formulas(metric.name)
                points = [each.points.get(key) for each in before if each.formulas(metric.name) == formulas]
                medians = (_median(points[-window:]) for window in WINDOWS)
                below = (doc.Difference(None if each is None else point.value - each) for each in medians)
                cell: doc.Cells = (moved, doc.Word(moved.verdict)) if moved.value is not None else moved
                measured = doc.Measured(point.value, point.low, point.high)
                rows.append((moved.value or 0.0, (metric, measured, cell, *below, doc.Word(point.verdict or "–"))))
            elif key in latest.unmeasured:
                gate = latest.unmeasured[key] or "–"
                rows.append((0.0, (metric, "not measured", *([None] * (1 + len(WINDOWS))), doc.Word(gate))))
        # The largest differences come first; metrics that were not compared keep their order.
        rows.sort(key=lambda row: -abs(row[0]))
        yield doc.Table(f"Metrics of {system} in the latest run", header, [row for _, row in rows], "metrics")


def _event_blocks(document: doc.Document) -> Iterator[doc.Block]:
    assert document.history is not None
    rows = [
        (
            document.history.nights[event.night].run,
            event.what,
            document.systems[event.system] if event.system >= 0 else "all",
            doc.Code(document.metrics[event.metric].name) if event.metric >= 0 else "all",
            event.text,
        )
        for event in document.history.events
    ]
    if rows:
        yield doc.Table("What happened", ("night", "what", "system", "metric", "why"), rows)


def _night_table(document: doc.Document, total: int) -> Iterator[doc.Block]:
    """Yields a table of the last nights, newest first, with a line at each break in comparability."""
    history = document.history
    assert history is not None
    overall = [each for each in history.series if not each.label]
    broken = {event.night: event.text for event in history.events if event.what == "break"}
    flagged = {(event.night, event.system) for event in history.events if event.what == "coverage"}
    rows: list[Sequence[doc.Cells]] = []
    for number in range(len(history.nights) - 1, max(-1, len(history.nights) - 1 - NIGHTS_LISTED), -1):
        night = history.nights[number]
        for system, scored in enumerate(night.scored):
            if scored:
                values = [each.values[number] for each in overall if each.system == system]
                cell: doc.Cell = doc.Word(scored, True) if (number, system) in flagged else scored
                name = document.systems[system]
                rows.append((night.started[:16], night.run, name, *values, cell, night.verdict))
        if number in broken:
            rows.append(("—— break ——", broken[number], "", *([""] * len(document.metrics)), "", ""))
    names = (metric.name for metric in document.metrics)
    yield doc.Table(
        "Nights", ("started", "run", "system", *map(doc.Code, names), "scored", "gates"), rows, where="markdown"
    )
    shown: tuple[tuple[int, doc.Where], ...] = ((NIGHTS_LISTED, "markdown"), (MAX_NIGHTS, "page"))
    for most, where in shown:
        if total > most:
            yield doc.Text(f"The last {most:,} of {total:,} runs; history.parquet has all.", "caption", where=where)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS) + 0.0


def _series(nights: Sequence[Night], metrics: Sequence[str], systems: Sequence[str]) -> Iterator[doc.Series]:
    for metric, name in enumerate(metrics):
        for number, system in enumerate(systems):
            points = [night.points.get((system, name)) for night in nights]
            values, lows, highs = (
                tuple(_rounded(getattr(point, end, None)) for point in points) for end in ("value", "low", "high")
            )
            yield doc.Series("", number, metric, values, lows, highs)


def _slices(
    history: History, place: Mapping[str, int], systems: Sequence[str], table: Any
) -> tuple[list[doc.Series], int]:
    """Returns the series of the slices, largest slices first, and how many series are left out."""
    metrics = list(history.metrics)
    condition = pc.field("benchmark") == history.benchmark
    condition &= (pc.field("slice") != "") & is_one_of("metric", metrics) & is_one_of("run", place)
    values: dict[tuple[str, str, str], list[float | None]] = {}
    samples: dict[tuple[str, str], int] = {}
    rows = table.filter(condition).select(["run", "system", "slice", "metric", "value", "samples"])
    for run, system, label, metric, value, count in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        values.setdefault((system, label, metric), [None] * len(place))[place[run]] = _rounded(value)
        samples[system, label] = count or 0
    measured = [key for key, series in values.items() if any(value is not None for value in series)]
    measured.sort(key=lambda key: (-samples[key[0], key[1]], key[1], key[0], metrics.index(key[2])))
    shown = measured[: max(1, MAX_SLICE_VALUES // max(1, len(place)))]
    series = [
        doc.Series(distinct_line(label), systems.index(system), metrics.index(metric),
                   tuple(values[system, label, metric]), samples=samples[system, label])
        for system, label, metric in shown
    ]  # fmt: skip
    return series, len(measured) - len(shown)


def _events(history: History, place: Mapping[str, int], systems: Sequence[str]) -> list[doc.Event]:
    """Returns all events of the nights that are shown, newest first."""
    dated = []
    for break_ in history.breaks:
        compared = f"; compared with {break_.earlier.run}" if break_.earlier else ""
        dated.append((break_.night, doc.Event(0, "break", f"{break_.reason}{compared}")))
    for change in (each for each in history.changes if each.night.run in place):
        text = f"{fixed(change.before)} to {fixed(change.after)}, {typeset(change.after - change.before)}"
        at = systems.index(change.system), history.metrics.index(change.metric)
        dated.append((change.night, doc.Event(0, "change point", text, *at)))
    for gap in history.gaps:
        text = f"{count_of(gap.count, 'missing night')} after {gap.before.run}"
        dated.append((gap.after, doc.Event(0, "missing before", text)))
    dated += [
        (drop.night, doc.Event(0, "coverage", str(drop), systems.index(drop.system)))
        for drop in history.drops if drop.system in systems
    ]  # fmt: skip
    events = [msgspec.structs.replace(event, night=place[night.run]) for night, event in dated if night.run in place]
    return sorted(events, key=lambda event: -event.night)


def _gates(last: Run | None, history: History) -> Iterator[doc.GateLine]:
    """Yields the gate bounds of the last run for metrics of all samples."""
    for gate in last.summary.gates if last else ():
        name, other, reference = gate.get("metric"), gate.get("not_worse_than"), gate.get("reference")
        if name not in history.metrics or gate.get("slice"):
            continue
        metric = history.metrics.index(name)
        for key, words in (("minimum", "at least"), ("maximum", "at most")):
            if gate.get(key) is not None:
                yield doc.GateLine(metric, gate[key], f"gate: {words} {gate[key]:g}")
        if other and reference is not None:
            margin = gate.get("margin") or 0.0
            worst = reference - margin if _metric(history, name).higher_is_better else reference + margin
            # Other bounds are those of all systems.
            of = f" of {gate['system']}" if len(history.nights[-1].systems) > 1 else ""
            yield doc.GateLine(metric, worst, f"gate{of}: not worse than {one_line(other, 80)}, margin {margin:g}")


def _median(points: Sequence[Point | None]) -> float | None:
    """Returns the median over the nights that have the metric; None if no night has it."""
    values = [point.value for point in points if point is not None]
    return statistics.median(values) if values else None


def _blessed(sources: HistorySources, history: History, last: Run | None) -> BaselineDiff:
    """Returns the differences from the blessed run, or why it is not compared."""
    if sources.blessed is None or last is None:
        return NOTHING
    try:
        if sources.blessed.benchmark != history.benchmark:
            return NOTHING
        return against_baseline(last, sources.blessed, "the blessed run")
    except UsageError as error:
        return BaselineDiff(f"Not compared with the blessed run: {error}.")
