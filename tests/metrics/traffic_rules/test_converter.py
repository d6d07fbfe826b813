"""MapDR's folders become records."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from beamscore.metrics.converter import Part, UnreadableSource
from beamscore.metrics.traffic_rules.converter import MAX_FILE_BYTES, LabelConverter

ONE = {"attr_info": {"LaneType": "BusLane"}, "centerline": [12, "7"], "semantic_polygon": [[1.0, 2.0, 3.0]]}
OTHER = {"attr_info": {"A": 1}, "matches": 0}
READ = {"properties": {"LaneType": "BusLane"}, "centerlines": [12, "7"]}
READ_OTHER = {"properties": {"A": 1}, "centerlines": []}


def convert(role: str, path: str, content: str | bytes) -> list[Any]:
    converter = LabelConverter()
    parts = converter.parts(role, path, io.BytesIO(content.encode() if isinstance(content, str) else content))
    return [record for key, text in parts for record in converter.records(key, [Part(role, path, text)])]


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("labels", [{"id": "0", **READ}, {"id": "5", **READ_OTHER}]),
        ("predictions", [READ, {**READ_OTHER, "matches": 0}]),
        # Every predicted rule stands for the rule of its index.
        ("matched_predictions", [{**READ, "matches": "0"}, {**READ_OTHER, "matches": "5"}]),
    ],
)
def test_a_file_becomes_the_record_of_its_clip(role: str, expected: list[Any]) -> None:
    content = json.dumps({"0": ONE, "5": OTHER})
    for path in ("gs://b/clip_7/label.json", "a\\clip_7\\label.json", "predictions/clip_7.json", "predictions/clip_7"):
        assert convert(role, path, content) == [{"sample_id": "clip_7", "rules": expected}]
    assert convert(role, "clip.1.json", "{}") == [{"sample_id": "clip.1", "rules": []}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'\xff\x00{"', r"c/label\.json: not in the layout of label.json"),
        ("[]", "Expected `object`"),
        ('{"0": {"centerline": []}}', "missing required field `attr_info`"),
        ('{"0": {"attr_info": {}}, "0": {"attr_info": {}}}', "the key '0' is duplicated in one object"),
        ('{"0": {"attr_info": {"a": NaN}}}', "JSON is malformed"),
        ("[" * 100_000, "not in the layout of label.json"),
        ('{"0": {"attr_info": {"a": "\\ud800"}}}', "not in the layout of label.json"),
        (b" " * (MAX_FILE_BYTES + 1), "larger than 16 MiB"),
    ],
)
def test_other_content_is_unreadable(content: str | bytes, message: str) -> None:
    with pytest.raises(UnreadableSource, match=message):
        convert("labels", "c/label.json", content)


def test_two_files_of_one_clip_and_a_file_of_none_are_unreadable() -> None:
    for path in ("label.json", "./label.json", "../label.json", "s3://label.json"):
        with pytest.raises(UnreadableSource, match="is in no folder"):
            convert("labels", path, "{}")
    parts = [Part("labels", "a/c/label.json", b"{}"), Part("labels", "b/c/label.json", b"{}")]
    with pytest.raises(UnreadableSource, match=r"the clip c has 2 files, such as a/c/label.json and b/c/label.json"):
        list(LabelConverter().records("c", parts))
