"""The rows of a part of an Arrow file as records, one record batch after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from ..records import InputProblem
from .arrow_rows import Row
from .arrow_stream import (
    DICTIONARY,
    MAX_BATCH_BYTES,
    RECORD_BATCH,
    Beginning,
    Message,
    decoded_batch,
    messages,
    read_beginning,
    read_message,
)
from .expansion import records_allowed
from .files import Part, SourceFile, unreadable
from .parquet import RowLimits, RowReader, check_columns, check_depth
from .parquet_plan import ROWS_PER_BATCH
from .restriction import Place, Unread, first_place
from .side_columns import SideColumns

NOT_READ = (OSError, ValueError, EOFError, pa.ArrowException, BeamIOError)


class BatchReader(RowReader):
    """The rows of a part of an Arrow file, from a place on; see RowReader.

    One record batch is in memory at a time, whose size is bounded (`arrow_stream.MAX_BATCH_BYTES`). Reading can start
    at any record batch; where these need dictionaries, at the beginning of the file, passing over the batches before.
    """

    def __init__(self, part: Part, columns: SideColumns, limits: RowLimits, unread: Unread | None = None) -> None:
        super().__init__(part, columns, limits, unread)
        start = unread.start if unread else first_place(part)
        self._batch_start, self._group_first = start.stored_start, start.start
        self._allowed = records_allowed(part.size, part.file.size)

    def __iter__(self) -> Iterator[Row]:
        """Yields the rows."""
        file = self._part.file
        try:
            with FileSystems.open(file.path, compression_type="uncompressed") as stream:
                beginning = read_beginning(stream, file.size)
                columns = self._checked_columns(file, beginning.schema)
                yield from self._of_batches(stream, beginning, columns)
        except NOT_READ as error:
            raise unreadable(file, error) from error

    @property
    def place(self) -> Place:
        """Where the reader stands; of a batch that is being read, the bytes count by the share of its rows."""
        share = (self._number - self._group_first) / max(1, self._group_rows)
        read = self._batch_start - self._part.start + int(self._group_bytes * min(1.0, share))
        return Place(self._number, self._number + 1, read, self._batch_start, self._group_first, self._unpacked)

    def _checked_columns(self, file: SourceFile, schema: Any) -> list[int]:
        check_columns(file, schema, self._fields)
        columns = [i for i, name in enumerate(schema.names) if self._columns is None or name in self._columns]
        fields = [schema.field(i) for i in columns]
        check_depth(file, fields, self._limits.depth)
        for field in fields:
            _check_type(file, field.name, field.type)
        return columns

    def _of_batches(self, stream: BinaryIO, beginning: Beginning, columns: list[int]) -> Iterator[Row]:
        dictionaries: list[bytes] = []
        for message in self._messages(stream, beginning):
            self._batch_start, self._group_rows, self._group_bytes = message.start, message.rows, message.size
            if message.kind == DICTIONARY:
                dictionaries.append(read_message(stream, message))
                if sum(map(len, dictionaries)) > MAX_BATCH_BYTES:
                    raise ValueError(f"its dictionaries have more than {MAX_BATCH_BYTES} bytes")
            elif message.kind == RECORD_BATCH:
                behind = self._group_first + message.rows
                if behind > self._from:
                    content = read_message(stream, message)
                    batch = decoded_batch(beginning.content, dictionaries, content, columns)
                    del content
                    yield from self._of_whole_batch(batch)
                if self._stop is not None and behind >= self._stop:
                    return
                self._group_first = behind
            self._batch_start, self._group_rows, self._group_bytes = message.stop, 0, 0

    def _messages(self, stream: BinaryIO, beginning: Beginning) -> Iterator[Message]:
        """Yields the messages of the part, from the batch on in which this reader starts."""
        start = max(beginning.stop, self._batch_start)
        if beginning.has_dictionaries:
            start, self._group_first = beginning.stop, 0
        for message in messages(stream, start, self._part.file.size):
            if self._part.stop is not None and message.start >= self._part.stop:
                return
            yield message

    def _of_whole_batch(self, batch: Any) -> Iterator[Row]:
        first = self._group_first
        begin = max(0, self._from - first)
        for start in range(begin, batch.num_rows, ROWS_PER_BATCH):
            for row, size in self._of_batch(batch.slice(start, ROWS_PER_BATCH), first + start):
                if self._stop is not None and row.number >= self._stop:
                    return
                self._number = row.number + 1
                self._count(size)
                yield row


def known_columns(file: SourceFile) -> Any:
    """Returns the schema of an Arrow file; raises InputProblem where it cannot be read."""
    try:
        with FileSystems.open(file.path, compression_type="uncompressed") as stream:
            return read_beginning(stream, file.size).schema
    except NOT_READ as error:
        raise unreadable(file, error) from error


def _check_type(file: SourceFile, column: str, kind: Any) -> None:
    """Raises InputProblem for a type whose values can share bytes, so that a small file may become any size."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    types = pa.types
    if (
        types.is_string_view(kind)
        or types.is_binary_view(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
        or types.is_run_end_encoded(kind)
        or types.is_union(kind)
    ):
        raise InputProblem(
            f"{file.path}: the column {column} is of type {kind}, which is not read; cast it and write it again"
        )
    for index in range(kind.num_fields):
        _check_type(file, column, kind.field(index).type)
    if types.is_dictionary(kind):
        _check_type(file, column, kind.value_type)
