"""Glyphs, rules and marks of DVI files, written here byte by byte."""

from __future__ import annotations

import struct

import pytest

from beamscore.metrics.formula.render import dvi
from beamscore.metrics.formula.render.dvi import Font, Ink, Page, UnreadableOutput, read_metrics, read_pages
from tests.metrics.formula.samples import inks_of

PREAMBLE = b"\xf7\x02" + struct.pack(">3i", 25400000, 473628672, 1000) + b"\x00"
# Character 65 is 1/2 of the size wide, 1/4 high and 1/8 deep; 66 leans 1/16 beyond its width besides.
HALF = {65: (1 << 19, 1 << 18, 1 << 17, 0), 66: (1 << 19, 1 << 18, 1 << 17, 1 << 16)}
# Defines and selects the font, at a size of 1024: 512 wide, 256 high, 128 deep.
FONT = b"\xf3\x00" + struct.pack(">3i", 0, 1024, 1024) + b"\x00\x04font" + b"\xab"
OPEN, EMPTY, CLOSE, AGAIN = b"\xef\x017", b"\xef\x00", b"\xef\x01.", b"\xef\x01;"


def page(body: bytes, number: int = 1) -> bytes:
    return b"\x8b" + struct.pack(">11i", number, *([0] * 9), -1) + body + b"\x8c"


def pages(data: bytes, fonts: dict[int, Font] | None = None) -> list[Page]:
    return list(read_pages(PREAMBLE + data, lambda name: HALF, {} if fonts is None else fonts))


def test_the_sizes_of_the_glyphs_of_a_font() -> None:
    """A TFM file of the characters 64, which is not there, 65 and 66: each names its places in four tables."""
    counts = struct.pack(">12h", 0, 2, 64, 66, 2, 2, 2, 2, 0, 0, 0, 0)
    characters = bytes([0, 0, 0, 0, 1, 1 << 4 | 1, 0, 0, 1, 1 << 4 | 1, 1 << 2, 0])
    tables = struct.pack(">8i", 0, 1 << 19, 0, 1 << 18, 0, 1 << 17, 0, 1 << 16)
    assert read_metrics(counts + bytes(8) + characters + tables) == HALF


PLACES = [
    # Glyphs advance by their width, and ink reaches as far as a glyph leans.
    (FONT + b"BA", [Ink(-1, 0, -256, 512 + 64, 128, 0, 0, 66), Ink(-1, 512, -256, 1024, 128, 0, 0, 65)]),
    # One that is put advances nothing; one that the font lacks is nothing.
    (FONT + b"\x85A\x80A\x80C", [Ink(-1, 0, -256, 512, 128, 0, 0, 65)] * 2),
    # A rule reaches up from its place, 5 to the right and 100 down. One that is put advances nothing, one without
    # height is none.
    (
        b"\x8f\x05\x9f\x00\x00\x64"
        + b"".join(bytes([code]) + struct.pack(">2i", *size) for code, *size in
                   ((137, 30, 200), (132, 30, 200), (132, 0, 7), (137, 30, 200), (137, 1, 0))),
        [Ink(-1, left, 70, left + 200, 100, 100, -1, 0) for left in (5, 5, 212)],
    ),
    # Pushed places come back, and so do the movements: w, which is repeated, and 132 down.
    (
        FONT + b"\x8f\x0a\x94\x14\x8d\x8f\x01\x94\x02\x9e\x00\x84A\x8e\x93A",
        [Ink(-1, 33, 132 - 256, 545, 132 + 128, 132, 0, 65), Ink(-1, 50, -256, 562, 128, 0, 0, 65)],
    ),
    # Numbers are signed; y is repeated, and a font may have a longer number.
    (
        b"\xf4\x01\x00" + FONT[2:-1] + b"\xec\x01\x00" + b"\xa3\xff\xf0\xa1\x92\xff\xff\xff\xfeA",
        [Ink(-1, -2, -32 - 256, 510, -32 + 128, -32, 256, 65)],
    ),
]  # fmt: skip


def test_the_places_of_ink() -> None:
    for body, expected in PLACES:
        assert [inks_of(each) for each in pages(page(body))] == [expected]


OWNERS = {
    # Marks nest, and an empty one owns nothing.
    OPEN + EMPTY + b"A" + CLOSE + b"A" + CLOSE + b"A": ([-1, 7, -1], True),
    OPEN + b"A": ([7], False),
    b"A" + CLOSE: ([-1], False),
    # Ink behind the mark of a second display is not of the formula.
    b"A" + AGAIN: ([-1], True),
    AGAIN + b"A": ([-1], False),
}


def test_whose_ink_is_whose() -> None:
    for body, expected in OWNERS.items():
        (only,) = pages(page(FONT + body))
        assert ([ink.mark for ink in inks_of(only)], only.balanced) == expected
        assert only.marks == ({7} if OPEN in body else set())


def test_a_page_that_is_cut_off_is_left_out_wherever_the_cut_is() -> None:
    both = (first := page(FONT + b"A", 1)) + page(b"\xabA" + OPEN, 2)
    for length in range(len(both) + 1):
        numbers = [each.number for each in pages(both[:length])]
        assert numbers == [1, 2][: (length >= len(first)) + (length == len(both))]


def test_a_page_with_too_much_ink_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dvi, "MAX_INKS", 2)
    assert len(inks_of(pages(page(FONT + b"\x8dAA\x8e"))[0])) == 2
    with pytest.raises(UnreadableOutput, match="more than 2 pieces"):
        pages(page(FONT + b"\x8dAAA\x8e"))


def test_a_font_is_read_once_and_at_its_size() -> None:
    fonts: dict[int, Font] = {}
    larger = FONT.replace(struct.pack(">3i", 0, 1024, 1024), struct.pack(">3i", 0, 2048, 2048)).replace(
        b"\x00\x04", b"\x01\x03"
    )
    assert len(pages(page(larger) + page(FONT), fonts)) == 2
    assert fonts == {0: Font("font", 2048, {65: (1024, 512, 256, 0), 66: (1024, 512, 256, 128)})}
