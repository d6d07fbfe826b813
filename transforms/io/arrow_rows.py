"""The rows of Arrow tables as records."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec
import pyarrow as pa

from ..collector import no_collection
from ..records import Cause
from .field_map import SAMPLE_ID
from .json_depth import deeper_than, more_containers_than
from .parquet_values import encoded_value, python_values
from .side_columns import SideColumns


class Row(msgspec.Struct, frozen=True):
    """One row: its number in the file from 0, its sample_id, and the record as MessagePack without nulls.

    line: the line of a text file in which it starts, where the number is the byte; 0: it has none. Where the row makes
    no record, `error` says why, `cause` in one word, and `payload` is a MessagePack null, or the text of the row.
    """

    number: int
    sample_id: Any
    payload: bytes
    error: str | None = None
    cause: Cause = "unreadable"
    line: int = 0


class RowsOfBatch:
    """Makes rows of Arrow batches.

    depth: how deep JSON may be nested that stands in a column as text. containers: how many arrays and objects it may
    have.
    """

    def __init__(self, columns: SideColumns, depth: int, containers: int) -> None:
        self._depth = depth
        self._containers = containers
        self._fields = columns.fields
        # A field that is a column is parsed with its column, one within a column after it has been found.
        paths = {name: columns.fields.path_of(name) for name in columns.structured}
        self._structured = {path[0] for path in paths.values() if len(path) == 1}
        self._inner = [name for name, path in paths.items() if len(path) > 1]
        texts = {columns.fields.path_of(name)[0]: is_required for name, is_required in columns.texts.items()}
        self._texts = list(texts)
        self._never_absent = {columns.fields.id_column(), *(name for name, is_required in texts.items() if is_required)}

    def of(self, batch: Any, first: int) -> Iterator[Row]:
        """Yields the rows of a batch, of which the first one has the number `first`."""
        names = batch.schema.names
        json_columns = [i for i, field in enumerate(batch.schema) if _holds_json(field, self._structured)]
        try:
            with no_collection():
                if batch.num_rows == 1:
                    values = [[encoded_value(column)] for column in batch.columns]
                else:
                    values = [python_values(column) for column in batch.columns]
        except MemoryError:
            # pyarrow's is an ArrowException, too.
            raise
        except _NOT_CONVERTED:
            if batch.num_rows > 1:
                for offset in range(batch.num_rows):
                    yield from self.of(batch.slice(offset, 1), first + offset)
            else:
                yield self._undecodable(batch, first)
            return
        for offset, cells in enumerate(zip(*values, strict=True)):
            yield self._of_cells(first + offset, names, list(cells), json_columns)

    def of_text(self, number: int, names: list[str], values: list[str]) -> Row:
        """Returns the row of values that are text: of a field that is never text it is JSON.

        An empty value is absent, but for a text that every record must have. Of a record that would have no field left,
        the first text is empty text: the system read nothing.
        """
        json_columns = [i for i, name in enumerate(names) if name in self._structured]
        cells: list[Any] = list(values)
        if "" in values:
            self._leave_out_empty(names, cells)
        return self._of_cells(number, names, cells, json_columns)

    def _leave_out_empty(self, names: list[str], cells: list[Any]) -> None:
        for index, name in enumerate(names):
            if cells[index] == "" and name not in self._never_absent:
                cells[index] = None
        known = {name for name, cell in zip(names, cells, strict=True) if cell is not None}
        first = next((name for name in self._texts if name in names), None)
        if first is not None and known.isdisjoint(self._texts) and known.isdisjoint(self._structured):
            cells[names.index(first)] = ""

    def _of_cells(self, number: int, names: list[str], cells: list[Any], json_columns: list[int]) -> Row:
        sample_id = self._id(dict(zip(names, cells, strict=True)))
        try:
            for column in json_columns:
                if cells[column] is not None:
                    cells[column] = self._parsed(names[column], cells[column])
            record = self._fields.of_values(
                {name: value for name, value in zip(names, cells, strict=True) if value is not None}
            )
            for name in self._inner:
                if isinstance(record.get(name), str):
                    record[name] = self._parsed(name, record[name])
            payload = msgspec.msgpack.encode(record)
        except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
            return Row(number, sample_id, b"\xc0", str(error) or type(error).__name__)
        return Row(number, sample_id, payload)

    def ids(self, column: Any) -> list[Any]:
        """Returns the sample_ids in the column that holds them, None where one has no Python object."""
        name = self._fields.id_column()
        return [self._id({name: value}) for value in _cells(column)]

    def _id(self, columns: dict[str, Any]) -> Any:
        if not self._fields.changes_records and isinstance(columns.get(SAMPLE_ID), str):
            return columns[SAMPLE_ID]
        return self._fields.sample_id(self._fields.find(SAMPLE_ID, columns))

    def _undecodable(self, batch: Any, number: int) -> Row:
        """Returns the row of a batch of one in which some value has no Python object; the sample_id may have one."""
        cells: dict[str, Any] = {}
        problems = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                cells[name] = column.to_pylist(maps_as_pydicts="lossy")[0]
            except MemoryError:
                raise
            except _NOT_CONVERTED as error:
                problems.append(f"column {name}: {error}")
        return Row(number, self._id(cells), b"\xc0", "; ".join(problems))

    def _parsed(self, name: str, text: str) -> Any:
        if deeper_than(text.encode(), self._depth):
            raise ValueError(f"column {name} is nested deeper than the {self._depth} levels of limits.depth")
        if more_containers_than(text.encode(), self._containers):
            raise ValueError(f"column {name} has more than {self._containers} arrays and objects")
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValueError(f"column {name} holds no JSON: {error}") from error


_NOT_CONVERTED = (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, pa.ArrowException)
"""What pyarrow raises for a value that Python has no object for: text that is not UTF-8, a date of the year 20000."""


def _cells(column: Any) -> list[Any]:
    """Returns the values of a column, None where one has no Python object."""
    try:
        return list(column.to_pylist())
    except MemoryError:
        raise
    except _NOT_CONVERTED:
        return [None] if len(column) == 1 else [_cells(column.slice(i, 1))[0] for i in range(len(column))]


def _holds_json(field: Any, structured: Collection[str]) -> bool:
    if isinstance(field.type, pa.JsonType):
        return True
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return bool(text) and field.name in structured
