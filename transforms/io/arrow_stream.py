"""The messages of an Arrow IPC stream, or of an Arrow IPC file: where its record batches stand, found by their headers.

A message has a head of 8 bytes, metadata as a flatbuffer, and a body. The metadata tell how long the body is, so that a
record batch can be passed over, or refused, before it is read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

MAX_BATCH_BYTES = 512 << 20
"""How large a record batch may be, with its dictionaries, as it is stored and as it is uncompressed."""

MAX_METADATA_BYTES = 16 << 20

SCHEMA, DICTIONARY, RECORD_BATCH = 1, 2, 3

_FILE_MARK = b"ARROW1\0\0"
_HEAD = struct.Struct("<4si")
_CONTINUATION = b"\xff\xff\xff\xff"
_BUFFER = struct.Struct("<qq")
_TOO_LARGE = f"more than {MAX_BATCH_BYTES}; write the file with smaller record batches"


class Message(NamedTuple):
    """A message: its kind, the byte at which it starts, its size, where its body starts, and its metadata.

    rows: of a record batch. buffers: offset and length of each in the body. is_compressed: whether these are.
    """

    kind: int
    start: int
    size: int
    body: int
    rows: int
    buffers: Sequence[tuple[int, int]]
    is_compressed: bool

    @property
    def stop(self) -> int:
        """The byte behind it."""
        return self.start + self.size


class Beginning(NamedTuple):
    """The beginning of a stream: its schema, the bytes of the message that holds it, and where the next one starts."""

    schema: Any
    content: bytes
    stop: int

    @property
    def has_dictionaries(self) -> bool:
        """Tells whether record batches need dictionaries that stand before them."""
        return any(_has_dictionary(field.type) for field in self.schema)


def read_beginning(stream: BinaryIO, size: int) -> Beginning:
    """Returns the beginning of a stream of `size` bytes; raises ValueError or what pyarrow raises where it is none."""
    stream.seek(0)
    start = len(_FILE_MARK) if stream.read(len(_FILE_MARK)) == _FILE_MARK else 0
    first = next(messages(stream, start, size), None)
    if first is None or first.kind != SCHEMA:
        raise ValueError("it does not start with a schema")
    content = read_message(stream, first)
    return Beginning(pa.ipc.read_schema(pa.py_buffer(content)), content, first.stop)


def messages(stream: BinaryIO, start: int, size: int) -> Iterator[Message]:
    """Yields the messages from the byte `start` on, by their metadata, of a stream of `size` bytes.

    Raises ValueError where the stream was cut off or makes no sense.
    """
    while True:
        stream.seek(start)
        head = stream.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise ValueError(f"it was cut off: nothing ends the stream at byte {start}")
        mark, length = _HEAD.unpack(head)
        if mark != _CONTINUATION or not 0 <= length <= MAX_METADATA_BYTES:
            raise ValueError(f"there is no message of Arrow at byte {start}")
        if not length:
            return
        metadata = stream.read(length)
        if len(metadata) < length:
            raise ValueError(f"it was cut off within the message at byte {start}")
        try:
            message = _message(metadata, start)
        except (struct.error, IndexError) as error:
            raise ValueError(f"the message at byte {start} makes no sense") from error
        if message.stop > size:
            raise ValueError(f"it was cut off within the message at byte {start}, which has {message.size} bytes")
        yield message
        start = message.stop


def read_message(stream: BinaryIO, message: Message) -> bytes:
    """Returns a message; raises ValueError where it is too large, or the file ends within it."""
    if message.size > MAX_BATCH_BYTES:
        raise ValueError(f"the record batch at byte {message.start} has {message.size} bytes, {_TOO_LARGE}")
    stream.seek(message.start)
    content = stream.read(message.size)
    if len(content) < message.size:
        raise ValueError(f"it was cut off within the message at byte {message.start}")
    unpacked = _unpacked_bytes(message, content)
    if unpacked > MAX_BATCH_BYTES:
        raise ValueError(f"the record batch at byte {message.start} unpacks to {unpacked} bytes, {_TOO_LARGE}")
    if message.rows > unpacked:
        raise ValueError(f"the record batch at byte {message.start} has {message.rows} rows in {unpacked} bytes")
    return content


def decoded_batch(schema: bytes, dictionaries: Sequence[bytes], content: bytes, columns: Sequence[int]) -> Any:
    """Returns a record batch with some of its columns, checked so that no value leads outside of its buffers.

    schema, dictionaries, content: the messages. Raises what pyarrow raises where they cannot be decoded.
    """
    options = pa.ipc.IpcReadOptions(included_fields=list(columns), use_threads=False)
    with pa.ipc.open_stream(pa.py_buffer(b"".join([schema, *dictionaries, content])), options=options) as reader:
        batch = reader.read_next_batch()
    batch.validate(full=True)
    return batch


def _unpacked_bytes(message: Message, content: bytes) -> int:
    if not message.is_compressed:
        return message.size
    total = 0
    for offset, length in message.buffers:
        if length < 8:
            continue
        (unpacked,) = struct.unpack_from("<q", content, message.body - message.start + offset)
        total += length if unpacked == -1 else abs(unpacked)
    return total


def _has_dictionary(kind: Any) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return pa.types.is_dictionary(kind) or any(_has_dictionary(kind.field(i).type) for i in range(kind.num_fields))


class _Table:
    """A table of a flatbuffer: its fields by number, each at an offset that the table's own list tells."""

    def __init__(self, content: bytes, position: int) -> None:
        self.content = content
        self._position = position
        self._fields = position - _number("<i", content, position)
        self._count = (_number("<H", content, self._fields) - 4) // 2

    def place(self, field: int) -> int:
        """Returns where the value of a field stands; 0 where it has none."""
        offset = _number("<H", self.content, self._fields + 4 + 2 * field) if field < self._count else 0
        return self._position + offset if offset else 0

    def number(self, field: int, kind: str) -> int:
        """Returns a number, 0 where there is none."""
        place = self.place(field)
        return _number(kind, self.content, place) if place else 0

    def target(self, field: int) -> int:
        """Returns where the table or vector of a field stands; 0 where it has none."""
        place = self.place(field)
        return place + _number("<I", self.content, place) if place else 0


def _number(kind: str, content: bytes, position: int) -> int:
    if position < 0:
        raise IndexError(position)
    return int(struct.unpack_from(kind, content, position)[0])


def _message(metadata: bytes, start: int) -> Message:
    table = _Table(metadata, _number("<I", metadata, 0))
    kind, body_length = table.number(1, "<B"), table.number(3, "<q")
    body = start + _HEAD.size + len(metadata)
    if body_length < 0:
        raise IndexError(body_length)
    size = _HEAD.size + len(metadata) + body_length
    header = table.target(2)
    if kind == DICTIONARY and header:
        header = _Table(metadata, header).target(1)
    if kind not in (DICTIONARY, RECORD_BATCH) or not header:
        return Message(kind, start, size, body, 0, (), False)
    batch = _Table(metadata, header)
    rows, vector = batch.number(0, "<q"), batch.target(2)
    count = _number("<I", metadata, vector) if vector else 0
    if rows < 0 or count * _BUFFER.size > len(metadata):
        raise IndexError(rows)
    buffers = [_BUFFER.unpack_from(metadata, vector + 4 + number * _BUFFER.size) for number in range(count)]
    if any(offset < 0 or length < 0 or offset + length > body_length for offset, length in buffers):
        raise IndexError(body_length)
    return Message(kind, start, size, body, rows, buffers, batch.target(3) > 0)
