"""The elements passed between the stages: encoded records, quarantined records, errors.

A record is passed encoded: bytes that hold its origin and its text, undecoded. It is decoded once, when
it is scored.
"""

from __future__ import annotations

import contextlib
import math
import re
import struct
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, TypeVar

import msgspec

from ..metrics.common.text import with_codes

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

GROUND_TRUTH = -1
"""The number of the ground-truth side; systems are numbered from 0."""
REUSED_ROWS = 1 << 30
EARLIER_ROWS = REUSED_ROWS + 1
"""The sides of rows of earlier runs, see transforms.rows: after all systems."""


def side_name(side: int, names: Sequence[str]) -> str:
    """Returns the name of a side for display: `ground_truth`, or the system's name."""
    return "ground_truth" if side == GROUND_TRUTH else names[side]


Encoding = Literal[0, 1]
JSON: Encoding = 0
MSGPACK: Encoding = 1

_HEADER = struct.Struct(">IIQQBH")
"""Side + 1, file, position, line, encoding, length of the path. The first three come first, the
highest byte first: bytes of records compare like their origins."""

_T = TypeVar("_T")

MAX_SHOWN_BYTES = 32 << 10
"""How many bytes of a record are kept for display."""
MAX_QUARANTINED_LENGTH = 2000
"""How many characters of a bad record the quarantine keeps."""
MAX_EXAMPLES = 3


class InputProblem(Exception):
    """An input that ends the run: its one line says what is wrong, where, and how to fix it."""

    MARK = "beamscore input problem:"

    def __init__(self, message: str) -> None:
        self.message = printable(message)
        # Beam and pickle make it again from its text.
        super().__init__(self.message if self.message.startswith(self.MARK) else f"{self.MARK} {self.message}")


class Origin(msgspec.Struct, frozen=True):
    """The origin of a record.

    position: the byte offset of the line, or the number of the row from 0.
    line: the line or row from 1; 0 if it is not known, in a later part of a large file.
    """

    position: int
    line: int
    path: str

    @property
    def place(self) -> str:
        """The place as text, such as `part.jsonl:12`; for a record outside of files, its hash."""
        if not self.path:
            return f"the record with the hash {self.position:016x}"
        return f"{self.path}:{self.line}" if self.line else f"{self.path} at byte {self.position}"


class RecordEncoder:
    """Encodes the records of one file.

    The bytes of a record: a header with its origin, the path of the file, and the text.
    """

    def __init__(self, side: int, file: int, path: str) -> None:
        self.side = side
        self._file = file
        self._path = path.encode()

    def encode(self, position: int, line: int, encoding: Encoding, text: bytes) -> bytes:
        """Returns the bytes of a record; the bytes of two records compare like their origins."""
        header = _HEADER.pack(self.side + 1, self._file, position, line, encoding, len(self._path))
        return header + self._path + text


class EncodedRecord(msgspec.Struct, frozen=True):
    """One record with its origin, as RecordEncoder encoded it.

    The header is decoded on demand: most records are read, moved and paired without a look at their origin.
    """

    encoded: bytes

    @property
    def side(self) -> int:
        """GROUND_TRUTH or the number of a system."""
        return int.from_bytes(self.encoded[:4], "big") - 1

    @property
    def origin(self) -> Origin:
        """The origin of the record."""
        _, _, position, line, _, length = _HEADER.unpack_from(self.encoded)
        return Origin(position, line, self.encoded[_HEADER.size : _HEADER.size + length].decode())

    @property
    def size(self) -> int:
        """The bytes of the text."""
        return len(self.encoded) - _HEADER.size - int(_HEADER.unpack_from(self.encoded)[-1])

    @property
    def encoding(self) -> Encoding:
        """That of the text."""
        return JSON if _HEADER.unpack_from(self.encoded)[-2] == JSON else MSGPACK

    @property
    def payload(self) -> bytes:
        """The record's text."""
        return self.encoded[_HEADER.size + _HEADER.unpack_from(self.encoded)[-1] :]

    def decode(self, kind: type[_T]) -> _T:
        """Returns the record as one of type `kind`.

        Raises the errors of decode_record.
        """
        return decode_record(self.payload, kind, self.encoding)

    def fields(self) -> Iterable[str]:
        """Returns the names of its fields, also of those that are null; none if it cannot be decoded."""
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self.columns()
        return ()

    def columns(self) -> dict[str, msgspec.Raw]:
        """Returns its fields, undecoded; raises the errors of decode_record. What is not UTF-8 is replaced in names."""
        try:
            return self.decode(dict[str, msgspec.Raw])
        except (msgspec.DecodeError, UnicodeDecodeError):
            text = self.payload.decode("utf-8", "replace").encode()
            return decode_record(text, dict[str, msgspec.Raw], self.encoding)

    def text(self) -> str:
        """Returns the beginning of the record as JSON text, at most MAX_QUARANTINED_LENGTH characters, for a person."""
        return self.json()[: 4 * MAX_QUARANTINED_LENGTH].decode("utf-8", "replace")[:MAX_QUARANTINED_LENGTH]

    def beginning(self) -> bytes:
        """Returns the record as JSON, or the beginning of a long one; a Parquet row of that size is omitted."""
        if self.encoding == MSGPACK and self.size > MAX_SHOWN_BYTES:
            return b""
        return self.json() if self.encoding == MSGPACK else self.payload[:MAX_SHOWN_BYTES]

    def json(self) -> bytes:
        """Returns the record as JSON, in which an infinite number is 1e999, and NaN null."""
        if self.encoding == JSON:
            return self.payload
        record = msgspec.msgpack.decode(self.payload)
        return msgspec.json.encode(_with_infinity(record) if MAYBE_NO_NUMBER.search(self.payload) else record)


