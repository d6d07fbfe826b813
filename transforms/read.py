"""Reads both sides into `(sample_id, framed record)`, in parallel, and puts aside what cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam.pvalue import TaggedOutput

from metrics.scoring import explain
from metrics.sums import Sums
from transforms import blocks, depth
from transforms.files import Part, SourceFile, part_size, split_file
from transforms.jsonl import Line, read_lines
from transforms.observe import PROGRESS, Observed
from transforms.parquet import read_rows
from transforms.records import (
    GROUND_TRUTH,
    JSON,
    MSGPACK,
    Cause,
    Framed,
    Origin,
    Quarantined,
    quarantined,
)

LONGEST_SAMPLE_ID = 1024
BLOCKS = beam.DoFn.RestrictionParam(blocks.BlocksOfPart())


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on one record: its bytes as they are read, and how deep it is nested."""

    record_bytes: int = 16 << 20
    depth: int = 200


@dataclass(frozen=True, slots=True)
class SideColumns:
    """What the reader must know of the columns of one side.

    wanted: the columns that matter; of a Parquet file no others are read. None: all of them.
    structured: those whose values are never plain text, so that a Parquet file may hold them as JSON.
    """

    wanted: frozenset[str] | None
    structured: frozenset[str]


class _KeyOnly(msgspec.Struct):
    sample_id: str


class ReadRecords(beam.PTransform):
    """Reads files of either side.

    Input: nothing (a pipeline). Output, by tag: `records`, pairs (sample_id, framed record); `quarantine`, pairs
    (side, Quarantined); `tally`, pairs (side, Sums) that count what was read and what was rejected.

    bundle_bytes: a bundle that has given as much defers the rest; None: it reads on to the end.
    """

    def __init__(
        self,
        files: Sequence[SourceFile],
        names: Sequence[str],
        columns: dict[int, SideColumns],
        limits: Limits,
        bundle_bytes: int | None = None,
    ) -> None:
        super().__init__()
        self._files = list(files)
        self._read = ReadPart(list(names), columns, limits, bundle_bytes)

    def expand(self, pipeline: beam.Pipeline) -> beam.pvalue.DoOutputsTuple:
        """Splits the files, spreads the parts over the workers, reads them."""
        # The files are spread by a grouping: of two reshuffles without a grouping between them, Flink drops the second,
        # and one worker would read all parts of a file.
        return (
            pipeline
            | "Files"
            >> beam.Create(list(enumerate(self._files)), reshuffle=False).with_output_types(tuple[int, SourceFile])
            | "Each" >> beam.GroupByKey()
            | "Split" >> beam.FlatMap(_split, part_size(self._files)).with_output_types(Part)
            | "Spread" >> beam.Reshuffle()
            | "ReadParts"
            >> beam.ParDo(self._read)
            .with_output_types(tuple[str, bytes])
            .with_outputs("quarantine", "tally", main="records")
        )


def _split(numbered: tuple[int, Iterable[SourceFile]], size: int) -> Iterator[Part]:
    for file in numbered[1]:
        yield from split_file(file, size)


def side_name(side: int, names: Sequence[str]) -> str:
    """Returns the name of a side as people read it: `ground_truth`, or the system's name."""
    return "ground_truth" if side == GROUND_TRUTH else names[side]


@dataclass(slots=True)
class _Count:
    read: int = 0
    rejected: int = 0


