"""Published layouts of charts, of figures with text and of traffic rules become records, or are refused by name."""

import contextlib
import io
import json
import struct
import zipfile
import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from PIL import ExifTags, Image

from beamscore.metrics.converter import Part, UnreadableSource
from beamscore.metrics.figure_text.converter import FigureTextConverter, sample_id_of
from beamscore.metrics.figure_text.records import FigurePrediction, FigureTruth
from beamscore.metrics.registry import benchmark_class
from beamscore.metrics.traffic_rules.converter import MAX_FILE_BYTES

File = tuple[str, str, "str | bytes"]
"""The role, the path and the content of a file."""


def converter(name: str) -> Any:
    return benchmark_class(name).converter


def parts(name: str, role: str, path: str, content: str | bytes, stream: type[io.BytesIO] = io.BytesIO) -> list[Any]:
    found = stream(content.encode() if isinstance(content, str) else content)
    return list(converter(name).parts(role, path, found))


def convert(name: str, *files: File) -> list[Any]:
    """Does what the pipeline does: a map over files, a group by key, a build."""
    groups: dict[str, list[Part]] = {}
    for role, path, content in files:
        for key, part in parts(name, role, path, content):
            groups.setdefault(key, []).append(Part(role, path, part))
    return [dict(record) for key in sorted(groups) for record in converter(name).records(key, groups[key])]


def image_bytes(kind: str, size: tuple[int, int] = (320, 200), orientation: int = 1) -> bytes:
    stream, exif = io.BytesIO(), Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    Image.new("RGB", size).save(stream, kind, exif=exif)
    return stream.getvalue()


