"""The other commands on Flink: what they write has the bytes of a local run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.flink.cluster import FlinkCluster
from tests.flink.workers import PROJECT
from tests.runs import command, evaluate, without_progress

CORPUS = PROJECT / "tests" / "corpora" / "figure_text"
TRUTH = f"--ground-truth={CORPUS / 'ground_truth.jsonl'}"
COMMANDS = {
    "split": ["split", "figure_text", TRUTH, "--shards=3", "--output=split.jsonl"],
    "select": ["select", "../run", "--below=0.5", "--output=hard.parquet"],
}


def files(folder: Path) -> dict[str, bytes]:
    """The files by their plain names; those of a run stand under a name of its own in a hidden folder."""
    found = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {str(name): path.read_bytes() for name, path in found.items() if not any(p[0] == "." for p in name.parts)}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_writes_the_same_files(
    cluster: FlinkCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if name == "select":
        truths, predictions = CORPUS / "ground_truth.jsonl", CORPUS / "predictions.jsonl"
        assert evaluate(tmp_path / "run", truths, predictions, config="figure_text").code == 0
    for folder, options in (("here", []), ("there", cluster.options())):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        code, _, stderr = command(*COMMANDS[name], *options)
        assert (code, without_progress(stderr)) == (0, "")
    assert files(tmp_path / "there") == files(tmp_path / "here") != {}
