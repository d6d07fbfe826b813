"""Records in memory, in whatever form people have them, as the JSON that the pipeline would read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec
import pyarrow as pa

ROWS_PER_BATCH = 1024


def json_records(data: Any, structured: Collection[str]) -> Iterator[bytes]:
    """Yields each record of `data` as a JSON object.

    data: an iterable of mappings or msgspec structs, or a table: Arrow, pandas, Polars or anything else with the Arrow
    C stream interface. In a table a null is an absent field, and where a column of `structured` holds text, it is JSON.
    Numbers and arrays of NumPy are written as plain ones, NaN as null.

    Raises TypeError where a record is not a mapping or cannot be written as JSON.
    """
    table = as_table(data)
    if table is not None:
        yield from _table_records(table, structured)
    elif isinstance(data, Iterable) and not isinstance(data, (str, bytes, Mapping)):
        for record in data:
            yield _json(record)
    else:
        raise TypeError(f"records must be a table or an iterable of mappings, not {type(data).__name__}")


def as_table(data: Any) -> pa.Table | None:
    """Returns a table as one of Arrow; None for data that are no table."""
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.Table) or hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        return pa.Table.from_pandas(data, preserve_index=False)
    return None


def _table_records(table: pa.Table, structured: Collection[str]) -> Iterator[bytes]:
    parsed = {field.name for field in table.schema if isinstance(field.type, pa.JsonType) or field.name in structured}
    for batch in table.to_batches(ROWS_PER_BATCH):
        for row in batch.to_pylist(maps_as_pydicts="lossy"):
            cells = {name: value for name, value in row.items() if value is not None}
            for name in parsed & cells.keys():
                if isinstance(cells[name], str):
                    cells[name] = msgspec.Raw(cells[name].encode())
            yield _json(cells)


def _json(record: Any) -> bytes:
    if not isinstance(record, (Mapping, msgspec.Struct)):
        raise TypeError(f"a record must be a mapping, not {type(record).__name__}")
    plain = dict(record) if isinstance(record, Mapping) else record
    try:
        return msgspec.json.encode(plain, enc_hook=_plain)
    except UnicodeEncodeError:
        # Half of a surrogate pair is no text. As an escape it is refused where the record is decoded, with this record.
        return json.dumps(msgspec.to_builtins(plain, enc_hook=_plain)).encode()


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
