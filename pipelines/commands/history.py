"""`beamscore history`: all finished runs below a folder, by time; `bless` makes the median night the baseline."""

from __future__ import annotations

import argparse
import contextlib
import posixpath
import time
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ...transforms.io.publication import Layout, check_foreign
from ...transforms.io.storage import delete_files, exists, reason_of, write_file
from ...transforms.records import printable
from ...transforms.rows import encode_table
from ..config.errors import UsageError, as_output_errors, shown
from ..config.gates import Gate
from ..reports.history import PAGE, REPORT, HistorySources, history_reports
from ..runs.history import MIN_NIGHTS, History, histories, median_night, recent_nights
from ..runs.history_index import HISTORY, index_runs, run_path
from ..runs.looks import write_looks
from ..runs.named import age_warnings, below, load_baseline, luck_warnings, named_runs, read_text
from ..runs.numbers import count_of, fixed
from ..runs.provenance import PAGE_PROBLEM, utc
from ..runs.run import Run
from .messages import DONE, exit_code, warn

BLESSED = "blessed.txt"
LAYOUT = Layout((REPORT, PAGE, HISTORY), ())


def run(parsed: argparse.Namespace, _: object) -> int:
    """Reads all runs, and writes history.parquet, history.md and history.html."""
    output = parsed.output or parsed.folder
    table, unreadable = _read_index(parsed.folder)
    with as_output_errors(f"--output {output}", "; remove it, or give another --output"):
        check_foreign(output, LAYOUT)
    series = histories(table)
    for history in series:
        warn([f"{drop.night.run}: {drop.system}: {drop}" for drop in history.drops if drop.night is history.nights[-1]])
    blessed = _blessed(parsed.folder, series)
    if blessed is not None:
        # A blessed run that is better than the recent nights makes them look worse than they are.
        for history in series:
            _warn_of_luck(parsed.folder, history, blessed)
    sources = HistorySources(parsed.folder, output, series, table, unreadable, parsed.command_line, blessed)
    reports = history_reports(sources, with_page=not parsed.no_html)
    problem = reports.about.get(PAGE_PROBLEM)
    with as_output_errors(f"--output {output}", "; give another --output"):
        write_file(posixpath.join(output, HISTORY), encode_table(table))
        for name, content in reports.files.items():
            write_file(posixpath.join(output, name), content)
        if parsed.no_html:
            delete_files([posixpath.join(output, PAGE)])
    count = sum(len(each.nights) for each in series)
    print(count_of(count, "run"))
    for history in series:
        for change in history.changes[-5:]:
            text = f"{change.metric} of {change.system} changed from {fixed(change.before)} to {fixed(change.after)}"
            print(printable(f"{history.benchmark}: {text} with {change.night.run}"))
    print(f"report: {posixpath.join(output, REPORT if parsed.no_html or problem else PAGE)}")
    return exit_code(DONE, PAGE, problem, REPORT)


def bless(parsed: argparse.Namespace, _: object) -> int:
    """Writes the median of the recent nights to blessed.txt, and resets the count of looks."""
    folder, path = parsed.folder, posixpath.join(parsed.folder, BLESSED)
    series = histories(_read_index(folder)[0])
    if len(series) > 1:
        names = " and ".join(each.benchmark for each in series)
        raise UsageError(f"{folder}: it holds runs of {names}; give a folder with those of one")
    (history,) = series
    nights = recent_nights(history, parsed.nights)
    if not nights:
        latest = history.nights[-1].run
        none = f"neither {latest} nor a recent night that compares with it scored all its systems"
        raise UsageError(f"{folder}: nothing to bless: {none}")
    counted = count_of(len(nights), "night")
    if len(nights) < MIN_NIGHTS:
        warn([f"the median is of {counted}; fewer than {MIN_NIGHTS} nights are unreliable"])
    night = median_night(nights, history.metrics)
    blessed = Run.read(run_path(folder, night.run), sums=True)
    warn(age_warnings(blessed))
    with as_output_errors(path):
        before = read_text(path) if exists(path) else ""
        if before:
            # The old baseline may have been better than the nights that it judged; a deleted one is ignored.
            with contextlib.suppress(UsageError):
                warn(list(luck_warnings(history.metrics, load_baseline(path, ()), nights, blessed)))
        text = before if before.endswith("\n") or not before else f"{before}\n"
        reason = f"# {utc(time.time())}: the median of {counted} by {', '.join(history.metrics)}"
        text = f"{text}{printable(reason)}\n{night.run}\n"
        if named_runs(path, text)[-1:] != [below(path, night.run)]:
            rename = "rename its folder: no word may start with #, and no line break or outer blank may be in it"
            raise UsageError(f"{path}: a line with {shown(night.run)} does not name this run; {rename}")
        write_file(path, text.encode())
        write_looks(path, blessed, {})
    points = ((key, point) for key, point in night.points.items() if key[1] in history.metrics)
    values = ", ".join(f"{metric} of {system} {fixed(point.value)}" for (system, metric), point in points)
    print(printable(f"{path}: blessed {night.run}, the median of {counted}: {values}"))
    return DONE


def _read_index(folder: str) -> tuple[Any, list[str]]:
    """Returns the `index_runs` of a folder, and warns of unreadable ones; raises UsageError if there are none."""
    table, unreadable = index_runs(folder)
    if not len(table):
        problem = "no finished runs in this folder; pass the parent of the --output folders"
        if unreadable:
            problem = f"no run below this folder can be read, such as {unreadable[0]}"
        raise UsageError(f"{folder}: {problem}")
    warn(unreadable)
    return table, unreadable


def _warn_of_luck(folder: str, history: History, blessed: Run) -> None:
    nights = recent_nights(history)
    if len(nights) < MIN_NIGHTS:
        return
    try:
        median = Run.read(run_path(folder, median_night(nights, history.metrics).run))
        lucky = luck_warnings(history.metrics, blessed, nights, median)
        warn([f"{text}; see beamscore bless" for text in lucky])
    except UsageError as error:
        warn([str(error)])


def _gates(folder: str, series: Iterable[History], benchmark: str) -> Iterator[Gate]:
    """Yields the gates of the last run of a benchmark; none if this version cannot read it."""
    for last in (history.nights[-1] for history in series if history.benchmark == benchmark):
        with contextlib.suppress(UsageError, msgspec.ValidationError):
            config = Run.read(run_path(folder, last.run)).summary.config
            yield from msgspec.convert(config.get("gates", {}), dict[str, Gate]).values()


def _blessed(folder: str, series: Iterable[History]) -> Run | None:
    """Returns the run that blessed.txt in the folder names, and warns if it is old; None if there is none."""
    path = posixpath.join(folder, BLESSED)
    try:
        if not exists(path):
            return None
        blessed = load_baseline(path, ())
    except UsageError as error:
        warn([str(error)])
    except (OSError, ValueError) as error:
        warn([f"{path}: {reason_of(error)}"])
    else:
        warn(age_warnings(blessed, _gates(folder, series, blessed.summary.benchmark)))
        return blessed
    return None
