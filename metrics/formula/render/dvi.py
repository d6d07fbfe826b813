"""Reads what TeX wrote: glyphs and rules with their places, from DVI, and glyph sizes from TFM.

Formats: D. Fuchs, "The format of TeX's DVI files" and "TeX font metric files", TUGboat 3(2) and 2(1). Only the marks of
metrics.formula.latex.token_markup are read from \\special; a page cut off by the end of the file is left out.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

POINTS_PER_INCH = 72.27
UNITS_PER_POINT = 65536

MAX_INKS = 200_000
"""A page with more of them counts as none; the longest formulas have some thousand."""

NO_MARK = -1
_RULE = -1

Glyph = tuple[int, int, int, int]


class UnreadableOutput(Exception):
    """The bytes are not DVI or TFM."""


class Ink(NamedTuple):
    """A glyph or a rule: the mark it is under, its box in scaled points (y down), its font (-1: a rule)."""

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
    """One page: TeX's \\count0 and its ink in the order of the file.

    cells: the fields of each Ink, one after another. marks: the marks that were opened on it. balanced: whether each
    was closed there, and no other, and no ink comes after the mark of a second display.
    """

    number: int
    cells: array[int] = field(default_factory=lambda: array("q"))
    marks: frozenset[int] = frozenset()
    balanced: bool = True

    @classmethod
    def of(cls, number: int, inks: Iterable[Ink]) -> Page:
        """Returns a page with this ink."""
        return cls(number, array("q", chain.from_iterable(inks)))

    @property
    def table(self) -> NDArray[np.int64]:
        """The ink, [N, 8], in the order of the fields of Ink; read-only."""
        return np.frombuffer(bytes(self.cells), dtype=np.int64).reshape(-1, len(Ink._fields))

    @property
    def inks(self) -> tuple[Ink, ...]:
        """The ink, piece by piece."""
        return tuple(map(Ink._make, self.table.tolist()))


@dataclass(frozen=True, slots=True)
class Font:
    """A font at a size: its name, the size in scaled points, and (width, height, depth, overhang) by character.

    The overhang is TeX's italic correction: how far a slanted glyph reaches beyond its width.
    """

    name: str
    size: int
    glyphs: dict[int, Glyph]


@dataclass(frozen=True, slots=True)
class Metrics:
    """(width, height, depth, overhang) of each character, in units of 2**-20 of the font's size."""

    glyphs: dict[int, Glyph]

    def at(self, name: str, size: int) -> Font:
        """Returns the font at a size in scaled points."""
        return Font(
            name,
            size,
            {
                code: (w * size >> 20, h * size >> 20, d * size >> 20, o * size >> 20)
                for code, (w, h, d, o) in self.glyphs.items()
            },
        )


def read_metrics(data: bytes) -> Metrics:
    """Returns the sizes of the glyphs of a TFM file.

    Raises UnreadableOutput where the bytes are not a TFM file.
    """
    try:
        header, first, last, widths, heights, depths, overhangs = struct.unpack_from(">7h", data, 2)
        info = 24 + 4 * header
        tables = info + 4 * (last - first + 1)
        wide = struct.unpack_from(f">{widths}i", data, tables)
        high = struct.unpack_from(f">{heights}i", data, tables + 4 * widths)
        deep = struct.unpack_from(f">{depths}i", data, tables + 4 * (widths + heights))
        over = struct.unpack_from(f">{overhangs}i", data, tables + 4 * (widths + heights + depths))
        glyphs = {}
        for code in range(first, last + 1):
            width, height_depth, overhang = data[info], data[info + 1], data[info + 2] >> 2
            if width:
                glyphs[code] = (wide[width], high[height_depth >> 4], deep[height_depth & 15], over[overhang])
            info += 4
    except (struct.error, IndexError) as error:
        raise UnreadableOutput(f"not a font metric file: {error}") from error
    return Metrics(glyphs)


def read_pages(data: bytes, metrics: Callable[[str], Metrics], fonts: dict[int, Font]) -> Iterator[Page]:
    """Yields the whole pages of a DVI file; `fonts` is filled with the fonts it defines, by their numbers.

    Raises UnreadableOutput where the bytes are not DVI.
    """
    reader = _Reader(data, metrics, fonts)
    while (page := reader.page()) is not None:
        yield page


