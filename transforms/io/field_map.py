"""From the columns of a data set to the fields of a benchmark: other names, nested values, sample_ids.

Records in memory, in any of the supported forms, become JSON.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import msgspec

from ...metrics.benchmark import ENVIRONMENT_FAULTS, error_text
from ..records import Cause

SAMPLE_ID = "sample_id"

_STEP = re.compile(r"(?:[^.\\]|\\.)+")
_OBJECT: Any = dict[str, msgspec.Raw]


@dataclass(frozen=True, slots=True)
class FieldMap:
    """The places of the fields in a record.

    paths: the fields that are renamed, each with the keys that lead to its value, from the outside in. Any other field
    keeps its name. A field whose path leads nowhere is absent, even if a column has its name.
    integer_ids: whether a sample_id may be an integer; it becomes its decimal text, so that 1 and "1" are one sample.
    parsed: the fields within a column whose text is JSON. unscored: those that are not of the benchmark, such as of
    slices: absent if the path leads through what is no object; for another field, that rejects the record.
    """

    paths: tuple[tuple[str, tuple[str, ...]], ...] = ()
    integer_ids: bool = True
    parsed: frozenset[str] = frozenset()
    unscored: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, fields: Mapping[str, str], integer_ids: bool = True, unscored: frozenset[str] = frozenset()
    ) -> FieldMap:
        """Returns the map of a configuration: dots separate the keys of a path, and a backslash keeps one in a key.

        Raises ValueError if a path has no key, or an empty one.
        """
        return cls(tuple((name, _path(text)) for name, text in fields.items()), integer_ids, unscored=unscored)

    def parsing(self, structured: Collection[str]) -> FieldMap:
        """Returns the map that takes the text of those of the fields that are within a column as JSON."""
        parsed = frozenset(name for name in structured if len(self.path_of(name)) > 1)
        return dataclasses.replace(self, parsed=parsed)

    def path_of(self, field: str) -> tuple[str, ...]:
        """Returns the keys that lead to a field."""
        return dict(self.paths).get(field, (field,))

    def columns(self, fields: Collection[str]) -> frozenset[str]:
        """Returns the columns at the top of a file that hold these fields."""
        return frozenset(self.path_of(field)[0] for field in fields)

    def present(self, columns: Collection[str]) -> list[str]:
        """Returns the fields of records that have these columns, in order; a nested value is assumed to be present."""
        unmapped = [name for name in columns if name not in dict(self.paths)]
        return [*unmapped, *(name for name, path in self.paths if path[0] in columns)]

    def whole(self, fields: Iterable[str]) -> list[str]:
        """Returns those of the fields that are a column, not a value within one, which may be absent."""
        return [name for name in fields if len(self.path_of(name)) == 1]

    def of_json(self, text: bytes) -> bytes:
        """Returns a record of JSON under the names of the benchmark.

        Raises the error of msgspec if it is not JSON, or not an object, and NoObject.
        """
        if not self.paths and not (self.integer_ids and _has_integer_id(text)):
            return text
        columns: dict[str, msgspec.Raw] = msgspec.json.decode(text, type=_OBJECT)
        return msgspec.json.encode(self._renamed(columns))

    def of_values(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Returns a record of Python values under the names of the benchmark.

        Raises NoObject.
        """
        return columns if not self.paths and isinstance(columns.get(SAMPLE_ID), str) else self._renamed(columns)

    def sample_id(self, value: Any) -> Any:
        """Returns a sample_id as the text by which it is compared; an invalid value is returned unchanged."""
        value = _plain_value(value)
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        return str(value) if self.integer_ids and is_integer else value

    def find(self, field: str, columns: Mapping[str, Any]) -> Any:
        """Returns the value of a field in a record of Python values, None if it is absent."""
        with contextlib.suppress(NoObject, msgspec.MsgspecError, RecursionError):
            return functools.reduce(_inner_value, self.path_of(field), columns)
        return None

    def dotted(self, columns: Collection[str]) -> str:
        """Returns a hint if a path leads nowhere in `columns`, as it is the name of one with its dots; else nothing."""
        for _, path in self.paths:
            name = ".".join(path)
            if path[0] not in columns and name in columns:
                escaped = re.sub(r"[.\\]", r"\\\g<0>", name)
                return f"; a column is called {name}: write {escaped} under fields"
        return ""

    def id_of_json(self, text: bytes) -> str:
        """Returns the sample_id of a record of JSON in which another path leads nowhere; empty if it has none."""
        columns: dict[str, msgspec.Raw] = msgspec.json.decode(text, type=_OBJECT)
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            sample_id = self.sample_id(self.find(SAMPLE_ID, columns))
            return sample_id if isinstance(sample_id, str) else ""
        return ""

    def id_column(self) -> str:
        """Returns the column at the top of a file that holds the sample_id."""
        return self.path_of(SAMPLE_ID)[0]

    def _renamed(self, columns: dict[str, Any]) -> dict[str, Any]:
        renamed = {name for name, _ in self.paths}
        record = {name: value for name, value in columns.items() if name not in renamed}
        for name, path in self.paths:
            value = self.find(name, columns) if name in self.unscored else functools.reduce(_inner_value, path, columns)
            if value is not None:
                record[name] = _json_of(value) if name in self.parsed else value
        if SAMPLE_ID in record:
            record[SAMPLE_ID] = self.sample_id(record[SAMPLE_ID])
        return record


