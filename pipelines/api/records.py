"""Records in memory, in whatever form people have them, as the JSON that the pipeline would read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec
import pyarrow as pa

from ...transforms.record_json import fields_of, record_json

ROWS_PER_BATCH = 1024


def json_records(data: Any, structured: Collection[str]) -> Iterator[bytes]:
    """Yields each record of `data` as a JSON object.

    data: an iterable of records, see `fields_of`, or a table: Arrow, pandas, Polars or anything else with the Arrow
    C stream interface. In a table a null is an absent field, and where a column of `structured` holds text, it is JSON.
    Numbers and arrays of NumPy are written as plain ones, NaN as null.

    Raises TypeError where a record is not a mapping or cannot be written as JSON.
    """
    table = as_table(data)
    if table is not None:
        yield from _table_records(table, structured)
    elif isinstance(data, Iterable) and not isinstance(data, (str, bytes, Mapping)):
        for record in data:
            yield record_json(fields_of(record))
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
            yield record_json(cells)
