"""Reads the output of TeX: glyphs and rules with their positions from DVI files, and glyph sizes from TFM files.

Formats: D. Fuchs, "The format of TeX's DVI files" and "TeX font metric files", TUGboat 3(2) and 2(1). Only the marks of
metrics.formula.latex.token_markup are read from \\special; a page truncated by the end of the file is omitted.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

POINTS_PER_INCH = 72.27
UNITS_PER_POINT = 65536

MAX_INKS = 200_000
"""A page with more pieces of ink is rejected; the longest formulas have a few thousand."""

NO_MARK = -1
_RULE = -1

Glyph = tuple[int, int, int, int]
"""Width, height, depth and italic correction: how far a slanted glyph extends beyond its width."""
Metrics = dict[int, Glyph]
"""The glyphs of a font by character code, in units of 2**-20 of the font size."""


class UnreadableOutput(Exception):
    """A page with too much ink."""


class Ink(NamedTuple):
    """A glyph or a rule: its mark (-1: none), its box in scaled points (y down), its font number (-1: a rule)."""

    mark: int
    left: int
    top: int
    right: int
    bottom: int
    baseline: int
    font: int
    character: int


@dataclass(frozen=True, slots=True)
class Page:
    """One page: TeX's \\count0 and the ink in file order.

    cells: the fields of all Ink, flattened. marks: the marks opened on the page. balanced: whether all marks were
    closed on it, it has no other \\special, and no ink follows the start of a second display.
    """

    number: int
    cells: array[int] = field(default_factory=lambda: array("q"))
    marks: frozenset[int] = frozenset()
    balanced: bool = True

    @property
    def table(self) -> NDArray[np.int64]:
        """The ink [N, 8], with the fields of Ink as columns; read-only."""
        return np.frombuffer(bytes(self.cells), dtype=np.int64).reshape(-1, len(Ink._fields))


@dataclass(frozen=True, slots=True)
class Font:
    """A font: its name, its size in scaled points, and its glyphs at that size by character."""

    name: str
    size: int
    glyphs: dict[int, Glyph]


def read_metrics(data: bytes) -> Metrics:
    """Returns the glyph sizes in a TFM file."""
    header, first, last, *counts = struct.unpack_from(">7h", data, 2)
    info = 24 + 4 * header
    at = info + 4 * (last - first + 1)
    tables = []
    for count in counts:
        tables.append(struct.unpack_from(f">{count}i", data, at))
        at += 4 * count
    wide, high, deep, over = tables
    glyphs = {}
    for code in range(first, last + 1):
        width, height_depth, overhang = data[info], data[info + 1], data[info + 2] >> 2
        if width:
            glyphs[code] = (wide[width], high[height_depth >> 4], deep[height_depth & 15], over[overhang])
        info += 4
    return glyphs


def read_pages(
    data: bytes, metrics: Callable[[str], Metrics], fonts: dict[int, Font], marks_of_a_page: int
) -> Iterator[Page]:
    """Yields the complete pages of a DVI file, and adds the fonts that it defines to `fonts`, by number.

    The marks of page n start at n times `marks_of_a_page`.

    Raises UnreadableOutput if a page has too much ink.
    """
    try:
        at = 15 + data[14]
        while (code := data[at]) != 248:  # post
            at += 1
            if code == 139:  # bop
                page, at = _page(data, at, marks_of_a_page, metrics, fonts)
                yield page
            elif 243 <= code <= 246:  # fnt_def1 to fnt_def4
                at = _define(data, at, code - 242, metrics, fonts)
    except IndexError:
        return


def _define(data: bytes, at: int, size: int, metrics: Callable[[str], Metrics], fonts: dict[int, Font]) -> int:
    """Reads a font definition with a font number of `size` bytes; returns the offset of its end."""
    number, scale = (int.from_bytes(data[i:j], "big") for i, j in ((at, at + size), (at + size + 4, at + size + 8)))
    start = at + size + 14
    end = start + data[start - 2] + data[start - 1]
    if number not in fonts:
        name = data[start:end].decode("ascii", "replace")
        glyphs = {
            code: (w * scale >> 20, h * scale >> 20, d * scale >> 20, o * scale >> 20)
            for code, (w, h, d, o) in metrics(name).items()
        }
        fonts[number] = Font(name, scale, glyphs)
    return end


def _page(
    data: bytes, at: int, marks_of_a_page: int, metrics: Callable[[str], Metrics], fonts: dict[int, Font]
) -> tuple[Page, int]:
    """Reads a page whose header starts at offset `at`; returns it and the offset of its end.

    One loop over local variables, since it runs for each command; the most frequent commands are tested first.
    """
    cells = array("q")
    add = cells.extend
    signed = int.from_bytes
    number = signed(data[at : at + 4], "big", signed=True)
    first_mark = number * marks_of_a_page
    at += 44
    opened: set[int] = set()
    marks: list[int] = []
    ends: list[int] = []
    mark = NO_MARK
    balanced = True
    h = v = 0
    moves = dict.fromkeys("rwxdyz", 0)
    stack: list[tuple[int, int, dict[str, int]]] = []
    glyphs: dict[int, Glyph] = {}
    font = 0
    while True:
        code = data[at]
        at += 1
        if code < 128 or code in (128, 133):  # set_char, set1, put1
            character = code
            if code >= 128:
                character = data[at]
                at += 1
            size = glyphs.get(character)
            if size:
                width, height, depth, overhang = size
                add((mark, h, v - height, h + width + overhang, v + depth, v, font, character))
                if code != 133:  # put1
                    h += width
        elif code == 239:  # xxx1
            length = data[at]
            text = data[at + 1 : at + 1 + length]
            at += 1 + length
            if text.isdigit():
                marks.append(mark)
                mark = int(text) - first_mark
                opened.add(mark)
            elif not text:
                marks.append(mark)
                mark = NO_MARK
            elif text == b"." and marks:
                mark = marks.pop()
            elif text == b";":
                ends.append(len(cells))
            else:
                balanced = False
        elif code == 141:  # push
            stack.append((h, v, moves.copy()))
        elif code == 142:  # pop
            h, v, moves = stack.pop()
            if len(cells) > MAX_INKS * len(Ink._fields):
                raise UnreadableOutput(f"a page has more than {MAX_INKS} pieces of ink")
        elif 171 <= code <= 234:  # fnt_num
            font = code - 171
            glyphs = fonts[font].glyphs
        elif 143 <= code <= 170:  # right, w, x, down, y, z
            kind, length = _MOVES[code]
            if length:
                moves[kind] = signed(data[at : at + length], "big", signed=True)
                at += length
            if kind in "rwx":
                h += moves[kind]
            else:
                v += moves[kind]
        elif code in (132, 137):  # set_rule, put_rule
            height = signed(data[at : at + 4], "big", signed=True)
            width = signed(data[at + 4 : at + 8], "big", signed=True)
            at += 8
            if height > 0 and width > 0:
                add((mark, h, v - height, h + width, v, v, _RULE, 0))
            if code == 132:  # set_rule
                h += width
        elif code == 140:  # eop
            balanced = balanced and not marks and (not ends or ends[0] == len(cells))
            return Page(number, cells, frozenset(opened), balanced), at
        elif 235 <= code <= 238:  # fnt1 to fnt4
            length = code - 234
            font = signed(data[at : at + length], "big")
            at += length
            glyphs = fonts[font].glyphs
        elif 240 <= code <= 242:  # xxx2 to xxx4
            balanced = False
            length = code - 238
            at += length + signed(data[at : at + length], "big")
        elif 243 <= code <= 246:  # fnt_def1 to fnt_def4
            at = _define(data, at, code - 242, metrics, fonts)


_MOVES = {
    first + length: (kind, length)
    for kind, first, shortest in zip("rwxdyz", (142, 147, 152, 156, 161, 166), (1, 0, 0, 1, 0, 0), strict=True)
    for length in range(shortest, 5)
}
"""The kind of movement by command code, and the bytes of its length; 0 bytes: repeats the last of its kind."""