class _AnyId(msgspec.Struct):
    sample_id: str | int


_ANY_ID = msgspec.json.Decoder(_AnyId)


def _has_integer_id(text: bytes) -> bool:
    try:
        return isinstance(_ANY_ID.decode(text).sample_id, int)
    except msgspec.ValidationError:
        return False


def _path(text: str) -> tuple[str, ...]:
    steps = _STEP.findall(text)
    if not steps or ".".join(steps) != text:
        raise ValueError(f"{text!r} is no path: it must be the name of a column, or names joined by dots")
    return tuple(re.sub(r"\\(.)", r"\1", step) for step in steps)


def _plain_value(value: Any) -> Any:
    return msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value


class NoObject(ValueError):
    """The path of a field leads through what is neither an object nor absent."""


def _inner_value(value: Any, key: str) -> Any:
    """Returns a member of an object, which may be given as JSON text; None if it or the object is absent.

    Raises NoObject for any other value: an answer of a model in a Markdown fence is no empty answer.
    """
    if isinstance(value, msgspec.Raw) and bytes(value).startswith(b"{"):
        # Beside the member there may be what cannot be decoded.
        member = msgspec.json.decode(value, type=_OBJECT).get(key)
        return None if member is None or bytes(member) == b"null" else member
    value = _plain_value(value)
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value.strip() or "null", type=dict | None)
        except msgspec.DecodeError as error:
            found = f"text that begins with {value.strip()[:20]!r}"
            problem = decoding_problem(value.encode(errors="replace"), error)
            raise NoObject(f"{key} must be in a JSON object, found {found}: {problem}") from error
    if not isinstance(value, dict | None):
        raise NoObject(f"{key} must be in a JSON object, found {type(value).__name__}")
    return None if value is None else value.get(key)


@dataclass(frozen=True, slots=True)
class SideColumns:
    """How to read the columns of one side.

    wanted: the fields to read; no other columns of a Parquet file are read. None: all of them.
    structured: the fields whose values are never plain text: if a column holds text, it is JSON.
    counted: the fields whose presence the outcomes count, under the name of `column_counter`.
    fields: the places of fields that have other names in the files.
    texts: the fields that may be plain text, in order, each with whether a record must have it.
    repeats: whether each record must have a repeat, see transforms.repeats.
    """

    wanted: frozenset[str] | None
    structured: frozenset[str] = frozenset()
    counted: tuple[str, ...] = ()
    fields: FieldMap = FieldMap()
    texts: Mapping[str, bool] = field(default_factory=dict, hash=False)
    repeats: bool = False

    @property
    def scored(self) -> frozenset[str]:
        """The fields of the benchmark."""
        return self.structured.union(self.texts)

    @property
    def read(self) -> frozenset[str] | None:
        """The columns at the top of a file that are read; None: all of them."""
        return None if self.wanted is None else self.fields.columns({SAMPLE_ID, *self.wanted})


