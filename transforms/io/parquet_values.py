"""The values of Arrow columns as Python objects, made column by column: pyarrow itself makes them one by one."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pyarrow as pa

MEMBERS_AT_ONCE = 1 << 16
"""A list of more members is encoded in pieces, so that few of them are Python objects at a time."""


def python_values(column: Any) -> list[Any]:
    """Returns the values of an Arrow array as `to_pylist(maps_as_pydicts="lossy")` does, None for null.

    Raises what pyarrow raises for a value that Python has no object for.
    """
    kind = column.type
    if pa.types.is_struct(kind) and len({field.name for field in kind}) == kind.num_fields > 0:
        names = [field.name for field in kind]
        fields = [python_values(column.field(index)) for index in range(kind.num_fields)]
        return _without_nulls(column, [dict(zip(names, values, strict=True)) for values in zip(*fields, strict=True)])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        return _of_lists(column)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if is_number and not column.null_count:
        return list(column.to_numpy(zero_copy_only=False).tolist())
    return list(column.to_pylist(maps_as_pydicts="lossy"))


def _of_lists(column: Any) -> list[Any]:
    offsets = column.offsets.to_pylist()
    first, last = offsets[0], offsets[-1]
    spans = itertools.pairwise(offsets)
    if pa.types.is_map(column.type):
        keys, items = python_values(column.keys[first:last]), python_values(column.items[first:last])
        found: list[Any] = [
            dict(zip(keys[start - first : stop - first], items[start - first : stop - first], strict=True))
            for start, stop in spans
        ]
    else:
        members = python_values(column.values[first:last])
        found = [members[start - first : stop - first] for start, stop in spans]
    return _without_nulls(column, found)


def _without_nulls(column: Any, values: list[Any]) -> list[Any]:
    if not column.null_count:
        return values
    is_valid = column.is_valid().to_pylist()
    return [value if valid else None for value, valid in zip(values, is_valid, strict=True)]


def encoded_value(column: Any) -> Any:
    """Returns the only value of an Arrow array: a long list in MessagePack, ready to stand in a record."""
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or column.null_count:
        return python_values(column)[0]
    start, stop = column.offsets.to_pylist()
    if stop - start <= MEMBERS_AT_ONCE:
        return python_values(column)[0]
    pieces = [b"\xdd" + (stop - start).to_bytes(4, "big")]
    for at in range(start, stop, MEMBERS_AT_ONCE):
        members = python_values(column.values[at : min(at + MEMBERS_AT_ONCE, stop)])
        pieces.append(msgspec.msgpack.encode(members)[_head_size(len(members)) :])
    return msgspec.Raw(b"".join(pieces))


def _head_size(members: int) -> int:
    """Returns the bytes before the first member of a list in MessagePack."""
    return 1 if members < 16 else 3 if members < 1 << 16 else 5
