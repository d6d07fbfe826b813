"""The rows of a part of a Parquet file as records, column by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io.filesystem import BeamIOError

from ..records import InputProblem
from .arrow_rows import Row, RowsOfBatch
from .expansion import (
    LEAST_RECORD_BYTES,
    check_records,
    containers_allowed,
    records_allowed,
)
from .field_map import FIELDS_AS_NAMED, FieldMap
from .files import OpenParquet, Part, SourceFile, open_parquet, stored_bytes, unreadable
from .parquet_plan import GroupPlan, plan_group
from .parquet_sizes import BYTES, PARTS, Weights, row_sizes
from .restriction import Place, Unread
from .side_columns import SideColumns

NAMES_LISTED = 20
BYTES_AT_ONCE = 8 << 20
BYTES_PER_READ = 1 << 20
MAX_ID_LENGTH_READ = 1 << 16
RECORD_BYTES = "limits.record_bytes"


@dataclass(frozen=True, slots=True)
class RowLimits:
    """The limits on one row: the bytes of its record, and how deep JSON in it, or its schema, may be nested."""

    record_bytes: int
    depth: int


class RowReader:
    """The rows of a part, from a place on.

    Columns that do not matter are not even read; those of Parquet's own JSON type are taken as JSON in any case.
    unread: from where to where it reads; None: all of the part.

    Memory is bounded, whatever a small file promises to become: see GroupPlan. A row that is larger than the limit is
    given as such before any of it becomes a Python object. Iterating raises InputProblem where the file cannot be read,
    has no column of the sample_id, or becomes too large, see transforms.io.expansion. `place` is where the reader
    stands, behind the row that it gave last.
    """

    def __init__(self, part: Part, columns: SideColumns, limits: RowLimits, unread: Unread | None = None) -> None:
        self._part = part
        self._fields = columns.fields
        self._columns = columns.read
        self._rows = RowsOfBatch(columns, limits.depth, containers_allowed(limits.record_bytes))
        self._limits = limits
        self._from = unread.start.position if unread else part.first_row
        self._stop = unread.stop.position if unread and unread.stop else None
        self._number = self._from
        # By the columns that are read as dictionaries; most row groups of a file have the same.
        self._opened: dict[tuple[str, ...], Any] = {}
        self._unpacked = unread.start.unpacked if unread else 0
        self._allowed = 0
        self._read, self._group_first, self._group_rows, self._group_bytes = 0, part.first_row, 1, 0

    def __iter__(self) -> Iterator[Row]:
        """Yields the rows."""
        with open_parquet(self._part.file) as parquet:
            data_bytes = self._part.file.size - parquet.metadata.serialized_size
            self._allowed = records_allowed(self._part.stored, data_bytes)
            try:
                schema = parquet.schema
                check_columns(self._part.file, schema, self._fields)
                names = [name for name in schema.names if self._columns is None or name in self._columns]
                check_depth(self._part.file, [schema.field(name) for name in names], self._limits.depth)
                yield from self._of_groups(parquet, names)
            except (OSError, ValueError, pa.ArrowException, BeamIOError) as error:
                raise unreadable(self._part.file, error) from error

    @property
    def place(self) -> Place:
        """Where the reader stands; of a row group that is being read, the bytes count by the share of its rows."""
        share = (self._number - self._group_first) / max(1, self._group_rows)
        read = self._read + int(self._group_bytes * min(1.0, share))
        return Place(self._number, self._number + 1, read, unpacked=self._unpacked)

    def _of_groups(self, parquet: OpenParquet, names: list[str]) -> Iterator[Row]:
        for number in range(self._part.start, self._part.stop or 0):
            group = parquet.metadata.row_group(number)
            self._group_rows, self._group_bytes = group.num_rows, stored_bytes(group)
            behind = self._group_first + group.num_rows
            if self._stop is not None and self._group_first >= self._stop:
                return
            if behind > self._from:
                for row, size in self._of_group(parquet, number, names):
                    if self._stop is not None and row.number >= self._stop:
                        return
                    self._number = row.number + 1
                    self._count(size)
                    yield row
            self._read += self._group_bytes
            self._group_first, self._group_bytes = behind, 0

    def _count(self, size: int) -> None:
        self._unpacked += max(size, LEAST_RECORD_BYTES)
        check_records(self._number, self._unpacked, self._allowed)

    def _of_group(self, parquet: OpenParquet, number: int, names: list[str]) -> Iterator[tuple[Row, int]]:
        """Yields the rows of a row group that are to be read, with the bytes of each, as far as it is read."""
        plan = plan_group(parquet, number, names, self._limits.record_bytes, self._fields.id_column())
        if plan.stop != 0:
            for first, batch in self._batches(parquet, plan, names):
                yield from self._of_batch(batch, first)
        if plan.stop is None:
            return
        for first, batch in self._batches(parquet, plan.ids_alone(), [self._fields.id_column()]):
            for offset, sample_id in enumerate(self._rows.ids(batch.column(0))):
                cause, error = plan.refusal(first + offset - self._group_first)
                yield Row(first + offset, sample_id, b"\xc0", error, cause), 0

    def _batches(self, parquet: OpenParquet, plan: GroupPlan, names: list[str]) -> Iterator[tuple[int, Any]]:
        """Yields the batches of a row group that have rows to give, without the others, with their first numbers."""
        opened = self._opened.get(plan.dictionaries)
        if opened is None:
            opened = self._opened[plan.dictionaries] = pq.ParquetFile(
                parquet.stream,
                metadata=parquet.metadata,
                read_dictionary=list(plan.dictionaries),
                buffer_size=BYTES_PER_READ,
                pre_buffer=False,
            )
        start, first = self._group_first, max(self._from, self._group_first + plan.start)
        for batch in opened.iter_batches(plan.batch_rows, row_groups=[plan.number], columns=names):
            stop = start + batch.num_rows
            if plan.stop is not None:
                stop = min(stop, self._group_first + plan.stop)
            if stop > first:
                begin = max(first, start)
                yield begin, batch.slice(begin - start, stop - begin)
            start += batch.num_rows
            if plan.stop is not None and start >= self._group_first + plan.stop:
                return

    def _of_batch(self, batch: Any, first: int) -> Iterator[tuple[Row, int]]:
        """Yields the rows of a batch: all at once where they are small, else one by one."""
        sizes = _summed(batch, BYTES)
        limit, containers = self._limits.record_bytes, containers_allowed(self._limits.record_bytes)
        most_parts = PARTS.container * containers

        def has_too_many(rows: Any, size: int) -> bool:
            # Every part takes a byte at least.
            return size > containers and int(_summed(rows, PARTS).max()) > most_parts

        total = int(sizes.sum())
        if total <= min(BYTES_AT_ONCE, limit) and not has_too_many(batch, total):
            yield from ((row, len(row.payload)) for row in self._rows.of(batch, first))
            return
        for offset, size in enumerate(sizes.tolist()):
            row = batch.slice(offset, 1)
            if size > limit:
                message = f"the record has at least {size} bytes, more than the {limit} of {RECORD_BYTES}"
                yield self._too_large(row, first + offset, message), limit
            elif has_too_many(row, size):
                message = f"the record has more than {containers} arrays and objects, or {most_parts} values in all"
                yield self._too_large(row, first + offset, message), size
            else:
                yield from ((each, size) for each in self._rows.of(row, first + offset))

    def _too_large(self, row: Any, number: int, message: str) -> Row:
        ids = row.column(row.schema.names.index(self._fields.id_column()))
        sample_id = self._rows.ids(ids)[0] if int(np.max(row_sizes(ids))) <= MAX_ID_LENGTH_READ else None
        return Row(number, sample_id, b"\xc0", message, "too_large")


def _summed(batch: Any, weights: Weights) -> Any:
    """Returns what the weights count of each row of a batch, int [N]."""
    sums = np.zeros(batch.num_rows, np.int64)
    for column in batch.columns:
        sums += row_sizes(column, weights)
    return sums


def read_rows(part: Part, columns: SideColumns, limits: RowLimits) -> Iterator[Row]:
    """Yields the rows of `part`; see RowReader."""
    return iter(RowReader(part, columns, limits))


def check_columns(file: SourceFile, schema: Any, fields: FieldMap = FIELDS_AS_NAMED) -> None:
    """Raises InputProblem where the schema has no column of the sample_id, or has one name twice."""
    counts = Counter(schema.names)
    if fields.id_column() not in counts:
        raise InputProblem(f"{file.path}: there is no column {fields.id_column()}, only {listed(schema.names)}")
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        raise InputProblem(f"{file.path}: two columns are called {twice[0]}; rename one")


def listed(names: Iterable[str]) -> str:
    """Returns the names of columns for a person: the first ones, and how many more there are."""
    found = list(names)
    more = f" and {len(found) - NAMES_LISTED} more" if len(found) > NAMES_LISTED else ""
    return (", ".join(found[:NAMES_LISTED]) or "none") + more


def check_depth(file: SourceFile, fields: Iterable[Any], limit: int) -> None:
    """Raises InputProblem where a column is nested deeper than `limit`, the record itself counted."""
    for field in fields:
        inner, depth = [field.type], 1
        while inner := [kind.field(i).type for kind in inner for i in range(kind.num_fields)]:
            depth += 1
            if depth > limit:
                raise InputProblem(
                    f"{file.path}: the column {field.name} is nested deeper than the {limit} levels of limits.depth"
                )
