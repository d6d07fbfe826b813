"""Converting the published layout: a folder of JSON files, and one of images."""

from __future__ import annotations

import io
import json
import struct
import zlib
from typing import Any

import pytest
from PIL import Image

from beamscore.metrics.chart.converter import ChartConverter
from beamscore.metrics.converter import Part, UnreadableSource

File = tuple[str, str, bytes]
CONVERTER = ChartConverter()


def image_bytes(kind: str) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (320, 200)).save(stream, kind)
    return stream.getvalue()


def bare_png(width: int, height: int) -> bytes:
    """A PNG that declares its size and holds no pixels."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    check = struct.pack(">I", zlib.crc32(header))
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + check + b"\0\0\0\0IDAT"


PNG, TWICE = image_bytes("PNG"), b'{"a":1,"a":2}'
PIE = {"task1": {"input": {}, "name": "Chart Classification", "output": {"chart_type": "Pie"}}, "source": "web"}


def convert(*files: File) -> list[dict[str, Any]]:
    """Does what the pipeline does: a map over files, a group by key, a build."""
    groups: dict[str, list[Part]] = {}
    for role, path, content in files:
        for key, part in CONVERTER.parts(role, path, io.BytesIO(content)):
            groups.setdefault(key, []).append(Part(role, path, part))
    return [dict(record) for key in sorted(groups) for record in CONVERTER.records(key, groups[key])]


def annotation(path: str, record: Any = PIE) -> File:
    return "json", path, json.dumps(record).encode()


def test_json_and_image_become_one_record() -> None:
    (record,) = convert(annotation("gt/21.5.json"), ("images", "gs://bucket/png/21.5.png", PNG))
    task1, image = {"output": {"chart_type": "Pie"}}, {"width": 320, "height": 200}
    assert record == {"sample_id": "21.5", "image": image, "task1": task1, "source": "web"}
    # Predictions need no images, and images alone make no record.
    files = annotation("b.json"), annotation("a.json"), ("images", "c.png", PNG)
    assert [each["sample_id"] for each in convert(*files)] == ["a", "b"]
    # What has not the layout of a task is left to the type of the records.
    odd: dict[str, Any] = {"task1": "Pie", "task2": None, "task3": {}}
    assert convert(annotation("a.json", odd)) == [{**odd, "sample_id": "a", "task3": {"output": None}}]


class Pipe(io.BytesIO):
    seek: Any = None

    def seekable(self) -> bool:
        return False


IMAGES = [*map(image_bytes, ["PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF"]), bare_png(320, 200)]


@pytest.mark.parametrize("content", IMAGES)
def test_image_sizes_are_read_from_the_header(content: bytes) -> None:
    for stream in (io.BytesIO(content), Pipe(content)):
        assert list(CONVERTER.parts("images", "b/a.x", stream)) == [("a", b'{"width":320,"height":200}')]


UNREADABLE = [
    ("images", b"not an image", "not an image of the kinds PNG, JPEG, GIF, BMP, WEBP, TIFF"),
    *(("images", content, "the size of the image cannot be read") for content in (PNG[:20], bare_png(60000, 60000))),
    ("images", bare_png(9000, 9900), r"9000 x 9900 pixels are more than a chart has \(89000000 at most\)"),
    *(("json", content, "not a JSON object") for content in (b"[]", b"{", b"\xff\xfe", b'{"a":' * 10**5, TWICE)),
]


@pytest.mark.parametrize(("role", "content", "message"), UNREADABLE)
def test_files_that_cannot_be_read_are_named(role: str, content: bytes, message: str) -> None:
    with pytest.raises(UnreadableSource, match=rf"^gt/a\.x: {message}"):
        convert((role, "gt/a.x", content))


def test_two_files_of_one_name_are_none() -> None:
    for role, content in (("json", b"{}"), ("images", PNG)):
        with pytest.raises(UnreadableSource, match=r"two files are named 'a': one/a\.x and two/a\.y"):
            convert((role, "one/a.x", content), (role, "two/a.y", content))


CORNERS = {"x0": 12, "y0": 30, "x1": 50.5, "y1": 34, "x2": 48, "y2": 44, "x3": 10, "y3": 40}
"""A turned text block of UB PMC, made by hand to the layout that its metric2.py reads."""


@pytest.mark.parametrize("name", ["polygon", "bb"])
def test_the_corners_of_a_text_block_become_an_upright_box(name: str) -> None:
    """Smallest and largest x are 10 and 50.5, of y 30 and 44."""
    blocks = [{"id": 0, name: CORNERS, "text": "2015"}, {"id": 1, "bb": {"x0": 1, "y0": 2, "width": 3, "height": 4}}]
    (record,) = convert(annotation("pmc/PMC1___g001.json", {"task2": {"output": {"text_blocks": blocks}}}))
    expected = [{**blocks[0], "bb": {"x0": 10, "y0": 30, "width": 40.5, "height": 14}}, blocks[1]]
    assert record["task2"]["output"]["text_blocks"] == expected
    absent = [{"bb": None, "polygon": CORNERS}]
    (record,) = convert(annotation("a.json", {"task2": {"output": {"text_blocks": absent}}}))
    assert record["task2"]["output"]["text_blocks"][0]["bb"] == expected[0]["bb"]
    for odd in (None, True, "1"):
        place = [blocks[1], {"id": 0, name: {**CORNERS, "y3": odd}}]
        with pytest.raises(UnreadableSource, match="task2: text block 1: expected bb with x0, y0, width and height,"):
            convert(annotation("a.json", {"task2": {"output": {"text_blocks": place}}}))