WITH_FIELDS = "with fields"
"""The name of the outcome that counts bundles in which a record has a field of the benchmark, if only with a null."""


def column_counter(column: str) -> str:
    """Returns the name of the outcome that counts bundles in which a record has a value in `column`."""
    return f"column {column}"


MAX_SAMPLE_ID_LENGTH = 1024


class KeyOnly(msgspec.Struct):
    """A record of which only the sample_id is read."""

    sample_id: str


_NOT_OBJECT = re.compile(r"Expected `object`, got `(\w+)`\Z")
_KEY_ONLY = msgspec.json.Decoder(KeyOnly)


def identified(text: bytes, fields: FieldMap) -> tuple[str, bytes, tuple[Cause, str] | None]:
    """Returns the sample_id of a JSON record, and the record under the names of the benchmark.

    Also why it is rejected, as cause and message. The sample_id is empty if it cannot be read, or is not valid.
    """
    try:
        text = fields.of_json(text)
        sample_id = _KEY_ONLY.decode(text).sample_id
    except msgspec.ValidationError as error:
        if (expected := _NOT_OBJECT.match(str(error))) is not None:
            return "", text, ("unreadable", f"a record must be a JSON object on one line, not `{expected[1]}`")
        return "", text, ("no_sample_id", about_sample_id(str(error), fields.integer_ids))
    except NoObject as error:
        return fields.id_of_json(text), text, ("unreadable", str(error))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return "", text, ("unreadable", not_json(text, error))
    problem = wrong_length(sample_id)
    return (sample_id, text, None) if problem is None else ("", text, ("no_sample_id", problem))


def not_json(text: bytes, error: Exception) -> str:
    """Returns the message about a record that is not JSON. error: of decoding it."""
    hint = "; NaN and Infinity are not JSON" if b"NaN" in text or b"Infinity" in text else ""
    return f"this is not JSON: {decoding_problem(text, error)}{hint}"


# The first half of a pair of UTF-16 without its second, unless the text is cut there, or the second without its first.
_HALF = re.compile(
    rb"\\u(?i:d(?<!\\\\ud)(?:[89ab][\da-f]{2}(?!\\ud[c-f]|\\?u?[\da-f]{0,3}\Z)"
    rb"|(?<!\\ud[89ab][\da-f]{2}\\ud)[c-f][\da-f]{2}))"
)
_MAY_BE_HALF = re.compile(r"truncated|hex escape|surrogate")


def decoding_problem(text: bytes, error: Exception) -> str:
    """Returns the message of an error of decoding JSON; msgspec takes half of an emoji for the end of the text."""
    problem = error_text(error)
    half = _HALF.search(text) if _MAY_BE_HALF.search(problem) else None
    return problem if half is None else f"a text has half of a character ({half[0].decode()})"


def wrong_length(sample_id: str) -> str | None:
    """Returns a message about the length of a sample_id; None if it is valid."""
    if 0 < len(sample_id) <= MAX_SAMPLE_ID_LENGTH:
        return None
    return f"sample_id must have 1 to {MAX_SAMPLE_ID_LENGTH} characters, not {len(sample_id)}"


def about_sample_id(problem: str, integers: bool) -> str:
    """Returns why a record has no sample_id. problem: of msgspec. integers: whether a sample_id may be one."""
    kind = "a string or an integer" if integers else "a string"
    is_integer = re.search(r"\bint\b", problem) is not None
    advice = "; set sample_id_type: any to accept integers" if is_integer and not integers else ""
    return f"sample_id must be {kind}{advice}: {problem}"


