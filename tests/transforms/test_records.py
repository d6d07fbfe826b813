"""Records in any form, under any names, become the same JSON and have the same hashes, and travel with their origin."""

import dataclasses
import hashlib
import json
from collections import namedtuple
from collections.abc import Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import apache_beam as beam
import msgspec
import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from beamscore.transforms.hashes import fingerprint_text, prediction_fingerprint, record_hash, sample_fingerprint
from beamscore.transforms.io.field_map import FieldMap, NoObject, fields_of, readable_json, record_json
from beamscore.transforms.io.readers import MAX_ARRAYS, deeper_than, nesting_problem
from beamscore.transforms.records import GROUND_TRUTH, JSON, MSGPACK, Encoding, InputProblem, Origin, quarantined
from tests.transforms.samples import encoded

PATHS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
PLACES = st.tuples(st.integers(GROUND_TRUTH, 100), st.integers(0, 2**32 - 1), st.integers(0, 2**63))


@given(PLACES, PLACES, PATHS, st.sampled_from([JSON, MSGPACK]), st.binary(max_size=50))
def test_an_encoded_record_is_whole_and_ordered(
    place: Any, other: Any, path: str, encoding: Encoding, text: bytes
) -> None:
    (side, file, position), (other_side, other_file, other_position) = place, other
    found = encoded(side, text, file, position, path, encoding)
    assert (found.origin, found.side, found.size) == (Origin(position, position + 1, path), side, len(text))
    assert (found.payload, found.encoding) == (text, encoding)
    if place != other:
        assert (found.encoded < encoded(other_side, b"", other_file, other_position).encoded) == (place < other)


def test_both_encodings_decode_to_the_same_record_and_a_place_names_its_line() -> None:
    record = {"text": "é", "n": [1, None]}
    found = encoded(text=msgspec.msgpack.encode(record), encoding=MSGPACK)
    assert found.decode(dict) == encoded(text=record).decode(dict) == record
    # pandas writes integers of a column with a gap as floats; a larger float may be one of several integers.
    kind, given = msgspec.defstruct("Kind", [("n", list[int])]), {"n": [1.0, 1 - 2.0**53]}
    row = encoded(text=msgspec.msgpack.encode(given), encoding=MSGPACK)
    assert row.decode(kind) == encoded(text=given).decode(kind) == kind([1, 1 - 2**53])
    for other, wanted in ((1.5, kind), (2.0**53, kind), (1.0, dict[str, list[str]])):
        with pytest.raises(msgspec.ValidationError, match="got `float`"):
            encoded(text={"n": [other]}).decode(wanted)
    assert found.text() == found.beginning().decode() == '{"text":"é","n":[1,null]}'
    # Of a long record the first 32 KiB are kept for display; a row is left out.
    long = ["x" * 40_000]
    assert encoded(text=long).beginning() == b'["' + b"x" * (32 * 1024 - 2)
    assert encoded(text=msgspec.msgpack.encode(long), encoding=MSGPACK).beginning() == b""
    assert Origin(50, 3, "a.jsonl").place == "a.jsonl:3"
    assert Origin(50, 0, "a.jsonl").place == "a.jsonl at byte 50"
    assert Origin(50, 51, "").place == f"the record with the hash {50:016x}"
    assert InputProblem("x:\n\x1b[2J").message == "x:<U+000A><U+001B>[2J"
    problem = InputProblem("x")
    assert str(problem) == str(InputProblem(str(problem))) == f"{InputProblem.MARK} x"


@given(st.binary(max_size=40) | st.sampled_from(["a" * 5000, "\U0001f600" * 5000]).map(str.encode))
def test_bytes_of_any_kind_make_a_readable_quarantine_entry(payload: bytes) -> None:
    record = encoded(0, payload, position=12, path="é.jsonl")
    line = msgspec.json.encode(quarantined(record, ["ours"], None, "read", "unreadable", "no \udcff"))
    assert b"\n" not in line
    expected = {"side": "ours", "sample_id": None, "source": "é.jsonl", "position": 12, "line": 13, "stage": "read"}
    expected |= {"cause": "unreadable", "error": r"no \udcff", "text": payload.decode("utf-8", "replace")[:2000]}
    assert msgspec.json.decode(line) == expected


