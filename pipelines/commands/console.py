"""What a run says on the console: progress on standard error, the main metrics on standard output."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ...transforms.counters import PROGRESS, PROGRESS_FOLDER
from ...transforms.records import printable
from ..results.comparison_report import difference_text
from ..results.report import number
from ..results.verdict import gates_passed
from ..results.verdict_files import coverage_text
from .messages import say, stop_output
from .watch import progress_lines

POLL_INTERVAL_S = 0.5


class _Output(Console):
    """Standard output as rich writes to it; it goes on where its reader has left: the exit code is still to come."""

    def __init__(self) -> None:
        super().__init__(highlight=False, width=None if sys.stdout.isatty() else 200)

    def on_broken_pipe(self) -> None:
        """Goes on; rich would end the process with code 1, as if a gate had failed."""
        stop_output()


@contextlib.contextmanager
def progress_line(systems: int, quiet: bool, is_local: bool = True) -> Iterator[None]:
    """Shows how far a local run is: records read, then samples scored, the rate, and the time left.

    is_local: whether the workers are on this machine. Where standard error is no terminal, or the workers are
    elsewhere, there is a plain line now and then; with `quiet` there is nothing.
    """
    PROGRESS.records_read = PROGRESS.truths_read = PROGRESS.samples_scored = 0
    if quiet:
        with _notes_of_workers():
            yield
        return
    if not (is_local and sys.stderr.isatty()):
        with _notes_of_workers(), progress_lines(systems, is_local):
            yield
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    stop = threading.Event()
    with _notes_of_workers(), Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        watcher = threading.Thread(target=_watch, args=(progress, systems, stop), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            stop.set()
            watcher.join()


@contextlib.contextmanager
def _notes_of_workers() -> Iterator[None]:
    """Asks the worker processes that this one will start to tell how far they are."""
    with tempfile.TemporaryDirectory(prefix="beamscore-") as folder:
        os.environ[PROGRESS_FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[PROGRESS_FOLDER]


def _watch(progress: Progress, systems: int, stop: threading.Event) -> None:
    task = progress.add_task("reading", total=None, rate="")
    scoring = False
    while not stop.wait(POLL_INTERVAL_S):
        seen = PROGRESS.with_others()
        if seen.samples_scored and not scoring:
            scoring = True
            progress.reset(task, description="scoring", total=seen.truths_read * systems)
        done = seen.samples_scored if scoring else seen.records_read
        speed = progress.tasks[0].speed
        progress.update(task, completed=done, rate=f"{speed:,.0f}/s" if speed else "")


def print_metrics(document: Mapping[str, Any], metrics: Sequence[str], report: str, notes: Sequence[str] = ()) -> None:
    """Prints the main metrics of a summary, a column for each system, best first, and where the report is.

    notes: what there is to say of the coverage, a line each.
    """
    console = _Output()
    table = Table("metric", *document["ranking"])
    if "ranking_by" in document:
        # Systems that share a place.
        table.add_row("place", *(str(each["place"]) for each in document["ranking_by"]["places"]))
    for metric in metrics:
        cells = [_metric(document["systems"][name], metric) for name in document["ranking"]]
        if any(cell != "–" for cell in cells):
            table.add_row(Text(metric), *(Text(cell) for cell in cells))
    console.print(table)
    for name in document["ranking"]:
        console.print(Text(f"{name}: {coverage_text(document['systems'][name]['coverage'])}"))
    for note in notes:
        console.print(Text(printable(note)), soft_wrap=True)
    if document.get("gates"):
        console.print(Text(gates_passed(document["gates"])))
    console.print(Text(f"report: {report}"), soft_wrap=True)


def print_verdicts(verdicts: Sequence[Mapping[str, Any]]) -> None:
    """Prints the verdicts of gates, a row each."""
    console = _Output()
    table = Table("verdict", "system", "gate", "value", "reason")
    for each in verdicts:
        cells = [each["verdict"], each["system"] or "", each["gate"], number(each["value"]), each["reason"]]
        table.add_row(*(Text(printable(text)) for text in cells))
    console.print(table)
    console.print(Text(gates_passed(verdicts)))


def tell(line: str) -> None:
    """Prints a line that says why the command does not end with 0, on standard error."""
    say("ERROR", printable(line))


def print_comparison(metrics: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> None:
    """Prints some metrics of a comparison: both values, the difference with its interval, p and the verdict."""
    console = _Output()
    table = Table("metric", "baseline", "candidate", "difference", "p", "verdict")
    for name in names:
        found = metrics[name]
        if found["baseline"] is not None or found["candidate"] is not None:
            p = "–" if found["p"] is None else f"{found['p']:.3f}"
            values = number(found["baseline"]), number(found["candidate"])
            table.add_row(*map(Text, (name, *values, difference_text(found), p, found["verdict"])))
    console.print(table)


def _metric(system: Mapping[str, Any], metric: str) -> str:
    interval = system["intervals"].get(metric)
    text = number(system["values"].get(metric))
    return text if interval is None else f"{text} ({number(interval[0])} to {number(interval[1])})"
