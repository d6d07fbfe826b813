"""The first records of a side: what a run is told of its inputs before it starts, and afterwards where it failed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

import msgspec

from ...transforms.io.files import Part, SourceFile, open_parquet
from ...transforms.io.jsonl import Line
from ...transforms.io.readers import known_fields, reader_of
from ...transforms.io.rows import RowLimits
from ...transforms.io.side_columns import SideColumns
from ...transforms.records import JSON, MSGPACK, EncodedRecord, InputProblem, Origin
from .seen import RECORDS_LOOKED_AT, FirstRecords

BYTES_LOOKED_AT = 64 << 20
FILES_LOOKED_AT = 100


def look(files: Iterable[SourceFile], columns: SideColumns, limits: RowLimits) -> FirstRecords:
    """Returns what the first records of some files hold; a file that cannot be read has none."""
    found = FirstRecords()
    for number, file in enumerate(files):
        if number >= FILES_LOOKED_AT or found.records >= RECORDS_LOOKED_AT or found.stored_bytes >= BYTES_LOOKED_AT:
            found.whole = False
            break
        try:
            look_into(file, columns, limits, found)
        except InputProblem as problem:
            found.rejected += 1
            found.problem = found.problem or problem.message
    return found


def look_into(file: SourceFile, columns: SideColumns, limits: RowLimits, found: FirstRecords) -> None:
    """Adds the first records of a file; raises InputProblem where it cannot be read."""
    for name in known_fields(file, columns.fields) or ():
        found.fields.setdefault(name, 0)
    reader = reader_of(_beginning(file), columns, limits)
    read = 0
    for item in reader:
        if item is None:
            read = reader.place.read
        elif isinstance(item, Line):
            too_large = "it is larger than limits.record_bytes" if item.length > limits.record_bytes else None
            _add(found, file, JSON, _mapped(columns, item.text), too_large)
        else:
            _add(found, file, MSGPACK, item.payload, item.error)
        if max(found.records, found.rejected) >= RECORDS_LOOKED_AT or found.stored_bytes + read >= BYTES_LOOKED_AT:
            read = reader.place.read
            found.whole = False
            break
    else:
        is_cut = file.format == "jsonl" and reader.place.position >= BYTES_LOOKED_AT
        found.whole &= not is_cut
        read = reader.place.read if is_cut else file.size
    found.stored_bytes += read


def _beginning(file: SourceFile) -> Part:
    if file.format == "jsonl":
        return Part(file, 0, BYTES_LOOKED_AT)
    if file.format != "parquet":
        return Part(file, 0, None)
    with open_parquet(file) as parquet:
        return Part(file, 0, parquet.metadata.num_row_groups, stored=file.size)


def _mapped(columns: SideColumns, text: bytes) -> bytes:
    with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return columns.fields.of_json(text)
    return text


def _add(found: FirstRecords, file: SourceFile, encoding: Any, payload: bytes, error: str | None) -> None:
    encoded = EncodedRecord.of(Origin(file.side, file.number, found.records, 0, file.path), encoding, payload)
    try:
        if error is not None:
            raise ValueError(error)
        for name, value in encoded.decode(dict[str, msgspec.Raw]).items():
            found.fields[name] = found.fields.get(name, 0) + (bytes(value) not in (b"null", b"\xc0"))
        found.records += 1
        found.by_id.setdefault(encoded.decode(_Key).sample_id, encoded)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        found.rejected += 1
        found.problem = found.problem or f"{file.path}: {problem}"


class _Key(msgspec.Struct):
    sample_id: str