def bare_png(width: int, height: int) -> bytes:
    """A PNG that declares its size and holds no pixels."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    check = struct.pack(">I", zlib.crc32(header))
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + check + b"\0\0\0\0IDAT"


PNG = image_bytes("PNG")
IMAGES = [*map(image_bytes, ["PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF"]), bare_png(320, 200)]
TURNED = [
    image_bytes(kind, (200, 320), turn)
    for kind, turn in (("PNG", 5), ("JPEG", 6), ("WEBP", 7), ("PNG", 8), ("TIFF", 6))
]
BOX: dict[str, Any] = {"box": [1, 2, 3, 4]}
SQUARE: dict[str, Any] = {"points": [[1, 2], [3, 4], [5, 6], [7, 8]]}
ONES = "1" * 400_000
PIE = {"task1": {"input": {}, "name": "Chart Classification", "output": {"chart_type": "Pie"}}, "source": "web"}


def annotation(path: str, record: Any = PIE) -> tuple[str, str, str]:
    return "json", path, "\ufeff" + json.dumps(record)


def test_the_json_and_the_image_of_a_chart_become_one_record() -> None:
    (record,) = convert("chart", annotation("gt/21.5.json"), ("images", "gs://bucket/png/21.5.png", PNG))
    task1, image = {"output": {"chart_type": "Pie"}}, {"width": 320, "height": 200}
    assert record == {"sample_id": "21.5", "image": image, "task1": task1, "source": "web"}
    # Predictions need no images, and images alone make no record.
    files = annotation("b.json"), annotation("a.json"), ("images", "c.png", PNG)
    assert [each["sample_id"] for each in convert("chart", *files)] == ["a", "b"]
    # What has not the layout of a task is left to the type of the records.
    odd: dict[str, Any] = {"task1": "Pie", "task2": None, "task3": {"a": None}}
    assert convert("chart", annotation("a.json", odd)) == [{**odd, "sample_id": "a", "task3": {"output": None}}]


@pytest.mark.parametrize("content", [*IMAGES, *TURNED])
def test_image_sizes_are_read_from_the_header(content: bytes) -> None:
    class Pipe(io.BytesIO):
        def seek(self, *_: int) -> int:
            raise io.UnsupportedOperation

    for stream in (io.BytesIO, Pipe):
        assert parts("chart", "images", "b/a.x", content, stream) == [("a", b'{"width":320,"height":200}')]


CORNERS = {"x0": 12, "y0": 30, "x1": 50.5, "y1": 34, "x2": 48, "y2": 44, "x3": 10, "y3": 40}
"""A turned text block of UB PMC, made by hand to the layout that its metric2.py reads."""


def with_blocks(*blocks: Any) -> tuple[str, str, str, str]:
    return "chart", *annotation("gt/a.x", {"task2": {"output": {"text_blocks": blocks}}})


def test_the_corners_of_a_text_block_become_an_upright_box() -> None:
    """Smallest and largest x are 10 and 50.5, of y 30 and 44."""
    upright, around = {"x0": 1, "y0": 2, "width": 3, "height": 4}, {"x0": 10, "y0": 30, "width": 40.5, "height": 14}
    for block in ({"id": 0, "polygon": CORNERS}, {"id": 0, "bb": CORNERS}, {"bb": None, "polygon": CORNERS}):
        (record,) = convert("chart", with_blocks(block, {"id": 1, "bb": upright})[1:])
        assert record["task2"]["output"]["text_blocks"] == [{**block, "bb": around}, {"id": 1, "bb": upright}]


BOX_PLOT = {"first_quartile": 33.1, "max": 98.2, "median": 42.9, "min": 8.8, "third_quartile": 56.2}
CATEGORY = "[unnamed category #1]"


def test_the_data_series_of_ub_pmc_become_those_of_records() -> None:
    """Of charts without a legend: the layout of the release of 2022, as its metric6b.py reads it."""
    labelled, second = {**BOX_PLOT, "x": "1 or 2"}, {f"y2-{line}": value for line, value in BOX_PLOT.items()}
    both = {"y2-max": 1, **BOX_PLOT}
    points = [{"x": CATEGORY, "y2": 3, "y": 2}, {"x": "a", "y": 4, "y2": None}, 5]
    error_bars = [{"x": "a", "y": 4, "min": 3, "max": 5}, {"x": "b", "y2": 5, "y": 5, "min": 4}]
    cases: list[tuple[Any, dict[Any, Any]]] = [
        ([labelled, {**BOX_PLOT, "y": 7, "x": None}, both], {"1 or 2": labelled, 7: {**BOX_PLOT, "y": 7}, "": both}),
        ([{**second, "x": CATEGORY}, {"x": "b", "max": None}], {"": {**second, **BOX_PLOT, "x": ""}, "b": {"x": "b"}}),
        (points, {"": [{"x": "", "y2": 3, "y": 3}, {"x": "a", "y": 4}, 5]}),
        ([{**labelled, **dict.fromkeys(BOX_PLOT)}], {"": [{"x": "1 or 2"}]}),
        *((same, {"": same}) for same in (BOX_PLOT, [BOX_PLOT, 5], error_bars, [], None, 5)),
    ]
    for data, expected in cases:
        output = {"data series": [{"name": "[unnamed data series #0]", "data": data}, None]}
        (record,) = convert("chart", annotation("a.json", {task: {"output": output} for task in ("task6", "task7")}))
        found = {"data series": [*({"name": name, "data": each} for name, each in expected.items()), None]}
        assert record["task6"]["output"] == record["task7"]["output"] == found


def regions(role: str, content: str | bytes) -> Any:
    (record,) = convert("figure_text", (role, "gt_img_1.txt", content))
    msgspec.convert(record, FigureTruth if role in ("ground_truth", "detext") else FigurePrediction)
    assert record["sample_id"] == "img_1"
    return record["regions"]


def test_a_sample_of_figure_text_is_called_as_the_file() -> None:
    for path in ("gs://bucket/results/res_img_1.txt", "C:\\data\\img_1.TXT"):
        assert sample_id_of(path) == "img_1"
    assert [sample_id_of(path) for path in ("gt_gt_1.txt", "gt_.txt", "100.5.txt")] == ["gt_1", "gt_", "100.5"]


def word(location: dict[str, Any], text: str, ignore: bool = False) -> dict[str, Any]:
    return {**location, "text": text, "ignore": ignore}


def labelled(orientation: str, text: str, *difficulty: str) -> dict[str, Any]:
    return {**word(SQUARE, text), "orientation": orientation, "difficulty": list(difficulty)}


def test_a_line_of_figure_text() -> None:
    assert regions("ground_truth", "") == []
    for role, line, expected in (
        # The kind of the first separator holds for all coordinates.
        ("ground_truth", "1,2,3,4,5,6,7,8 one, two", word(SQUARE, "one, two")),
        ("ground_truth", "1,2,3,4,5,6,7,8,None, of us", word(SQUARE, "None, of us")),
        ("ground_truth", "1\t2\t3\t4\t0 20 40 60 80", word(BOX, "0 20 40 60 80")),
        ("spotting", "1 , 2, 3,4,0 20 40 60 80", {**BOX, "text": "0 20 40 60 80"}),
        ("ground_truth", '1, 2, 3, 4, "Tiredness"', word(BOX, "Tiredness")),
        ("ground_truth", '1 2 3 4 "Foot path"', word(BOX, "Foot path")),
        ("ground_truth", '1,2,3,4,"a \\"b\\" \\\\ c"', word(BOX, 'a "b" \\ c')),
        ("ground_truth", '1,2,3,4,"', word(BOX, '"')),
        ("ground_truth", '1,2,3,4,12"', word(BOX, '12"')),
        ("ground_truth", "-1.5,+2,3e1,.4,x", word({"box": [-1.5, 2, 30, 0.4]}, "x")),
        ("ground_truth", "1,2,3,4,,5", word(BOX, ",5")),
        # The text of a region may be empty, or absent.
        ("ground_truth", "1,2,3,4,", word(BOX, "")),
        ("ground_truth", "1,2,3,4,5,6,7,8\t", {**SQUARE, "ignore": False}),
        ("spotting", "1 2 3 4", BOX),
        ("ground_truth", '1,2,3,4,"###"', word(BOX, "###", ignore=True)),
        ("ground_truth", "1,2,3,4,#", word(BOX, "#")),
        ("ground_truth", "1,2,3,4,5551234567", word(BOX, "5551234567")),
        # Lines that took minutes.
        *(("ground_truth", f"1,2,3,4,{text}", word(BOX, text)) for text in (ONES + "x", "1,1,1," + ONES)),
        ("ground_truth", "1,2,3,4,5,6,7,8," + "1," * 200_000, word(SQUARE, "1," * 200_000)),
        # A byte order mark, a CR within a line, a line end and blank lines.
        ("ground_truth", "\ufeff1,2,3,4,κ\rλ\r\n\r\n", word(BOX, "κ\rλ")),
        ("ground_truth", "1,2,3,4,b\x0c\n", word(BOX, "b")),
        ("detections", "1,2,3,4,5,6,7,8", SQUARE),
        ("detections", "1,2,3,4,5,6,7,8,0.93", {**SQUARE, "confidence": 0.93}),
        ("detections", "1 2 3 4 1e-3", {**BOX, "confidence": 0.001}),
        ("spotting", "1,2,3,4,0.93", {**BOX, "text": "0.93"}),
        ("detext", "1,2,3,4,5,6,7,8 0\tDNA,short", labelled("horizontal", "DNA", "short")),
        ("detext", "1,2,3,4,5,6,7,8,1,a, b,small,color+Short", labelled("oriented", "a, b", "small", "color", "short")),
        ("detext", '1,2,3,4,5,6,7,8,0,"short, small",Normal', labelled("horizontal", "short, small", "normal")),
        ("detext", "1,2,3,4,5,6,7,8,0,small,small", labelled("horizontal", "small", "small")),
    ):
        assert regions(role, line) == [expected], line


@given(st.sampled_from(list(FigureTextConverter.roles)), st.one_of(st.binary(), st.text('0123456789,. -e"#a\n')))
def test_any_file_of_figure_text_is_read_or_refused(role: str, content: str | bytes) -> None:
    with contextlib.suppress(UnreadableSource):
        regions(role, content)


def archive(files: dict[str, bytes], offset: int = 0) -> bytes:
    """A zip archive; offset: where its directory says that each file begins."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
            made.getinfo(name).header_offset += offset
    return stream.getvalue()


