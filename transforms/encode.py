"""Encodes records of a collection as `ReadRecords` does those of files."""

from __future__ import annotations

import hashlib
import reprlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam import typehints
from apache_beam.pvalue import TaggedOutput

from ..metrics.benchmark import explain
from .blocks import Block, KeyedRecord
from .faults import faults_end_the_bundle
from .io.field_map import SideColumns, present_fields, record_json
from .io.files import SourceFile
from .io.readers import Line, RecordLimits
from .read import RecordIntake
from .records import JSON, TEXT_KEPT, EncodedRecord, InputProblem, Quarantined, RecordEncoder

Unpack = Callable[[Any], Any]

_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = TEXT_KEPT
NOWHERE = ""
"""The path of records that are in no file."""


def encode_records(
    side: int,
    names: Sequence[str],
    columns: SideColumns,
    limits: RecordLimits,
    buckets: int,
    unpack: Unpack | None = None,
) -> beam.PTransform:
    """Returns the transform that encodes the records of one side.

    Input: mappings, Beam Rows, NamedTuples, dataclasses or msgspec structs; or anything that `unpack` makes one of.
    Output, by tag: as `ReadRecords`. A collection has no order: the position of a record is a hash of its content, so
    that of duplicates the one with the smallest hash is the first.

    side: GROUND_TRUTH or the number of a system. buckets: how many groups the samples are paired in.
    """
    encode = beam.ParDo(EncodeBundle(side, names, columns, limits, buckets, unpack))
    return encode.with_output_types(typehints.Tuple[int, bytes]).with_outputs("quarantine", "outcomes", main="records")


class EncodeBundle(RecordIntake):
    """Encodes records; what is checked, held and counted is as in reading, see encode_records."""

    def __init__(
        self,
        side: int,
        names: Sequence[str],
        columns: SideColumns,
        limits: RecordLimits,
        buckets: int,
        unpack: Unpack | None,
    ) -> None:
        super().__init__(names, {side: columns}, limits, buckets)
        self._source = SourceFile(side, 0, NOWHERE, 0, "jsonl")
        self._encoder = RecordEncoder(side, 0, NOWHERE)
        self._unpack = unpack
        paths = [columns.fields.path_of(name) for name in columns.structured]
        self._structured = frozenset(path[0] for path in paths if len(path) == 1)

    def process(self, element: Any) -> Iterator[tuple[int, Block] | TaggedOutput]:
        """Yields the blocks that became large enough, and the record where it is rejected."""
        yield from self.add(self._source.side, [self._encoded(element)])

    def _encoded(self, element: Any) -> KeyedRecord | Quarantined:
        is_unpacked = self._unpack is None
        try:
            with faults_end_the_bundle("encoding"):
                record = element if self._unpack is None else self._unpack(element)
                is_unpacked = True
                fields = present_fields(record, self._structured)
                text, position = record_json(fields), _position(record_json(fields, is_sorted=True))
        except InputProblem:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is of this element
            what = "" if is_unpacked else f"unpack: {type(error).__name__}: "
            return self._unreadable(element, what + explain(error))
        line = Line(position, 0, text[: self._limits.record_bytes], len(text))
        return self.record(self._source, self._encoder, line)

    def _unreadable(self, element: Any, error: str) -> Quarantined:
        shown = _SHOWN.repr(element).encode("utf-8", "backslashreplace")
        encoded = EncodedRecord(self._encoder.encode(_position(shown), 0, JSON, shown))
        return self.rejected(encoded, "unreadable", error)


def _position(content: bytes) -> int:
    """Returns 63 bits of a hash, so that they are a number for any reader."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big") >> 1
