"""Neither files nor processes outlive a command; what a killed one has left is removed by the next one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from beamscore.pipelines.runners.lifetime import own_temporary_folder

ROOT = Path(__file__).parents[3]

WORKER = """
import pathlib, sys, tempfile, time
from beamscore.pipelines.runners.lifetime import live_by

live_by(sys.argv[1], int(sys.argv[2]))
try:
    pathlib.Path(tempfile.mkdtemp(), "scratch").write_text("")
    print("ready", flush=True)
finally:  # The folder of a worker that ends at once may be gone before.
    time.sleep(60)
"""


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_command_left_is_removed_and_what_a_living_one_has_stays(shared: Path) -> None:
    # Nobody holds the lock of a process that has ended.
    (shared / "beamscore-run-dead").mkdir()
    (shared / "beamscore-run-dead" / "file").write_text("x")
    (shared / "beamscore-run-dead.lock").touch()
    (shared / "somebody else's").mkdir()
    with own_temporary_folder():
        living = Path(tempfile.gettempdir())
        assert shared in Path(tempfile.mkdtemp()).parents
        tempfile.tempdir = str(shared)
        with own_temporary_folder():
            assert living.is_dir()
        tempfile.tempdir = str(living)
    assert tempfile.gettempdir() == str(shared)
    assert [path.name for path in shared.iterdir()] == ["somebody else's"]


def test_the_files_of_a_job_server_stay_and_without_a_folder_nothing_changes(shared: Path) -> None:
    """Beam stops the server when Python ends, and complains if they are gone."""
    with own_temporary_folder():
        server = Path(tempfile.mkdtemp(prefix="beam-temp"))
    # Nor does a later command take them for those of a process that has ended.
    with own_temporary_folder():
        assert server.is_dir()
    tempfile.tempdir = str(shared / "gone")
    with own_temporary_folder():
        assert tempfile.gettempdir() == str(shared / "gone")


@pytest.mark.parametrize("ended_by_name", [True, False])
def test_a_worker_that_is_ended_leaves_no_temporary_files(tmp_path: Path, ended_by_name: bool) -> None:
    folder = tmp_path / "workers"
    folder.mkdir()
    # Its parent is another process than the one that it is told of: as if the command had been killed.
    parent = os.getpid() if ended_by_name else 1
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(folder), str(parent)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert worker.stdout is not None
        if ended_by_name:
            assert worker.stdout.readline() == "ready\n"
            assert len(list(folder.rglob("scratch"))) == 1
            folder.rename(f"{folder}-removed")
        assert worker.wait(timeout=30) == 0
        assert list(tmp_path.iterdir()) == []
    finally:
        worker.kill()
        worker.communicate()