def fields_of(record: Any) -> dict[str, Any]:
    """Returns the fields of a record by name: of a mapping, a Beam Row, a NamedTuple, a dataclass, a msgspec struct, or
    a model of pydantic, which is what its `model_dump` returns.

    The rows and named tuples inside a row or a named tuple are mappings, too. Raises TypeError if it is none of these,
    or `model_dump` fails.
    """
    if isinstance(record, Mapping):
        return dict(record)
    if hasattr(record, "_asdict"):
        return {name: _without_rows(value) for name, value in record._asdict().items()}
    tag: dict[str, Any] = {}
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        names = {each.name: each.name for each in dataclasses.fields(record)}
    elif isinstance(record, msgspec.Struct):
        names = dict(zip(record.__struct_encode_fields__, record.__struct_fields__, strict=True))
        if (config := record.__struct_config__).tag_field is not None:
            tag = {config.tag_field: config.tag}
    elif callable(dump := getattr(record, "model_dump", None)) and not isinstance(record, type):
        try:
            return fields_of(dump())
        except (TypeError, *ENVIRONMENT_FAULTS):
            raise
        except Exception as error:
            raise TypeError(f"{type(record).__name__} cannot be dumped: {error_text(error)}") from error
    else:
        raise TypeError(f"a record must be a mapping, not {type(record).__name__}")
    given = tag | {name: getattr(record, attribute, msgspec.UNSET) for name, attribute in names.items()}
    return {name: value for name, value in given.items() if value is not msgspec.UNSET}


def present_fields(record: Any, structured: Collection[str]) -> dict[str, Any]:
    """Returns the fields of a record that are not null; text in a field of `structured` is JSON, if it can be read."""
    fields = {name: value for name, value in fields_of(record).items() if value is not None}
    for name in fields.keys() & structured:
        fields[name] = _json_of(fields[name])
    return fields


