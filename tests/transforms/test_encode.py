"""Records of a collection are encoded as those of files are, and paired whatever their order."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from typing import Any

import pytest
from apache_beam.pvalue import TaggedOutput
from apache_beam.utils.windowed_value import WindowedValue
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.transforms.blocks import unpack
from beamscore.transforms.io.field_map import FieldMap, SideColumns, record_json
from beamscore.transforms.io.readers import RecordLimits
from beamscore.transforms.pair import DeduplicateAndPair
from beamscore.transforms.read import EncodeBundle
from beamscore.transforms.records import GROUND_TRUTH, EncodedRecord, InputProblem, Quarantined
from beamscore.transforms.scored import PairedSample

COLUMNS = SideColumns(None, frozenset({"words"}), ("kind",))


def value_of(element: Any) -> Any:
    return element.value if isinstance(element, WindowedValue) else element


def encode(
    records: Sequence[Any], side: int = 0, buckets: int = 4, columns: SideColumns = COLUMNS, function: Any = None
) -> tuple[list[tuple[int, Any]], list[Quarantined]]:
    """Encodes one bundle; returns its blocks and its quarantine."""
    do_fn = EncodeBundle(side, ["ours"], columns, RecordLimits(record_bytes=200, depth=5), buckets, function)
    do_fn.start_bundle()
    found = [each for record in records for each in do_fn.process(record)] + list(do_fn.finish_bundle())
    blocks: list[tuple[int, Any]] = []
    quarantine: list[Quarantined] = []
    for each in found:
        if not isinstance(each, TaggedOutput):
            blocks.append(value_of(each))
        elif each.tag == "quarantine":
            quarantine.append(each.value)
        else:
            assert each.tag == "outcomes"
            assert value_of(each.value)[0] == side
    return blocks, quarantine


def pair(blocks: Sequence[tuple[int, Any]]) -> tuple[list[PairedSample], list[Quarantined]]:
    do_fn = DeduplicateAndPair(["ours"])
    do_fn.start_bundle()
    buckets: dict[int, list[Any]] = {}
    for bucket, block in blocks:
        buckets.setdefault(bucket, []).append(block)
    found = [each for group in buckets.items() for each in do_fn.process(group)] + list(do_fn.finish_bundle())
    samples: list[PairedSample] = []
    quarantine: list[Quarantined] = []
    for each in found:
        if isinstance(each, TaggedOutput):
            quarantine += [each.value] if each.tag == "quarantine" else []
        else:
            samples += value_of(each)
    return sorted(samples, key=lambda sample: sample.sample_id), quarantine


RECORDS = st.lists(
    st.fixed_dictionaries({"sample_id": st.sampled_from("abc"), "text": st.text(max_size=3)}), max_size=8
)


@settings(max_examples=60)
@given(RECORDS, RECORDS, st.randoms(), st.integers(1, 9), st.integers(0, 8))
def test_samples_do_not_depend_on_the_order_the_bundles_or_the_buckets(
    truths: list[Any], predictions: list[Any], random: Any, buckets: int, cut: int
) -> None:
    expected = pair(encode(truths, GROUND_TRUTH)[0] + encode(predictions)[0])
    random.shuffle(truths)
    random.shuffle(predictions)
    blocks = [
        *encode(predictions[:cut], buckets=buckets)[0],
        *encode(truths, GROUND_TRUTH, buckets)[0],
        *encode(predictions[cut:], buckets=buckets)[0],
    ]
    samples, quarantine = pair(blocks)
    assert samples == expected[0]
    order = Quarantined.to_bytes
    assert sorted(map(order, quarantine)) == sorted(map(order, expected[1]))
    assert len(samples) == len({each["sample_id"] for each in truths})


def content_hash(record: Any) -> int:
    """63 bits of the 64-bit BLAKE2b of the record as JSON with its keys in order."""
    return int(hashlib.blake2b(record_json(record, is_sorted=True), digest_size=8).hexdigest(), 16) // 2


@given(RECORDS)
def test_of_duplicates_the_one_with_the_smallest_hash_counts(truths: list[Any]) -> None:
    samples, quarantine = pair(encode(truths, GROUND_TRUTH)[0])
    for sample in samples:
        same = [each for each in truths if each["sample_id"] == sample.sample_id]
        assert json.loads(sample.truth.payload) == min(same, key=content_hash)
        assert len(same) - 1 == sum(entry.sample_id == sample.sample_id for entry in quarantine)
    assert all(entry.cause == "duplicate" and "the record with the hash" in entry.error for entry in quarantine)


REJECTED: list[tuple[Any, str, str]] = [
    (3, "unreadable", "a record must be a mapping, not int"),
    ({"sample_id": "a", "text": object}, "unreadable", "type cannot be written as JSON"),
    ({"text": "x"}, "no_sample_id", "there is no sample_id"),
    ({"sample_id": ""}, "no_sample_id", "1 to 1024 characters"),
    ({"sample_id": 1.5}, "no_sample_id", "sample_id must be"),
    ({"sample_id": "a", "text": "x" * 200}, "too_large", "limits.record_bytes"),
    ({"sample_id": "a", "text": [[[[[[1]]]]]]}, "too_deep", "limits.depth"),
    ({"sample_id": "a", "text": "\ud800"}, "unreadable", "JSON"),
]


@pytest.mark.parametrize(("record", "cause", "error"), REJECTED, ids=[cause for _, cause, _ in REJECTED])
def test_what_cannot_be_read_is_quarantined(record: Any, cause: str, error: str) -> None:
    blocks, quarantine = encode([{"sample_id": "good"}, record])
    assert [key for _, block in blocks for key, _ in unpack(block)] == [b"good"]
    (entry,) = quarantine
    assert (entry.side, entry.stage, entry.cause, entry.line, entry.source) == ("ours", "read", cause, None, "")
    assert error in entry.error
    assert entry.text


def test_what_unpack_raises_rejects_the_element_and_a_fault_of_the_machine_ends_the_bundle() -> None:
    def function(element: Any) -> Any:
        if element == 2:
            raise MemoryError
        return {"sample_id": {0: "a"}[element]}

    blocks, quarantine = encode([0, 1], function=function)
    assert len(blocks) == 1
    assert [(entry.cause, entry.error, entry.text) for entry in quarantine] == [
        ("unreadable", "unpack: KeyError: 1", "1")
    ]
    with pytest.raises(InputProblem, match="encoding failed because of this machine"):
        encode([2], function=function)


def test_fields_have_other_names_and_hold_json_as_text() -> None:
    columns = dataclasses.replace(COLUMNS, fields=FieldMap.of({"words": "labels", "sample_id": "key.id"}))
    blocks, quarantine = encode([{"key": {"id": 7}, "labels": '["x"]', "words": 3}], columns=columns)
    assert quarantine == []
    ((key, encoded),) = unpack(blocks[0][1])
    assert key == b"7"
    assert json.loads(EncodedRecord(encoded).payload) == {
        "key": {"id": 7},
        "labels": ["x"],
        "words": ["x"],
        "sample_id": "7",
    }