class _Reader:
    def __init__(self, data: bytes, metrics: Callable[[str], Metrics], fonts: dict[int, Font]) -> None:
        if data[:2] != b"\xf7\x02":
            raise UnreadableOutput("not a DVI file")
        self._data = data
        self._at = 15 + data[14] if len(data) > 14 else len(data)
        self._metrics = metrics
        self._fonts = fonts

    def page(self) -> Page | None:
        """Reads up to the end of the next page; None at the end of the file."""
        data = self._data
        try:
            while True:
                code = data[self._at]
                self._at += 1
                if code == 139:
                    number = int.from_bytes(data[self._at : self._at + 4], "big", signed=True)
                    self._at += 44
                    return self._page(number)
                if 243 <= code <= 246:
                    self._define(code - 242)
                elif code == 248:
                    return None
                elif code != 138:
                    raise UnreadableOutput(f"byte {code} between pages")
        except IndexError:
            return None
        except KeyError as font:
            raise UnreadableOutput(f"font {font} is not defined") from None

    def _define(self, size: int) -> None:
        data, at = self._data, self._at
        number = int.from_bytes(data[at : at + size], "big")
        scale = int.from_bytes(data[at + size + 4 : at + size + 8], "big")
        start = at + size + 14
        end = start + data[start - 2] + data[start - 1]
        if end > len(data):
            raise IndexError
        self._at = end
        name = data[start:end].decode("ascii", "replace")
        if number not in self._fonts:
            self._fonts[number] = self._metrics(name).at(name, scale)

    def _page(self, number: int) -> Page:
        """Reads one page from after its head.

        One loop over local variables, since it runs for every byte; tests come in the order of how often they hold.
        """
        data, at = self._data, self._at
        cells = array("q")
        add = cells.extend
        signed = int.from_bytes
        opened: set[int] = set()
        marks: list[int] = []
        ends: list[int] = []
        mark = NO_MARK
        balanced = True
        h = v = w = x = y = z = 0
        stack: list[tuple[int, int, int, int, int, int]] = []
        glyphs: dict[int, Glyph] = {}
        font = 0
        while True:
            code = data[at]
            at += 1
            if code < 128 or code in (128, 133):
                character = code
                if code >= 128:
                    character = data[at]
                    at += 1
                size = glyphs.get(character)
                if size:
                    width, height, depth, overhang = size
                    add((mark, h, v - height, h + width + overhang, v + depth, v, font, character))
                    if code != 133:
                        h += width
            elif code == 239:
                length = data[at]
                text = data[at + 1 : at + 1 + length]
                at += 1 + length
                if text.isdigit():
                    marks.append(mark)
                    mark = int(text)
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
            elif code == 147:
                h += w
            elif code == 152:
                h += x
            elif code == 141:
                stack.append((h, v, w, x, y, z))
            elif code == 142:
                h, v, w, x, y, z = stack.pop()
                if len(cells) > MAX_INKS * len(Ink._fields):
                    raise UnreadableOutput(f"a page has more than {MAX_INKS} pieces of ink")
            elif 171 <= code <= 234:
                font = code - 171
                glyphs = self._fonts[font].glyphs
            elif 143 <= code <= 170:
                kind, length = _MOVES[code]
                amount = signed(data[at : at + length], "big", signed=True) if length else 0
                at += length
                if kind == "r":
                    h += amount
                elif kind == "w":
                    w = amount
                    h += w
                elif kind == "x":
                    x = amount
                    h += x
                elif kind == "d":
                    v += amount
                elif kind == "y":
                    y = amount if length else y
                    v += y
                else:
                    z = amount if length else z
                    v += z
            elif code in (132, 137):
                height = signed(data[at : at + 4], "big", signed=True)
                width = signed(data[at + 4 : at + 8], "big", signed=True)
                at += 8
                if height > 0 and width > 0:
                    add((mark, h, v - height, h + width, v, v, _RULE, 0))
                if code == 132:
                    h += width
            elif code == 140:
                self._at = at
                balanced = balanced and not marks and (not ends or ends[0] == len(cells))
                return Page(number, cells, frozenset(opened), balanced)
            elif 235 <= code <= 238:
                length = code - 234
                font = signed(data[at : at + length], "big")
                at += length
                glyphs = self._fonts[font].glyphs
            elif 240 <= code <= 242:
                balanced = False
                length = code - 238
                at += length + signed(data[at : at + length], "big")
            elif 243 <= code <= 246:
                self._at = at
                self._define(code - 242)
                at = self._at
            elif code != 138:
                raise UnreadableOutput(f"byte {code} in a page")


_MOVES = {
    **{code: ("r", code - 142) for code in range(143, 147)},
    **{code: ("w", code - 147) for code in range(148, 152)},
    **{code: ("x", code - 152) for code in range(153, 157)},
    **{code: ("d", code - 156) for code in range(157, 161)},
    **{code: ("y", code - 161) for code in range(161, 166)},
    **{code: ("z", code - 166) for code in range(166, 171)},
}
