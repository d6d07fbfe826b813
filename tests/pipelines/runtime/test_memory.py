"""What a local run is said to need, against what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.runtime import memory
from pipelines.runtime.memory import BASE_BYTES, free_bytes, memory_warnings, needed_bytes
from tests.runs import evaluate, write_lines
from transforms.io.files import SourceFile

GIB = 1 << 30
FILES = [SourceFile(0, 0, "a.jsonl", 4 * GIB, "jsonl"), SourceFile(0, 1, "b.jsonl.gz", GIB, "jsonl")]


def test_what_is_needed_grows_with_the_bytes_of_the_input() -> None:
    assert needed_bytes([]) == BASE_BYTES
    assert needed_bytes(FILES) == BASE_BYTES + GIB + 2 * GIB


def test_a_run_that_needs_more_than_there_is_says_so() -> None:
    assert memory_warnings(FILES, None) == memory_warnings(FILES, 4 * GIB) == []
    (warning,) = memory_warnings(FILES, 3 * GIB)
    assert warning.startswith("this run needs about 3.4 GiB of memory, and 3.0 GiB are free; ")


@pytest.mark.parametrize(
    ("meminfo", "limit", "used", "free"),
    [
        ("MemTotal: 9 kB\nMemAvailable:   2048 kB\n", "max", "5", 2 << 20),
        ("MemAvailable: 2048 kB\n", "1048576", "48576", 1_000_000),
        ("MemAvailable: 2048 kB\n", "10", "11", 0),
        ("MemTotal: 9 kB\n", None, None, None),
        (None, None, None, None),
        ("MemAvailable:", "x", "y", None),
    ],
)
def test_what_is_free_is_read_of_the_system(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    meminfo: str | None,
    limit: str | None,
    used: str | None,
    free: int | None,
) -> None:
    for name, content in (("meminfo", meminfo), ("memory.max", limit), ("memory.current", used)):
        if content is not None:
            (tmp_path / name).write_text(content)
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    assert free_bytes() == free


def test_the_command_warns_before_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.cli.evaluate.free_bytes", lambda: 1 << 20)
    truth = write_lines(tmp_path / "t.jsonl", [{"sample_id": "a", "text": "x"}])
    run = evaluate(tmp_path / "out", truth, truth, "--quiet")
    assert run.code == 0
    assert run.stderr.startswith("beamscore: warning: this run needs about 0.4 GiB of memory, and 0.0 GiB are free; ")
