"""The columns of a Parquet file that is to hold JSON objects: found in the objects, so that none is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntFlag
from typing import Any

import apache_beam as beam
import msgspec
import pyarrow as pa


class Kind(IntFlag):
    """The kinds of values that a column holds; NOTHING stands for null alone."""

    NOTHING = 0
    TEXT = 1
    INTEGER = 2
    NUMBER = 4
    TRUTH = 8
    JSON = 16


TYPES = {
    Kind.NOTHING: pa.string(),
    Kind.TEXT: pa.string(),
    Kind.INTEGER: pa.int64(),
    Kind.NUMBER: pa.float64(),
    Kind.TRUTH: pa.bool_(),
}

Columns = dict[str, Kind]


def kind_of(value: Any) -> Kind:
    """Returns the kind of one value of a JSON object."""
    if value is None:
        return Kind.NOTHING
    if isinstance(value, bool):
        return Kind.TRUTH
    if isinstance(value, str):
        return Kind.TEXT
    if isinstance(value, int):
        return Kind.INTEGER if -(1 << 63) <= value < 1 << 63 else Kind.JSON
    return Kind.NUMBER if isinstance(value, float) else Kind.JSON


class FindColumns(beam.CombineFn):
    """JSON objects as bytes to their columns. `known` are there in any case, with what is known of them."""

    def __init__(self, known: Columns) -> None:
        self._known = known

    def create_accumulator(self) -> Columns:
        """Returns the columns that are known."""
        return dict(self._known)

    def add_input(self, columns: Columns, line: bytes) -> Columns:
        """Adds the columns of one object."""
        return _merge(columns, {name: kind_of(value) for name, value in msgspec.json.decode(line).items()})

    def merge_accumulators(self, accumulators: Iterable[Columns]) -> Columns:
        """Adds up the columns of several sets of objects."""
        merged = self.create_accumulator()
        for columns in accumulators:
            _merge(merged, columns)
        return merged

    def extract_output(self, columns: Columns) -> Columns:
        """Returns the columns in an order that depends on nothing else: those that are known, then the others."""
        others = sorted(columns.keys() - self._known.keys())
        return {name: columns[name] for name in [*self._known, *others]}


def _merge(columns: Columns, more: Mapping[str, Kind]) -> Columns:
    for name, kind in more.items():
        columns[name] = columns.get(name, Kind.NOTHING) | kind
    return columns


def schema_of(columns: Columns) -> Any:
    """Returns the Arrow schema: a column of one kind has the type of it, any other is of Parquet's JSON type."""
    return pa.schema([pa.field(name, TYPES.get(kind, pa.json_())) for name, kind in columns.items()])


def table_of(lines: Sequence[bytes], schema: Any) -> Any:
    """Returns JSON objects as an Arrow table."""
    records = [msgspec.json.decode(line) for line in lines]
    arrays = []
    for field in schema:
        cells = [record.get(field.name) for record in records]
        if isinstance(field.type, pa.JsonType):
            texts = [None if cell is None else msgspec.json.encode(cell).decode() for cell in cells]
            arrays.append(pa.array(texts, pa.string()).cast(field.type))
        else:
            arrays.append(pa.array(cells, field.type))
    return pa.table(arrays, schema=schema)
