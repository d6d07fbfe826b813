"""Records in memory as JSON, in whatever form people have them; without Beam, for the Python API too."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping
from typing import Any

import msgspec


def fields_of(record: Any) -> dict[str, Any]:
    """Returns the fields of a record by name: of a mapping, a Beam Row, a NamedTuple, a dataclass or a msgspec struct.

    The rows and named tuples inside a row or a named tuple are mappings, too. Raises TypeError where it is no record.
    """
    if isinstance(record, Mapping):
        return dict(record)
    if hasattr(record, "_asdict"):
        return {name: _without_rows(value) for name, value in record._asdict().items()}
    if isinstance(record, msgspec.Struct) or (dataclasses.is_dataclass(record) and not isinstance(record, type)):
        plain = msgspec.to_builtins(record, enc_hook=_plain)
        if isinstance(plain, dict):
            return plain
    raise TypeError(f"a record must be a mapping, not {type(record).__name__}")


def present_fields(record: Any, structured: Collection[str]) -> dict[str, Any]:
    """Returns the fields of a record that are not null; text in a field of `structured` is JSON, if it can be read."""
    found = {name: value for name, value in fields_of(record).items() if value is not None}
    for name in found.keys() & structured:
        if isinstance(found[name], str):
            try:
                found[name] = msgspec.json.decode(found[name])
            except msgspec.DecodeError:
                # The text is then refused where the record is decoded, with the name of the field.
                continue
    return found


def record_json(fields: Mapping[str, Any]) -> bytes:
    """Returns a record as JSON: numbers and arrays of NumPy as plain ones, NaN as null.

    Raises TypeError where a value cannot be written, RecursionError where it is nested too deep.
    """
    try:
        return msgspec.json.encode(fields, enc_hook=_plain)
    except UnicodeEncodeError:
        # Half of a surrogate pair is no text. As an escape it is refused where the record is decoded, with this record.
        return json.dumps(msgspec.to_builtins(fields, enc_hook=_plain)).encode()


def sorted_record_json(fields: Mapping[str, Any]) -> bytes:
    """Returns a record as JSON with its keys in order: equal bytes for equal records; raises as `record_json` does."""
    try:
        return msgspec.json.encode(fields, enc_hook=_plain, order="sorted")
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(fields, enc_hook=_plain), sort_keys=True).encode()


def _without_rows(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _without_rows(each) for name, each in value._asdict().items()}
    if isinstance(value, Mapping):
        return {name: _without_rows(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_rows(each) for each in value]
    return value


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "_asdict"):
        return _without_rows(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