def archived(content: bytes) -> list[Any]:
    return parts("figure_text", "ground_truth", "gt.zip", content)


def test_the_files_of_an_archive_are_read_like_files_of_a_folder() -> None:
    """Made by hand to the layout of ICDAR 2015: eight coordinates and the text, of which one could follow a script."""
    line = "377,117,463,117,465,130,378,130,Latin,Theatre\r\n493,115,519,115,519,131,493,131,###\r\n"
    others = dict.fromkeys(("gt/", "__MACOSX/1.txt", "gt/.DS_Store", ".ipynb_checkpoints/1.txt", "a.png"), b"")
    [(key, content), refused] = archived(archive({"./gt/gt_img_1.txt": f"\ufeff{line}".encode(), **others}))
    (record,) = converter("figure_text").records(key, [Part("ground_truth", "gt.zip", content)])
    assert record == {"sample_id": "img_1", "regions": regions("ground_truth", line)}
    assert str(refused) == "gt.zip: a.png: expected text files, such as gt_img_1.txt"


WHOLE = archive({"gt_img_1.txt": b"1,2,3,4,text\n" * 100})
MIDDLE = WHOLE.index(b"gt_img_1.txt") + len("gt_img_1.txt") + 8
DAMAGED = [b"no archive", WHOLE[:-30], WHOLE[:MIDDLE] + b"\xff" * 8 + WHOLE[MIDDLE + 8 :]]
# The directory lies before the file.
DAMAGED.append(WHOLE[:-6] + (len(WHOLE) + 200).to_bytes(4, "little") + WHOLE[-2:])
# The file lies farther away than any file is long.
DAMAGED.append(archive({"gt_img_1.txt": b""}, offset=2**64 - 1))


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_an_archive_with_any_other_byte_is_read_or_refused(place: int, change: int) -> None:
    content = bytearray(WHOLE)
    content[place] ^= change
    with contextlib.suppress(UnreadableSource):
        archived(bytes(content))


