"""Glyphs, rules and marks of DVI files, written here byte by byte."""

from __future__ import annotations

import struct

import pytest

from beamscore.metrics.formula.render import dvi
from beamscore.metrics.formula.render.dvi import Font, Ink, Page, UnreadableOutput, read_pages
from tests.metrics.formula.samples import inks_of

PREAMBLE = b"\xf7\x02" + struct.pack(">3i", 25400000, 473628672, 1000) + b"\x00"
# Character 65 is 1/2 of the size wide, 1/4 high and 1/8 deep; 66 leans 1/16 beyond its width besides.
HALF = {65: (1 << 19, 1 << 18, 1 << 17, 0), 66: (1 << 19, 1 << 18, 1 << 17, 1 << 16)}
# Defines and selects the font, at a size of 1024: 512 wide, 256 high, 128 deep.
FONT = b"\xf3\x00" + struct.pack(">3i", 0, 1024, 1024) + b"\x00\x04font" + b"\xab"


def page(body: bytes, number: int = 1) -> bytes:
    return b"\x8b" + struct.pack(">11i", number, *([0] * 9), -1) + body + b"\x8c"


def pages(data: bytes, marks_of_a_page: int = 0) -> list[Page]:
    return list(read_pages(PREAMBLE + data, lambda name: HALF, {}, marks_of_a_page))


def special(text: bytes) -> bytes:
    return b"\xef" + bytes([len(text)]) + text


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # Glyphs advance by their width, and ink reaches as far as a glyph leans.
        (FONT + b"BA", [Ink(-1, 0, -256, 512 + 64, 128, 0, 0, 66), Ink(-1, 512, -256, 1024, 128, 0, 0, 65)]),
        # One that is put advances nothing.
        (FONT + b"\x85AA", [Ink(-1, 0, -256, 512, 128, 0, 0, 65)] * 2),
        # A rule reaches up from its place, 5 to the right and 100 down.
        (b"\x8f\x05\x9f\x00\x00\x64\x89" + struct.pack(">2i", 30, 200), [Ink(-1, 5, 70, 205, 100, 100, -1, 0)]),
        # Pushed places come back.
        (FONT + b"\x8d\x8f\x0a\x8eA", [Ink(-1, 0, -256, 512, 128, 0, 0, 65)]),
    ],
)
def test_the_places_of_ink(body: bytes, expected: list[Ink]) -> None:
    assert [inks_of(each) for each in pages(page(body))] == [expected]


def test_marks_nest_and_an_empty_one_owns_nothing() -> None:
    body = FONT + special(b"7") + special(b"") + b"A" + special(b".") + b"A" + special(b".") + b"A"
    (only,) = pages(page(body))
    assert [ink.mark for ink in inks_of(only)] == [-1, 7, -1]
    assert only.marks == {7}
    assert only.balanced
    assert not pages(page(FONT + special(b"7") + b"A"))[0].balanced
    # Ink behind the mark of a second display is not of the formula.
    assert [pages(page(FONT + b"A" + special(b";") + more))[0].balanced for more in (b"", b"A")] == [True, False]


def test_marks_are_counted_from_those_of_their_page() -> None:
    data = page(FONT + special(b"207") + b"A" + special(b"."), number=2)
    assert [({*each.marks}, inks_of(each)[0].mark) for each in pages(data, 100)] == [({7}, 7)]
    assert [{*each.marks} for each in pages(data, 1000)] == [{207 - 2000}]


def test_a_page_that_is_cut_off_is_left_out_wherever_the_cut_is() -> None:
    first, second = page(FONT + b"A", 1), page(b"\xabA" + special(b"1"), 2)
    for length in range(len(first + second) + 1):
        found = [each.number for each in pages((first + second)[:length])]
        assert found == [1, 2][: (length >= len(first)) + (length == len(first + second))]


def test_a_page_with_too_much_ink_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dvi, "MAX_INKS", 2)
    assert len(inks_of(pages(page(FONT + b"\x8dAA\x8e"))[0])) == 2
    with pytest.raises(UnreadableOutput, match="more than 2 pieces"):
        pages(page(FONT + b"\x8dAAA\x8e"))


def test_metrics_at_a_size() -> None:
    fonts: dict[int, Font] = {}
    larger = FONT.replace(struct.pack(">3i", 0, 1024, 1024), struct.pack(">3i", 0, 2048, 2048))
    assert len(list(read_pages(PREAMBLE + page(larger), lambda _: HALF, fonts))) == 1
    assert fonts == {0: Font("font", 2048, {65: (1024, 512, 256, 0), 66: (1024, 512, 256, 128)})}
