"""What tells of a run: tables and progress on the console."""

import contextlib
import io
import os
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from beamscore.pipelines.commands import console
from beamscore.pipelines.reports.document import Compared, Difference, Measured, Metric
from beamscore.pipelines.runs.documents import coverage_document
from beamscore.transforms.process import PROGRESS, PROGRESS_FOLDER, Progress
from tests import toy
from tests.runs import command, without_progress, write_lines


def cells(printed: str) -> list[list[str]]:
    """Returns the rows of a table, the header first."""
    lines = [line for line in printed.splitlines() if line[:1] in ("┃", "│")]
    return [[cell.strip() for cell in line[1:-1].split(line[0])] for line in lines]


def test_main_metrics_are_in_a_column_a_system_best_first(capsys: pytest.CaptureFixture[str]) -> None:
    systems = {
        name: {"values": {"f1": f1, "never": None}, "intervals": {"f1": interval}, "coverage": coverage_document({})}
        for name, f1, interval in (("a", None, None), ("b", 0.5, [0.4, 0.61234]))
    }
    places = {"places": [{"system": "b", "place": 1}, {"system": "a", "place": 2}]}
    document = {"ranking": ["b", "a"], "ranking_by": places, "systems": systems, "signature": "toy" + 40 * " n=0"}
    report = f"{100 * 'out '}/report.md"
    console.print_metrics(document, ("f1", "never"), report, ())
    printed = capsys.readouterr().out
    assert cells(printed) == [["metric", "b", "a"], ["place", "1", "2"], ["f1", "0.5000 (0.4000 to 0.6123)", "–"]]
    counts = ["b: 0 of 0 samples scored", "a: 0 of 0 samples scored"]
    assert printed.splitlines()[-4:] == [*counts, f"signature: toy{40 * ' n=0'}", f"report: {report}"]


def test_progress_is_shown_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "POLL_INTERVAL_S", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    shown = []
    for is_terminal, quiet in ((True, False), (False, False), (True, True)):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda is_terminal=is_terminal: is_terminal)
        monkeypatch.setattr("sys.stderr", stream)
        with console.progress_line(2, quiet, True):
            PROGRESS.records_read, PROGRESS.truths_read = 30, 10
            time.sleep(0.15)
            PROGRESS.samples_scored = 7
            time.sleep(0.15)
        shown.append(stream.getvalue())
    assert "reading" in shown[0]
    assert "7/20" in shown[0]  # 10 samples of 2 systems
    assert shown[1:] == ["", ""]


def test_a_line_of_progress_has_its_counts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    repeated = Mock(return_value=contextlib.nullcontext())
    monkeypatch.setattr(console, "repeated", repeated)
    for is_local in (True, False):
        with console.progress_line(2, False, is_local):
            PROGRESS.records_read, PROGRESS.truths_read = 1234, 500
            say = repeated.call_args.args[1]
            say(31.4)
            PROGRESS.samples_scored = 7
            say(31.6)
    assert [line.removeprefix("beamscore: ") for line in capsys.readouterr().err.splitlines()] == [
        "1,234 records read after 31 s",
        "7 of 1,000 samples scored after 32 s",
        "running for 31 s; see the runner for its progress",
        "running for 32 s; see the runner for its progress",
    ]


def test_the_counts_of_worker_processes_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROGRESS_FOLDER, str(tmp_path))
    own = Progress(records_read=5, truths_read=2, samples_scored=1)
    own.note()
    (tmp_path / "1").write_text("10 4 3\n")
    (tmp_path / "2").write_text("")  # just being written
    # What this process left itself is not counted twice.
    seen = own.with_others()
    assert (seen.records_read, seen.truths_read, seen.samples_scored) == (5 + 10, 2 + 4, 1 + 3)


def test_a_reader_that_has_seen_enough_changes_no_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """`beamscore gate RUN | head -1` ends with the code of the gates."""
    read, write = os.pipe()
    os.close(read)
    verdict = {"verdict": "pass", "system": "ours", "gate": "f1", "value": 0.5, "reason": "above"}
    with open(write, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        for _ in range(2):
            console.print_verdicts([verdict])
        print("the last line", flush=True)


def test_a_comparison_has_a_row_for_each_metric_that_a_side_has(capsys: pytest.CaptureFixture[str]) -> None:
    half, third = Measured(0.5), Measured(1 / 3)
    console.print_comparison([
        Compared(Metric("f1"), 0, half, third, Difference(third.value, -0.25, 0.5, verdict="better"), p=0.0304),
        Compared(Metric("hmean"), 0, Measured(), half, Difference()),
        Compared(Metric("recall"), 0, half, Measured(), Difference()),
        Compared(Metric("iou"), 0, Measured(), Measured(), Difference()),
    ])  # fmt: skip
    assert cells(capsys.readouterr().out)[1:] == [
        ["f1", "0.5000", "0.3333", "+0.3333 (-0.2500 to +0.5000)", "0.030", "better"],
        ["hmean", "–", "0.5000", "–", "–", "not compared"],
        ["recall", "0.5000", "–", "–", "–", "not compared"],
    ]


def test_lines_of_progress_are_written_unless_quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "LINE_INTERVAL_S", 0.05)
    truths = write_lines(tmp_path / "t.jsonl", [toy.sample(index, 0)[0] for index in range(40)])
    sides = (f"--ground-truth={truths}", f"--predictions={truths}", f"--output={tmp_path}/out")
    given = ("evaluate", "toy", *sides, "--set=bootstrap.replicates=20", "--no-html")
    code, _, stderr = command(*given)
    assert (code, stderr != "", without_progress(stderr)) == (0, True, "")
    assert command(*given, "--quiet")[::2] == (0, "")
