"""Converting the published layout: a folder of JSON files, and one of images."""

from __future__ import annotations

import io
import json
import struct
import zlib
from typing import Any, BinaryIO

import msgspec
import pytest
from PIL import Image

from beamscore.metrics.chart.benchmark import ChartBenchmark
from beamscore.metrics.chart.records import ChartTruth
from beamscore.metrics.converter import Part, UnreadableSource

ANNOTATION = {
    "task1": {"input": {}, "name": "Chart Classification", "output": {"chart_type": "Pie"}},
    "task2": {"input": {"task1_output": {}}, "output": {"text_blocks": []}},
    "source": "web",
}


def image_bytes(kind: str = "PNG", size: tuple[int, int] = (320, 200)) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size).save(stream, kind)
    return stream.getvalue()


def bare_png(width: int, height: int) -> bytes:
    """A PNG that declares its size and holds no pixels."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header)) + b"\0\0\0\0IDAT"
    )


def convert(*files: tuple[str, str, bytes]) -> list[dict[str, Any]]:
    """Does what the pipeline does: a map over files, a group by key, a build."""
    converter = ChartBenchmark.converter
    groups: dict[str, list[Part]] = {}
    for role, path, content in files:
        for key, part in converter.parts(role, path, io.BytesIO(content)):
            groups.setdefault(key, []).append(Part(role, path, part))
    return [
        dict(record)
        for key in sorted(groups)
        for record in converter.records(key, sorted(groups[key], key=lambda part: (part.role, part.path)))
    ]


def annotation(path: str, record: Any = ANNOTATION) -> tuple[str, str, bytes]:
    return "json", path, json.dumps(record).encode()


def test_json_and_image_become_one_record() -> None:
    (record,) = convert(annotation("gt/21.5.json"), ("images", "gs://bucket/png/21.5.png", image_bytes()))
    assert record == {
        "sample_id": "21.5",
        "image": {"width": 320, "height": 200},
        "task1": {"output": {"chart_type": "Pie"}},
        "task2": {"output": {"text_blocks": []}},
        "source": "web",
    }
    msgspec.json.decode(msgspec.json.encode(record), type=ChartTruth)


def test_predictions_need_no_images_and_images_alone_make_no_record() -> None:
    assert [record["sample_id"] for record in convert(annotation("b.json"), annotation("a.json"))] == ["a", "b"]
    assert convert(("images", "a.png", image_bytes())) == []


@pytest.mark.parametrize(
    "content", [*map(image_bytes, ["PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF"]), bare_png(320, 200)]
)
def test_image_sizes_are_read_from_the_header(content: bytes) -> None:
    (record,) = convert(annotation("a.json"), ("images", "a.x", content))
    assert record["image"] == {"width": 320, "height": 200}


class Pipe(io.RawIOBase):
    """A stream that cannot seek."""

    def __init__(self, content: bytes) -> None:
        self._stream = io.BytesIO(content)

    def seekable(self) -> bool:
        return False

    def read(self, size: int = -1) -> bytes:
        return self._stream.read(size)


def test_a_stream_that_cannot_seek() -> None:
    stream: BinaryIO = Pipe(image_bytes())  # type: ignore[assignment]
    assert list(ChartBenchmark.converter.parts("images", "a.png", stream)) == [("a", b'{"width":320,"height":200}')]


@pytest.mark.parametrize(
    "content", [b"", b"not an image", image_bytes()[:20], bare_png(60000, 60000), bare_png(9000, 9900)]
)
def test_images_that_cannot_be_measured(content: bytes) -> None:
    with pytest.raises(UnreadableSource, match=r"pictures/a\.png"):
        convert(("images", "pictures/a.png", content))


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b'{"task1": "\xff"}', b'{"a":' * 10**5])
def test_files_that_are_no_json_objects_or_have_the_same_name(content: bytes) -> None:
    with pytest.raises(UnreadableSource, match=r"gt/a\.json"):
        convert(("json", "gt/a.json", content))
    with pytest.raises(UnreadableSource, match=r"one/a\.json and two/a\.json"):
        convert(annotation("one/a.json"), annotation("two/a.json"))


def test_odd_tasks_are_left_to_the_record_type() -> None:
    (record,) = convert(annotation("a.json", {"task1": "Pie", "task2": None}))
    assert record == {"sample_id": "a", "task1": "Pie", "task2": None}


CORNERS = {"x0": 12, "y0": 30, "x1": 50.5, "y1": 34, "x2": 48, "y2": 44, "x3": 10, "y3": 40}
"""A turned text block of UB PMC, made by hand to the layout that its metric2.py reads."""


@pytest.mark.parametrize("name", ["polygon", "bb"])
def test_the_corners_of_a_text_block_become_an_upright_box(name: str) -> None:
    """Smallest and largest x are 10 and 50.5, of y 30 and 44."""
    blocks = [{"id": 0, name: CORNERS, "text": "2015"}, {"id": 1, "bb": {"x0": 1, "y0": 2, "width": 3, "height": 4}}]
    (record,) = convert(annotation("pmc/PMC1___g001.json", {"task2": {"output": {"text_blocks": blocks}}}))
    first, second = record["task2"]["output"]["text_blocks"]
    assert first == {**blocks[0], "bb": {"x0": 10, "y0": 30, "width": 40.5, "height": 14}}
    assert second == blocks[1]
    truth = msgspec.convert({**record, "image": {"width": 60, "height": 60}}, ChartTruth)
    assert truth.task2 is not None


def test_corners_that_are_missing_are_told_with_what_is_expected() -> None:
    blocks = [{"id": 0, "polygon": {**CORNERS, "y3": None}, "text": "2015"}]
    with pytest.raises(UnreadableSource, match="task2: text block 0: expected bb with x0, y0, width and height, or"):
        convert(annotation("a.json", {"task2": {"output": {"text_blocks": blocks}}}))
