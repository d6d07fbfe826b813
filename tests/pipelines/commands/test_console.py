"""What a run shows on the console."""

from __future__ import annotations

import io
import os
import sys
import time
from pathlib import Path

import pytest

from beamscore.pipelines.commands import console
from beamscore.transforms.process import PROGRESS, PROGRESS_FOLDER, Progress

COVERAGE = {
    "ground_truth": {"read": 1200, "scored": 10, "missing_prediction": 3, "rejected": 1, "duplicate": 2},
    "predictions": {"read": 20, "scored": 10, "unmatched": 4, "duplicate": 5, "rejected": 6},
}


def system(f1: float | None, interval: list[float] | None) -> dict[str, object]:
    return {"values": {"f1": f1, "never": None}, "intervals": {"f1": interval}, "coverage": COVERAGE}


def test_main_figures_stand_in_a_column_a_system_best_first(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"ranking": ["b", "a"], "systems": {"a": system(None, None), "b": system(0.5, [0.4, 0.61234])}}
    console.print_metrics(document, ("f1", "never"), "out/report.md")
    shown = capsys.readouterr()
    assert shown.err == ""
    header, figures = (line for line in shown.out.splitlines() if line[:1] in "┃│" and line)
    assert [cell.strip() for cell in header.strip("┃").split("┃")] == ["metric", "b", "a"]
    assert [cell.strip() for cell in figures.strip("│").split("│")] == ["f1", "0.5000 (0.4000 to 0.6123)", "–"]
    counts = (
        "10 of 1200 samples scored, 3 without a prediction, 4 predictions without a sample, 7 duplicates, 7 rejected"
    )
    assert shown.out.splitlines()[-3:] == [f"b: {counts}", f"a: {counts}", "report: out/report.md"]


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "POLL_INTERVAL_S", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    shown = {}
    for name, stream, quiet in [
        ("terminal", Terminal(), False),
        ("file", io.StringIO(), False),
        ("quiet", Terminal(), True),
    ]:
        monkeypatch.setattr("sys.stderr", stream)
        with console.progress_line(2, quiet):
            PROGRESS.records_read, PROGRESS.truths_read = 30, 10
            time.sleep(0.15)
            PROGRESS.samples_scored = 7
            time.sleep(0.15)
        shown[name] = stream.getvalue()
    assert "reading" in shown["terminal"]
    assert "7/20" in shown["terminal"]  # 10 samples of 2 systems
    assert shown["file"] == shown["quiet"] == ""


def test_the_counts_of_worker_processes_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROGRESS_FOLDER, str(tmp_path))
    own = Progress(records_read=5, truths_read=2, samples_scored=1)
    own.note()
    (tmp_path / "1").write_text("10 4 3\n")
    (tmp_path / "2").write_text("")  # just being written
    # 5 + 10, 2 + 4, 1 + 3: what this process left itself is not counted twice.
    seen = own.with_others()
    assert (seen.records_read, seen.truths_read, seen.samples_scored) == (15, 6, 4)


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