class ReadPart(beam.DoFn):
    """Reads one part of a file; see ReadRecords for what it gives."""

    def __init__(
        self, names: list[str], columns: dict[int, SideColumns], limits: Limits, bundle_bytes: int | None = None
    ) -> None:
        self._names = names
        self._columns = columns
        self._limits = limits
        self._bundle_bytes = bundle_bytes

    def start_bundle(self) -> None:
        """Starts with nothing given."""
        self._given_bytes = 0

    def process(self, part: Part, tracker: Any = BLOCKS) -> Iterator[tuple[str, bytes] | TaggedOutput]:
        """Yields the records of `part`, what was rejected of it, and a tally, until the bundle has given enough."""
        if self._is_full():
            tracker.defer_remainder()
            return
        remaining = tracker.current_restriction()
        found = self._read(part, remaining.start * blocks.RECORDS_PER_BLOCK)
        count = _Count()
        for number in range(remaining.start, remaining.stop):
            if not tracker.try_claim(number):
                break
            before = count.read
            yield from self._give(part.file.side, islice(found, blocks.RECORDS_PER_BLOCK), count)
            if count.read < before + blocks.RECORDS_PER_BLOCK:
                # The part ends here, and so do the blocks.
                tracker.try_claim(remaining.stop)
                break
            if self._is_full():
                tracker.defer_remainder()
                break
        Observed.read.inc(count.read)
        Observed.rejected.inc(count.rejected)
        yield TaggedOutput("tally", (part.file.side, Sums.of({"read": count.read, "rejected": count.rejected})))

    def _is_full(self) -> bool:
        return self._bundle_bytes is not None and self._given_bytes >= self._bundle_bytes

    def _give(
        self, side: int, found: Iterable[tuple[str, bytes] | Quarantined], count: _Count
    ) -> Iterator[tuple[str, bytes] | TaggedOutput]:
        for record in found:
            count.read += 1
            PROGRESS.records_read += 1
            PROGRESS.note()
            if isinstance(record, Quarantined):
                count.rejected += 1
                yield TaggedOutput("quarantine", (side, record))
            else:
                PROGRESS.truths_read += side == GROUND_TRUTH
                self._given_bytes += len(record[1])
                yield record

    def _read(self, part: Part, skip: int) -> Iterator[tuple[str, bytes] | Quarantined]:
        """Yields what becomes of each record of a part but the first ones."""
        if part.file.format == "parquet":
            yield from self._read_parquet(part, skip)
        else:
            for line in islice(read_lines(part, self._limits.record_bytes), skip, None):
                yield self._line(part.file, line)

    def _line(self, file: SourceFile, line: Line) -> tuple[str, bytes] | Quarantined:
        origin = Origin(file.side, file.number, line.position, line.line, file.path)
        framed = Framed(origin, JSON, line.text)
        if line.length > self._limits.record_bytes:
            return self._too_large(framed, line.length)
        if depth.deeper_than(line.text, self._limits.depth):
            return self._too_deep(framed)
        try:
            sample_id = msgspec.json.decode(line.text, type=_KeyOnly).sample_id
        except msgspec.ValidationError as error:
            return self._rejected(framed, "no_sample_id", _about_sample_id(str(error)))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return self._rejected(framed, "unreadable", _about_json(line.text, error))
        return self._keyed(framed, sample_id)

    def _read_parquet(self, part: Part, skip: int) -> Iterator[tuple[str, bytes] | Quarantined]:
        file, columns = part.file, self._columns[part.file.side]
        for row in read_rows(part, columns.wanted, columns.structured, self._limits.depth, skip):
            framed = Framed(Origin(file.side, file.number, row.number, row.number + 1, file.path), MSGPACK, row.payload)
            if row.error is not None:
                sample_id = row.sample_id if isinstance(row.sample_id, str) else None
                yield self._rejected(framed, "unreadable", row.error, sample_id)
            elif not isinstance(row.sample_id, str):
                found = "null" if row.sample_id is None else type(row.sample_id).__name__
                yield self._rejected(framed, "no_sample_id", f"sample_id must be a string, not {found}")
            elif len(row.payload) > self._limits.record_bytes:
                yield self._too_large(framed, len(row.payload))
            else:
                yield self._keyed(framed, row.sample_id)

    def _keyed(self, framed: Framed, sample_id: str) -> tuple[str, bytes] | Quarantined:
        if not 0 < len(sample_id) <= LONGEST_SAMPLE_ID:
            message = f"sample_id must have 1 to {LONGEST_SAMPLE_ID} characters, not {len(sample_id)}"
            return self._rejected(framed, "no_sample_id", message)
        return sample_id, framed.to_bytes()

    def _too_large(self, framed: Framed, size: int) -> Quarantined:
        limit = self._limits.record_bytes
        return self._rejected(
            framed, "too_large", f"the record has {size} bytes, more than the {limit} of limits.record_bytes"
        )

    def _too_deep(self, framed: Framed) -> Quarantined:
        message = f"the record is nested deeper than the {self._limits.depth} levels of limits.depth"
        return self._rejected(framed, "too_deep", message)

    def _rejected(self, framed: Framed, cause: Cause, error: str, sample_id: str | None = None) -> Quarantined:
        side = side_name(framed.origin.side, self._names)
        return quarantined(framed, side, sample_id, "read", cause, error)


def _about_sample_id(error: str) -> str:
    if "missing required field `sample_id`" in error:
        return "there is no sample_id; every record needs one, a string"
    if "$" not in error:
        return f"a record must be an object with a sample_id: {error}"
    return f"sample_id must be a string: {error}"


def _about_json(text: bytes, error: BaseException) -> str:
    hint = "; NaN and Infinity are not JSON" if b"NaN" in text or b"Infinity" in text else ""
    return f"this is not JSON: {explain(error)}{hint}"
