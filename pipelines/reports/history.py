"""The documents of a history: one for each benchmark with runs below a folder."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ..config.errors import UsageError
from ..runs.history import History, Point
from ..runs.history import Night as Run_
from ..runs.history_index import run_path
from ..runs.numbers import fixed, typeset
from ..runs.run import Run
from .against import NOTHING, Against, against_baseline, page_link, run_differences
from .document import (
    Block,
    Cell,
    Cells,
    Code,
    Compared,
    Difference,
    Document,
    Event,
    GateLine,
    Link,
    Measured,
    Metric,
    Night,
    Nights,
    Section,
    Series,
    Slice,
    Slot,
    Table,
    Text,
    Verdict,
    Word,
    samples_address,
)
from .judgement import judge_difference, judge_nights, lead_first
from .render import Reports, write_reports
from .samples import columns_of
from .tables import compared_table
from .text import one_line

REPORT, PAGE = "history.md", "history.html"
MAX_NIGHTS = 1000
MAX_SLICE_VALUES = 400_000
"""Of all slices of a benchmark, over all nights; the slices with most samples come first."""
DECIMALS = 6
WINDOWS = (7, 30)
NIGHTS_LISTED = 30


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
    blessed = _blessed(sources, history)
    document = Document(
        kind="history",
        title=f"{history.benchmark}: {len(history.nights):,} run{'s' * (len(history.nights) > 1)}, "
        f"{history.nights[0].started[:10]} to {latest.started[:10]}",
        benchmark=history.benchmark,
        summary=f"History of {sources.folder}",
        systems=systems,
        header=tuple(_neighbors(sources, history, rows, blessed)),
        verdict=_linked(_verdict(sources.folder, history), rows[-1].link, latest.systems),
        metrics=tuple(_metric(history, name) for name in history.metrics),
        history=Nights(
            rows,
            (*_series(nights, history.metrics, systems), *slices),
            tuple(_events(history, place, systems)),
            tuple(dict.fromkeys(_gates(sources.folder, history))),
        ),
    )
    sections: tuple[Section, ...] = (
        Section("verdict", "Tonight", [Slot("verdict", "both"), *_tonight(document, history)]),
        Section("baseline", "Against the baseline", [*_blessed_blocks(blessed, latest.systems)]),
        Section("metrics", "Metrics over time", [Slot("series")], "page"),
        Section("events", "What happened", [*_event_blocks(document)]),
        Section("slices", "Slices over time", [*_slice_blocks(slices, left_out)], "page"),
        Section("nights", "Nights", [Slot("nights"), *_night_table(document, len(history.nights))]),
    )
    if history is sources.found[-1]:
        command = shlex.join(sources.command)
        sections += (
            Section("unreadable", "Not read", [Text(line, "item") for line in sources.unreadable]),
            Section("provenance", "Provenance", [Text(command, "code")] if command else [], "page"),
        )
    return msgspec.structs.replace(document, sections=sections)


def _neighbors(
    sources: HistorySources, history: History, rows: Sequence[Night], blessed: Against
) -> Iterator[tuple[str, Cell]]:
    """Yields the benchmark, tonight, the night before, and the run that a person has blessed, with their pages."""
    yield "benchmark", history.benchmark
    for name, night in zip(("tonight", "last night"), rows[:-3:-1], strict=False):
        yield name, Link(night.run, address=night.link)
    if blessed.path:
        yield "baseline", Link(blessed.path, address=page_link(blessed.path, sources.output, "."))


def _metric(history: History, name: str) -> Metric:
    return Metric(name) if history.kind is None else Metric.of(history.kind.spec_of(name), name)


def _moved(history: History, system: str, metric: str) -> Difference:
    """Returns the difference of a metric from the last night that it can be compared with."""
    differences = history.differences.get(system, {})
    found = None if isinstance(differences, str) else differences.get(metric)
    if found is None:
        return Difference()
    low, high = found.interval or (None, None)
    return Difference(found.difference, low, high, found.word)


def _verdict(folder: str, history: History) -> Verdict:
    """Returns the verdict of the last night: by its gates, else against the last night that compares with it."""
    latest, compared = history.nights[-1], []
    slices: list[Slice] = []
    for number, system in enumerate(latest.systems):
        before = history.before(system)
        for metric in (_metric(history, name) for name in history.metrics if before):
            earlier, point = (night.points.get((system, metric.name)) for night in (before[-1], latest))
            difference = _moved(history, system, metric.name)
            if earlier is not None and point is not None and difference.value is not None:
                compared.append(Compared(metric, number, Measured(earlier.value), Measured(point.value), difference))
        if before:
            slices += _slice_differences(folder, history, system, number, before[-1])
    lead = list(history.metrics) if history.kind is None else lead_first(history.kind)
    judged = judge_difference(lead, history.metrics, compared, slices, latest.systems, "Tonight")
    return judge_nights(history, lead, judged)


def _linked(verdict: Verdict, page: str | None, systems: Sequence[str]) -> Verdict:
    """Returns a verdict of which the samples are in the page of the last night, where it has one."""

    def leading(found: Link) -> Link:
        if page is None or found.filters is None:
            return Link(found.text)
        system = {"system": systems[found.system]} if len(systems) > 1 else {}
        return Link(found.text, address=page + samples_address({**found.filters, **system}))

    reasons, lost = (tuple(map(leading, found)) for found in (verdict.reasons, verdict.lost))
    return msgspec.structs.replace(verdict, reasons=reasons, lost=lost)


def _slice_differences(folder: str, history: History, system: str, number: int, before: Run_) -> Iterator[Slice]:
    """Yields how the slices of a system moved since an earlier night; none where the sums of either cannot be read."""
    try:
        latest, other = (Run.read(run_path(folder, night.run)) for night in (history.nights[-1], before))
        found, _ = run_differences(latest, other, {system: system})
    except (UsageError, OSError, ValueError, KeyError):
        return
    for label in dict.fromkeys(label for _, label, _ in found if label):
        moved = (found.get((system, label, name)) for name in history.metrics)
        differences = tuple(each.difference if each else Difference() for each in moved)
        yield Slice(one_line(label), number, None, (), (), differences, columns_of(label))


def _night(sources: HistorySources, night: Run_, part: int, systems: Sequence[str]) -> Night:
    found = (night.coverage.get(system) for system in systems)
    scored = tuple("" if each is None else f"{each.scored:,} of {each.samples:,}" for each in found)
    link = page_link(sources.folder, sources.output, night.run)
    return Night(night.run, night.started, night.version, link, night.gates, part, scored)


def _tonight(document: Document, history: History) -> Iterator[Block]:
    """Yields what there is to know of the last night, and each of its systems beside the nights before it."""
    nights, latest = history.nights, history.nights[-1]
    lost = [name for night in nights[-2:-1] for name in night.systems if name not in latest.systems]
    said = [f"tonight has no system {', '.join(lost)}, which the run before has"] if lost else []
    for warning in said:
        yield Text(f"{warning}.", label="Warning")
    for each in history.breaks:
        if each.night is latest:
            text = "Tonight cannot be compared with the nights before."
            if each.earlier is not None:
                text = f"Tonight is compared with {each.earlier.run} and the nights before that are as it is."
            yield Text(f"{each.reason}. {text}", label="Break")
    if latest.gates:
        yield Text(("Gates", Word(latest.gates)))
    for system in latest.systems:
        before, found = history.before(system), history.differences.get(system)
        yield Text(system, "heading")
        yield Text(f"{latest.coverage[system]}.")
        if isinstance(found, str):
            yield Text(f"Not compared with {before[-1].run}: {found}.")
        for drop in history.drops:
            if drop.night is latest and drop.system == system:
                yield Text(f"{drop}.", label="Warning")
        last = before[-1].run if before and before[-1] is not nights[-2] else "last night"
        of_medians = [f"against the median of {window}" for window in WINDOWS]
        header = ("metric", "tonight", f"against {last}", *of_medians, "gate")
        rows: list[tuple[float, Sequence[Cells]]] = []
        for metric in document.metrics:
            key = system, metric.name
            point, moved = latest.points.get(key), _moved(history, system, metric.name)
            if point is not None:
                medians = (_median([each.points.get(key) for each in before[-window:]]) for window in WINDOWS)
                below = (Difference(None if each is None else point.value - each) for each in medians)
                cell: Cells = (moved, Word(moved.verdict)) if moved.value is not None else moved
                measured = Measured(point.value, point.low, point.high)
                rows.append((moved.value or 0.0, (metric, measured, cell, *below, Word(point.verdict or "–"))))
            elif key in latest.unmeasured:
                gate = latest.unmeasured[key] or "–"
                rows.append((0.0, (metric, "not measured", *([None] * (1 + len(WINDOWS))), Word(gate))))
        # What moved most comes first; where nothing is compared, metrics keep their order.
        rows.sort(key=lambda row: -abs(row[0]))
        yield Table(f"Metrics of {system} tonight", header, [row for _, row in rows], "metrics")


def _blessed_blocks(blessed: Against, systems: Sequence[str]) -> Iterator[Block]:
    if blessed.note:
        yield Text(blessed.note)
    if rows := [found for (_, label, _), found in blessed.found.items() if not label]:
        yield compared_table("Against the baseline", rows, systems, ("baseline", "tonight"))


def _event_blocks(document: Document) -> Iterator[Block]:
    assert document.history is not None
    rows = [
        (
            document.history.nights[event.night].run,
            event.what,
            document.systems[event.system] if event.system >= 0 else "all",
            Code(document.metrics[event.metric].name) if event.metric >= 0 else "all",
            event.text,
        )
        for event in document.history.events
    ]
    if rows:
        yield Table("What happened", ("night", "what", "system", "metric", "why"), rows)


def _slice_blocks(series: Sequence[Series], left_out: int) -> Iterator[Block]:
    yield Slot("multiples") if series else Text("No run has slices.")
    if left_out:
        yield Text(f"{left_out:,} series of smaller slices are not in this page; history.parquet has them.", "caption")


def _night_table(document: Document, total: int) -> Iterator[Block]:
    """Yields the lines of the last nights, the last first, with a line where scores stop to compare."""
    history = document.history
    assert history is not None
    whole = [each for each in history.series if not each.label]
    broken = {event.night: event.text for event in history.events if event.what == "break"}
    flagged = {(event.night, event.system) for event in history.events if event.what == "coverage"}
    rows: list[Sequence[Cells]] = []
    for number in range(len(history.nights) - 1, max(-1, len(history.nights) - 1 - NIGHTS_LISTED), -1):
        night = history.nights[number]
        for system, scored in enumerate(night.scored):
            if scored:
                values = [each.values[number] for each in whole if each.system == system]
                cell: Cell = Word(scored, True) if (number, system) in flagged else scored
                name = document.systems[system]
                rows.append((night.started[:16], night.run, name, *values, cell, night.verdict))
        if number in broken:
            rows.append(("—— break ——", broken[number], "", *([""] * len(document.metrics)), "", ""))
    names = (metric.name for metric in document.metrics)
    yield Table("Nights", ("started", "run", "system", *map(Code, names), "scored", "gates"), rows, where="markdown")
    if total > NIGHTS_LISTED:
        yield Text(f"{total - NIGHTS_LISTED:,} earlier runs are in history.parquet.", where="markdown")
    if total > MAX_NIGHTS:
        yield Text(f"{total - MAX_NIGHTS:,} earlier runs are not in this page.", "caption", where="page")


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS) + 0.0


def _series(nights: Sequence[Run_], metrics: Sequence[str], systems: Sequence[str]) -> Iterator[Series]:
    for metric, name in enumerate(metrics):
        for number, system in enumerate(systems):
            points = [night.points.get((system, name)) for night in nights]
            values, lows, highs = (
                tuple(_rounded(getattr(point, end, None)) for point in points) for end in ("value", "low", "high")
            )
            yield Series("", number, metric, values, lows, highs)


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
        compared = f"; compared with {each.earlier.run}" if each.earlier else ""
        found.append((each.night, Event(0, "break", f"{each.reason}{compared}")))
    for change in history.changes:
        text = f"{fixed(change.before)} to {fixed(change.after)}, {typeset(change.after - change.before)}"
        at = systems.index(change.system), history.metrics.index(change.metric)
        found.append((change.night, Event(0, "change point", text, *at)))
    for gap in history.gaps:
        text = f"{gap.count:,} missing night{'s' * (gap.count > 1)} after {gap.before.run}"
        found.append((gap.after, Event(0, "missing before", text)))
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
    except (UsageError, OSError, ValueError):
        return
    for gate in gates:
        name, other, reference = gate.get("metric"), gate.get("not_worse_than"), gate.get("reference")
        if name not in history.metrics or gate.get("slice"):
            continue
        metric = history.metrics.index(name)
        for key, words in (("minimum", "at least"), ("maximum", "at most")):
            if gate.get(key) is not None:
                yield GateLine(metric, gate[key], f"gate: {words} {gate[key]:g}")
        if other and reference is not None:
            margin = gate.get("margin") or 0.0
            worst = reference - margin if _metric(history, name).higher_is_better else reference + margin
            yield GateLine(metric, worst, f"gate: not worse than {one_line(other, 80)}, margin {margin:g}")


def _median(points: Sequence[Point | None]) -> float | None:
    """Returns the median of the nights that have the metric; None where none has."""
    values = [point.value for point in points if point is not None]
    return statistics.median(values) if values else None


def _blessed(sources: HistorySources, history: History) -> Against:
    """Returns the differences from the run that a person has blessed, or why there are none."""
    if sources.blessed is None:
        return NOTHING
    try:
        blessed = Run.read(sources.blessed)
        if blessed.summary.benchmark != history.benchmark:
            return NOTHING
        return against_baseline(Run.read(run_path(sources.folder, history.nights[-1].run)), blessed, "the blessed run")
    except UsageError as error:
        return Against(f"Not compared with the blessed run: {error}.")
