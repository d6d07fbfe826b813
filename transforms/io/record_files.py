"""Records as a file: JSONL, plain or compressed, or Parquet; equal records give equal bytes."""

from __future__ import annotations

import gzip
import itertools
import math
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from enum import IntFlag
from typing import Any, BinaryIO

import apache_beam as beam
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from ...metrics.benchmark import record_fields
from ..blocks import IN_PIPELINE, Block, KeyedRecord, ToBlocks, sorted_on_disk, unpack
from ..records import MAYBE_NO_NUMBER, InputProblem, zstd
from .field_map import has_float
from .storage import PART, atomic_write, delete_files, new_run_id, output_problems, place_of, prepare_output

ROWS_PER_GROUP = 4096
BYTES_PER_GROUP = 32 << 20
_FILE = re.compile(r"[^/]\.(?:jsonl(?:\.gz|\.zst)?|parquet)\Z")


class Kind(IntFlag):
    """The kinds of values that a column holds; NOTHING: only null."""

    NOTHING = 0
    TEXT = 1
    INTEGER = 2
    NUMBER = 4
    TRUTH = 8
    JSON = 16


_KINDS = {type(None): Kind.NOTHING, str: Kind.TEXT, int: Kind.INTEGER, float: Kind.NUMBER, bool: Kind.TRUTH}
_TYPES = dict(zip(_KINDS.values(), (pa.string(), pa.string(), pa.int64(), pa.float64(), pa.bool_()), strict=True))

Columns = dict[str, Kind]

_CELLS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def kinds_of(line: bytes) -> Columns:
    """Returns the columns of one JSON object."""
    return {name: _kind_of(cell) for name, cell in _CELLS.decode(line).items()}


def _kind_of(cell: msgspec.Raw) -> Kind:
    # Objects and arrays stay text: a number in one may not be decodable.
    if bytes(cell).startswith((b"{", b"[")):
        return Kind.JSON
    value = msgspec.json.decode(cell)
    is_long = type(value) is int and not -(1 << 63) <= value < 1 << 63
    return Kind.JSON if is_long else _KINDS.get(type(value), Kind.JSON)


def merged_columns(parts: Iterable[Columns]) -> Columns:
    """Returns the columns of several sets of objects."""
    merged: Columns = {}
    for columns in parts:
        for name, kind in columns.items():
            merged[name] = merged.get(name, Kind.NOTHING) | kind
    return merged


def ordered_columns(used: Columns, known: Columns) -> Columns:
    """Returns columns in an order that depends only on their names: first the known ones, then the others by name."""
    return {name: known.get(name, Kind.NOTHING) | used.get(name, Kind.NOTHING) for name in [*known, *sorted(used)]}


def schema_of(columns: Columns) -> Any:
    """Returns the Arrow schema: a column of one kind has its type, any other has Parquet's JSON type."""
    return pa.schema([pa.field(name, _TYPES.get(kind, pa.json_())) for name, kind in columns.items()])


def table_of(lines: Sequence[bytes], schema: Any) -> Any:
    """Returns JSON objects as an Arrow table."""
    records = [_CELLS.decode(line) for line in lines]
    arrays = []
    for field in schema:
        cells = [bytes(record.get(field.name, b"null")) for record in records]
        if isinstance(field.type, pa.JsonType):
            texts = [None if cell == b"null" else cell for cell in cells]
            arrays.append(pa.array(texts, pa.string()).cast(field.type))
        else:
            arrays.append(pa.array(map(msgspec.json.decode, cells), field.type))
    return pa.table(arrays, schema=schema)


