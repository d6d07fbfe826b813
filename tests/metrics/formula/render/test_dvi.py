from __future__ import annotations

import struct

from beamscore.metrics.formula.render.dvi import Font, Ink, Page, read_pages
from tests.metrics.formula.helpers import inks_of

PREAMBLE = b"\xf7\x02" + struct.pack(">3i", 25400000, 473628672, 1000) + b"\x00"
# Character 65 is 1/2 of the size wide, 1/4 high and 1/8 deep; 66 leans 1/16 beyond its width besides.
HALF = {65: (1 << 19, 1 << 18, 1 << 17, 0), 66: (1 << 19, 1 << 18, 1 << 17, 1 << 16)}


def page(body: bytes, number: int = 1) -> bytes:
    return b"\x8b" + struct.pack(">11i", number, *([0] * 9), -1) + body + b"\x8c"


def pages(data: bytes) -> list[Page]:
    return list(read_pages(data, lambda name: HALF, {}))


FONT = b"\xf3\x00" + struct.pack(">3i", 0, 1024, 1024) + b"\x00\x04font" + b"\xab"


def special(text: bytes) -> bytes:
    return b"\xef" + bytes([len(text)]) + text


def test_glyphs_advance_and_stand_under_their_marks() -> None:
    body = FONT + special(b"7") + b"AA" + special(b".") + b"A"
    (only,) = pages(PREAMBLE + page(body))
    # 1024 units: 512 wide, 256 high, 128 deep.
    assert inks_of(only) == [
        Ink(7, 0, -256, 512, 128, 0, 0, 65),
        Ink(7, 512, -256, 1024, 128, 0, 0, 65),
        Ink(-1, 1024, -256, 1536, 128, 0, 0, 65),
    ]


def test_marks_nest_and_an_empty_one_owns_nothing() -> None:
    body = FONT + special(b"1") + special(b"") + b"A" + special(b".") + b"A" + special(b".") + b"A"
    (only,) = pages(PREAMBLE + page(body))
    assert [ink.mark for ink in inks_of(only)] == [-1, 1, -1]


def test_a_rule_reaches_up_from_its_place() -> None:
    rule = b"\x89" + struct.pack(">2i", 30, 200)
    (only,) = pages(PREAMBLE + page(b"\x8f\x05" + b"\x9f" + struct.pack(">3b", 0, 0, 100) + rule))
    assert inks_of(only) == [Ink(-1, 5, 70, 205, 100, 100, -1, 0)]


def test_pushed_places_come_back() -> None:
    (only,) = pages(PREAMBLE + page(FONT + b"\x8d\x8f\x0a" + b"A" + b"\x8e" + b"A"))
    assert [ink.left for ink in inks_of(only)] == [10, 0]


def test_a_page_that_is_cut_off_is_left_out() -> None:
    data = PREAMBLE + page(FONT + b"A", 1) + page(b"\xabA", 2)
    assert [found.number for found in pages(data)] == [1, 2]
    assert [found.number for found in pages(data[:-2])] == [1]


def test_metrics_at_a_size() -> None:
    fonts: dict[int, Font] = {}
    size = struct.pack(">3i", 0, 2048, 2048)
    assert (
        len(
            list(
                read_pages(
                    PREAMBLE + page(FONT.replace(struct.pack(">3i", 0, 1024, 1024), size)), lambda _: HALF, fonts
                )
            )
        )
        == 1
    )
    assert fonts == {0: Font("font", 2048, {65: (1024, 512, 256, 0), 66: (1024, 512, 256, 128)})}


def test_marks_are_counted_from_those_of_their_page() -> None:
    data = PREAMBLE + page(FONT + special(b"207") + b"A" + special(b"."), number=2)
    (only,) = read_pages(data, lambda _: HALF, {}, marks_of_a_page=100)
    assert only.marks == {7}
    assert only.balanced
    assert inks_of(only)[0].mark == 7
    (foreign,) = read_pages(data, lambda _: HALF, {}, marks_of_a_page=1000)
    assert foreign.marks == {207 - 2000}


def test_ink_reaches_as_far_as_a_glyph_leans_and_the_next_starts_at_its_width() -> None:
    ((_, (leaning, following)),) = [(one.number, inks_of(one)) for one in pages(PREAMBLE + page(FONT + b"\x42\x41"))]
    # At a size of 1024: 512 wide, 64 beyond.
    assert (leaning.left, leaning.right) == (0, 512 + 64)
    assert (following.left, following.right) == (512, 1024)
