"""history.md: tonight first, then what has happened over the nights."""

from __future__ import annotations

import posixpath
import statistics
from collections.abc import Iterator, Sequence

from metrics.statistics.paired import paired_differences
from metrics.statistics.same_samples import same_samples
from pipelines.config.errors import UsageError, one_line
from pipelines.results.history import History, Point
from pipelines.results.numbers import signed
from pipelines.results.report import cell, code, number, table
from pipelines.results.stored import StoredRun, incomparable

NIGHTS_SHOWN = 30
WINDOWS = (7, 30)


def history_report(folder: str, found: Sequence[History], unreadable: Sequence[str], blessed: str | None = None) -> str:
    """Returns the report in Markdown. Tonight's difference from another night is that of the stored sums, paired.

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
        yield f"**Break:** {cell(history.breaks[-1].reason)}. Tonight cannot be compared with the nights before."
    if tonight.gates:
        yield f"Gates: **{tonight.gates}**."
    for system in tonight.systems:
        yield f"### {cell(system)}"
        yield from _tonight(folder, history, system)
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
    yield "## The longest drift"
    yield _drift(history)
    if history.breaks:
        yield "## Breaks"
        yield "Scores are not compared across them."
        rows = [[cell(each.night.started), cell(each.night.run), cell(each.reason)] for each in history.breaks]
        yield table(["started", "run", "why"], rows)
    yield "## Nights"
    yield _nights(history)


def _against(folder: str, history: History, blessed: str) -> Iterator[str]:
    """Yields the section on the blessed baseline, where it is a run of this benchmark."""
    tonight = history.nights[-1]
    try:
        run = StoredRun(blessed)
    except UsageError as error:
        yield "## Against the baseline"
        yield f"**Warning:** {cell(str(error))}"
        return
    if run.summary.benchmark != history.benchmark:
        return
    yield "## Against the baseline"
    yield f"{cell(blessed)}, blessed by a person."
    try:
        reason = incomparable(StoredRun(posixpath.join(folder, tonight.run)).identity, run.identity)
    except UsageError as error:
        reason = str(error)
    if reason is not None:
        yield f"**Not compared:** {cell(reason)}."
        return
    rows = []
    for system in tonight.systems:
        if system not in run.summary.systems:
            continue
        differences = _differences(blessed, posixpath.join(folder, tonight.run), system)
        if isinstance(differences, str):
            yield f"**Not compared:** {cell(differences)}."
            return
        rows += [[cell(system), code(name), differences[name]] for name in history.metrics if name in differences]
    yield table(["system", "metric", "difference"], rows) if rows else "It has no system of the same name."


def _tonight(folder: str, history: History, system: str) -> Iterator[str]:
    nights = history.comparable()
    before, tonight = nights[:-1], nights[-1]
    differences: dict[str, str] = {}
    if before and system in before[-1].systems:
        last = posixpath.join(folder, before[-1].run)
        found = _differences(last, posixpath.join(folder, tonight.run), system)
        if isinstance(found, str):
            yield f"**Not compared with last night:** {cell(found)}."
        else:
            differences = found
    rows = []
    for metric in history.metrics:
        point = tonight.points.get((system, metric))
        if point is None:
            if (system, metric) in tonight.unmeasured:
                verdict = tonight.unmeasured[system, metric] or ""
                rows.append([code(metric), "not measured", "–", *("–" for _ in WINDOWS), verdict])
            continue
        row = [code(metric), _shown(point), differences.get(metric, "–")]
        for window in WINDOWS:
            values = [each.points[system, metric].value for each in before[-window:] if (system, metric) in each.points]
            row.append(signed(point.value - statistics.median(values)) if values else "–")
        rows.append([*row, point.verdict or ""])
    head = ["metric", "tonight", "against last night", *(f"against the median of {each}" for each in WINDOWS), "gate"]
    yield table(head, rows)


def _differences(before: str, tonight: str, system: str) -> dict[str, str] | str:
    """Returns the difference of each metric of two runs, with its interval and a word, from the stored sums.

    Where these cannot be read, the reason.
    """
    try:
        runs = [StoredRun(path) for path in (before, tonight)]
        measured = [run.measured(system, "") for run in runs]
        benchmark = runs[1].configuration.benchmark
        confidence = runs[1].configuration.settings.bootstrap.confidence
        paired = paired_differences(benchmark, measured[0], measured[1], confidence)
    except (UsageError, ValueError, KeyError) as error:
        return one_line(error)
    shown = {}
    for metric, each in paired.items():
        if each.difference is None:
            continue
        if each.interval is None:
            shown[metric] = signed(each.difference)
            continue
        spec = benchmark.spec_of(metric)
        better = spec is None or spec.higher_is_better
        low, high = each.interval
        word = "no difference shown" if low <= 0 <= high else "better" if (low > 0) == better else "**worse**"
        if same_samples(benchmark, metric, *measured) is False:
            word += ", of other samples"
        shown[metric] = f"{signed(each.difference)} ({signed(low)} to {signed(high)}), {word}"
    return shown


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


def _drift(history: History) -> str:
    drift = history.drift
    if drift is None:
        return "None: no metric moved in one direction for three nights in a row."
    first, last = cell(drift.nights[0].run), cell(drift.nights[-1].run)
    return (
        f"{code(drift.metric)} of {cell(drift.system)} moved in one direction for {len(drift.nights) - 1} nights in a "
        f"row, from {number(drift.first)} ({first}) to {number(drift.last)} ({last})."
    )


def _nights(history: History) -> str:
    shown = history.nights[-NIGHTS_SHOWN:]
    broken = {id(each.night): each.reason for each in history.breaks}
    rows: list[list[object]] = []
    for night in reversed(shown):
        for system in night.systems:
            values = [night.points.get((system, metric)) for metric in history.metrics]
            numbers = [number(point.value if point else None) for point in values]
            rows.append([cell(night.started[:16]), cell(night.run), cell(system), *numbers, night.gates])
        if id(night) in broken:
            rows.append(["—— break ——", cell(broken[id(night)]), "", *("" for _ in history.metrics), ""])
    text = table(["started", "run", "system", *map(code, history.metrics), "gates"], rows)
    left_out = len(history.nights) - len(shown)
    return text if left_out <= 0 else f"{text}\n\n{left_out} earlier runs are in history.parquet."