class WriteRecords(beam.PTransform):
    """Writes records to the file `path`.

    The ending of the path selects the format: .jsonl, .jsonl.gz, .jsonl.zst or .parquet. One worker writes the file, in
    order of the keys, sorted on its disk: the same records give the same file, in whatever order they arrive, and
    memory stays bounded.

    A Parquet file has the columns that any record has. A column of text, integers, other numbers or booleans has that
    type; any other has Parquet's JSON type. columns: the kinds of some of them that are known beforehand.

    Input: collections of pairs (key, JSON object as bytes); the key of a record is its sample_id.

    only_if_any: writes no file if there are no records, and removes an existing one. nothing: what it raises then as
    InputProblem, if it is not empty. folder: for the blocks in which records are shuffled.
    """

    def __init__(self, path: str, columns: Mapping[str, Kind], only_if_any: bool = False, nothing: str = "") -> None:
        super().__init__()
        if not _FILE.search(path):
            raise InputProblem(f"--output {path}: must end with .jsonl, .jsonl.gz, .jsonl.zst or .parquet")
        self._columns = dict(columns)
        self._run_id = new_run_id()
        self._only_if_any, self._nothing = only_if_any, nothing
        self.folder = IN_PIPELINE
        self.path = path

    def expand(self, records: tuple[beam.PCollection, ...]) -> beam.PCollection:
        """Writes the file whole, or not at all; returns the path, also of a file that `only_if_any` leaves out.

        Blocks are flattened, not records: a local runner holds in memory whatever it flattens.
        """
        parts = [records[0].pipeline | "Start" >> beam.Create([(0, None)])]
        for number, each in enumerate(records):
            keyed = each | f"Key{number}" >> beam.MapTuple(_keyed)
            parts.append(keyed | f"Blocks{number}" >> beam.ParDo(ToBlocks(1, self.folder)))
        gathered = parts | "Together" >> beam.Flatten() | "Gather" >> beam.GroupByKey() | beam.Values()
        if not self.path.endswith(".parquet"):
            return gathered | "Write" >> beam.Map(self._write, None)
        columns = (
            records
            | "Each" >> beam.Flatten()
            | "Kinds" >> beam.MapTuple(lambda _, line: kinds_of(line))
            | "Columns" >> beam.CombineGlobally(merged_columns)
        )
        return gathered | "Write" >> beam.Map(self._write, beam.pvalue.AsSingleton(columns))

    def _write(self, blocks: Iterable[Block | None], columns: Columns | None) -> str:
        path = self.path
        records: Iterator[KeyedRecord] = (record for block in blocks if block is not None for record in unpack(block))
        first = list(itertools.islice(records, 1))
        if self._nothing and not first:
            raise InputProblem(self._nothing)
        if self._only_if_any and not first:
            with output_problems(path):
                delete_files([path])
            return path
        records = itertools.chain(first, records)
        with output_problems(path), sorted_on_disk(records) as ordered, atomic_write(path, self._run_id) as stream:
            lines = (line for _, line in ordered)
            if columns is None:
                _write_lines(lines, path, stream)
            else:
                _write_parquet(lines, ordered_columns(columns, self._columns), stream)
        return path

    def prepare(self, inputs: Iterable[str]) -> None:
        """Makes the folder of the output; raises InputProblem if it cannot be written, or would replace an input."""
        for path in inputs:
            if place_of(path) == place_of(self.path):
                raise InputProblem(f"--output {self.path}: it would replace the input {path}; give another --output")
        if os.path.isdir(self.path):
            raise InputProblem(f"--output {self.path}: this is a folder; give the name of a file")
        prepare_output(posixpath.dirname(self.path) or ".")
        # A name that is too long is refused before any work, not by whichever file is written first.
        with output_problems(self.path):
            self._delete_part()

    def remove_leftovers(self) -> None:
        """Removes the partial file that an interrupted run left of this output, if it can."""
        with suppress(OSError):
            self._delete_part()

    def _delete_part(self) -> None:
        delete_files([f"{self.path}.{self._run_id}{PART}"])


def _keyed(key: str, line: bytes) -> KeyedRecord:
    return key.encode("utf-8", "surrogatepass"), line


def known_columns(*kinds: type[msgspec.Struct]) -> Columns:
    """Returns the columns of known kind of records of these types: those that never hold plain text."""
    fields = {name: is_text for kind in kinds for name, is_text in record_fields(kind).items()}
    return {"sample_id": Kind.TEXT, **{name: Kind.JSON for name, is_text in fields.items() if not is_text}}


def _write_lines(lines: Iterator[bytes], path: str, stream: BinaryIO) -> None:
    # No name and no time in the header: with them, equal records would give different files.
    writers: dict[str, Any] = {
        "gz": lambda: gzip.GzipFile("", "wb", fileobj=stream, mtime=0),
        "zst": lambda: zstd.ZstdFile(stream, "w"),
    }
    with writers.get(path.rpartition(".")[2], lambda: nullcontext(stream))() as opened:
        # Without any write, zst is a file of 0 bytes, as if it were cut off.
        opened.write(b"")
        for line in lines:
            opened.write(line + b"\n")


def _write_parquet(lines: Iterator[bytes], columns: Columns, stream: BinaryIO) -> None:
    schema = schema_of(columns)
    with pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        for group in _groups(lines):
            writer.write_table(table_of(group, schema))


def _groups(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    group: list[bytes] = []
    size = 0
    for line in lines:
        group.append(line)
        size += len(line)
        if len(group) >= ROWS_PER_GROUP or size >= BYTES_PER_GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group


def encoded(record: Mapping[str, Any]) -> tuple[str, bytes]:
    """Returns a record with its sample_id, as input of WriteRecords.

    Raises ValueError or TypeError if it cannot be written as JSON, which has no infinite numbers.
    """
    text = msgspec.json.encode(record)
    if b"null" in text and _may_be_infinite(record):
        for name, value in record.items():
            if has_float(value, math.isinf):
                raise ValueError(f"{name} has an infinite number, which JSON does not have")
    return record["sample_id"], text


def _may_be_infinite(record: Mapping[str, Any]) -> bool:
    try:
        return MAYBE_NO_NUMBER.search(msgspec.msgpack.encode(record)) is not None
    except OverflowError:
        return True  # An integer has more than 64 bits.
