"""A run that was interrupted goes on where it stopped: same bytes, and what was finished is not scored again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from beamscore.transforms.io.publication import kept_runs
from tests import resumption, toy
from tests.resumption import WRITTEN_BEFORE
from tests.runs import evaluate, write_lines

pytestmark = pytest.mark.attacks

CORPUS = [toy.sample(index, 0) for index in range(120)]
FLAGS = ("--set", "bootstrap.replicates=5", "--slice", "kind", "--quiet")


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Path, Path]:
    truths = write_lines(tmp_path / "t.jsonl", [truth for truth, _ in CORPUS])
    return truths, write_lines(tmp_path / "p.jsonl", [answer for _, answer in CORPUS if answer])


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The texts of each pair that is scored, in this process."""
    return toy.scored_pairs(monkeypatch)


def interrupted(output: Path, inputs: tuple[Path, Path], number: signal.Signals, *more: str) -> int:
    """Evaluates until a signal comes in the middle; returns the exit code."""
    given = [f"--ground-truth={inputs[0]}", f"--predictions={inputs[1]}", f"--output={output}", *FLAGS, *more]
    return resumption.interrupted(number, ["evaluate", "toy", *given])[0]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_run_goes_on_where_it_was_interrupted(
    tmp_path: Path, inputs: tuple[Path, Path], scored: list[tuple[str, str]], number: signal.Signals, code: int
) -> None:
    output = tmp_path / "out"
    assert interrupted(output, inputs, number, "--resume") == code
    assert not (output / "summary.json").exists()
    found = evaluate(output, *inputs, *FLAGS, "--resume")
    assert (found.code, found.stderr) == (0, "")
    assert len(scored) == len(CORPUS) - WRITTEN_BEFORE
    whole = evaluate(tmp_path / "whole", *inputs, *FLAGS)
    assert found.bytes() == whole.bytes()
    assert found.samples == whole.samples
    assert len(list((output / ".runs").iterdir())) == 1


def test_what_scores_otherwise_is_not_taken(
    tmp_path: Path, inputs: tuple[Path, Path], scored: list[tuple[str, str]]
) -> None:
    assert interrupted(tmp_path / "out", inputs, signal.SIGTERM, "--resume") == 130
    (kept,) = kept_runs(str(tmp_path / "out"))
    found = evaluate(tmp_path / "out", *inputs, *FLAGS, "--resume", "--set", "protocol=released")
    assert found.stderr.startswith(
        f"beamscore: warning: nothing is taken from the interrupted run {kept.run_id}: it used"
    )
    assert found.code == 0
    assert len(scored) == len(CORPUS)


@pytest.mark.parametrize("damage", ["start", "rows"])
def test_damaged_leftovers_are_scored_again(
    tmp_path: Path, inputs: tuple[Path, Path], scored: list[tuple[str, str]], damage: str
) -> None:
    assert interrupted(tmp_path / "out", inputs, signal.SIGTERM, "--resume") == 130
    (folder,) = (tmp_path / "out" / ".runs").iterdir()
    for path in [folder / "start.json"] if damage == "start" else (folder / "samples").iterdir():
        path.write_bytes(path.read_bytes()[:-10])
    found = evaluate(tmp_path / "out", *inputs, *FLAGS, "--resume")
    assert found.code == 0
    assert len(scored) == len(CORPUS)
    assert found.stderr.count("\n") == (damage == "start")
    assert len(found.samples) == len(CORPUS)
