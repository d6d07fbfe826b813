"""`beamscore history`: all finished runs below a folder, in time."""

from __future__ import annotations

import argparse
import posixpath
from collections.abc import Sequence

from ...transforms.io.storage import delete_files, exists, write_file
from ...transforms.records import printable
from ..config.errors import UsageError, as_output_errors, one_line
from ..reports.history import PAGE, REPORT, HistorySources, history_reports
from ..runs.history import MIN_NIGHTS, History, histories, median_night, recent_nights, with_differences
from ..runs.history_index import HISTORY, encode_table, index_runs, load_table, run_path
from ..runs.named import age_warnings, find_baseline, luck_warnings
from ..runs.numbers import fixed
from ..runs.provenance import PAGE_PROBLEM
from ..runs.run import Run
from .messages import DONE, warn, without_page

BLESSED = "blessed.txt"


def run(parsed: argparse.Namespace, _: object) -> int:
    """Reads what is new, and writes history.parquet, history.md and history.html."""
    output = parsed.output or parsed.folder
    known = None if parsed.rebuild else load_table(posixpath.join(output, HISTORY))
    index = index_runs(parsed.folder, known)
    if not len(index.table):
        raise UsageError(_nothing(parsed.folder, index.unreadable))
    warn(index.unreadable)
    found = [with_differences(parsed.folder, each) for each in histories(index.table)]
    for each in found:
        warn(each.warnings)
        warn([f"{drop.night.run}: {drop.system}: {drop}" for drop in each.drops if drop.night is each.nights[-1]])
    blessed = _blessed(parsed.folder)
    if blessed is not None:
        _warn_of_luck(parsed.folder, blessed, found)
    sources = HistorySources(parsed.folder, output, found, index.table, index.unreadable, parsed.command_line, blessed)
    reports = history_reports(sources, with_page=not parsed.no_html)
    problem = reports.about().get(PAGE_PROBLEM)
    with as_output_errors(f"--output {output}", "; give another --output"):
        write_file(posixpath.join(output, HISTORY), encode_table(index.table))
        for name, content in reports.files.items():
            write_file(posixpath.join(output, name), content)
        if parsed.no_html:
            delete_files([posixpath.join(output, PAGE)])
    nights = sum(len(each.nights) for each in found)
    print(f"{nights} run{'s' if nights > 1 else ''}, {index.read} of them read now")
    for each in found:
        for change in each.changes[-5:]:
            text = f"{change.metric} of {change.system} changed from {fixed(change.before)} to {fixed(change.after)}"
            print(printable(f"{each.benchmark}: {text} with {change.night.run}"))
    print(f"report: {posixpath.join(output, REPORT if parsed.no_html or problem else PAGE)}")
    return without_page(DONE, PAGE, problem, REPORT)


def _warn_of_luck(folder: str, blessed: str, found: Sequence[History]) -> None:
    """Warns where the blessed run is better than the recent nights, which it makes seem worse than they are."""
    for history in found:
        nights = recent_nights(history)
        if len(nights) < MIN_NIGHTS:
            continue
        try:
            median = Run.read(run_path(folder, median_night(nights, history.metrics).run))
            warn([f"{text}; see beamscore bless" for text in luck_warnings(history.metrics, Run.read(blessed), median)])
        except UsageError as error:
            warn([str(error)])


def _nothing(folder: str, unreadable: Sequence[str]) -> str:
    """Returns in one line why there is no history: nothing is there, or nothing that can be read."""
    if not unreadable:
        return f"{folder}: no finished run is below this folder; give the folder of --output folders"
    more = f" (and {len(unreadable) - 1} more)" if len(unreadable) > 1 else ""
    return f"{folder}: no run below this folder can be read: {unreadable[0]}{more}"


def _blessed(folder: str) -> str | None:
    """Returns the run that blessed.txt in the folder names, and warns of an old one; None where there is none."""
    path = posixpath.join(folder, BLESSED)
    try:
        if not exists(path):
            return None
        run, _ = find_baseline(path)
    except UsageError as error:
        warn([str(error)])
        return None
    except (OSError, ValueError) as error:
        warn([f"{path}: {one_line(error)}"])
        return None
    try:
        warn(age_warnings(Run.read(run)))
    except UsageError as error:
        # Of a file the reader must know that it is what names the run.
        warn([f"{path}: {error}"])
        return None
    return run
