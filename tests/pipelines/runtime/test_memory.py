"""How much memory a local run is said to need, and what is read of the system."""

from __future__ import annotations

from pathlib import Path

import pytest

from beamscore.pipelines.runtime import memory
from beamscore.pipelines.runtime.memory import BASE_BYTES, WORKER_BYTES, free_bytes, needed_bytes


def test_what_is_needed_grows_with_the_processes() -> None:
    """The command works itself, or has workers beside it."""
    assert [needed_bytes(processes) for processes in (1, 2, 8)] == [
        BASE_BYTES,
        BASE_BYTES + 2 * WORKER_BYTES,
        BASE_BYTES + 8 * WORKER_BYTES,
    ]


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


@pytest.mark.parametrize(
    ("stat", "free"),
    [("anon 7\ninactive_file 300\n", 500), ("inactive_file 5000\n", 1000), ("anon 7\n", 200), ("inactive_file x", 200)],
)
def test_files_in_the_memory_of_a_container_are_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stat: str, free: int
) -> None:
    """Of a limit of 1000 with 800 used, 300 of which are files, 500 are free; never more than the limit."""
    for name, content in (("memory.max", "1000"), ("memory.current", "800"), ("memory.stat", stat)):
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    assert free_bytes() == free