BUS = {"attr_info": {"LaneType": "BusLane"}, "centerline": [12, "7"], "semantic_polygon": [[1.0, 2.0, 3.0]]}
RULE, OTHER = {"properties": {"LaneType": "BusLane"}, "centerlines": [12, "7"]}, {"properties": {"A": 1}}


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("labels", [{"id": "0", **RULE}, {"id": "5", **OTHER, "centerlines": []}]),
        ("predictions", [RULE, {**OTHER, "centerlines": [], "matches": 0}]),
        # Every predicted rule stands for the rule of its index.
        ("matched_predictions", [{**RULE, "matches": "0"}, {**OTHER, "centerlines": [], "matches": "5"}]),
    ],
)
def test_a_label_json_becomes_the_record_of_its_clip(role: str, expected: list[Any]) -> None:
    content = "\ufeff" + json.dumps({"0": BUS, "5": {"attr_info": {"A": 1}, "matches": 0}})
    for path in ("gs://b/clip_7/label.json", "a\\clip_7\\label.json", "predictions/clip_7.json", "predictions/clip_7"):
        assert convert("traffic_rules", (role, path, content)) == [{"sample_id": "clip_7", "rules": expected}]
    assert convert("traffic_rules", (role, "clip.1.json", "{}")) == [{"sample_id": "clip.1", "rules": []}]


