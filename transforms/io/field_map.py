"""From the columns of a data set to the fields of a benchmark: other names, nested values, integer sample_ids."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

SAMPLE_ID = "sample_id"

_STEP = re.compile(r"(?:[^.\\]|\\.)+")
_OBJECT: Any = dict[str, msgspec.Raw]


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Where the fields of a record stand.

    paths: the fields that are renamed, each with the keys that lead to its value, from the outside in. Any other field
    keeps its name. A field whose path leads nowhere is absent, even where a column has its name.
    integer_ids: whether a sample_id may be an integer; it becomes its decimal text, so that 1 and "1" are one sample.
    """

    paths: tuple[tuple[str, tuple[str, ...]], ...] = ()
    integer_ids: bool = True

    @classmethod
    def of(cls, fields: Mapping[str, str], integer_ids: bool = True) -> FieldMap:
        """Returns the map of a configuration: dots separate the keys of a path, and a backslash keeps one in a key.

        Raises ValueError where a path has no key, or an empty one.
        """
        return cls(tuple((name, _path(text)) for name, text in fields.items()), integer_ids)

    @property
    def changes_records(self) -> bool:
        """Whether any record but one with an integer as its sample_id may differ from what is written in its file."""
        return bool(self.paths)

    def path_of(self, field: str) -> tuple[str, ...]:
        """Returns the keys that lead to a field."""
        return dict(self.paths).get(field, (field,))

    def columns(self, fields: Collection[str]) -> frozenset[str]:
        """Returns the columns at the top of a file that hold these fields."""
        return frozenset(self.path_of(field)[0] for field in fields)

    def present(self, columns: Collection[str]) -> list[str]:
        """Returns the fields of records that have these columns, in order; of a nested value it takes the best."""
        kept = [name for name in columns if name not in dict(self.paths)]
        return [*kept, *(name for name, path in self.paths if path[0] in columns)]

    def of_json(self, text: bytes) -> bytes:
        """Returns a record of JSON under the names of the benchmark.

        Raises what msgspec raises where it is no JSON, or no object.
        """
        if not self.changes_records and not (self.integer_ids and _has_integer_id(text)):
            return text
        columns: dict[str, msgspec.Raw] = msgspec.json.decode(text, type=_OBJECT)
        return msgspec.json.encode(self._renamed(columns, _inner_json, self._json_id))

    def of_values(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Returns a record of Python values under the names of the benchmark.

        Raises what msgspec raises where text on a path is no JSON.
        """
        if not self.changes_records and isinstance(columns.get(SAMPLE_ID), str):
            return columns
        return self._renamed(columns, _inner_value, self.sample_id)

    def sample_id(self, value: Any) -> Any:
        """Returns a sample_id as the text that it is compared by; what can be none comes back as it is."""
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        return str(value) if self.integer_ids and is_integer else value

    def find(self, field: str, columns: Mapping[str, Any]) -> Any:
        """Returns the value of a field in a record of Python values, None where there is none."""
        value: Any = columns
        with contextlib.suppress(msgspec.MsgspecError, RecursionError):
            for key in self.path_of(field):
                value = _inner_value(value, key)
            return value
        return None

    def id_column(self) -> str:
        """Returns the column at the top of a file that holds the sample_id."""
        return self.path_of(SAMPLE_ID)[0]

    def _json_id(self, raw: msgspec.Raw) -> Any:
        with contextlib.suppress(msgspec.ValidationError):
            return self.sample_id(msgspec.json.decode(raw, type=int))
        return raw

    def _renamed(self, columns: dict[str, Any], inner: Any, sample_id: Any) -> dict[str, Any]:
        renamed = {name for name, _ in self.paths}
        record = {name: value for name, value in columns.items() if name not in renamed}
        for name, path in self.paths:
            value: Any = columns.get(path[0])
            for key in path[1:]:
                value = inner(value, key)
            if value is not None:
                record[name] = value
        if SAMPLE_ID in record:
            record[SAMPLE_ID] = sample_id(record[SAMPLE_ID])
        return record


class _IntegerId(msgspec.Struct):
    sample_id: int


_INTEGER_ID = msgspec.json.Decoder(_IntegerId)


def _has_integer_id(text: bytes) -> bool:
    try:
        _INTEGER_ID.decode(text)
    except msgspec.ValidationError:
        return False
    return True


FIELDS_AS_NAMED = FieldMap()
"""The map of a data set whose columns have the names of the fields."""


def _path(text: str) -> tuple[str, ...]:
    steps = _STEP.findall(text)
    if not steps or ".".join(steps) != text:
        raise ValueError(f"{text!r} is no path: it must be the name of a column, or names joined by dots")
    return tuple(re.sub(r"\\(.)", r"\1", step) for step in steps)


def _inner_json(value: msgspec.Raw | None, key: str) -> msgspec.Raw | None:
    """Returns a member of an object of JSON, which may stand there as text."""
    text = b"" if value is None else bytes(value).lstrip()
    if text.startswith(b'"'):
        text = msgspec.json.decode(text, type=str).encode().lstrip()
    if not text.startswith(b"{"):
        return None
    found: dict[str, msgspec.Raw] = msgspec.json.decode(text, type=_OBJECT)
    return found.get(key)


def _inner_value(value: Any, key: str) -> Any:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = msgspec.json.decode(value)
    return value.get(key) if isinstance(value, dict) else None
