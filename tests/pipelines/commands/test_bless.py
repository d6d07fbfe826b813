"""`beamscore bless`: the median of some nights becomes the baseline, and the looks of gates are counted from it on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from beamscore.pipelines.runs.named import find_baseline
from tests import finished_runs, toy
from tests.runs import command, evaluate, write_lines

CORPUS = [toy.sample(index, 0)[0] for index in range(60)]
LUCKY, MEDIAN, UNLUCKY = "night-1", "night-2", "night-3"


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """Three nights with 0, 6 and 12 wrong answers, the first of which is blessed."""
    truths = write_lines(tmp_path / "t.jsonl", CORPUS)
    for number, wrong in enumerate((0, 6, 12), start=1):
        answers = [{**truth, "text": "?" * 9} if place < wrong else truth for place, truth in enumerate(CORPUS)]
        given = write_lines(tmp_path / f"{number}.jsonl", answers)
        assert evaluate(tmp_path / "scores" / f"night-{number}", truths, given, "--quiet").code == 0
    (tmp_path / "scores" / "blessed.txt").write_text("night-1  # by Ada: release 3")
    return tmp_path / "scores"


def test_the_median_is_blessed_and_the_lucky_baseline_told(scores: Path) -> None:
    code, stdout, stderr = command("bless", scores)
    assert (code, stderr.count("\n")) == (0, 2)
    assert f"the baseline {scores}/night-1 is better than the median of recent nights by " in stderr
    assert f"blessed {MEDIAN}, the median of 3 nights: exact_match of predictions 0.9000" in stdout
    assert find_baseline(str(scores / "blessed.txt")) == (str(scores / MEDIAN), None)
    # What a person wrote stays.
    assert (scores / "blessed.txt").read_text().startswith("night-1  # by Ada: release 3\n# ")
    assert command("history", scores)[2] == ""


def test_history_warns_of_a_lucky_baseline(scores: Path) -> None:
    assert "night-1 is better than the median of recent nights" in command("history", scores)[2]


def test_each_run_with_new_predictions_is_a_look_until_the_next_blessing(scores: Path, tmp_path: Path) -> None:
    (tmp_path / "gates.yaml").write_text(
        "benchmark: toy\ngates: {exact_match: {not_worse_than: baseline, margin: 0.9, looks: 2},\n"
        "        similarity: {not_worse_than: baseline, margin: 0.9, looks: 7}}\n"
    )
    given = ("--config", tmp_path / "gates.yaml", "--baseline", scores / "blessed.txt", "--quiet")
    for night in (MEDIAN, MEDIAN, UNLUCKY):
        assert command("gate", scores / night, *given)[::2] == (0, "")
    counted = json.loads((scores / "blessed.looks.json").read_bytes())
    assert list(counted["folders"].values()) == [MEDIAN, UNLUCKY]
    counted["runs"].update({f"by version {number}": "2026" for number in range(4)})
    (scores / "blessed.looks.json").write_text(json.dumps(counted))
    truths, answers = tmp_path / "t.jsonl", write_lines(tmp_path / "4.jsonl", CORPUS[3:])
    flags = ("--quiet", "--baseline", str(scores / "blessed.txt"))
    found = evaluate(scores / "night-4", truths, answers, *flags, config=tmp_path / "gates.yaml")
    assert found.code == 0
    assert "gate exact_match: 7 runs were judged against" in found.stderr
    assert found.stderr.count("it does not say where a run is that was judged; left out of the mean of") == 4
    assert ["the mean of 3 of the last 7 runs" in each["reason"] for each in found.summary["gates"]] == [False, True]
    assert "more than its looks: 2" in found.stderr
    command("bless", scores)
    assert json.loads((scores / "blessed.looks.json").read_bytes())["runs"] == {}


def stored_night(folder: Path, number: int, predictions: str, **settings: Any) -> Path:
    """Writes a run with 200 answers, of which the 5 from `5 * number` on are wrong; none of night 0."""
    wrong = range(5 * number, 5 * number + 5) if number else ()
    rows = [finished_runs.row(f"s{place}", 0.5 if place in wrong else 1.0) for place in range(200)]
    name = f"night-{number}" if number else "blessed"
    return finished_runs.write_run(folder / name, rows, settings, predictions=predictions)


def test_what_no_night_shows_the_mean_of_a_week_does(tmp_path: Path) -> None:
    """A loss of 5 / 200 with a standard error of 0.011 is 2.3 of them; that of the mean, 0.0042, is a third of it."""
    for number in range(8):
        stored_night(tmp_path / "scores", number, f"night {number}")
    blessed, gates = tmp_path / "scores" / "blessed.txt", tmp_path / "gates.yaml"
    blessed.write_text("blessed")
    gates.write_text(
        "benchmark: toy\nslices: [kind]\nbootstrap: {replicates: 50}\n"
        "gates: {exact_match: {not_worse_than: baseline, looks: 7}}\n"
    )

    def gate(number: int) -> tuple[int, str]:
        given = ("--config", gates, "--baseline", blessed, "--quiet")
        code, _, stderr = command("gate", tmp_path / "scores" / f"night-{number}", *given)
        return code, stderr

    assert [gate(number)[0] for number in range(1, 8)] == [4] * 6 + [1]
    # Who judges again reads the same, of each night.
    assert [gate(number)[0] for number in (7, 3)] == [1, 4]
    assert "the mean of 7 runs is -0.025 (" in gate(7)[1]
    folders = [tmp_path / "scores" / f"night-{number}" for number in range(8)]
    for number in (2, 4, 5):
        shutil.rmtree(folders[number])
    (folders[3] / "sums.json").write_text("{")
    stored_night(tmp_path / "scores", 4, "another night")
    stored_night(tmp_path / "scores", 5, "night 5", missing="exclude")
    code, stderr = gate(7)
    assert (code, "the mean of 3 of the last 7 runs is -0.025 (" in stderr) == (1, True)
    left_out = [line for line in stderr.splitlines() if line.endswith("; left out of the mean of the last 7 runs")]
    for number, reason, line in zip(
        range(2, 6),
        ("no finished run is here", "sums.json", "another run has replaced", "missing"),
        left_out,
        strict=True,
    ):
        assert str(folders[number]) in line
        assert reason in line


def test_a_folder_without_runs_is_told_in_one_line(tmp_path: Path) -> None:
    assert command("bless", tmp_path) == (2, "", f"beamscore: {tmp_path}: no finished run is below it\n")
