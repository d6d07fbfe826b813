"""What a local run says before it starts, where this machine has too little."""

from __future__ import annotations

from pathlib import Path

import pytest

from beamscore.pipelines.runtime import needs
from beamscore.pipelines.runtime.memory import needed_bytes
from beamscore.pipelines.runtime.needs import LocalNeeds
from beamscore.transforms.io.files import SourceFile
from tests.runs import evaluate, write_lines

GIB = 1 << 30
FILES = [SourceFile(0, 0, "a.jsonl", 4 * GIB, "jsonl")]


def free(monkeypatch: pytest.MonkeyPatch, memory: int | None, space: int | None) -> None:
    monkeypatch.setattr(needs, "free_bytes", lambda: memory)
    monkeypatch.setattr(needs, "free_space", lambda _: space)


@pytest.mark.parametrize("in_memory", [False, True])
def test_memory_has_the_blocks_where_the_temporary_folder_is_in_memory(
    in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(needs, "is_in_memory", lambda folder: in_memory and folder == str(tmp_path))
    for processes in (1, 4):
        expected = LocalNeeds(needed_bytes(processes) + 2 * GIB * in_memory, 2 * GIB, str(tmp_path), in_memory)
        assert LocalNeeds.of(FILES, processes) == expected


def test_a_run_that_needs_more_than_there_is_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = LocalNeeds(3 * GIB, 2 * GIB, "/a", False)
    for memory, space in ((None, None), (3 * GIB, 2 * GIB)):
        free(monkeypatch, memory, space)
        assert needed.warnings() == []
    free(monkeypatch, 2 * GIB, GIB)
    assert needed.warnings() == [
        "this run needs about 3.0 GiB of memory, and 2.0 GiB are free; give fewer --processes, or run on a cluster, "
        "such as with --runner flink",
        "this run needs about 2.0 GiB in the temporary folder /a, and 1.0 GiB are free; set the environment variable "
        "TMPDIR to a folder with more",
    ]
    free(monkeypatch, 2 * GIB, 2 * GIB)
    assert LocalNeeds(3 * GIB, 2 * GIB, "/a", True).warnings() == [
        "this run needs about 3.0 GiB of memory, and 2.0 GiB are free; the temporary folder /a, which is in memory, "
        "takes 2.0 GiB of it: set the environment variable TMPDIR to a folder on a disk"
    ]


def test_the_command_warns_before_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free(monkeypatch, 1 << 20, 0)
    truth = write_lines(tmp_path / "t.jsonl", [{"sample_id": "a", "text": "x"}])
    run = evaluate(tmp_path / "out", truth, truth, "--quiet")
    assert run.code == 0
    memory, space, *_ = run.stderr.splitlines()
    assert memory.startswith("beamscore: warning: this run needs about 450.0 MiB of memory, and 1.0 MiB are free; ")
    assert space.startswith("beamscore: warning: this run needs about 0 KiB in the temporary folder ")
