"""`beamscore bless`: the median of some nights becomes the baseline, and the looks of gates are counted from it on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from beamscore.pipelines.runs.named import find_baseline
from tests import toy
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
        "benchmark: toy\ngates: {exact_match: {not_worse_than: baseline, margin: 0.9, looks: 2}}\n"
    )
    given = ("--config", tmp_path / "gates.yaml", "--baseline", scores / "blessed.txt", "--quiet")
    for night in (MEDIAN, MEDIAN, UNLUCKY):
        assert command("gate", scores / night, *given)[::2] == (0, "")
    counted = json.loads((scores / "blessed.looks.json").read_bytes())
    assert len(counted["runs"]) == 2
    truths, answers = tmp_path / "t.jsonl", write_lines(tmp_path / "4.jsonl", CORPUS[3:])
    flags = ("--quiet", "--baseline", str(scores / "blessed.txt"))
    found = evaluate(scores / "night-4", truths, answers, *flags, config=tmp_path / "gates.yaml")
    assert found.code == 0
    assert "gate exact_match: 3 runs were judged against" in found.stderr
    assert "more than its looks: 2" in found.stderr
    command("bless", scores)
    assert json.loads((scores / "blessed.looks.json").read_bytes())["runs"] == {}


def test_a_folder_without_runs_is_told_in_one_line(tmp_path: Path) -> None:
    assert command("bless", tmp_path) == (2, "", f"beamscore: {tmp_path}: no finished run is below it\n")
