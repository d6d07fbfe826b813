"""The folder for the temporary files of a command: gone with it, or removed by the next one if it was killed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from beamscore.pipelines.runners.temporary_space import own_temporary_folder


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_temporary_files_go_with_the_command(shared: Path) -> None:
    with own_temporary_folder():
        file = Path(tempfile.mkdtemp()) / "file"
        file.write_text("x")
        assert shared in file.parents
    assert tempfile.gettempdir() == str(shared)
    assert list(shared.iterdir()) == []


def test_what_a_killed_command_left_is_removed_and_what_a_living_one_has_stays(shared: Path) -> None:
    # Nobody holds the lock of a process that has ended.
    (shared / "beamscore-run-dead").mkdir()
    (shared / "beamscore-run-dead" / "file").write_text("x")
    (shared / "beamscore-run-dead.lock").touch()
    (shared / "somebody else's").mkdir()
    with own_temporary_folder():
        living = Path(tempfile.gettempdir())
        tempfile.tempdir = str(shared)
        with own_temporary_folder():
            assert living.is_dir()
        tempfile.tempdir = str(living)
    assert [path.name for path in shared.iterdir()] == ["somebody else's"]


def test_the_files_of_a_job_server_stay_until_python_ends(shared: Path) -> None:
    """Beam stops it then, and complains if they are gone."""
    with own_temporary_folder():
        server = Path(tempfile.mkdtemp(prefix="beam-temp"))
    assert server.is_dir()


def test_without_a_folder_nothing_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with own_temporary_folder():
        assert tempfile.gettempdir() == str(tmp_path / "gone")
