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


def regions(role: str, content: Any) -> list[dict[str, Any]]:
    path = "gt_img_1.txt"
    [found] = CONVERTER.parts(role, path, io.BytesIO(content.encode() if isinstance(content, str) else content))
    assert not isinstance(found, UnreadableSource)
    [record] = CONVERTER.records(found[0], [Part(role, path, found[1])])
    msgspec.convert(record, FigureTruth if role in ("ground_truth", "detext") else FigurePrediction)
    read: list[dict[str, Any]] = record["regions"]
    return read


def test_the_sample_is_called_as_the_file() -> None:
    for path in ("gt_img_1.txt", "gs://bucket/results/res_img_1.txt", "C:\\data\\img_1.TXT"):
        assert sample_id_of(path) == "img_1"
    assert [sample_id_of(path) for path in ("gt_gt_1.txt", "gt_.txt", "100.5.txt")] == ["gt_1", "gt_", "100.5"]


def word(location: dict[str, Any], text: str, ignore: bool = False) -> dict[str, Any]:
    return {**location, "text": text, "ignore": ignore}


def labelled(orientation: str, text: str, *difficulty: str) -> dict[str, Any]:
    return {**word(SQUARE, text), "orientation": orientation, "difficulty": list(difficulty)}


def test_a_line() -> None:
    for role, line, expected in (
        ("ground_truth", "1,2,3,4,5,6,7,8,one, two", word(SQUARE, "one, two")),
        ("ground_truth", '1, 2, 3, 4, "Tiredness"', word(BOX, "Tiredness")),
        ("ground_truth", '1 2 3 4 "Foot path"', word(BOX, "Foot path")),
        ("ground_truth", '1,2,3,4,"a \\"b\\" \\\\ c"', word(BOX, 'a "b" \\ c')),
        ("ground_truth", '1,2,3,4,"', word(BOX, '"')),
        ("ground_truth", '1,2,3,4,12"', word(BOX, '12"')),
        ("ground_truth", "1,2,3,4,2015", word(BOX, "2015")),
        ("ground_truth", "-1.5,+2,3e1,.4,x", word({"box": [-1.5, 2, 30, 0.4]}, "x")),
        ("ground_truth", "1,2,3,4,,5", word(BOX, ",5")),
        ("ground_truth", "1,2,3,4", word(BOX, "")),
        ("ground_truth", '1,2,3,4,"###"', word(BOX, "###", ignore=True)),
        ("ground_truth", "1,2,3,4,#", word(BOX, "#")),
        ("ground_truth", "1,2,3,4,5551234567", word(BOX, "5551234567")),
        # Lines that took minutes.
        *(
            ("ground_truth", f"1,2,3,4,{text}", word(BOX, text))
            for text in ("1" * 400_000 + "x", "1," * 3 + "1" * 400_000)
        ),
        ("ground_truth", "1,2,3,4,5,6,7,8," + "1," * 200_000, word(SQUARE, "1," * 200_000)),
        # A byte order mark, a line end and blank lines.
        ("ground_truth", "\ufeff1,2,3,4,κ\r\n\r\n", word(BOX, "κ")),
        ("ground_truth", "1,2,3,4,b\x0c\n", word(BOX, "b")),
        ("detections", "1,2,3,4,5,6,7,8", SQUARE),
        ("detections", "1,2,3,4,5,6,7,8,0.93", {**SQUARE, "confidence": 0.93}),
        ("detections", "1 2 3 4 1e-3", {**BOX, "confidence": 0.001}),
        ("spotting", "1,2,3,4,0.93", {**BOX, "text": "0.93"}),
        ("detext", "1,2,3,4,5,6,7,8,0,DNA,short", labelled("horizontal", "DNA", "short")),
        ("detext", "1,2,3,4,5,6,7,8,1,a, b,small,color+Short", labelled("oriented", "a, b", "small", "color", "short")),
        ("detext", '1,2,3,4,5,6,7,8,0,"short, small",Normal', labelled("horizontal", "short, small", "normal")),
        ("detext", "1,2,3,4,5,6,7,8,0,small,small", labelled("horizontal", "small", "small")),
    ):
        assert regions(role, line) == [expected], line


def test_other_lines_are_refused_with_file_and_line() -> None:
    for role, content, message in (
        ("ground_truth", "1,2,3,4,a\n1,2,3,b", "gt_img_1.txt: line 2: four or eight coordinates of at most"),
        ("ground_truth", "1,2,3,4,5,6,7,8,a\n1,2,3,4,b", "line 2: 4 coordinates, where the lines before have 8"),
        ("ground_truth", "1,2,3,4,5,6,7,8,9,10,11,12,a", "line 1: numbers go on after eight coordinates"),
        ("ground_truth", "1,2,3,1e9,a", "line 1: four or eight coordinates of at most 10000000 must come first"),
        ("ground_truth", b"1,2,3,4,\xff", "not UTF-8 text at byte 8"),
        ("detections", "1,2,3,4,DNA", "role spotting reads text"),
        ("detext", "1,2,3,4,5,6,7,8,2,DNA,short", "line 1: eight coordinates and an orientation of 0 or 1 must"),
        ("detext", "1,2,3,4,5,6,7,8,0,DNA,tiny", "line 1: the difficulty must come last, and be of normal, small, "),
        ("detext", '1,2,3,4,5,6,7,8,0,"DNA"', "line 1: the difficulty must be of normal, small, "),
    ):
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


def archive(files: dict[str, bytes], offset: int = 0) -> bytes:
    """A zip archive; offset: where its directory says that each file begins."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
            made.getinfo(name).header_offset += offset
    return stream.getvalue()


def archived(content: bytes) -> list[Any]:
    return list(CONVERTER.parts("ground_truth", "gt.zip", io.BytesIO(content)))


def test_the_files_of_an_archive_are_read_like_files_of_a_folder() -> None:
    """Made by hand to the layout of ICDAR 2015: eight coordinates and the text, `###` where it cannot be read."""
    line = "377,117,463,117,465,130,378,130,Genaxis Theatre\r\n493,115,519,115,519,131,493,131,###\r\n"
    files = {"gt/": b"", "gt/gt_img_1.txt": f"\ufeff{line}".encode(), "__MACOSX/._gt_img_1.txt": b"\0", "a.png": b""}
    [(key, content), refused] = archived(archive(files))
    [record] = CONVERTER.records(key, [Part("ground_truth", "gt.zip", content)])
    assert record == {"sample_id": "img_1", "regions": regions("ground_truth", line)}
    assert str(refused) == "gt.zip: a.png: expected text files, such as gt_img_1.txt"
    with pytest.raises(UnreadableSource, match=r"gt\.zip: img_1: line 1: four or eight coordinates of at most"):
        list(CONVERTER.records(key, [Part("ground_truth", "gt.zip", b"no numbers")]))


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


def test_a_damaged_or_too_large_archive_is_refused() -> None:
    for content in DAMAGED:
        with pytest.raises(UnreadableSource, match=r"gt\.zip: not a zip archive that can be read: "):
            archived(content)
    with pytest.raises(UnreadableSource, match=r"gt\.zip: gt_img_1\.txt: above 16777216 bytes"):
        archived(archive({"gt_img_1.txt": b" " * (16 * 1024 * 1024 + 1)}))