pandas: Any = pytest.importorskip("pandas")
VALUES: dict[str, Any] = {"sample_id": "a", "box": {"width": 3, "height": [1.5, None]}, "note": None}
NAMES = [*VALUES]
BoxTuple: Any = namedtuple("BoxTuple", ["width", "height"])
RecordTuple: Any = namedtuple("RecordTuple", ["sample_id", "box", "note"])
RecordClass = dataclasses.make_dataclass("RecordClass", [*NAMES, ("unset", Any, dataclasses.field(init=False))])
RecordStruct = msgspec.defstruct("RecordStruct", [*NAMES, ("unset", Any, msgspec.UNSET)])
Tagged = msgspec.defstruct("Tagged", ["form", "note"], rename={"form": "box"}, tag_field="sample_id", tag="a")
Model: Any = type("Model", (), {"model_dump": lambda _: VALUES})
SHAPES = [
    Model(),
    *(kind(*VALUES.values()) for kind in (RecordTuple, RecordClass, RecordStruct, lambda *_: VALUES)),
    Tagged(VALUES["box"], None),
    RecordTuple("a", BoxTuple(3, [1.5, None]), None),
    beam.Row(sample_id="a", box=beam.Row(width=3, height=(1.5, None)), note=None),
    beam.Row(sample_id="a", box=BoxTuple(3, [1.5, None]), note=None),
    {"sample_id": "a", "box": beam.Row(width=3, height=np.array([1.5, None])), "note": float("nan")},
    {"sample_id": "a", "box": MappingProxyType({"width": 3, "height": (1.5, None)}), "note": None},
    {"sample_id": "a", "box": {"width": np.int16(3), "height": [1.5, None]}, "note": np.float32("nan")},
    {"sample_id": "a", "box": {"width": Decimal(3), "height": (1.5, pandas.NaT)}, "note": Decimal("snan")},
]


def test_a_record_of_any_form_is_the_same_json_and_what_is_none_is_refused() -> None:
    for record in SHAPES:
        assert json.loads(record_json(fields_of(record))) == VALUES, type(record)
    within = {"a": [float("nan")], "b": None}
    assert readable_json(within, (), None) == (b'{"b":null}', "a: NaN and Infinity are not JSON")
    assert record_json(within, scored="b") == b'{"a":[null],"b":null}'
    times: Any = {"b": pandas.Timestamp(1, tz="UTC"), "a": [pandas.Timestamp(0), pandas.Timedelta(5000)], 1: None}
    expected = b'{"1":null,"a":["1970-01-01T00:00:00","PT0.000005S"],"b":"1970-01-01T00:00:00.000000001Z"}'
    assert record_json(times, is_sorted=True) == expected
    numpy_times = {"a": np.datetime64("2026-01-02"), "b": np.array([5], "m8[us]"), "c": np.datetime64("NaT")}
    assert json.loads(record_json(numpy_times)) == {"a": "2026-01-02", "b": ["PT0.000005S"], "c": None}
    # Only in a text are bytes wrong.
    assert readable_json({"a": b"", "b": b""}, "b", None) == (b'{"a":""}', "b: must be a string, not bytes")
    # NumPy would give bare integers.
    for fine in (np.datetime64(0, "ns"), np.array([5000], "m8[ns]"), np.array([1], ">M8[ps]")):
        with pytest.raises(TypeError, match="times of NumPy finer than microseconds"):
            record_json({"a": fine})
    broken = type("Broken", (), {"model_dump": lambda _: VALUES["gone"]})()
    for other in (3, "text", None, [("sample_id", "a")], RecordClass, Model, b"{}", broken):
        with pytest.raises(TypeError, match=r"a record must be a mapping|Broken cannot be dumped: .*gone"):
            fields_of(other)


TEXTS = st.text(alphabet='[]{}"\\,:né\u2028\n', max_size=8)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=25,
)


