"""A run of W&B that waits on this disk to be sent, if W&B is installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import toy
from tests.runs import command, evaluate, write_lines


@pytest.mark.filterwarnings("ignore")
def test_a_run_is_written_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "disabled")  # what --to wandb asks for counts
    records = [toy.sample(index, 0)[0] for index in range(20)]
    truths = write_lines(tmp_path / "t.jsonl", records)
    wrong = write_lines(tmp_path / "p.jsonl", [{**each, "text": "?"} for each in records[:5]] + records[5:])
    run = evaluate(tmp_path / "run", truths, {"a": wrong, "b": truths}, "--quiet")
    code, stdout, stderr = command("export", run.output, "--to", "wandb", "--output", tmp_path / "out")
    assert (code, stderr, stdout.count("wandb sync sends it")) == (0, "", 2)
    for system, line in zip("ab", stdout.splitlines(), strict=True):
        name, folder = line.removesuffix("; wandb sync sends it").split(": written to ")
        assert name == f"{run.output}:{system}"
        assert Path(folder).parent == tmp_path / "out" / "wandb"
        (written,) = Path(folder).glob("run-*.wandb")
        content = written.read_bytes()
        found = run.summary["systems"][system]
        for name, value in found["values"].items():
            assert name.encode() in content
            assert json.dumps(value).encode() in content
        for text in (run.summary["signature"], f"run:{system}", "exact_match.low", "bootstrap.replicates"):
            assert text.encode() in content


def test_a_folder_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    records = write_lines(tmp_path / "t.jsonl", [toy.sample(0, 0)[0]])
    run = evaluate(tmp_path / "run", records, records, "--quiet")
    code, stdout, stderr = command("export", run.output, "--to", "wandb", "--output", records)
    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert stderr.startswith(f"beamscore: --output {records}: cannot be written: ")
