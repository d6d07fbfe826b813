"""Writes the result: rows of samples, the quarantine, and at last the summary, each file whole or not at all."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from transforms.records import Quarantined
from transforms.sample_schema import sample_schema
from transforms.score import ScoredSample
from transforms.stage import StageBundles, delete_files, is_given_up, publish_folder, remove_staging, write_file

ROWS_PER_TABLE = 2048


def no_samples(figures: Sequence[str]) -> bytes:
    """Returns a Parquet file of samples without rows."""
    sink = pa.BufferOutputStream()
    pq.write_table(sample_schema(figures).empty_table(), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


class WriteSamples(beam.PTransform):
    """Writes ScoredSample as Parquet below the staging folder `folder`; gives the names of the files."""

    def __init__(self, folder: str, names: Sequence[str], figures: Sequence[str]) -> None:
        super().__init__()
        self._folder = folder
        self._names = tuple(names)
        self._figures = tuple(figures)

    def expand(self, samples: beam.PCollection) -> beam.PCollection:
        """Gathers rows into tables, and tables into files."""
        writer = partial(_table_writer, self._figures)
        return (
            samples
            | "Tables" >> beam.ParDo(RowsToTables(self._names, self._figures))
            | "WriteParquet" >> beam.ParDo(StageBundles(self._folder, ".parquet", writer)).with_output_types(str)
        )


def _table_writer(figures: tuple[str, ...], stream: BinaryIO) -> Any:
    return pq.ParquetWriter(stream, sample_schema(figures), compression="zstd")


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
            yield GlobalWindows.windowed_value(self._table())

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
    """Writes Quarantined as JSON lines below the staging folder `folder`; gives the names of the files."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = folder

    def expand(self, entries: beam.PCollection) -> beam.PCollection:
        """Writes one line for each entry."""
        return (
            entries
            | "Lines" >> beam.Map(Quarantined.to_bytes)
            | "WriteLines" >> beam.ParDo(StageBundles(self._folder, ".jsonl", LineWriter)).with_output_types(str)
        )


class LineWriter:
    """Writes lines to a stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, line: bytes) -> None:
        """Writes one line, given without its end."""
        self._stream.write(line + b"\n")

    def close(self) -> None:
        """Has nothing left to write."""


class Publish(beam.PTransform):
    """Waits for all parts of the result, makes the last files of them, and moves everything into place.

    A run that was given up meanwhile ends without a result.

    parts: named collections. make: from {name: list of elements} to {file name: content}. `last` names the file
    that is written after all others: where it stands, the result is whole.

    The files of each of `folders`, whose names are the part FOLDER_files, are moved from the run's staging folder to
    the folder of the same name in `output`, from which the files of earlier runs and attempts are removed.
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
        """Runs once, with each part as a side input.

        Grouped under one key, all parts would be one element, and a shuffle holds elements of some 10 MB only.
        """
        pipeline = next(iter(parts.values())).pipeline
        gathered = {name: beam.pvalue.AsList(part) for name, part in parts.items()}
        return pipeline | "Start" >> beam.Create([None]) | "Publish" >> beam.Map(self._publish, **gathered)

    def _publish(self, _: None, **parts: list[Any]) -> str:
        if is_given_up(self._output, self._run_id):
            return ""
        files = self._make(parts)
        delete_files([posixpath.join(self._output, self._last)])
        for folder in self._folders:
            publish_folder(self._output, folder, self._run_id, parts[f"{folder}_files"])
        for name in sorted(files, key=lambda name: (name == self._last, name)):
            write_file(posixpath.join(self._output, name), files[name])
        remove_staging(self._output, self._run_id)
        return posixpath.join(self._output, self._last)


def encode_json(document: Any) -> bytes:
    """Returns a JSON document for people and programs: indented, keys as given, no NaN."""
    return (json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()
