"""ICDAR's and DeTEXT's text files become records."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.converter import Part, UnreadableSource
from beamscore.metrics.figure_text.converter import FigureTextConverter, sample_id_of
from beamscore.metrics.figure_text.records import FigurePrediction, FigureTruth

CONVERTER = FigureTextConverter()
SQUARE = [[1, 2], [3, 4], [5, 6], [7, 8]]


def regions(role: str, content: str | bytes, path: str = "gt_img_1.txt") -> list[dict[str, Any]]:
    stream = io.BytesIO(content.encode() if isinstance(content, str) else content)
    [found] = CONVERTER.parts(role, path, stream)
    assert not isinstance(found, UnreadableSource)
    key, kept = found
    [record] = CONVERTER.records(key, [Part(role, path, kept)])
    msgspec.convert(record, FigureTruth if role in ("ground_truth", "detext") else FigurePrediction)
    read: list[dict[str, Any]] = record["regions"]
    return read


@pytest.mark.parametrize(
    ("path", "sample_id"),
    [
        ("gt_img_1.txt", "img_1"),
        ("gs://bucket/results/res_img_1.txt", "img_1"),
        ("C:\\data\\img_1.TXT", "img_1"),
        ("gt_gt_1.txt", "gt_1"),
        ("gt_.txt", "gt_"),
        ("100.5.txt", "100.5"),
    ],
)
def test_the_sample_is_called_as_the_file(path: str, sample_id: str) -> None:
    assert sample_id_of(path) == sample_id


class TestGroundTruth:
    @pytest.mark.parametrize(
        ("line", "location", "text"),
        [
            ("1,2,3,4,5,6,7,8,Genaxis Theatre", {"points": SQUARE}, "Genaxis Theatre"),
            ("1,2,3,4,5,6,7,8,one, two", {"points": SQUARE}, "one, two"),
            ("38, 43, 920, 215, \"Tiredness\"", {"box": [38, 43, 920, 215]}, "Tiredness"),
            ("158 128 411 181 \"Foot path\"", {"box": [158, 128, 411, 181]}, "Foot path"),
            ('1,2,3,4,"a \\"b\\" \\\\ c"', {"box": [1, 2, 3, 4]}, 'a "b" \\ c'),
            ('1,2,3,4,"', {"box": [1, 2, 3, 4]}, '"'),
            ("1,2,3,4,2015", {"box": [1, 2, 3, 4]}, "2015"),
            ("1,2,3,4,12 kDa", {"box": [1, 2, 3, 4]}, "12 kDa"),
            ("-1.5,+2,3e1,.4,x", {"box": [-1.5, 2, 30, 0.4]}, "x"),
            ("1,2,3,4,,5", {"box": [1, 2, 3, 4]}, ",5"),
            ("1,2,3,4", {"box": [1, 2, 3, 4]}, ""),
        ],
    )  # fmt: skip
    def test_a_line(self, line: str, location: dict[str, Any], text: str) -> None:
        assert regions("ground_truth", line) == [{**location, "text": text, "ignore": False}]

    def test_three_hashes_are_a_dont_care_region(self) -> None:
        assert [region["ignore"] for region in regions("ground_truth", '1,2,3,4,###\n1,2,3,4,"###"\n1,2,3,4,#')] == [
            True,
            True,
            False,
        ]

    def test_byte_order_mark_line_ends_and_blank_lines(self) -> None:
        content = b"\xef\xbb\xbf1,2,3,4,\xce\xba\r\n\r\n5,6,7,8,b\x0c\n"
        assert [region["text"] for region in regions("ground_truth", content)] == ["κ", "b"]

    def test_an_empty_file_is_an_image_without_text(self) -> None:
        assert regions("ground_truth", "") == []


class TestDetections:
    def test_with_and_without_a_confidence(self) -> None:
        assert regions("detections", "1,2,3,4,5,6,7,8\n1,2,3,4,5,6,7,8,0.93") == [
            {"points": SQUARE},
            {"points": SQUARE, "confidence": 0.93},
        ]
        assert regions("detections", "1 2 3 4 1e-3") == [{"box": [1, 2, 3, 4], "confidence": 0.001}]

    def test_text_belongs_to_another_role(self) -> None:
        with pytest.raises(UnreadableSource, match="role spotting reads text"):
            regions("detections", "1,2,3,4,DNA")
        assert regions("spotting", "1,2,3,4,DNA") == [{"box": [1, 2, 3, 4], "text": "DNA"}]
        assert regions("spotting", "1,2,3,4,0.93") == [{"box": [1, 2, 3, 4], "text": "0.93"}]


class TestDetext:
    @pytest.mark.parametrize(
        ("rest", "orientation", "text", "difficulty"),
        [
            ("0,DNA,short", "horizontal", "DNA", ["short"]),
            ("1,a, b,small,blurry", "oriented", "a, b", ["small", "blurry"]),
            ("1,a,small+complex_background", "oriented", "a", ["small", "complex_background"]),
            ('0,"short, small",Normal', "horizontal", "short, small", ["normal"]),
            ("0,small,small", "horizontal", "small", ["small"]),
        ],
    )
    def test_a_line(self, rest: str, orientation: str, text: str, difficulty: list[str]) -> None:
        assert regions("detext", f"1,2,3,4,5,6,7,8,{rest}") == [
            {
                "points": SQUARE,
                "orientation": orientation,
                "text": text,
                "ignore": False,
                "difficulty": difficulty,
            }
        ]

    @pytest.mark.parametrize("rest", ["2,DNA,short", "0,DNA", "0,DNA,tiny", '0,"DNA"', "x,DNA,short"])
    def test_other_lines_are_refused(self, rest: str) -> None:
        with pytest.raises(UnreadableSource, match="line 1: "):
            regions("detext", f"1,2,3,4,5,6,7,8,{rest}")


class TestUnreadable:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("1,2,3,4,a\n1,2,3,b", "gt_img_1.txt: line 2: four or eight coordinates must come first"),
            ("1,2,3,4,5,6,7,8,a\n1,2,3,4,5,6,x,8,b", "line 2: 4 coordinates, where the lines before have 8"),
            ("1,2,3,1e9,a", "line 1: a number of 1e9 is too large"),
            ("1,2,3,1e999,a", "too large"),
            ("nan,2,3,4,a", "line 1"),
            (b"1,2,3,4,\xff", "not UTF-8 text at byte 8"),
        ],
    )
    def test_the_message_names_file_and_line(self, content: str | bytes, message: str) -> None:
        with pytest.raises(UnreadableSource, match=message):
            regions("ground_truth", content)

    def test_two_files_of_one_image(self) -> None:
        parts = [Part("ground_truth", "a/gt_1.txt", b""), Part("ground_truth", "b/gt_1.txt", b"")]
        with pytest.raises(UnreadableSource, match=r"2 files are of the image 1: a/gt_1\.txt, b/gt_1\.txt"):
            list(CONVERTER.records("1", parts))

    @settings(max_examples=200, deadline=None)
    @given(st.sampled_from(list(FigureTextConverter.roles)), st.one_of(st.binary(), st.text('0123456789,. -e"#a\n')))
    def test_any_file_is_read_or_refused(self, role: str, content: str | bytes) -> None:
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
    assert [(each["text"], each["ignore"]) for each in record["regions"]] == [("Genaxis Theatre", False), ("###", True)]
    with pytest.raises(UnreadableSource, match=r"gt\.zip: img_1: line 1: four or eight coordinates must come first"):
        list(CONVERTER.records(key, [Part("ground_truth", "gt.zip", b"no numbers")]))


def test_what_is_no_text_file_in_an_archive_is_told() -> None:
    good, refused = archived(archive({"res_img_2.txt": b"", "res_img_2.png": b""}))
    assert good == ("img_2", b"")
    assert str(refused) == "gt.zip: res_img_2.png: expected text files, such as gt_img_1.txt"


@pytest.mark.parametrize("damage", [lambda made: b"no archive", lambda made: made[:-30], lambda made: spoilt(made)])
def test_a_damaged_archive_is_refused(damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(UnreadableSource, match=r"gt\.zip: not a zip archive that can be read: "):
        archived(damage(archive({"gt_img_1.txt": b"1,2,3,4,text\n" * 100})))


def spoilt(made: bytes) -> bytes:
    """Returns an archive with other bytes in the middle of its only file."""
    middle = made.index(b"gt_img_1.txt") + len("gt_img_1.txt") + 8
    return made[:middle] + b"\xff" * 8 + made[middle + 8 :]


def test_a_file_of_an_archive_may_be_no_larger_than_others() -> None:
    with pytest.raises(UnreadableSource, match=r"gt\.zip: gt_img_1\.txt: above 16777216 bytes"):
        archived(archive({"gt_img_1.txt": b" " * (16 * 1024 * 1024 + 1)}))
