"""ICDAR's and DeTEXT's text files become records."""

from __future__ import annotations

import contextlib
import io
import zipfile
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.converter import Part, UnreadableSource
from beamscore.metrics.figure_text.converter import FigureTextConverter, sample_id_of
from beamscore.metrics.figure_text.records import FigurePrediction, FigureTruth

CONVERTER = FigureTextConverter()
BOX: dict[str, Any] = {"box": [1, 2, 3, 4]}
SQUARE: dict[str, Any] = {"points": [[1, 2], [3, 4], [5, 6], [7, 8]]}


def regions(role: str, content: str | bytes) -> list[dict[str, Any]]:
    path = "gt_img_1.txt"
    [found] = CONVERTER.parts(role, path, io.BytesIO(content.encode() if isinstance(content, str) else content))
    assert not isinstance(found, UnreadableSource)
    [record] = CONVERTER.records(found[0], [Part(role, path, found[1])])
    msgspec.convert(record, FigureTruth if role in ("ground_truth", "detext") else FigurePrediction)
    read: list[dict[str, Any]] = record["regions"]
    return read


@pytest.mark.parametrize(
    ("path", "sample_id"),
    [
        *(("gt_img_1.txt", "img_1"), ("gs://bucket/results/res_img_1.txt", "img_1"), ("C:\\data\\img_1.TXT", "img_1")),
        *(("gt_gt_1.txt", "gt_1"), ("gt_.txt", "gt_"), ("100.5.txt", "100.5")),
    ],
)
def test_the_sample_is_called_as_the_file(path: str, sample_id: str) -> None:
    assert sample_id_of(path) == sample_id


def word(location: dict[str, Any], text: str, ignore: bool = False) -> dict[str, Any]:
    return {**location, "text": text, "ignore": ignore}


def labelled(orientation: str, text: str, *difficulty: str) -> dict[str, Any]:
    return {**word(SQUARE, text), "orientation": orientation, "difficulty": list(difficulty)}


@pytest.mark.parametrize(
    ("role", "line", "expected"),
    [
        ("ground_truth", "1,2,3,4,5,6,7,8,one, two", word(SQUARE, "one, two")),
        ("ground_truth", '1, 2, 3, 4, "Tiredness"', word(BOX, "Tiredness")),
        ("ground_truth", '1 2 3 4 "Foot path"', word(BOX, "Foot path")),
        ("ground_truth", '1,2,3,4,"a \\"b\\" \\\\ c"', word(BOX, 'a "b" \\ c')),
        ("ground_truth", '1,2,3,4,"', word(BOX, '"')),
        ("ground_truth", "1,2,3,4,2015", word(BOX, "2015")),
        ("ground_truth", "1,2,3,4,12 kDa", word(BOX, "12 kDa")),
        ("ground_truth", "-1.5,+2,3e1,.4,x", word({"box": [-1.5, 2, 30, 0.4]}, "x")),
        ("ground_truth", "1,2,3,4,,5", word(BOX, ",5")),
        ("ground_truth", "1,2,3,4", word(BOX, "")),
        ("ground_truth", '1,2,3,4,"###"', word(BOX, "###", ignore=True)),
        ("ground_truth", "1,2,3,4,#", word(BOX, "#")),
        # A byte order mark, a line end and blank lines.
        ("ground_truth", "\ufeff1,2,3,4,κ\r\n\r\n", word(BOX, "κ")),
        ("ground_truth", "1,2,3,4,b\x0c\n", word(BOX, "b")),
        ("detections", "1,2,3,4,5,6,7,8", SQUARE),
        ("detections", "1,2,3,4,5,6,7,8,0.93", {**SQUARE, "confidence": 0.93}),
        ("detections", "1 2 3 4 1e-3", {**BOX, "confidence": 0.001}),
        ("spotting", "1,2,3,4,0.93", {**BOX, "text": "0.93"}),
        ("detext", "1,2,3,4,5,6,7,8,0,DNA,short", labelled("horizontal", "DNA", "short")),
        ("detext", "1,2,3,4,5,6,7,8,1,a, b,small,blurry", labelled("oriented", "a, b", "small", "blurry")),
        ("detext", "1,2,3,4,5,6,7,8,1,a,small+short", labelled("oriented", "a", "small", "short")),
        ("detext", '1,2,3,4,5,6,7,8,0,"short, small",Normal', labelled("horizontal", "short, small", "normal")),
        ("detext", "1,2,3,4,5,6,7,8,0,small,small", labelled("horizontal", "small", "small")),
    ],
)
def test_a_line(role: str, line: str, expected: dict[str, Any]) -> None:
    assert regions(role, line) == [expected]


