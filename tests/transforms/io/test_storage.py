"""Files and folders by their literal paths, on a disk and in stores; files are written whole or not at all."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from beamscore.transforms.io import storage
from beamscore.transforms.io.storage import delete_files, list_folder, read_bytes, write_file
from tests.memory_files import FolderStore, ObjectStore


@pytest.fixture(params=["disk", "objects", "folders"])
def base(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A folder, as in a fresh process, which has set no options of Beam's filesystems."""
    monkeypatch.setattr(FileSystems, "_pipeline_options", None)
    ObjectStore.clear()
    yield {"objects": "mem://bucket", "folders": "folders://bucket/a"}.get(request.param, str(tmp_path / "a"))
    ObjectStore.clear()


def test_only_what_is_right_below_a_folder_is_listed_with_its_time(base: str) -> None:
    ObjectStore.now = 7.0
    for name in ("x/file", "x/deep/er/file", "x/deep/later", "xy"):
        write_file(f"{base}/{name}", b"1")
    # The mark of a folder that consoles of object stores make.
    ObjectStore({}).put(f"{base}/x/", b"")
    found = list_folder(f"{base}/x")
    assert sorted(found) == ["deep", "file"]
    if "://" in base:
        assert 7.0 <= found["file"] < 7.1  # a time of its own for each file that is written
    else:
        assert found["file"] == os.stat(f"{base}/x/file").st_mtime
    if base.startswith("mem:"):
        # A name with others below it has the time of the latest of them.
        assert found["deep"] == list_folder(f"{base}/x/deep")["later"] > list_folder(f"{base}/x/deep")["er"]
    assert list_folder(f"{base}/none") == {}


def test_a_rename_of_what_is_gone_leaves_its_target_and_a_copy_fails(base: str) -> None:
    write_file(f"{base}/b", b"kept")
    with pytest.raises(OSError):
        storage.rename_files([(f"{base}/gone", f"{base}/b")])
    assert read_bytes(f"{base}/b") == b"kept"
    with pytest.raises(OSError):
        storage.copy_file(f"{base}/gone", f"{base}/b")


@pytest.mark.parametrize("is_there", [True, False])
def test_a_folder_that_another_worker_makes_meanwhile_is_there(monkeypatch: pytest.MonkeyPatch, is_there: bool) -> None:
    answers = iter([False, True, is_there])
    monkeypatch.setattr(FolderStore, "exists", lambda *_: next(answers))
    with contextlib.nullcontext() if is_there else pytest.raises(OSError):
        storage.make_folder("folders://bucket/a")


def test_a_probe_has_content_and_leaves_nothing(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upload without any content is refused by S3."""
    probes: list[bytes] = []

    def delete(paths: list[str]) -> None:
        probes.extend(map(read_bytes, paths))
        delete_files(paths)

    monkeypatch.setattr(storage, "delete_files", delete)
    storage.write_probe(base)
    assert (probes, list_folder(base)) == ([b"\n"], {})


def test_a_problem_with_an_output_is_one_line_with_its_cause_and_what_mends_it() -> None:
    for error, message in [
        (OSError(errno.ENOSPC, "No space left"), "[Errno 28] No space left"),
        (BeamIOError("Rename failed", {"x": OSError(PermissionError(errno.EACCES, "No!"))}), "[Errno 13] No!"),
        (ValueError("two\nlines"), "two lines"),
        (ValueError("x" * 301), "x" * 300),
    ]:
        said = f"--output /x: cannot be written: {message}; fix that, or give another --output"
        assert storage.output_problem("/x", error).message == said


def test_an_error_of_the_client_of_an_object_store_is_one_of_the_storage() -> None:
    refused = type("Forbidden", (Exception,), {"__module__": "google.api_core"})("403")
    for path, error, expected in (
        ("gs://bucket/a", refused, OSError),
        ("/a", refused, type(refused)),
        ("gs://bucket/a", ValueError(), ValueError),
    ):
        with pytest.raises(expected), storage.as_os_errors(path):
            raise error
