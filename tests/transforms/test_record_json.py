"""Records of any form become the same JSON."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, NamedTuple

import apache_beam as beam
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.transforms.io.field_map import fields_of, present_fields, record_json

VALUES = {"sample_id": "a", "box": {"width": 3, "height": [1.5, None]}, "note": None}


class BoxTuple(NamedTuple):
    width: int
    height: list[Any]


class RecordTuple(NamedTuple):
    sample_id: str
    box: BoxTuple
    note: str | None


@dataclasses.dataclass
class BoxClass:
    width: int
    height: list[Any]


@dataclasses.dataclass
class RecordClass:
    sample_id: str
    box: BoxClass
    note: str | None


class BoxStruct(msgspec.Struct):
    width: int
    height: list[Any]


class RecordStruct(msgspec.Struct, rename={"sample": "sample_id"}):
    sample: str
    box: BoxStruct
    note: str | None


SHAPES = [
    VALUES,
    RecordTuple("a", BoxTuple(3, [1.5, None]), None),
    RecordClass("a", BoxClass(3, [1.5, None]), None),
    RecordStruct("a", BoxStruct(3, [1.5, None]), None),
    beam.Row(sample_id="a", box=beam.Row(width=3, height=(1.5, None)), note=None),
    beam.Row(sample_id="a", box=BoxTuple(3, [1.5, None]), note=None),
    {"sample_id": "a", "box": beam.Row(width=3, height=np.array([1.5, float("nan")])), "note": None},
    {"sample_id": "a", "box": {"width": np.int16(3), "height": [1.5, float("nan")]}, "note": None},
]


@pytest.mark.parametrize("record", SHAPES, ids=lambda record: type(record).__name__)
def test_a_record_of_any_form_is_the_same_json(record: Any) -> None:
    assert json.loads(record_json(fields_of(record))) == VALUES


@pytest.mark.parametrize("record", [3, "text", None, [("sample_id", "a")], RecordClass, b"{}"])
def test_what_is_no_record_is_refused(record: Any) -> None:
    with pytest.raises(TypeError, match="a record must be a mapping"):
        fields_of(record)


def test_a_null_is_absent_and_text_in_a_structured_field_is_json() -> None:
    record = {"a": None, "b": '{"x": [1]}', "c": '{"x"', "d": "[1]"}
    assert present_fields(record, {"b", "c"}) == {"b": {"x": [1]}, "c": '{"x"', "d": "[1]"}


JSON = st.recursive(st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(), lambda inner: (
    st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
))  # fmt: skip


@given(st.dictionaries(st.text(), JSON, max_size=5), st.randoms())
def test_the_order_of_keys_does_not_change_the_sorted_json(record: dict[str, Any], random: Any) -> None:
    items = list(record.items())
    random.shuffle(items)
    assert record_json(dict(items), is_sorted=True) == record_json(record, is_sorted=True)
    assert json.loads(record_json(record, is_sorted=True)) == record