@pytest.mark.parametrize(
    ("role", "content", "message"),
    [
        ("ground_truth", "1,2,3,4,a\n1,2,3,b", "gt_img_1.txt: line 2: four or eight coordinates must come first"),
        (
            "ground_truth",
            "1,2,3,4,5,6,7,8,a\n1,2,3,4,5,6,x,8,b",
            "line 2: 4 coordinates, where the lines before have 8",
        ),
        ("ground_truth", "1,2,3,4,5,6,7,8,9,10,11,12,a", "line 1: numbers go on after eight coordinates"),
        ("ground_truth", "1,2,3,1e9,a", "line 1: a number of 1e9 is too large"),
        ("ground_truth", "1,2,3,1e999,a", "too large"),
        ("ground_truth", "nan,2,3,4,a", "line 1"),
        ("ground_truth", b"1,2,3,4,\xff", "not UTF-8 text at byte 8"),
        ("detections", "1,2,3,4,DNA", "role spotting reads text"),
        *(
            ("detext", f"1,2,3,4,5,6,7,8,{rest}", "line 1: ")
            for rest in ("2,DNA,short", "0,DNA", "0,DNA,tiny", '0,"DNA"', "x,DNA,short")
        ),
    ],
)
def test_other_lines_are_refused_with_file_and_line(role: str, content: str | bytes, message: str) -> None:
    with pytest.raises(UnreadableSource, match=message):
        regions(role, content)


def test_an_image_has_one_file_which_may_be_empty() -> None:
    assert regions("ground_truth", "") == []
    parts = [Part("ground_truth", "a/gt_1.txt", b""), Part("ground_truth", "b/gt_1.txt", b"")]
    with pytest.raises(UnreadableSource, match=r"2 files are of the image 1: a/gt_1\.txt, b/gt_1\.txt"):
        list(CONVERTER.records("1", parts))


@given(st.sampled_from(list(FigureTextConverter.roles)), st.one_of(st.binary(), st.text('0123456789,. -e"#a\n')))
def test_any_file_is_read_or_refused(role: str, content: str | bytes) -> None:
    with contextlib.suppress(UnreadableSource):
        regions(role, content)


def archive(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return stream.getvalue()


def archived(content: bytes, role: str = "ground_truth") -> list[Any]:
    return list(CONVERTER.parts(role, "gt.zip", io.BytesIO(content)))


def test_the_files_of_an_archive_are_read_like_files_of_a_folder() -> None:
    """Made by hand to the layout of ICDAR 2015: eight coordinates and the text, `###` where it cannot be read."""
    line = "377,117,463,117,465,130,378,130,Genaxis Theatre\r\n493,115,519,115,519,131,493,131,###\r\n"
    made = archive({"gt/": b"", "gt/gt_img_1.txt": f"\ufeff{line}".encode(), "__MACOSX/._gt_img_1.txt": b"\0"})
    [(key, content)] = archived(made)
    assert key == "img_1"
    [record] = CONVERTER.records(key, [Part("ground_truth", "gt.zip", content)])
    assert record["regions"] == regions("ground_truth", line)
    with pytest.raises(UnreadableSource, match=r"gt\.zip: img_1: line 1: four or eight coordinates must come first"):
        list(CONVERTER.records(key, [Part("ground_truth", "gt.zip", b"no numbers")]))
    good, refused = archived(archive({"res_img_2.txt": b"", "res_img_2.png": b""}))
    assert good == ("img_2", b"")
    assert str(refused) == "gt.zip: res_img_2.png: expected text files, such as gt_img_1.txt"


WHOLE = archive({"gt_img_1.txt": b"1,2,3,4,text\n" * 100})
MIDDLE = WHOLE.index(b"gt_img_1.txt") + len("gt_img_1.txt") + 8


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *(
            (content, "not a zip archive that can be read: ")
            for content in (b"no archive", WHOLE[:-30], WHOLE[:MIDDLE] + b"\xff" * 8 + WHOLE[MIDDLE + 8 :])
        ),
        (archive({"gt_img_1.txt": b" " * (16 * 1024 * 1024 + 1)}), r"gt_img_1\.txt: above 16777216 bytes"),
    ],
)
def test_a_damaged_or_too_large_archive_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(UnreadableSource, match=rf"gt\.zip: {message}"):
        archived(content)
