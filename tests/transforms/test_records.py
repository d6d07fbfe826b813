"""Records in any form become the same JSON, travel encoded with their origin, and make readable quarantine entries."""

from __future__ import annotations

import dataclasses
import json
from collections import namedtuple
from typing import Any

import apache_beam as beam
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.transforms.io.field_map import fields_of, present_fields, record_json
from beamscore.transforms.io.readers import MAX_ARRAYS, deeper_than, nesting_problem
from beamscore.transforms.records import (
    GROUND_TRUTH,
    JSON,
    MSGPACK,
    TEXT_KEPT,
    EncodedRecord,
    Encoding,
    InputProblem,
    Origin,
    quarantined,
    shortened,
)
from tests.transforms.samples import encoded

ORIGINS = st.builds(
    Origin,
    side=st.integers(GROUND_TRUTH, 100),
    file=st.integers(0, 2**32 - 1),
    position=st.integers(0, 2**63),
    line=st.integers(0, 2**40),
    path=st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.just("/data/\udcff.jsonl"),
)


@given(ORIGINS, ORIGINS, st.sampled_from([JSON, MSGPACK]), st.binary(max_size=50))
def test_an_encoded_record_holds_everything_and_is_ordered_by_its_origin(
    origin: Origin, other: Origin, encoding: Encoding, text: bytes
) -> None:
    found = EncodedRecord.of(origin, encoding, text)
    assert (found.origin, found.side, found.size) == (origin, origin.side, len(text))
    assert (found.payload, found.encoding) == (text, encoding)
    places = [(each.side, each.file, each.position) for each in (origin, other)]
    if places[0] != places[1]:
        assert (found.encoded < EncodedRecord.of(other, encoding, b"").encoded) == (places[0] < places[1])


def test_both_encodings_decode_to_the_same_record_and_a_place_names_its_line() -> None:
    record = {"text": "é", "n": [1, None]}
    for found in (encoded(text=record), encoded(text=msgspec.msgpack.encode(record), encoding=MSGPACK)):
        assert found.decode(dict) == record
    assert encoded(text=msgspec.msgpack.encode(record), encoding=MSGPACK).text() == '{"text":"é","n":[1,null]}'
    assert Origin(0, 0, 50, 3, "a.jsonl").place == "a.jsonl:3"
    assert Origin(0, 0, 50, 0, "a.jsonl").place == "a.jsonl at byte 50"


@given(st.binary(max_size=40), st.sampled_from(["a.jsonl", "/data/\udcff.jsonl"]))
def test_bytes_and_paths_of_any_kind_make_a_readable_quarantine_entry(payload: bytes, path: str) -> None:
    record = encoded(0, payload, position=12, path=path)
    line = quarantined(record, ["ours"], None, "read", "unreadable", f"of {path}").to_bytes()
    assert b"\n" not in line
    shown = path.replace("\udcff", r"\udcff")
    assert msgspec.json.decode(line) == {
        "side": "ours",
        "sample_id": None,
        "source": shown,
        "position": 12,
        "line": 13,
        "stage": "read",
        "cause": "unreadable",
        "error": f"of {shown}",
        "text": payload.decode("utf-8", "replace"),
    }


def test_long_text_is_cut_between_characters_and_a_problem_is_one_printable_line() -> None:
    for text, kept in (("a" * 5000, TEXT_KEPT), ("\U0001f600" * 5000, TEXT_KEPT), ("é" * 3, 3)):
        assert shortened(text.encode()) == text[:kept]
    assert InputProblem("x:\n\x1b[2J").message == "x:<U+000A><U+001B>[2J"
    assert InputProblem.MARK in str(InputProblem("x"))


VALUES: dict[str, Any] = {"sample_id": "a", "box": {"width": 3, "height": [1.5, None]}, "note": None}


NAMES = ["sample_id", "box", "note"]
BoxTuple: Any = namedtuple("BoxTuple", ["width", "height"])
RecordTuple: Any = namedtuple("RecordTuple", ["sample_id", "box", "note"])
RecordClass, RecordStruct = dataclasses.make_dataclass("RecordClass", NAMES), msgspec.defstruct("RecordStruct", NAMES)
SHAPES = [
    *(kind(*VALUES.values()) for kind in (RecordTuple, RecordClass, RecordStruct, lambda *_: VALUES)),
    RecordTuple("a", BoxTuple(3, [1.5, None]), None),
    beam.Row(sample_id="a", box=beam.Row(width=3, height=(1.5, None)), note=None),
    beam.Row(sample_id="a", box=BoxTuple(3, [1.5, None]), note=None),
    {"sample_id": "a", "box": beam.Row(width=3, height=np.array([1.5, float("nan")])), "note": None},
    {"sample_id": "a", "box": {"width": np.int16(3), "height": [1.5, float("nan")]}, "note": None},
]


def test_a_record_of_any_form_is_the_same_json_and_what_is_none_is_refused() -> None:
    for record in SHAPES:
        assert json.loads(record_json(fields_of(record))) == VALUES, type(record)
    for other in (3, "text", None, [("sample_id", "a")], RecordClass, b"{}"):
        with pytest.raises(TypeError, match="a record must be a mapping"):
            fields_of(other)


def test_a_null_is_absent_and_text_in_a_structured_field_is_json() -> None:
    record = {"d": "[1]", "b": '{"x": [1]}', "c": '{"x"', "a": None}
    assert record_json(record, is_sorted=True) == record_json(dict(sorted(record.items())))
    assert present_fields(record, {"b", "c"}) == {"b": {"x": [1]}, "c": '{"x"', "d": "[1]"}


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


def test_a_record_of_more_than_a_million_arrays_is_not_decoded() -> None:
    arrays = b"[" + b"[]," * (MAX_ARRAYS - 2) + b"[]]"
    assert nesting_problem(arrays, 2) is None
    assert nesting_problem(arrays, 1) == "is nested deeper than the 1 levels of limits.depth"
    assert nesting_problem(arrays + b"[", 2) == "has more than 1,000,000 arrays"


def test_many_brackets_are_told_without_recursion_and_a_record_that_breaks_off_is_as_deep_as_it_goes() -> None:
    for opening in ("[", '{"a":', '[{"[":'):
        assert deeper_than((opening * 100_000).encode(), 500)
    whole = json.dumps({"points": [[1, 2]] * 200, "text": "[" * 1000}).encode()
    for stop in (*range(len(whole) - 20, len(whole)), len(whole) // 2):
        assert (deeper_than(whole[:stop], 3), deeper_than(whole[:stop], 2)) == (False, True)