LARGE = b" " * (MAX_FILE_BYTES + 1)
NO_JSON: tuple[str | bytes, ...] = ("[]", "{", b"\xff\xfe", '{"a":' * 10**5, '{"a":1,"a":2}')
IMAGE, CHART = ("chart", "images", "gt/a.x"), ("chart", "json", "gt/a.x")
TEXT, ZIP = ("figure_text", "ground_truth", "gt_img_1.txt"), ("figure_text", "ground_truth", "gt.zip")
DETEXT, CLIP = ("figure_text", "detext", "1.txt"), ("traffic_rules", "labels", "c/label.json")
UNREADABLE: list[tuple[str, str, str, str | bytes, str]] = [
    (*IMAGE, b"not an image", r"^gt/a\.x: not an image of the kinds PNG, JPEG, GIF, BMP, WEBP, TIFF"),
    (*IMAGE, PNG[:20], r"^gt/a\.x: the size of the image cannot be read"),
    (*IMAGE, bare_png(60000, 60000), r"^gt/a\.x: the size of the image cannot be read"),
    (*IMAGE, bare_png(9000, 9900), r"^gt/a\.x: 9000 x 9900 pixels are more than a chart has \(89000000 at most\)"),
    *((*CHART, content, r"^gt/a\.x: not a JSON object") for content in NO_JSON),
    (*CHART, '{"task6": {"output": -Infinity}}', r"^gt/a\.x: not a JSON object: -Infinity is not JSON"),
    (*CHART, '{"task2": {"input": 1, "name": 2, "Output": {}, "a": 1}}', r"^gt/a\.x: task2 has .*; it has Output, a$"),
    *(
        (*with_blocks({}, {"id": 0, name: {**CORNERS, "y3": odd}}),
         r"^gt/a\.x: task2: text block 1: expected bb with x0, y0, width and height,")
        for name in ("polygon", "bb")
        for odd in (None, True, "1")
    ),
    (*TEXT, "1,2,3,4,a\r1,2,3,b", "gt_img_1.txt: line 2: four or eight coordinates of at most"),
    (*TEXT, "1,2,3,4,5,6,7,8,a\r\r\n1,2,3,4,b", "line 2: 4 coordinates, where the lines before have 8"),
    (*TEXT, "1,2,3,4,5,6,7,8,9,10,11,12,a", "line 1: numbers go on after eight coordinates"),
    *(
        (*TEXT, f"1,2,3,4,5,6,7,8,{one}\n1,2,3,4,5,6,7,8,{other}\r\n", r"^gt_img_1\.txt: each text follows a script")
        for one, other in (("Latin,a", "None,###"), ('0,"a"', '1, "###"'))
    ),
    (*TEXT, "1,2,3,1e9,a", "line 1: four or eight coordinates of at most 10000000, all with one separator, must come"),
    (*TEXT, b"1,2,3,4,\xff", "not UTF-8 text at byte 8"),
    ("figure_text", "detections", "1.txt", "1,2,3,4,DNA", "role spotting reads text"),
    *(
        (*DETEXT, f"{line},DNA,short", "line 1: eight coordinates, all with one separator, and an orientation of 0 or")
        for line in ("1,2,3,4,5,6,7,8,2", "1,2,3,4,5,6,7,8", "1 2,0")
    ),
    (*DETEXT, "1,2,3,4,5,6,7,8,0,DNA,tiny", "line 1: the difficulty must come last, and be of normal, small, "),
    (*DETEXT, '1,2,3,4,5,6,7,8,0,"DNA"', "line 1: the difficulty must come last, and be of normal, small, "),
    *((*ZIP, content, r"gt\.zip: not a zip archive that can be read: ") for content in DAMAGED),
    (*ZIP, archive({"gt_img_1.txt": LARGE}), r"gt\.zip: gt_img_1\.txt: above 16777216 bytes"),
    (*ZIP, archive({"gt_1.txt": b"no numbers"}), r"gt\.zip: 1: line 1: four or eight coordinates of at most"),
    (*CLIP, b'\xff\x00{"', r"c/label\.json: not in the layout of label.json"),
    (*CLIP, "[]", "Expected `object`"),
    (*CLIP, '{"0": {"centerline": []}}', "missing required field `attr_info`"),
    (*CLIP, '{"0": {"attr_info": {}}, "0": {"attr_info": {}}}', "the key '0' is duplicated in one object"),
    (*CLIP, '{"0": {"attr_info": {"a": NaN}}}', "NaN is not JSON"),
    (*CLIP, "[" * 100_000, "not in the layout of label.json"),
    (*CLIP, '{"0": {"attr_info": {"a": "\\ud800"}}}', "not in the layout of label.json"),
    (*CLIP, LARGE, "larger than 16 MiB"),
    *((*CLIP[:2], f"{folder}label.json", "{}", "is in no folder") for folder in ("", "./", "../", "s3://")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "role", "path", "content", "message"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_cannot_be_read_is_refused_by_file_and_place(
    name: str, role: str, path: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(UnreadableSource, match=message):
        convert(name, (role, path, content))


def test_a_sample_has_one_file_of_a_kind() -> None:
    for name, role, paths, content, message in [
        ("chart", "json", ("one/a.x", "two/a.y"), b"{}", r"'a' comes 2 times: one/a\.x \(json\), two/a\.y \(json\)"),
        ("chart", "images", ("one/a.x", "two/a.y"), PNG, r"'a' comes 2 times: one/a\.x \(images\), two/a\.y \(\w+\)"),
        (*TEXT[:2], ("a/gt_1.txt", "b/gt_1.txt"), b"", r"'1' comes 2 times: a/gt_1\.txt \(\w+\), b/gt_1\.txt"),
        (*CLIP[:2], ("a/c/label.json", "c.json"), b"{}", r"'c' comes 2 times: a/c/label\.json \(\w+\), c\.json"),
    ]:
        with pytest.raises(UnreadableSource, match=message):
            convert(name, *((role, path, content) for path in paths))
