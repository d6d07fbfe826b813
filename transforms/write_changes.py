"""Writes the samples that changed, those that changed most first, as Parquet and as JSONL."""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io.filesystems import FileSystems
from apache_beam.pvalue import TaggedOutput

from .io.claim import beat_from_worker
from .io.external_sort import sorted_on_disk
from .io.staging import StagedFolder
from .io.storage import STORAGE_ERRORS, make_folder, new_run_id, output_problem
from .sample_changes import unpack_changed
from .stored_blocks import Block

ROWS_PER_GROUP = 4096
FIRST = 20
BYTES_IN_MEMORY = 8 << 20


class WriteChanges(beam.PTransform):
    """Writes blocks of ChangedSample to two files of a staged folder, sorted on the disk of one worker.

    columns: of a row, in order. most: how many samples are written.
    Output, by tag: `files`, the names of both; `first`, the list of the first rows, for the report.
    """

    def __init__(self, folder: StagedFolder, columns: Sequence[str], most: int) -> None:
        super().__init__()
        self._folder = folder
        self._columns = tuple(columns)
        self._most = most

    def expand(self, changed: beam.PCollection) -> beam.pvalue.DoOutputsTuple:
        """Gathers all under one key; of each bundle those alone that may be among the `most`."""
        empty = changed.pipeline | "Start" >> beam.Create([(None, None)])
        return (
            (empty, changed | "Key" >> beam.Map(lambda each: (None, each)))
            | "Together" >> beam.Flatten()
            | "Gather" >> beam.GroupByKey()
            | "Write" >> beam.ParDo(self._write).with_outputs("files", "first")
        )

    def _write(self, group: tuple[None, Iterable[Block | None]]) -> Iterator[TaggedOutput]:
        items = ((each.key, each.row) for block in group[1] if block is not None for each in unpack_changed(block))
        first: list[dict[str, Any]] = []
        names = [f"{self._folder.name}-{new_run_id()}{suffix}" for suffix in (".parquet", ".jsonl")]
        paths = [posixpath.join(self._folder.path, name) for name in names]
        schema = _schema(self._columns)
        try:
            make_folder(self._folder.path)
            with (
                sorted_on_disk(items, BYTES_IN_MEMORY) as ordered,
                FileSystems.create(paths[0], compression_type="uncompressed") as table,
                FileSystems.create(paths[1], compression_type="uncompressed") as lines,
                pq.ParquetWriter(table, schema, compression="zstd") as writer,
            ):
                rows = (row for _, row in itertools.islice(ordered, self._most))
                while group_of := list(itertools.islice(rows, ROWS_PER_GROUP)):
                    lines.write(b"".join(row + b"\n" for row in group_of))
                    decoded = [msgspec.json.decode(row) for row in group_of]
                    writer.write_table(pa.Table.from_pylist(decoded, schema=schema))
                    first += decoded[: FIRST - len(first)]
        except STORAGE_ERRORS as error:
            raise output_problem(self._folder.output, error) from error
        beat_from_worker(self._folder.output, self._folder.run_id)
        for name in names:
            yield TaggedOutput("files", name)
        yield TaggedOutput("first", first)


def _schema(columns: Sequence[str]) -> Any:
    text = {"sample_id", "kind", "baseline.status", "candidate.status"}
    return pa.schema([(name, pa.string() if name in text else pa.float64()) for name in columns])