def _json_of(value: Any) -> Any:
    """Returns the value that a text holds as JSON, and any other as it is."""
    if isinstance(value, msgspec.Raw) and bytes(value).startswith(b'"'):
        value = _plain_value(value)
    if isinstance(value, str):
        # Text that is no JSON is rejected when the record is decoded, with the name of the field.
        with contextlib.suppress(msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return msgspec.json.decode(value.encode())
    return value


def needed_fields(fields: dict[str, Any], needed: Set[str] | None) -> dict[str, Any]:
    """Returns the fields that are needed: others may hold what JSON cannot, such as images. needed: None: all."""
    if needed is None or fields.keys() <= needed:
        return fields
    return {name: value for name, value in fields.items() if str(name) in needed}


def readable_json(
    fields: Mapping[str, Any], texts: Collection[str], scored: Collection[str] | None
) -> tuple[bytes, str | None]:
    """Returns a record in memory as JSON, and why it cannot be read, if so; the JSON is then of the other fields.

    texts: the fields that are text, which may not be bytes: JSON would hold them as base64. scored: as in record_json.
    """
    if not any(isinstance(fields.get(name), _BYTES) for name in texts):
        with contextlib.suppress(*_NO_JSON):
            return record_json(fields, scored=scored), None
    problems = {name: _why_no_json(name, value, texts, scored) for name, value in fields.items()}
    readable = {name: value for name, value in fields.items() if problems[name] is None}
    problem = next(f"{name}: {problem}" for name, problem in problems.items() if problem is not None)
    return record_json(readable, scored=scored), problem


_NO_JSON = (ArithmeticError, RecursionError, TypeError, ValueError)


def _why_no_json(name: str, value: Any, texts: Collection[str], scored: Collection[str] | None) -> str | None:
    if name in texts and isinstance(value, _BYTES):
        return f"must be a string, not {type(value).__name__}"
    try:
        record_json({name: value}, scored=scored)
    except _NO_JSON as error:
        return error_text(error)
    return None


def record_json(fields: Mapping[str, Any], is_sorted: bool = False, scored: Collection[str] | None = None) -> bytes:
    """Returns a record as JSON: decimals and what is of NumPy as plain numbers and arrays, a field that is NaN as null.

    is_sorted: whether keys are in order: equal bytes for equal records. scored: the fields in which a NaN deeper within
    is no JSON, but a null in any other; None: all. Raises ValueError for such a NaN and for infinity, TypeError if a
    value cannot be written, RecursionError if it is nested too deep.
    """
    plain = plain_values(fields)
    encoder = msgspec.json.Encoder(decimal_format="number", order="sorted" if is_sorted else None)
    with contextlib.suppress(UnicodeEncodeError):
        try:
            written = encoder.encode(plain)
        except ValueError:
            # It writes a float that is no number as null, but no such decimal.
            written = encoder.encode(plain := without_decimals(plain))
        if b"null" in written and _has_no_json(plain, scored):
            raise ValueError("NaN and Infinity are not JSON")
        return written
    # A lone surrogate is not text: as it is written here, it is rejected when the record is decoded, with this record.
    return json.dumps(msgspec.to_builtins(without_decimals(plain)), sort_keys=is_sorted).encode()


def without_decimals(value: Any) -> Any:
    """Returns a value of JSON with each decimal as the number that its text is: 40 an integer, 40.0 and 0.1 floats."""
    if isinstance(value, Decimal):
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(str(value))
        return math.nan if value.is_nan() else float(value)
    if isinstance(value, dict):
        return {name: without_decimals(each) for name, each in value.items()}
    return list(map(without_decimals, value)) if isinstance(value, (list, tuple)) else value


def plain_values(values: Any) -> Any:
    """Returns values as those of JSON: times and keys are text, arrays and rows plain ones; bytes and decimals stay.

    Raises TypeError for a value or a key of another type, RecursionError if it is nested too deep.
    """
    return msgspec.to_builtins(values, enc_hook=plain_value, builtin_types=(*_BYTES, Decimal), str_keys=True)


_BYTES = (bytes, bytearray, memoryview)


def _has_no_json(record: Mapping[str, Any], scored: Collection[str] | None) -> bool:
    """Returns whether a record has an infinite number, or a NaN within a field of `scored`."""
    for name, value in record.items():
        # pandas writes a missing value as NaN, but only in place of the whole value.
        may_be_nan = isinstance(value, float) or (scored is not None and name not in scored)
        if has_float(value, math.isinf if may_be_nan else is_no_number):
            return True
    return False


def is_no_number(value: float) -> bool:
    """Returns whether a float is NaN or infinite."""
    return not math.isfinite(value)


def has_float(value: Any, kind: Callable[[float], bool]) -> bool:
    """Returns whether a value of JSON is, or has within, a float of this kind."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, float) and kind(value):
            return True
        if isinstance(value, (dict, list, tuple)):
            left += value.values() if isinstance(value, dict) else value
    return False


def _without_rows(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _without_rows(each) for name, each in value._asdict().items()}
    if isinstance(value, Mapping):
        return {name: _without_rows(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_rows(each) for each in value]
    return value


def plain_value(value: Any) -> Any:
    """Returns a value that msgspec does not know as one that it does; raises TypeError if there is none."""
    try:
        return _known_value(value)
    except (TypeError, *ENVIRONMENT_FAULTS):
        raise
    except Exception as error:
        # The code of its class may raise anything, such as RuntimeError for a tensor without data.
        raise TypeError(f"{type(value).__name__} cannot be written as JSON: {error_text(error)}") from error


def _known_value(value: Any) -> Any:
    if isinstance(value, (datetime, timedelta)) and hasattr(value, "asm8"):
        return _plain_time(value)
    if hasattr(value, "tolist"):
        if str(getattr(value, "dtype", "")).endswith(_FINE):
            raise TypeError("times of NumPy finer than microseconds cannot be written as JSON; give them as text")
        plain = value.tolist()
        if type(plain) is not type(value):
            return plain
        # A longdouble remains what it is.
        if isinstance(value, Real):
            return float(value)
    if hasattr(value, "_asdict"):
        return _without_rows(value)
    if isinstance(value, Mapping):
        return dict(value)
    if type(value).__name__ == "NAType":  # of pandas
        return None
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


_FINE = ("[ns]", "[ps]", "[fs]", "[as]")
"""Endings of types of NumPy for times, of which `tolist` gives bare integers."""


def _plain_time(value: Any) -> Any:
    """Returns a Timestamp or a Timedelta of pandas as that of Python, or as text if it has nanoseconds; NaT is null."""
    if value != value:
        return None
    if hasattr(value, "to_pytimedelta"):
        return value.isoformat() if value.nanoseconds else value.to_pytimedelta()
    return value.isoformat().replace("+00:00", "Z") if value.nanosecond else value.to_pydatetime()