def depth(value: Any) -> int:
    """The oracle: a plain recursive count."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


@given(DOCUMENTS, st.booleans())
def test_depth_is_that_of_the_parsed_document(document: Any, ascii_only: bool) -> None:
    text, deep = json.dumps(document, ensure_ascii=ascii_only, indent=1).encode(), depth(document)
    assert [deeper_than(text, limit) for limit in range(deep + 3)] == [limit < deep for limit in range(deep + 3)]


def test_many_brackets_are_told_without_recursion_and_a_record_that_breaks_off_is_as_deep_as_it_goes() -> None:
    arrays = b"[" + b"[]," * (MAX_ARRAYS - 2) + b"[]]"
    assert nesting_problem(arrays, 2) is None
    assert nesting_problem(arrays, 1) == "is nested deeper than the 1 levels of limits.depth"
    assert nesting_problem(arrays + b"[", 2) == "has more than 1,000,000 arrays"
    for opening in ("[", '{"a":', '[{"[":'):
        assert deeper_than((opening * 100_000).encode(), 500)
    whole = json.dumps({"points": [[1, 2]] * 200, "text": "[" * 1000}).encode()
    for stop in (*range(len(whole) - 20, len(whole)), len(whole) // 2):
        assert (deeper_than(whole[:stop], 3), deeper_than(whole[:stop], 2)) == (False, True)


def test_hashes_and_fingerprints_are_those_of_canonical_json_for_ever() -> None:
    """They are compared between runs of different versions."""

    class Record(msgspec.Struct, frozen=True):
        text: str
        cells: dict[str, Any] | None = None
        share: float = 0.0

    text = b'{"text":"\xc3\xa9","cells":{"a":[1,null],"b":{"c":2}},"share":1.0}'
    given = b'{"share": 1, "cells": {"b": {"c": 2}, "a": [1, null]}, "text": "\\u00e9", "x": 3}'
    assert record_hash(msgspec.json.decode(given, type=Record)) == hashlib.blake2b(text, digest_size=16).hexdigest()
    assert record_hash(Record("a", {"b": 1})) == "54d7050d7ce66463b9f64ebd5d5bfaf1"
    assert f"{sample_fingerprint('s', None):032x}" == "1cfa04eee7aecab949da768d750a7edd"
    assert f"{prediction_fingerprint('s', 'aa', 'scored'):032x}" == "4046e29fe6f1421c850b0dd989873454"


def test_a_fingerprint_is_a_sum_in_which_id_and_hash_are_told_apart() -> None:
    assert fingerprint_text((5 << 128) + 0xA1) == "a1".zfill(32)
    pairs = [("a", "b"), ("ab", ""), ("a", None), ("", "ab"), ("null", None)]
    assert len({sample_fingerprint(*each) for each in pairs}) == 5
    found = {prediction_fingerprint("a", *each) for each in [("b", "scored"), (None, None), (None, "rejected")]}
    assert len(found) == 3
    # What became of a prediction follows from its text and the ground truth.
    assert prediction_fingerprint("a", "b", "scored") == prediction_fingerprint("a", "b", "rejected")


KEYS = st.sampled_from(["a", "b", "c.d", "sample_id", "text"])
OBJECTS = st.dictionaries(
    KEYS, st.none() | st.integers(-(2**70), 2**70) | st.sampled_from(["x", " ", '{"a', "[]", True, 1.0])
)
NESTED = st.recursive(
    OBJECTS,
    lambda inner: st.dictionaries(KEYS, inner | inner.map(json.dumps) | st.lists(inner, max_size=1), max_size=3),
    max_leaves=6,
)


def at(record: Any, path: Sequence[str]) -> Any:
    """The oracle: the value to which the keys of a path lead, also through objects that are JSON text."""
    for key in path:
        if isinstance(record, str):
            record = json.loads(record.strip() or "null")
        if record is not None and not isinstance(record, dict):
            raise ValueError("neither an object nor absent")
        record = None if record is None else record.get(key)
    return record


@given(
    NESTED | st.builds(dict.__or__, NESTED, OBJECTS),
    st.dictionaries(st.sampled_from(["sample_id", "text"]), st.lists(KEYS, min_size=1, max_size=3)),
    st.booleans(),
)
@example({"text": 1, "sample_id": True}, {"text": ["sample_id"], "sample_id": ["text"]}, True)
@example({"sample_id": True}, {"text": ["sample_id"]}, True)
@example({"a": "null"}, {"text": ["a", "b"]}, True)
def test_a_field_is_where_its_path_leads_and_an_integer_that_may_be_an_id_is_its_decimal_text(
    record: dict[str, Any], paths: dict[str, list[str]], integer_ids: bool
) -> None:
    escaped = {name: ".".join(key.replace(".", r"\.") for key in path) for name, path in paths.items()}
    fields, text = FieldMap.of(escaped, integer_ids), json.dumps(record).encode()
    columns = [name for name in record if name not in paths]
    assert fields.present(record) == columns + [name for name, path in paths.items() if path[0] in record]
    calls = (lambda: json.loads(fields.of_json(text)), lambda: fields.of_values(dict(record)))
    try:
        expected = record | {name: at(record, path) for name, path in paths.items()}
    except ValueError:
        for call in calls:
            with pytest.raises(NoObject):
                call()
        lenient = dataclasses.replace(fields, unscored=frozenset(paths))
        assert lenient.of_values(dict(record)).keys() <= record.keys() | paths.keys(), "absent"
        return
    if integer_ids and type(expected.get("sample_id")) is int:
        expected["sample_id"] = str(expected["sample_id"])
    for call in calls:
        mapped = call()
        found = dict.fromkeys(expected) | mapped
        assert not [name for name, path in paths.items() if path[0] not in record and name in mapped], "left out"
        assert (found, type(found.get("sample_id"))) == (expected, type(expected.get("sample_id")))


def test_what_is_no_path_is_told_and_broken_text_on_a_path_holds_nothing() -> None:
    for path in ("", ".", "a..b", ".a", "a."):
        with pytest.raises(ValueError, match="is no path"):
            FieldMap.of({"text": path})
    fields = FieldMap.of({"sample_id": "a.b"})
    assert fields.find("sample_id", {"a": '{"b'}) is None
    for text, sample_id in ((b"1", "1"), (b"null", None)):
        found = fields.of_json(b'{"a": {"beside": [1e999, "\xff"], "b": %s}}' % text)
        assert json.loads(found.decode(errors="replace")).get("sample_id") == sample_id
        assert (b"sample_id" in found) is (sample_id is not None), "a null is absent"
