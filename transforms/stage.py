"""Files that are written apart and moved into place together, so that a result is there as a whole or not at all."""

from __future__ import annotations

import contextlib
import posixpath
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, BinaryIO, Protocol

import apache_beam as beam
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

STAGING = ".staging"
_GIVEN_UP = "given-up"


class Writer(Protocol):
    """Writes elements to a stream; `close` writes what is left, and leaves the stream open."""

    def write(self, element: Any) -> Any:
        """Writes one element."""

    def close(self) -> Any:
        """Ends the file."""


class StageBundles(beam.DoFn):
    """Writes the elements of each bundle to a new file in a staging folder; gives its name when it is whole.

    A bundle that fails leaves a file whose name nobody learns, and when it is run again it writes another one. So the
    names that arrive downstream are those of whole files with each element once, whatever was run twice.
    """

    def __init__(self, folder: str, suffix: str, open_writer: Callable[[BinaryIO], Writer]) -> None:
        self._folder = folder
        self._suffix = suffix
        self._open_writer = open_writer
        self._name = ""

    def start_bundle(self) -> None:
        """Starts without a file: a bundle without elements writes none."""
        self._name = ""

    def teardown(self) -> None:
        """Closes the file of a bundle that failed."""
        if self._name:
            self._stream.close()

    def process(self, element: Any) -> None:
        """Writes one element."""
        if not self._name:
            self._open()
        self._writer.write(element)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Ends the file and yields its name."""
        if self._name:
            self._writer.close()
            self._stream.close()
            name, self._name = self._name, ""
            yield GlobalWindows.windowed_value(name)

    def _open(self) -> None:
        make_folder(self._folder)
        self._name = f"{posixpath.basename(self._folder)}-{new_run_id()}{self._suffix}"
        path = posixpath.join(self._folder, self._name)
        self._stream: BinaryIO = FileSystems.create(path, compression_type="uncompressed")
        self._writer = self._open_writer(self._stream)


def new_run_id() -> str:
    """Returns an id that no other run has."""
    return uuid.uuid4().hex[:12]


def staging_folder(output: str, run_id: str, folder: str) -> str:
    """Returns where a run keeps the files of `folder` until they are all there."""
    return posixpath.join(output, STAGING, run_id, folder)


def publish_folder(output: str, folder: str, run_id: str, names: Collection[str]) -> None:
    """Moves the staged files `names` into the folder, then removes from it all others named as a run names them.

    A file that an earlier attempt has moved already stays; staged files of other names are leftovers of attempts that
    failed, and are not moved. Raises FileNotFoundError where a file is neither staged nor in place.
    """
    staging, target = staging_folder(output, run_id, folder), posixpath.join(output, folder)
    staged, placed = _names(staging), _names(target)
    lost = sorted(set(names) - staged - placed)
    if lost:
        raise FileNotFoundError(f"{posixpath.join(staging, lost[0])}: written by this run, but gone")
    moved = sorted(staged & set(names))
    make_folder(target)
    if moved:
        FileSystems.rename(
            [posixpath.join(staging, name) for name in moved], [posixpath.join(target, name) for name in moved]
        )
    old = [
        name
        for name in sorted(placed - set(names))
        if name.startswith(f"{folder}-") and name.endswith((".parquet", ".jsonl"))
    ]
    delete_files([posixpath.join(target, name) for name in old])


def write_file(path: str, content: bytes) -> None:
    """Writes a file under another name, then renames it, so that it is there as a whole or not at all."""
    make_folder(posixpath.dirname(path))
    with written_whole(path, new_run_id()) as stream:
        stream.write(content)


@contextlib.contextmanager
def written_whole(path: str, run_id: str) -> Iterator[BinaryIO]:
    """Opens a file under the name PATH.RUN_ID.part, and gives it its own name once everything is written."""
    temporary = f"{path}.{run_id}.part"
    try:
        with FileSystems.create(temporary, compression_type="uncompressed") as stream:
            yield stream
        _replace(temporary, path)
    except BaseException:
        delete_files([temporary])
        raise


def _replace(source: str, target: str) -> None:
    """Renames a file; where the filesystem does not replace the target by itself, the target is removed first."""
    try:
        FileSystems.rename([source], [target])
    except BeamIOError:
        if not (FileSystems.exists(source) and FileSystems.exists(target)):
            raise
        FileSystems.delete([target])
        FileSystems.rename([source], [target])


def write_probe(folder: str) -> None:
    """Writes and removes an empty file, to find out early that a folder cannot be written to."""
    path = posixpath.join(folder, f".{new_run_id()}.probe")
    with FileSystems.create(path, compression_type="uncompressed"):
        pass
    FileSystems.delete([path])


def delete_files(paths: Sequence[str]) -> None:
    """Removes the files that are there."""
    found = [path for path in paths if FileSystems.exists(path)]
    if found:
        FileSystems.delete(found)


def give_up(output: str, run_id: str) -> None:
    """Forbids a run to publish that may go on elsewhere; what it has staged so far is removed."""
    remove_staging(output, run_id)
    write_file(posixpath.join(output, STAGING, run_id, _GIVEN_UP), b"")


def is_given_up(output: str, run_id: str) -> bool:
    """Tells whether a run must not publish."""
    return bool(FileSystems.exists(posixpath.join(output, STAGING, run_id, _GIVEN_UP)))


def remove_staging(output: str, run_id: str) -> None:
    """Removes the staging folder of a run, and the folder above it when it was the last."""
    for folder in (posixpath.join(output, STAGING, run_id), posixpath.join(output, STAGING)):
        try:
            # An object store knows no folders: what is below one is not deleted with it.
            found = _paths(posixpath.join(folder, "**"))
            if folder.endswith(run_id) or not found:
                FileSystems.delete([*found, folder])
        except (BeamIOError, OSError):
            return


def make_folder(path: str) -> None:
    """Makes a folder unless it is there, or its filesystem has none."""
    try:
        if path and not FileSystems.exists(path):
            FileSystems.mkdirs(path)
    except (BeamIOError, OSError):
        if not FileSystems.exists(path):
            raise


def _names(folder: str) -> set[str]:
    return {path.rsplit("/", 1)[-1] for path in _paths(posixpath.join(folder, "*"))}


def _paths(pattern: str) -> list[str]:
    try:
        return sorted(entry.path for entry in FileSystems.match([pattern])[0].metadata_list)
    except BeamIOError:
        return []
