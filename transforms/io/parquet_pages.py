"""The pages of a Parquet column chunk, by their headers: what decoding would take, known without decoding.

The footer of a file tells how many values a column chunk holds, not which row holds them, nor how large its dictionary
becomes: 2 kB may hold one row of 400 million values, or a text of 12 MB that 300 rows refer to. The headers of the
pages, and the repetition levels at the start of each, tell that. Both are as the Parquet format defines them: headers
are Thrift structs in the compact protocol, levels are runs of one value and packed groups of eight.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

MAX_PAGE_BYTES = 256 << 20
"""An unpacked page that is larger is not decoded; writers make pages of about 1 MiB, unless one value is larger."""

BYTES_NOT_LOOKED_INTO = 8 << 20
VALUES_NOT_LOOKED_INTO = 1 << 20
"""The bounds of a repeated column chunk of this size or less are taken from the headers of its pages alone."""

_HEADER_BYTES = (1 << 9, 1 << 13, 1 << 17, 1 << 23)
_MAX_STRUCT_DEPTH = 8
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = 0, 2, 3


class ChunkBounds(NamedTuple):
    """Bounds of a column chunk.

    dictionary_bytes: the size of its dictionary, unpacked. page_bytes: that of its largest page. row_bytes: what the
    pages hold of one row at most, values of the dictionary not counted. long_rows: the rows with more than `long`
    values, each with how many it has; the row is numbered within the row group.
    """

    dictionary_bytes: int
    page_bytes: int
    row_bytes: int
    long_rows: list[tuple[int, int]]


class _Page(NamedTuple):
    kind: int
    unpacked: int
    stored: int
    values: int
    repetition_bytes: int
    body: int


def chunk_bounds(stream: BinaryIO, column: Any, max_repetition: int, long: int) -> ChunkBounds:
    """Returns the bounds of a column chunk, given as its metadata.

    long: a row of more values, at least one, is a long one. The pages themselves are read only of repeated columns, to
    find their rows, and of these not where the headers say that no row can be long. Raises ValueError where the pages
    are not as the format says.
    """
    pages = list(_pages(stream, column))
    dictionary = max((page.unpacked for page in pages if page.kind == _DICTIONARY_PAGE), default=0)
    data = [page for page in pages if page.kind != _DICTIONARY_PAGE]
    largest = max((page.unpacked for page in pages), default=0)
    total = sum(page.unpacked for page in data)
    if "DELTA_BYTE_ARRAY" in column.encodings:
        # Each text may repeat all of the one before.
        return ChunkBounds(dictionary, largest, total, [])
    if not max_repetition or largest > MAX_PAGE_BYTES:
        return ChunkBounds(dictionary, largest, largest, [])
    if total <= BYTES_NOT_LOOKED_INTO and sum(page.values for page in data) <= VALUES_NOT_LOOKED_INTO:
        return ChunkBounds(dictionary, largest, total, [])
    rows = _Rows(long)
    for page in data:
        rows.turn(page.unpacked)
        levels = _repetition_levels(stream, page, column.compression)
        for starts, count in _runs(levels, max_repetition.bit_length(), page.values):
            rows.add(starts, count)
    return ChunkBounds(dictionary, largest, *rows.found())


class _Rows:
    """Finds the long rows of a repeated column; a row starts where the repetition level is 0."""

    def __init__(self, long: int) -> None:
        self._long = long
        self._found: list[tuple[int, int]] = []
        self._row, self._values = -1, 0
        self._page_bytes, self._bytes, self._most_bytes = 0, 0, 0

    def turn(self, page_bytes: int) -> None:
        """Turns to the next page, of so many bytes: the row that is open may go on there."""
        self._page_bytes = page_bytes
        self._bytes += page_bytes
        self._most_bytes = max(self._most_bytes, self._bytes)

    def add(self, starts: np.ndarray[Any, Any] | bool, count: int) -> None:
        """Adds `count` values: `starts` tells of each whether it starts a row, or of all."""
        if isinstance(starts, bool):
            starts_first, last_start, rows = 0, count - 1, count if starts else 0
        else:
            places = np.flatnonzero(starts)
            rows = len(places)
            starts_first, last_start = (int(places[0]), int(places[-1])) if rows else (0, 0)
            lengths = np.diff(places)
            for index in np.flatnonzero(lengths > self._long).tolist():
                self._found.append((self._row + 1 + index, int(lengths[index])))
        if not rows:
            self._values += count
            return
        self._values += starts_first
        self._close()
        self._row += rows
        self._values = count - last_start
        self._bytes = self._page_bytes

    def found(self) -> tuple[int, list[tuple[int, int]]]:
        """Returns what the pages hold of one row at most, and the long rows, once all values have been added."""
        self._close()
        self._values = 0
        return self._most_bytes, sorted(self._found)

    def _close(self) -> None:
        if self._values > self._long:
            self._found.append((self._row, self._values))


def _pages(stream: BinaryIO, column: Any) -> Iterator[_Page]:
    """Yields the pages of a column chunk; raises ValueError where they reach beyond it."""
    offset = column.data_page_offset
    if column.has_dictionary_page and column.dictionary_page_offset:
        offset = min(offset, column.dictionary_page_offset)
    end = offset + column.total_compressed_size
    while offset < end:
        header, fields = _header(stream, offset, end)
        body = offset + header.at
        page = _page(fields, body)
        offset = body + page.stored
        if offset > end:
            raise ValueError("a page reaches beyond its column chunk")
        yield page


def _header(stream: BinaryIO, offset: int, end: int) -> tuple[_Thrift, dict[int, Any]]:
    """Reads the header at `offset`; most are short, but one may hold the least and the greatest text of its page."""
    for size in _HEADER_BYTES:
        stream.seek(offset)
        header = _Thrift(stream.read(min(size, end - offset)))
        try:
            return header, header.struct()
        except IndexError:
            continue
    raise ValueError("a page header does not end")


def _page(fields: dict[int, Any], body: int) -> _Page:
    data = fields.get(5) or fields.get(8) or {}
    if not isinstance(data, dict):
        raise ValueError("a page header holds what none should")
    kind, values = _number(fields, 1), _number(data, 1)
    repetition = _number(data, 6) if kind == _DATA_PAGE_V2 else 0
    return _Page(kind, _number(fields, 2), _number(fields, 3), values, repetition, body)


def _number(fields: dict[int, Any], number: int) -> int:
    value = fields.get(number, 0)
    if not isinstance(value, int) or value < 0:
        raise ValueError("a page header holds what none should")
    return value


def _repetition_levels(stream: BinaryIO, page: _Page, compression: str) -> bytes:
    stream.seek(page.body)
    if page.kind == _DATA_PAGE_V2:
        return stream.read(min(page.repetition_bytes, page.stored))
    if page.kind != _DATA_PAGE:
        return b""
    body = stream.read(page.stored)
    if compression != "UNCOMPRESSED":
        name = {"LZ4": "lz4_raw"}.get(compression, compression.lower())
        body = pa.Codec(name).decompress(body, page.unpacked, asbytes=True)
    length = int.from_bytes(body[:4], "little")
    return body[4 : 4 + length]


def _runs(levels: bytes, width: int, count: int) -> Iterator[tuple[np.ndarray[Any, Any] | bool, int]]:
    """Yields for runs of repetition levels, `count` in all, which of them start a row, and how many they are."""
    if not levels:
        # A page without levels has none but 0.
        yield True, count
        return
    thrift = _Thrift(levels)
    value_bytes = (width + 7) // 8
    while count > 0 and thrift.at < len(levels):
        header = thrift.unsigned()
        if header & 1:
            size = min(header >> 1, (count + 7) // 8) * width
            packed = np.frombuffer(levels, np.uint8, min(size, len(levels) - thrift.at), thrift.at)
            thrift.at += (header >> 1) * width
            bits = np.unpackbits(packed, bitorder="little")
            taken = min(count, len(bits) // width)
            yield np.asarray(~bits[: taken * width].reshape(taken, width).any(axis=1)), taken
        else:
            taken = min(count, header >> 1)
            value = int.from_bytes(levels[thrift.at : thrift.at + value_bytes], "little")
            thrift.at += value_bytes
            yield value == 0, taken
        count -= taken


class _Thrift:
    """Reads Thrift's compact protocol; raises IndexError where the bytes end, ValueError where they are none."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def unsigned(self) -> int:
        """Returns a number of seven bits a byte."""
        value, shift = 0, 0
        while True:
            byte = self._data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number is longer than 64 bits")

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Returns the fields of a struct by their numbers."""
        if depth > _MAX_STRUCT_DEPTH:
            raise ValueError("a page header is nested too deep")
        fields: dict[int, Any] = {}
        number = 0
        while True:
            head = self._data[self.at]
            self.at += 1
            if not head:
                return fields
            step = head >> 4
            number = number + step if step else self._signed()
            fields[number] = self._value(head & 0x0F, depth)

    def _signed(self) -> int:
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            self.at += 1
            return None
        if kind in (4, 5, 6):
            return self._signed()
        if kind in (7, 8):
            length = 8 if kind == 7 else self.unsigned()
            self.at += length
            return None
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError("a page header holds what none should")
