"""Writes the result: rows of samples, the quarantine, and at last the summary, each file whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from .io.publication import Layout, TakenOver, publish
from .io.staging import StageBundles, StagedFolder
from .records import Quarantined
from .sample_schema import SLICE_PREFIX, sample_schema
from .scored_sample import ScoredSample, sample_table

ROWS_PER_TABLE = 4096
BYTES_PER_TABLE = 16 << 20


def no_samples(metrics: Sequence[str], slice_columns: Sequence[str]) -> bytes:
    """Returns a Parquet file of samples without rows."""
    sink = pa.BufferOutputStream()
    pq.write_table(sample_schema(metrics, slice_columns).empty_table(), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


class WriteSamples(beam.PTransform):
    """Writes lists of ScoredSample as Parquet to the staged folder; returns the names of the files.

    names: of the systems. metrics: the per-sample metrics. slice_columns: the columns that the run slices by.
    signature: see transforms.hashes.scoring_signature. file_s: see StageBundles.
    """

    def __init__(
        self,
        folder: StagedFolder,
        names: Sequence[str],
        metrics: Sequence[str],
        slice_columns: Sequence[str],
        signature: bytes,
        file_s: float | None = None,
    ) -> None:
        super().__init__()
        self._folder = folder
        self._file_s = file_s
        self._tables = SampleTables(tuple(names), tuple(metrics), tuple(slice_columns), signature)

    def expand(self, samples: beam.PCollection) -> beam.PCollection:
        """Gathers rows into tables, and tables into files."""
        return (
            samples
            | "Tables" >> beam.ParDo(RowsToTables(self._tables)).with_output_types(pa.Table)
            | "WriteParquet"
            >> beam.ParDo(StageBundles(self._folder, ".parquet", self._tables.writer, self._file_s)).with_output_types(
                str
            )
        )


@dataclass(frozen=True)
class SampleTables:
    """Makes Arrow tables of scored samples; see WriteSamples and sample_schema."""

    names: tuple[str, ...]
    metrics: tuple[str, ...]
    slice_columns: tuple[str, ...]
    signature: bytes

    def writer(self, stream: BinaryIO) -> Any:
        """Returns what writes tables to a Parquet file."""
        repeated = ["system", "status", "prediction_status", "coverage"]
        repeated += [f"{SLICE_PREFIX}{name}" for name in self.slice_columns]
        schema = sample_schema(self.metrics, self.slice_columns)
        return pq.ParquetWriter(stream, schema, compression="zstd", use_dictionary=repeated)

    def table(self, rows: Sequence[ScoredSample]) -> Any:
        """Returns the table of some samples."""
        return sample_table(rows, self.names, self.metrics, self.slice_columns, self.signature)


class RowsToTables(beam.DoFn):
    """Turns the rows of a bundle into Arrow tables of at most ROWS_PER_TABLE and a batch, or BYTES_PER_TABLE."""

    def __init__(self, tables: SampleTables) -> None:
        self.tables = tables

    def start_bundle(self) -> None:
        """Starts with no rows."""
        self._rows: list[ScoredSample] = []
        self._bytes = 0

    def process(self, samples: list[ScoredSample]) -> Iterator[Any]:
        """Keeps rows, and yields a table when enough have come together."""
        self._rows += samples
        self._bytes += sum(len(sample.details) for sample in samples)
        if len(self._rows) >= ROWS_PER_TABLE or self._bytes >= BYTES_PER_TABLE:
            yield self._table()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Yields what is left."""
        if self._rows:
            yield GlobalWindows.windowed_value(self._table())

    def _table(self) -> Any:
        rows, self._rows, self._bytes = self._rows, [], 0
        return self.tables.table(rows)


class WriteQuarantine(beam.PTransform):
    """Writes Quarantined as JSON lines to the staged folder; returns the names of the files."""

    def __init__(self, folder: StagedFolder) -> None:
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
    """Waits for all parts of the result, makes its documents of them, and publishes everything as a whole.

    A run that has lost its claim on the output meanwhile ends without a result.

    parts: named collections; FOLDER_files holds the names of the staged files of each folder of the layout.
    make: from {name: list of elements} to {file name: content}.
    """

    def __init__(
        self, output: str, run_id: str, layout: Layout, make: Callable[[dict[str, list[Any]]], dict[str, bytes]]
    ) -> None:
        super().__init__()
        self._output = output
        self._run_id = run_id
        self._layout = layout
        self._make = make

    def expand(self, parts: dict[str, beam.PCollection]) -> beam.PCollection:
        """Runs once, with each part as a side input.

        Grouped under one key, all parts would be one element, and a shuffle holds elements of some 10 MB only.
        """
        pipeline = next(iter(parts.values())).pipeline
        gathered = {name: beam.pvalue.AsList(part) for name, part in parts.items()}
        return pipeline | "Start" >> beam.Create([None]) | "Publish" >> beam.Map(self._publish, **gathered)

    def _publish(self, _: None, **parts: list[Any]) -> bool:
        files = self._make(parts)
        staged = {folder: parts[f"{folder}_files"] for folder in self._layout.folders}
        try:
            publish(self._output, self._run_id, self._layout, files, staged)
        except TakenOver:
            # The command, if it still waits, finds that the result is not this run's.
            return False
        return True


def encode_json(document: Any) -> bytes:
    """Returns a JSON document for people and programs: indented, keys as given, no NaN."""
    return (json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()
