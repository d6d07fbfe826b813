"""A run that was interrupted goes on where it stopped: same bytes, and what was finished is not scored again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from beamscore.pipelines import evaluate as evaluation
from beamscore.transforms import pair
from tests import resumption, toy
from tests.resumption import BATCH, WRITTEN_BEFORE
from tests.runs import evaluate, write_lines

CORPUS = [toy.sample(index, 0) for index in range(120)]
FLAGS = ("--set", "bootstrap.replicates=5", "--slice", "kind", "--quiet")


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Path, Path]:
    truths = write_lines(tmp_path / "t.jsonl", [truth for truth, _ in CORPUS])
    return truths, write_lines(tmp_path / "p.jsonl", [answer for _, answer in CORPUS if answer])


def interrupted(output: Path, inputs: tuple[Path, Path], number: signal.Signals, *more: str) -> int:
    """Evaluates until a signal comes in the middle; returns the exit code."""
    given = [f"--ground-truth={inputs[0]}", f"--predictions={inputs[1]}", f"--output={output}", *FLAGS, *more]
    return resumption.interrupted(number, ["evaluate", "toy", *given])[0]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 130), pytest.param(signal.SIGKILL, -9, marks=pytest.mark.attacks)]
)
def test_a_run_goes_on_where_it_was_interrupted(
    tmp_path: Path, inputs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    output = tmp_path / "out"
    assert interrupted(output, inputs, number, "--resume") == code
    assert not (output / "summary.json").exists()
    scored = toy.scored_pairs(monkeypatch)
    # Only a run that can be resumed begins a file of rows after each batch that takes longer.
    monkeypatch.setattr(evaluation, "ROWS_FILE_S", 0.0)
    monkeypatch.setattr(pair, "SAMPLES_PER_BATCH", BATCH)
    found = evaluate(output, *inputs, *FLAGS, "--resume")
    assert (found.code, found.stderr) == (0, "")
    assert len(scored) == len(CORPUS) - WRITTEN_BEFORE
    whole = evaluate(tmp_path / "whole", *inputs, *FLAGS)
    assert found.bytes() == whole.bytes()
    assert found.samples == whole.samples
    files = [len(list(run.output.glob("samples/*"))) for run in (found, whole)]
    assert files[0] > files[1] == 1
    assert len(list((output / ".runs").iterdir())) == 1


@pytest.mark.attacks
@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("", "warning: nothing is taken from the interrupted run {run_id}: it used"),
        ("start.json", "warning: nothing is taken from the interrupted run {run_id}: "),
        ("samples/*", ""),
    ],
)
def test_what_may_score_otherwise_or_is_damaged_is_not_taken(
    tmp_path: Path, inputs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, damage: str, told: str
) -> None:
    assert interrupted(tmp_path / "out", inputs, signal.SIGTERM, "--resume") == 130
    (folder,) = (tmp_path / "out" / ".runs").iterdir()
    for path in folder.glob(damage) if damage else ():
        path.write_bytes(path.read_bytes()[:-10])
    scored, other = toy.scored_pairs(monkeypatch), () if damage else ("--set", "protocol=released")
    found = evaluate(tmp_path / "out", *inputs, *FLAGS, "--resume", *other)
    assert (found.code, found.stderr.count("\n")) == (0, bool(told))
    assert found.stderr.startswith(told and f"beamscore: {told.format(run_id=folder.name)}")
    assert len(scored) == len(found.samples) == len(CORPUS)
