"""The output of a run during and after it: progress and the main metrics."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ...transforms.process import PROGRESS, PROGRESS_FOLDER, repeated
from ...transforms.records import printable
from ..reports.document import Compared, measured
from ..reports.text import number
from ..runs.documents import coverage_text, gate_word, gates_passed
from ..runs.numbers import signed
from .messages import say, stop_output

POLL_INTERVAL_S = 0.5
LINE_INTERVAL_S = 30.0


class _Output(Console):
    """Standard output for rich; it ignores that its reader has left, as the exit code is still to come."""

    def __init__(self) -> None:
        super().__init__(highlight=False, width=None if sys.stdout.isatty() else 200)

    def on_broken_pipe(self) -> None:
        """Continues; rich would exit with code 1, as if a gate had failed."""
        stop_output()


def print_metrics(document: Mapping[str, Any], metrics: Sequence[str], report: str, notes: Sequence[str]) -> None:
    """Prints the main metrics of a summary, a column for each system, best first, and the path of the report.

    notes: the verdict and remarks on the coverage, a line each.
    """
    console = _Output()
    table = Table("metric", *document["ranking"])
    if "ranking_by" in document:
        # Systems that share a place.
        table.add_row("place", *(str(each["place"]) for each in document["ranking_by"]["places"]))
    for metric in metrics:
        cells = [measured(document["systems"][name], metric).text(number) for name in document["ranking"]]
        if any(cell != "–" for cell in cells):
            table.add_row(Text(metric), *(Text(cell) for cell in cells))
    console.print(table)
    for name in document["ranking"]:
        console.print(Text(f"{name}: {coverage_text(document['systems'][name]['coverage'])}"))
    for note in notes:
        console.print(Text(printable(note)), soft_wrap=True)
    if document.get("signature"):
        console.print(Text(f"signature: {document['signature']}"), soft_wrap=True)
    console.print(Text(f"report: {report}"), soft_wrap=True)


def print_verdicts(verdicts: Sequence[Mapping[str, Any]]) -> None:
    """Prints the verdicts of gates, a row each."""
    console = _Output()
    table = Table("verdict", "system", "gate", "value", "reason")
    for each in verdicts:
        cells = [gate_word(each), each["system"] or "", each["gate"], number(each["value"]), each["reason"]]
        table.add_row(*(Text(printable(text)) for text in cells))
    console.print(table)
    console.print(Text(gates_passed(verdicts)))


def print_comparison(rows: Sequence[Compared]) -> None:
    """Prints metrics of a comparison: both values, the difference with its interval, p and the verdict."""
    console = _Output()
    table = Table("metric", "baseline", "candidate", "difference", "p", "verdict")
    for row in rows:
        if row.baseline.value is not None or row.candidate.value is not None:
            p = "–" if row.p is None else f"{row.p:.3f}"
            values = number(row.baseline.value), number(row.candidate.value), row.difference.text(signed)
            table.add_row(*map(Text, (row.name, *values, p, row.difference.verdict)))
    console.print(table)


@contextlib.contextmanager
def progress_line(systems: int, quiet: bool, is_local: bool) -> Iterator[None]:
    """Shows the progress of a local run: records read, then samples scored, the rate, and the time left.

    is_local: whether the workers are on this machine. If standard error is not a terminal, or the workers are remote, a
    plain line is written every LINE_INTERVAL_S; with `quiet`, nothing.
    """
    PROGRESS.records_read = PROGRESS.truths_read = PROGRESS.samples_scored = 0
    with contextlib.ExitStack() as stack:
        # The worker processes of this one will report their progress there.
        os.environ[PROGRESS_FOLDER] = stack.enter_context(tempfile.TemporaryDirectory(prefix="beamscore-"))
        stack.callback(os.environ.pop, PROGRESS_FOLDER)
        if is_local and sys.stderr.isatty() and not quiet:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
            )
            progress = stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
            progress.add_task("reading", total=None, rate="")
            stack.enter_context(repeated(POLL_INTERVAL_S, lambda _: _show_progress(progress, systems)))
        elif not quiet:
            stack.enter_context(repeated(LINE_INTERVAL_S, partial(_say_progress, systems, is_local)))
        yield


def _show_progress(progress: Progress, systems: int) -> None:
    (task,) = progress.tasks
    totals = PROGRESS.with_others()
    if totals.samples_scored and task.total is None:
        progress.reset(task.id, description="scoring", total=totals.truths_read * systems)
    done = totals.records_read if task.total is None else totals.samples_scored
    progress.update(task.id, completed=done, rate=f"{task.speed:,.0f}/s" if task.speed else "")


def _say_progress(systems: int, counted: bool, seconds: float) -> None:
    """Writes a line; counted: whether the counts of the workers can be read here, otherwise it has only the time."""
    if not counted:
        say(f"running for {seconds:.0f} s; see the runner for its progress")
        return
    totals = PROGRESS.with_others()
    text = f"{totals.records_read:,} records read"
    if totals.samples_scored:
        text = f"{totals.samples_scored:,} of {totals.truths_read * systems:,} samples scored"
    say(f"{text} after {seconds:.0f} s")
