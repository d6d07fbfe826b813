"""The rows of Arrow tables, and of text in columns, as records."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from ..records import Cause
from .field_map import SAMPLE_ID, SideColumns


@dataclass(frozen=True, slots=True)
class RecordLimits:
    """The limits on one record: its bytes as they are read, and how deep its JSON is nested."""

    record_bytes: int = 16 << 20
    depth: int = 200


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
    """Makes rows of Arrow batches."""

    def __init__(self, columns: SideColumns, limits: RecordLimits) -> None:
        self._limits = limits
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
        try:
            columns = [_values(column) for column in batch.columns]
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
        names = batch.schema.names
        json_columns = [field.name for field in batch.schema if _holds_json(field, self._structured)]
        for number, values in enumerate(zip(*columns, strict=True), first):
            record = {name: value for name, value in zip(names, values, strict=True) if value is not None}
            yield self._of_record(number, record, json_columns)

    def of_text(self, number: int, record: dict[str, Any]) -> Row:
        """Returns the row of values that are text: of a field that is never text it is JSON.

        An empty value is absent, but for a text that every record must have. Of a record that would have no field left,
        the first text is empty text: the system read nothing.
        """
        if "" in record.values():
            known = {name: value for name, value in record.items() if value or name in self._never_absent}
            first = next((name for name in self._texts if name in record), None)
            if first is not None and known.keys().isdisjoint(self._texts) and known.keys().isdisjoint(self._structured):
                known[first] = ""
            record = {name: known[name] for name in record if name in known}
        return self._of_record(number, record, [name for name in record if name in self._structured])

    def _of_record(self, number: int, record: dict[str, Any], json_columns: Collection[str]) -> Row:
        sample_id = self._id(record)
        try:
            for name in json_columns:
                if name in record:
                    self._parse(record, name)
            record = self._fields.of_values(record)
            for name in self._inner:
                if isinstance(record.get(name), str):
                    self._parse(record, name)
            payload = msgspec.msgpack.encode(record)
        except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
            return Row(number, sample_id, b"\xc0", str(error) or type(error).__name__)
        if len(payload) > self._limits.record_bytes:
            return Row(number, sample_id, b"\xc0", too_large(len(payload), self._limits.record_bytes), "too_large")
        return Row(number, sample_id, payload)

    def _id(self, record: dict[str, Any]) -> Any:
        return self._fields.sample_id(self._fields.find(SAMPLE_ID, record))

    def _undecodable(self, batch: Any, number: int) -> Row:
        """Returns the row of a batch of one in which some value has no Python object; the sample_id may have one."""
        record: dict[str, Any] = {}
        problems = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                (record[name],) = _values(column)
            except MemoryError:
                raise
            except _NOT_CONVERTED as error:
                problems.append(f"column {name}: {error}")
        return Row(number, self._id(record), b"\xc0", "; ".join(problems))

    def _parse(self, record: dict[str, Any], name: str) -> None:
        """Replaces the text of a column by the JSON that it holds; a null is left out."""
        text, depth = record[name], self._limits.depth
        if deeper_than(text.encode(), depth):
            raise ValueError(f"column {name} is nested deeper than the {depth} levels of limits.depth")
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValueError(f"column {name} holds no JSON: {error}") from error
        if value is None:
            del record[name]
        else:
            record[name] = value


def too_large(size: int, limit: int) -> str:
    """Returns what is said of a record of `size` bytes."""
    return f"the record has {size} bytes, more than the {limit} of limits.record_bytes"


_NOT_CONVERTED = (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, pa.ArrowException)
"""What pyarrow raises for a value that Python has no object for: text that is not UTF-8, a date of the year 20000."""


def _values(column: Any) -> Any:
    """Returns the values of an Arrow array as Python objects: maps as dictionaries, for which pyarrow takes longer."""
    return column.to_pylist(maps_as_pydicts="lossy") if _has_map(column.type) else column.to_pylist()


def _has_map(kind: Any) -> bool:
    return pa.types.is_map(kind) or any(_has_map(kind.field(index).type) for index in range(kind.num_fields))


def _holds_json(field: Any, structured: Collection[str]) -> bool:
    if isinstance(field.type, pa.JsonType):
        return True
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return bool(text) and field.name in structured


_NEITHER_BRACKET_NOR_QUOTE = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1


def deeper_than(text: bytes, limit: int) -> bool:
    """Tells whether the JSON `text` nests arrays and objects more than `limit` deep.

    Text with few brackets is told at once; of the rest, the brackets outside of strings are counted up and down.
    Text that breaks off is not told deeper than it goes; other text that is not JSON may be told either way.
    """
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    without_escapes = text.replace(rb"\\", b"").replace(rb"\"", b"")
    # What stands between two quotes is within a string where an odd number of them stands before it: pairs may go.
    structure = without_escapes.translate(None, _NEITHER_BRACKET_NOR_QUOTE).replace(b'""', b"")
    steps = _STEPS[np.frombuffer(b"".join(structure.split(b'"')[::2]), np.uint8)]
    return bool(np.cumsum(steps, dtype=np.int32).max(initial=0) > limit)
