"""history.md: tonight first, then what has happened over the nights."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from ..config.errors import UsageError
from .differences import JUDGED, differences
from .history import Break, History, NightDifference, Point
from .history_index import run_path
from .night_differences import night_differences
from .numbers import signed
from .report import cell, code, number, table
from .stored import Run

NIGHTS_SHOWN = 30
WINDOWS = (7, 30)


def history_report(folder: str, found: Sequence[History], unreadable: Sequence[str], blessed: str | None = None) -> str:
    """Returns the report in Markdown.

    blessed: the folder of the run that a person has blessed, if any.
    """
    sections: list[str] = []
    for each in found:
        sections += _sections(folder, each, blessed)
    if unreadable:
        sections += ["## Not read", "\n".join(f"- {cell(line)}" for line in unreadable)]
    return "\n\n".join(section for section in sections if section) + "\n"


def _sections(folder: str, history: History, blessed: str | None) -> Iterator[str]:
    nights = history.nights
    tonight = nights[-1]
    count = f"{len(nights)} run{'s' if len(nights) > 1 else ''}"
    yield f"# {cell(history.benchmark)}: {count}, {cell(nights[0].started[:10])} to {cell(tonight.started[:10])}"
    yield from (f"**Warning:** {cell(warning)}." for warning in history.warnings)
    yield "## Tonight"
    yield f"{cell(tonight.run)}, started {cell(tonight.started)}."
    if history.breaks and history.breaks[-1].night is tonight:
        yield f"**Break:** {cell(history.breaks[-1].reason)}. {_compared(history.breaks[-1])}"
    if tonight.gates:
        yield f"Gates: **{tonight.gates}**."
    flagged = {drop.system: drop for drop in history.drops if drop.night is tonight}
    for system in tonight.systems:
        yield f"### {cell(system)}"
        yield f"{tonight.coverage[system]}."
        if system in flagged:
            yield f"**Warning:** {flagged[system]}."
        yield from _tonight(history, system)
    lost = [name for name in nights[-2].systems if name not in tonight.systems] if len(nights) > 1 else []
    if lost:
        yield f"**Warning:** tonight has no system {', '.join(map(cell, lost))}, which the run before has."
    if blessed is not None:
        yield from _against(folder, history, blessed)
    if history.gaps:
        yield "## Missing nights"
        rows = [[each.count, cell(each.before.run), cell(each.after.run)] for each in history.gaps]
        yield table(["nights", "after", "before"], rows)
    yield "## Change points"
    yield _changes(history)
    if history.breaks:
        yield "## Breaks"
        yield "Scores are not compared with those of the night before, but with the last night named here, if any."
        rows = [
            [
                cell(each.night.started),
                cell(each.night.run),
                cell(each.reason),
                cell(each.earlier.run) if each.earlier else "–",
            ]
            for each in history.breaks
        ]
        yield table(["started", "run", "why", "compared with"], rows)
    yield "## Nights"
    yield _nights(history)


def _compared(latest: Break) -> str:
    """Returns with which earlier nights the last one is compared, where it differs from the one before."""
    if latest.earlier is None:
        return "Tonight cannot be compared with the nights before."
    return f"Tonight is compared with {cell(latest.earlier.run)} and the nights before that are as it is."


def _against(folder: str, history: History, blessed: str) -> Iterator[str]:
    """Yields the section on the blessed baseline, where it is a run of this benchmark."""
    tonight = history.nights[-1]
    try:
        run = Run(blessed)
    except UsageError as error:
        yield "## Against the baseline"
        yield f"**Warning:** {cell(str(error))}"
        return
    if run.summary.benchmark != history.benchmark:
        return
    yield "## Against the baseline"
    yield f"{cell(blessed)}, blessed by a person."
    try:
        reasons = differences(Run(run_path(folder, tonight.run)).signature, run.signature, JUDGED)
    except UsageError as error:
        reasons = [str(error)]
    if reasons:
        yield f"**Not compared:** {cell(reasons[0])}."
        return
    rows = []
    for system in tonight.systems:
        if system not in run.summary.systems:
            continue
        found = night_differences(blessed, run_path(folder, tonight.run), system)
        if isinstance(found, str):
            yield f"**Not compared:** {cell(found)}."
            return
        rows += [[cell(system), code(name), _difference(found.get(name))] for name in history.metrics if name in found]
    yield table(["system", "metric", "difference"], rows) if rows else "It has no system of the same name."


def _tonight(history: History, system: str) -> Iterator[str]:
    nights, before = history.nights, history.before(system)
    tonight = nights[-1]
    differences = history.differences.get(system, {})
    if isinstance(differences, str):
        yield f"**Not compared with {cell(before[-1].run)}:** {cell(differences)}."
        differences = {}
    rows = []
    for metric in history.metrics:
        point = tonight.points.get((system, metric))
        if point is None:
            if (system, metric) in tonight.unmeasured:
                verdict = tonight.unmeasured[system, metric] or ""
                rows.append([code(metric), "not measured", "–", *("–" for _ in WINDOWS), verdict])
            continue
        row = [code(metric), _shown(point), _difference(differences.get(metric))]
        for window in WINDOWS:
            values = [each.points[system, metric].value for each in before[-window:] if (system, metric) in each.points]
            row.append(signed(point.value - statistics.median(values)) if values else "–")
        rows.append([*row, point.verdict or ""])
    last = before[-1].run if before and before[-1] is not nights[-2] else "last night"
    head = [
        "metric",
        "tonight",
        f"against {cell(last)}",
        *(f"against the median of {each}" for each in WINDOWS),
        "gate",
    ]
    yield table(head, rows)


def _difference(found: NightDifference | None) -> str:
    return "–" if found is None else str(found).replace("worse", "**worse**")


def _shown(point: Point) -> str:
    if point.low is None or point.high is None:
        return number(point.value)
    return f"{number(point.value)} ({number(point.low)} to {number(point.high)})"


def _changes(history: History) -> str:
    if not history.changes:
        return "None."
    rows = [
        [
            cell(each.night.started[:10]),
            cell(each.night.run),
            cell(each.system),
            code(each.metric),
            number(each.before),
            number(each.after),
            signed(each.after - each.before),
        ]
        for each in reversed(history.changes)
    ]
    return table(["from", "run", "system", "metric", "before", "after", "change"], rows)


def _nights(history: History) -> str:
    shown = history.nights[-NIGHTS_SHOWN:]
    broken = {id(each.night): each.reason for each in history.breaks}
    flagged = {(id(each.night), each.system) for each in history.drops}
    rows: list[list[object]] = []
    for night in reversed(shown):
        for system in night.systems:
            values = [night.points.get((system, metric)) for metric in history.metrics]
            numbers = [number(point.value if point else None) for point in values]
            coverage = night.coverage[system]
            scored = f"{coverage.scored:,} of {coverage.samples:,}"
            scored = f"**{scored}**" if (id(night), system) in flagged else scored
            rows.append([cell(night.started[:16]), cell(night.run), cell(system), *numbers, scored, night.gates])
        if id(night) in broken:
            rows.append(["—— break ——", cell(broken[id(night)]), "", *("" for _ in history.metrics), "", ""])
    text = table(["started", "run", "system", *map(code, history.metrics), "scored", "gates"], rows)
    left_out = len(history.nights) - len(shown)
    return text if left_out <= 0 else f"{text}\n\n{left_out} earlier runs are in history.parquet."
