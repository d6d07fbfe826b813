"""MapDR's folders become records."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from beamscore.metrics.converter import Part, UnreadableSource
from beamscore.metrics.traffic_rules.converter import MAX_FILE_BYTES, LabelConverter

LABEL = {
    "0": {
        "attr_info": {"LaneType": "BusLane", "LaneDirection": ["GoStraight"]},
        "centerline": [12, "7"],
        "semantic_polygon": [[1.0, 2.0, 3.0]],
    },
    "1": {"attr_info": {"LaneType": "TidalLane"}, "centerline": [], "semantic_polygon": []},
}


def convert(role: str, path: str, content: str) -> list[Any]:
    converter = LabelConverter()
    parts = list(converter.parts(role, path, io.BytesIO(content.encode())))
    return [record for key, text in parts for record in converter.records(key, [Part(role, path, text)])]


def test_labels_become_ground_truth() -> None:
    assert convert("labels", "/data/MapDR/clip_7/label.json", json.dumps(LABEL)) == [
        {
            "sample_id": "clip_7",
            "rules": [
                {
                    "id": "0",
                    "properties": {"LaneType": "BusLane", "LaneDirection": ["GoStraight"]},
                    "centerlines": [12, "7"],
                },
                {"id": "1", "properties": {"LaneType": "TidalLane"}, "centerlines": []},
            ],
        }
    ]


def test_predictions_carry_what_they_match() -> None:
    predicted = {"5": {"attr_info": {"A": 1}, "centerline": [3], "matches": 0}, "6": {"attr_info": {}}}
    (record,) = convert("predictions", "gs://bucket/run/clip_7/label.json", json.dumps(predicted))
    assert record["rules"] == [
        {"properties": {"A": 1}, "centerlines": [3], "matches": 0},
        {"properties": {}, "centerlines": []},
    ]


def test_matched_predictions_stand_for_the_rule_of_their_index() -> None:
    (record,) = convert("matched_predictions", "clip_7/label.json", json.dumps(LABEL))
    assert [rule["matches"] for rule in record["rules"]] == ["0", "1"]


@pytest.mark.parametrize(
    ("path", "clip"),
    [
        ("a/clip_1/label.json", "clip_1"),
        ("a\\clip_1\\label.json", "clip_1"),
        ("predictions/clip.1.json", "clip.1"),
        ("predictions/clip_1", "clip_1"),
    ],
)
def test_the_path_names_the_clip(path: str, clip: str) -> None:
    assert [key for key, _ in LabelConverter().parts("labels", path, io.BytesIO(b"{}"))] == [clip]


def test_a_clip_without_rules_is_a_record_too() -> None:
    assert convert("labels", "c/label.json", "{}") == [{"sample_id": "c", "rules": []}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not in the layout of label.json"),
        ("[]", "Expected `object`"),
        ('{"0": {"centerline": []}}', "missing required field `attr_info`"),
        ('{"vector": {}, "camera_pose": {}}', "missing required field `attr_info`"),
        ('{"0": {"attr_info": {}}, "0": {"attr_info": {}}}', "the key '0' is duplicated in one object"),
        ('{"0": {"attr_info": {"a": NaN}}}', "JSON is malformed"),
        ("[" * 100_000, "not in the layout of label.json"),
        ('{"0": {"attr_info": {"a": "\\ud800"}}}', "not in the layout of label.json"),
    ],
)
def test_other_content_is_unreadable(content: str, message: str) -> None:
    with pytest.raises(UnreadableSource, match=message):
        convert("labels", "c/label.json", content)


def test_bytes_that_are_no_text_are_unreadable() -> None:
    with pytest.raises(UnreadableSource, match=r"c/label\.json"):
        list(LabelConverter().records("c", [Part("labels", "c/label.json", b'\xff\x00{"')]))


def test_two_files_of_one_clip_are_unreadable() -> None:
    parts = [Part("labels", "a/c/label.json", b"{}"), Part("labels", "b/c/label.json", b"{}")]
    with pytest.raises(UnreadableSource, match=r"the clip c has 2 files, such as a/c/label.json and b/c/label.json"):
        list(LabelConverter().records("c", parts))


def test_files_without_a_clip_or_too_large_are_unreadable() -> None:
    with pytest.raises(UnreadableSource, match="is in no folder"):
        list(LabelConverter().parts("labels", "label.json", io.BytesIO(b"{}")))
    with pytest.raises(UnreadableSource, match="larger than 16 MiB"):
        list(LabelConverter().parts("labels", "c/label.json", io.BytesIO(b" " * (MAX_FILE_BYTES + 1))))
