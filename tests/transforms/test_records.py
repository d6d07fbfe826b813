"""EncodedRecord records and the entries of the quarantine."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.benchmark import explain
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

ORIGINS = st.builds(
    Origin,
    side=st.integers(GROUND_TRUTH, 100),
    file=st.integers(0, 2**32 - 1),
    position=st.integers(0, 2**63),
    line=st.integers(0, 2**40),
    path=st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)


@given(ORIGINS, st.sampled_from([JSON, MSGPACK]), st.binary(max_size=50))
def test_an_encoded_record_holds_everything(origin: Origin, encoding: Encoding, payload: bytes) -> None:
    encoded = EncodedRecord.of(origin, encoding, payload)
    assert (encoded.origin, encoded.side, encoded.size, encoded.payload) == (origin, origin.side, len(payload), payload)
    assert encoded.encoding == encoding


def test_a_path_that_is_not_utf8_survives() -> None:
    origin = Origin(0, 0, 0, 1, b"/data/\xff.jsonl".decode("utf-8", "surrogateescape"))
    assert EncodedRecord.of(origin, JSON, b"{}").origin == origin


def test_records_are_ordered_by_file_then_by_position() -> None:
    places = [(0, 0), (0, 7), (0, 10), (1, 3), (10, 0)]
    origins = [Origin(0, file, position, 0, "z" if file == 0 else "a") for file, position in places]
    shuffled = [origins[index] for index in (3, 0, 4, 2, 1)]
    assert sorted(shuffled) == origins


def test_a_place_names_the_line_where_it_is_known() -> None:
    assert Origin(0, 0, 50, 3, "a.jsonl").place == "a.jsonl:3"
    assert Origin(0, 0, 50, 0, "a.jsonl").place == "a.jsonl at byte 50"


def test_both_encodings_decode_to_the_same_record() -> None:
    record = {"text": "é", "n": [1, None]}
    origin = Origin(0, 0, 0, 1, "a")
    for encoded in [
        EncodedRecord.of(origin, JSON, msgspec.json.encode(record)),
        EncodedRecord.of(origin, MSGPACK, msgspec.msgpack.encode(record)),
    ]:
        assert encoded.decode(dict) == record
        assert encoded.text() == '{"text":"é","n":[1,null]}'


@given(st.binary(max_size=40))
def test_bytes_of_any_kind_make_a_readable_quarantine_entry(payload: bytes) -> None:
    encoded = EncodedRecord.of(Origin(0, 0, 12, 3, "a.jsonl"), JSON, payload)
    entry = quarantined(encoded, "ours", None, "read", "unreadable", "why")
    line = entry.to_bytes()
    assert b"\n" not in line
    assert msgspec.json.decode(line) == {
        "side": "ours",
        "sample_id": None,
        "source": "a.jsonl",
        "position": 12,
        "line": 3,
        "stage": "read",
        "cause": "unreadable",
        "error": "why",
        "text": payload.decode("utf-8", "replace"),
    }


def test_an_entry_of_an_odd_path_can_be_written() -> None:
    origin = Origin(0, 0, 0, 1, b"/data/\xff.jsonl".decode("utf-8", "surrogateescape"))
    entry = quarantined(
        EncodedRecord.of(origin, JSON, b"{}"), "ours", "a", "pair", "duplicate", f"stands at {origin.place}"
    )
    written = msgspec.json.decode(entry.to_bytes())
    assert written["source"] == r"/data/\udcff.jsonl"
    assert written["error"] == r"stands at /data/\udcff.jsonl:1"


@pytest.mark.parametrize(("text", "kept"), [("a" * 5000, TEXT_KEPT), ("\U0001f600" * 5000, TEXT_KEPT), ("é" * 3, 3)])
def test_long_text_is_cut_between_characters(text: str, kept: int) -> None:
    assert shortened(text.encode()) == text[:kept]


def test_errors_in_words() -> None:
    assert explain(ValueError("too odd")) == "too odd"
    assert explain(ZeroDivisionError()) == "ZeroDivisionError"
    assert explain(RecursionError("maximum recursion depth exceeded")) == "nested deeper than can be read"
    assert InputProblem("x: no such file").message == "x: no such file"
    assert InputProblem.MARK in str(InputProblem("x"))
