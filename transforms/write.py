"""Writes the result: rows of samples, the quarantine, and at last the summary, each file whole or not at all."""

from __future__ import annotations

import contextlib
import json
import posixpath
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO

import apache_beam as beam
import pyarrow as pa
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.timestamp import MIN_TIMESTAMP
from apache_beam.utils.windowed_value import WindowedValue

from transforms.records import Quarantined
from transforms.score import ScoredSample

ROWS_PER_TABLE = 2048
STAGING = ".staging"


def sample_schema(figures: Sequence[str]) -> Any:
    """Returns the Arrow schema of the rows of samples, with a column for each per-sample figure."""
    columns = [pa.field("sample_id", pa.string()), pa.field("system", pa.string()), pa.field("status", pa.string())]
    columns += [pa.field(name, pa.float64()) for name in figures]
    return pa.schema([*columns, pa.field("details", pa.string())])


class WriteSamples(beam.PTransform):
    """Writes ScoredSample as Parquet below `folder`; gives the paths of the files."""

    def __init__(self, folder: str, names: Sequence[str], figures: Sequence[str]) -> None:
        super().__init__()
        self._folder = folder
        self._names = tuple(names)
        self._figures = tuple(figures)

    def expand(self, samples: beam.PCollection) -> beam.PCollection:
        """Gathers rows into tables, and tables into files."""
        return (
            samples
            | "Tables" >> beam.ParDo(RowsToTables(self._names, self._figures))
            | "WriteParquet"
            >> beam.io.WriteToParquetBatched(
                posixpath.join(self._folder, "samples"),
                sample_schema(self._figures),
                codec="zstd",
                file_name_suffix=".parquet",
            )
        )


class RowsToTables(beam.DoFn):
    """Turns rows of a bundle into Arrow tables, column by column."""

    def __init__(self, names: tuple[str, ...], figures: tuple[str, ...]) -> None:
        self._names = names
        self._figures = figures

    def start_bundle(self) -> None:
        """Starts with no rows."""
        self._rows: list[ScoredSample] = []

    def process(self, sample: ScoredSample) -> Iterator[Any]:
        """Keeps a row, and yields a table when enough have come together."""
        self._rows.append(sample)
        if len(self._rows) >= ROWS_PER_TABLE:
            yield self._table()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Yields what is left."""
        if self._rows:
            yield WindowedValue(self._table(), MIN_TIMESTAMP, (GlobalWindow(),))

    def _table(self) -> Any:
        rows, self._rows = self._rows, []
        columns: list[Any] = [
            [row.sample_id for row in rows],
            [self._names[row.system] for row in rows],
            [row.status for row in rows],
        ]
        columns += [[row.figures.get(name) for row in rows] for name in self._figures]
        columns.append([row.details.decode() for row in rows])
        schema = sample_schema(self._figures)
        return pa.table([pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema)


class WriteQuarantine(beam.PTransform):
    """Writes Quarantined as JSON lines below `folder`; gives the paths of the files."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = folder

    def expand(self, entries: beam.PCollection) -> beam.PCollection:
        """Writes one line for each entry."""
        return (
            entries
            | "Lines" >> beam.Map(Quarantined.to_bytes)
            | "WriteLines"
            >> beam.io.WriteToText(
                posixpath.join(self._folder, "quarantine"), file_name_suffix=".jsonl", coder=beam.coders.BytesCoder()
            )
        )


class Publish(beam.PTransform):
    """Waits for all parts of the result, makes the last files of them, and moves everything into place.

    parts: named collections. make: from {name: list of elements} to {file name: content}. `last` names the file
    that is written after all others: where it stands, the result is whole.

    Files in the staging folders are moved to the folders of the same names in `output`, from which the files of
    earlier runs are removed. A second attempt of the same run finds its own files there and keeps them, since
    they carry the run's id.
    """

    def __init__(
        self,
        output: str,
        run_id: str,
        folders: Sequence[str],
        make: Callable[[dict[str, list[Any]]], dict[str, bytes]],
        last: str,
    ) -> None:
        super().__init__()
        self._output = output
        self._run_id = run_id
        self._folders = tuple(folders)
        self._make = make
        self._last = last

    def expand(self, parts: dict[str, beam.PCollection]) -> beam.PCollection:
        """Gathers the parts under one key."""
        pipeline = next(iter(parts.values())).pipeline
        start = pipeline | "Start" >> beam.Create([(0, ("", None))])
        named = [part | f"Name{name}" >> beam.Map(_named, name) for name, part in parts.items()]
        return (
            (start, *named)
            | "Together" >> beam.Flatten()
            | "Gather" >> beam.GroupByKey()
            | "Publish" >> beam.Map(self._publish, tuple(parts))
        )

    def _publish(self, gathered: tuple[int, Iterable[tuple[str, Any]]], names: tuple[str, ...]) -> str:
        parts: dict[str, list[Any]] = {name: [] for name in names}
        for name, element in gathered[1]:
            if name:
                parts[name].append(element)
        files = self._make(parts)
        delete_files([posixpath.join(self._output, self._last)])
        for folder in self._folders:
            move_folder(self._output, folder, self._run_id)
        for name in sorted(files, key=lambda name: (name == self._last, name)):
            write_file(posixpath.join(self._output, name), files[name])
        remove_staging(self._output, self._run_id)
        return posixpath.join(self._output, self._last)


def _named(element: Any, name: str) -> tuple[int, tuple[str, Any]]:
    return 0, (name, element)


def new_run_id() -> str:
    """Returns an id that no other run has."""
    return uuid.uuid4().hex[:12]


def staging_folder(output: str, run_id: str, folder: str) -> str:
    """Returns where a run keeps the files of `folder` until they are all there."""
    return posixpath.join(output, STAGING, run_id, folder)


def move_folder(output: str, folder: str, run_id: str) -> None:
    """Moves the staged files of a folder into place, then removes those of earlier runs."""
    staged = _paths(posixpath.join(staging_folder(output, run_id, folder), "*"))
    target = posixpath.join(output, folder)
    if staged:
        make_folder(target)
        names = [path.rsplit("/", 1)[-1].replace(folder, f"{folder}-{run_id}", 1) for path in staged]
        FileSystems.rename(staged, [posixpath.join(target, name) for name in names])
    suffixes = (".parquet", ".jsonl")
    old = [
        path
        for path in _paths(posixpath.join(target, f"{folder}-*"))
        if f"{folder}-{run_id}-" not in path and path.endswith(suffixes)
    ]
    delete_files(old)


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


def _paths(pattern: str) -> list[str]:
    try:
        return sorted(entry.path for entry in FileSystems.match([pattern])[0].metadata_list)
    except BeamIOError:
        return []


def encode_json(document: Any) -> bytes:
    """Returns a JSON document for people and programs: indented, keys as given, no NaN."""
    return (json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()