MAYBE_NO_NUMBER = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")
"""A float of MessagePack with the exponent of NaN and infinity; or, rarely, bytes of anything else."""


def decode_record(payload: bytes, kind: type[_T], encoding: Encoding = JSON) -> _T:
    """Returns a record as one of type `kind`; a float may be an integer, see with_integers.

    Raises msgspec.ValidationError or msgspec.DecodeError if it is not one, RecursionError if it is nested too deep.
    """
    decode = msgspec.msgpack.decode if encoding == MSGPACK else msgspec.json.decode
    try:
        return decode(payload, type=kind)
    except msgspec.ValidationError as error:
        expected, is_float, _ = str(error).partition("got `float`")
        if not is_float or "int" not in expected:
            raise
    encode = msgspec.msgpack.encode if encoding == MSGPACK else msgspec.json.encode
    return decode(encode(with_integers(decode(payload))), type=kind)


def with_integers(value: Any) -> Any:
    """Returns a value of JSON with each whole float as an integer: pandas writes 7 as 7.0 in a column with a gap.

    Floats from 2**53 on stay: each may have been one of several integers.
    """
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, dict):
        return {name: with_integers(each) for name, each in value.items()}
    return list(map(with_integers, value)) if isinstance(value, list) else value


def _with_infinity(value: Any) -> Any:
    """Returns a value of JSON with each infinite number as text of JSON, as msgspec writes null for it."""
    if isinstance(value, float):
        return msgspec.Raw(b"1e999" if value > 0 else b"-1e999") if math.isinf(value) else value
    if isinstance(value, dict):
        return {name: _with_infinity(each) for name, each in value.items()}
    return list(map(_with_infinity, value)) if isinstance(value, list) else value


class ColumnsReader:
    """Reads the values of some columns of records; columns may have any name."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._type: Any = None
        # A field of a struct cannot be renamed to what JSON would escape.
        if all(name.isprintable() and not set(name) & set('"\\') for name in names):
            rename = {f"column_{i}": name for i, name in enumerate(names)}
            self._type = msgspec.defstruct("Columns", [(field, Any, None) for field in rename], rename=rename)

    def read(self, encoded: EncodedRecord) -> tuple[Any, ...]:
        """Returns the values in the order of the names; None for one that is null or absent.

        Raises the errors of EncodedRecord.decode.
        """
        if not self._names:
            return ()
        if self._type is not None:
            return msgspec.structs.astuple(encoded.decode(self._type))
        record = encoded.decode(dict[str, Any])
        return tuple(record.get(name) for name in self._names)


Stage = Literal["read", "pair", "score"]
Cause = Literal[
    "unreadable", "no_sample_id", "no_repeat", "too_large", "too_deep", "duplicate", "unmatched", "invalid", "failed"
]

UNMATCHED = "no readable ground-truth record has this sample_id; check the ids of both sides"


class Quarantined(msgspec.Struct, frozen=True, omit_defaults=True):
    """A record that was not scored, and why: one line of DIR/quarantine."""

    side: str
    """`ground_truth`, or the name of the system."""
    sample_id: str | None
    source: str
    position: int
    """The byte offset of the line, or the number of the row from 0."""
    line: int | None
    """The line or row from 1; null in the later parts of a large file."""
    stage: Stage
    cause: Cause
    error: str
    text: str
    """The beginning of the record."""
    system: str = ""
    """Of a ground truth of several systems: the one that it could not be scored with; empty if it is for all."""

    @property
    def group(self) -> tuple[str, str, str, str]:
        """What entries of the same cause share."""
        return self.side, self.stage, self.cause, self.system

    @property
    def place(self) -> str:
        """The place of the record, see `Origin.place`."""
        return Origin(self.position, self.line or 0, self.source).place


@dataclass(frozen=True, slots=True)
class CauseCount:
    """How many entries of the quarantine share their `group`, and the first MAX_EXAMPLES of them by place."""

    count: int = 0
    examples: tuple[Quarantined, ...] = ()

    @property
    def order(self) -> tuple[int, tuple[str, str, str, str]]:
        """The sort key of causes: the most frequent first, ties by their group."""
        return -self.count, self.examples[0].group

    def merge(self, other: CauseCount) -> CauseCount:
        """Adds up two counts."""
        examples = sorted((*self.examples, *other.examples), key=attrgetter("source", "position", "error"))
        return CauseCount(self.count + other.count, tuple(examples[:MAX_EXAMPLES]))


def quarantined(
    encoded: EncodedRecord,
    names: Sequence[str],
    sample_id: str | None,
    stage: Stage,
    cause: Cause,
    error: str,
    system: str = "",
) -> Quarantined:
    """Returns the quarantine entry of a record. names: of the systems."""
    at, side = encoded.origin, side_name(encoded.side, names)
    place = at.path, at.position, at.line or None
    return Quarantined(side, sample_id, *place, stage, cause, writable(error), encoded.text(), system)


def writable(text: str) -> str:
    """Returns text that can be written; it may contain a path that is not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def printable(text: str) -> str:
    """Returns text as one line for display, with characters that cannot be printed replaced by their numbers.

    Text of an input, such as the name of a column, may contain line ends and control sequences of a terminal.
    """
    return with_codes(text)
