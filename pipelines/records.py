"""Records as files: JSONL, plain or compressed, or Parquet, one file or many."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import apache_beam as beam
import msgspec
import pyarrow as pa

from pipelines.errors import UsageError
from pipelines.inputs import record_fields

ROWS_PER_BATCH = 512
_ENDINGS = re.compile(r"(.*?)(\.jsonl(?:\.gz|\.zst)?|\.parquet)\Z", re.DOTALL)


class WriteRecords(beam.PTransform):
    """Writes records, given as JSON objects, to the file `path`.

    The ending of the path tells the format: .jsonl, .jsonl.gz, .jsonl.zst or .parquet. shards: 1 writes the one
    file `path`; 0 lets the runner write as many as it likes, numbered before the ending. The order of the records
    is that in which the runner brings them.

    columns: the columns of a Parquet file, and of each whether it holds plain text; others hold JSON, as Parquet's
    own JSON type. Fields of a record that are no column are left out of Parquet.
    """

    def __init__(self, path: str, columns: Mapping[str, bool], shards: int = 1) -> None:
        super().__init__()
        found = _ENDINGS.match(path)
        if not found:
            raise UsageError(f"--output {path}: must end with .jsonl, .jsonl.gz, .jsonl.zst or .parquet")
        self._prefix, self._ending = found.groups()
        self._columns = dict(columns)
        self._sharding = {"num_shards": shards, **({"shard_name_template": ""} if shards == 1 else {})}

    def expand(self, records: beam.PCollection) -> beam.PCollection:
        """Writes each file whole, or not at all."""
        if self._ending == ".parquet":
            schema = _schema(self._columns)
            return (
                records
                | "Batches" >> beam.BatchElements(1, ROWS_PER_BATCH)
                | "Tables" >> beam.Map(_table, self._columns)
                | "WriteParquet"
                >> beam.io.WriteToParquetBatched(
                    self._prefix, schema, codec="zstd", file_name_suffix=self._ending, **self._sharding
                )
            )
        return (
            records
            | "Lines" >> beam.Map(msgspec.json.encode)
            | "WriteLines"
            >> beam.io.WriteToText(
                self._prefix, file_name_suffix=self._ending, coder=beam.coders.BytesCoder(), **self._sharding
            )
        )


def columns_of(*kinds: type[msgspec.Struct]) -> dict[str, bool]:
    """Returns the columns that records of these types have, and of each whether it holds plain text."""
    columns = {"sample_id": True}
    for kind in kinds:
        columns.update(record_fields(kind))
    return columns


def _schema(columns: Mapping[str, bool]) -> Any:
    return pa.schema([pa.field(name, pa.string() if text else pa.json_()) for name, text in columns.items()])


def _table(records: list[Mapping[str, Any]], columns: Mapping[str, bool]) -> Any:
    schema = _schema(columns)
    arrays = []
    for field in schema:
        cells = [_cell(record.get(field.name), columns[field.name]) for record in records]
        arrays.append(pa.array(cells, pa.string()).cast(field.type))
    return pa.table(arrays, schema=schema)


def _cell(value: Any, text: bool) -> str | None:
    if value is None or (text and isinstance(value, str)):
        return value
    return msgspec.json.encode(value).decode()
