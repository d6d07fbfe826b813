"""Reads both sides into blocks of encoded records, in parallel, and quarantines what cannot be read."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam import typehints
from apache_beam.pvalue import TaggedOutput
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from ..metrics.common.errors import explain
from .blocks import HeldRecords, KeyedRecord, bucket_count
from .counters import Outcomes
from .io import restriction
from .io.files import Part, SourceFile, part_size, split_file
from .io.jsonl import Line, LineReader, Lines
from .io.nesting import deeper_than
from .io.readers import reader_of
from .io.rows import Row, RowLimits, too_large
from .io.side_columns import SideColumns
from .records import (
    GROUND_TRUTH,
    JSON,
    MSGPACK,
    Cause,
    ColumnsReader,
    EncodedRecord,
    Quarantined,
    RecordEncoder,
    quarantined,
)
from .sample_ids import (
    KEY_ONLY,
    MAX_SAMPLE_ID_LENGTH,
    about_sample_id,
    not_a_sample_id,
    wrong_length,
)
from .stored_blocks import IN_PIPELINE, Block, BlockFolder

UNREAD = beam.DoFn.RestrictionParam(restriction.UnreadOfPart())


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on one record: its bytes as they are read, and how deep it is nested."""

    record_bytes: int = 16 << 20
    depth: int = 200


def presence(column: str) -> str:
    """Returns the name among the outcomes of one bundle in which a record has a value in `column`."""
    return f"column {column}"


class ReadRecords(beam.PTransform):
    """Reads files of either side.

    Input: nothing (a pipeline). Output, by tag: `records`, pairs (bucket, block), see transforms.blocks; `quarantine`,
    Quarantined; `outcomes`, pairs (side, Sums) that count what was read and what was rejected.

    bundle_bytes: a bundle that has read as much defers the rest; None: it reads on to the end. folder: where the blocks
    go.
    """

    def __init__(
        self,
        files: Sequence[SourceFile],
        names: Sequence[str],
        columns: dict[int, SideColumns],
        limits: Limits,
        bundle_bytes: int | None = None,
        folder: BlockFolder = IN_PIPELINE,
    ) -> None:
        super().__init__()
        self._files = list(files)
        self._folder = folder
        self._read = ReadPart(list(names), columns, limits, bundle_bytes, bucket_count(files), folder)

    def expand(self, pipeline: beam.Pipeline) -> beam.pvalue.DoOutputsTuple:
        """Splits the files, spreads the parts over the workers, reads them."""
        keyed_block = typehints.Tuple[int, self._folder.block_type]
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
            .with_output_types(keyed_block)
            .with_outputs("quarantine", "outcomes", main="records")
        )


def _split(numbered: tuple[int, Iterable[SourceFile]], size: int) -> Iterator[Part]:
    for file in numbered[1]:
        yield from split_file(file, size)


def side_name(side: int, names: Sequence[str]) -> str:
    """Returns the name of a side as people read it: `ground_truth`, or the system's name."""
    return "ground_truth" if side == GROUND_TRUTH else names[side]


class ReadPart(beam.DoFn):
    """Reads one part of a file; see ReadRecords for what it yields.

    Records are held until their blocks are large enough, across the parts of a bundle, which may be small files.
    """

    def __init__(
        self,
        names: list[str],
        columns: dict[int, SideColumns],
        limits: Limits,
        bundle_bytes: int | None = None,
        buckets: int = 1,
        folder: BlockFolder = IN_PIPELINE,
    ) -> None:
        self._names = names
        self._columns = columns
        self._limits = limits
        self._bundle_bytes = bundle_bytes
        self._buckets = buckets
        self._folder = folder

    def start_bundle(self) -> None:
        """Starts with nothing read."""
        self._given_bytes = 0
        self._held = HeldRecords(self._buckets, self._folder.writer())
        self._outcomes = Outcomes()
        self._absent = {side: set(columns.counted) for side, columns in self._columns.items()}
        self._column_readers: dict[tuple[str, ...], ColumnsReader] = {}

    def process(self, part: Part, tracker: Any = UNREAD) -> Iterator[tuple[int, Block] | TaggedOutput]:
        """Yields the blocks of `part` that are large enough, and what was rejected, until the bundle has enough."""
        if self._is_full():
            tracker.defer_remainder()
            return
        unread = tracker.current_restriction()
        found = restriction.KEPT_READERS.take(unread) or restriction.BlockReader(self._blocks(part, unread))
        name, reached = uuid.uuid4().hex, unread.start
        for block in found:
            if not tracker.try_claim(restriction.Claim(block.place, name)):
                found.put_back(block)
                break
            yield from self._hold(part.file.side, block.records)
            reached = block.place
            if self._is_full():
                tracker.defer_remainder()
                break
        else:
            tracker.try_claim(restriction.Claim(None, name))
        if tracker.current_restriction().stop == reached != unread.stop and part.is_read_in_order:
            restriction.KEPT_READERS.keep(replace(unread, start=reached, reader=name), found)
        else:
            found.close()

    def finish_bundle(self) -> Iterator[WindowedValue | TaggedOutput]:
        """Yields the blocks that are left, and what was counted."""
        for block in self._held.flush():
            yield GlobalWindows.windowed_value(block)
        for outcome in self._outcomes.take():
            yield TaggedOutput("outcomes", GlobalWindows.windowed_value(outcome))

    def _is_full(self) -> bool:
        return self._bundle_bytes is not None and self._given_bytes >= self._bundle_bytes

    def _hold(
        self, side: int, records: Sequence[KeyedRecord | Quarantined]
    ) -> Iterator[tuple[int, Block] | TaggedOutput]:
        kept = [record for record in records if not isinstance(record, Quarantined)]
        self._outcomes.add(side, "read", len(records))
        self._outcomes.add(side, "rejected", len(records) - len(kept))
        if len(kept) < len(records):
            for record in records:
                if isinstance(record, Quarantined):
                    yield TaggedOutput("quarantine", record)
        absent = self._absent[side]
        for _, encoded in kept if absent else ():
            self._look_for(side, absent, EncodedRecord(encoded))
        self._given_bytes += sum([len(encoded) for _, encoded in kept])
        yield from self._held.add(kept)

    def _look_for(self, side: int, absent: set[str], record: EncodedRecord) -> None:
        """Removes from `absent` the columns in which a record has a value."""
        if not absent:
            return
        names = tuple(sorted(absent))
        if names not in self._column_readers:
            self._column_readers[names] = ColumnsReader(names)
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            for name, value in zip(names, self._column_readers[names].read(record), strict=True):
                if value is not None:
                    absent.remove(name)
                    self._outcomes.add(side, presence(name))

    def _blocks(self, part: Part, unread: restriction.Unread) -> Generator[restriction.Block, None, None]:
        """Yields what becomes of the records of a part, block by block; a block without records tells of progress."""
        columns = self._columns[part.file.side]
        limits = RowLimits(self._limits.record_bytes, self._limits.depth)
        reader = reader_of(part, columns, limits, unread)
        encoder = RecordEncoder(part.file.side, part.file.number, part.file.path)
        records: list[KeyedRecord | Quarantined] = []
        size = 0
        for found in reader.groups(restriction.RECORDS_PER_BLOCK) if isinstance(reader, LineReader) else reader:
            if isinstance(found, Lines):
                records += self._lines(part.file, encoder, found)
                size += sum(map(len, found.texts))
            elif isinstance(found, Line):
                records.append(self._line(part.file, encoder, found))
                size += len(found.text)
            elif found is not None:
                records.append(self._row(encoder, found, columns.fields.integer_ids))
                size += len(found.payload)
            if found is None or len(records) >= restriction.RECORDS_PER_BLOCK or size >= restriction.BYTES_PER_BLOCK:
                yield restriction.Block(records, reader.place)
                records, size = [], 0
        if records:
            yield restriction.Block(records, reader.place)

    def _lines(
        self, file: SourceFile, encoder: RecordEncoder, lines: Lines
    ) -> Sequence[KeyedRecord] | list[KeyedRecord | Quarantined]:
        """Returns the records of some lines: together where all are in order, else one by one."""
        keys = self._keys_of(file, lines.texts)
        if keys is None:
            return [self._line(file, encoder, line) for line in lines.each()]
        return list(zip(keys, encoder.encode_lines(lines.position, lines.line, lines.texts), strict=True))

    def _keys_of(self, file: SourceFile, texts: Sequence[bytes]) -> list[bytes] | None:
        """Returns the sample_ids of records in UTF-8; None where one needs a closer look."""
        limits, decode = self._limits, KEY_ONLY.decode
        if max(map(len, texts)) > limits.record_bytes or self._columns[file.side].fields.changes_records:
            return None
        if any(deeper_than(text, limits.depth) for text in texts):
            return None
        try:
            ids = [decode(text).sample_id for text in texts]
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        lengths = list(map(len, ids))
        if min(lengths) == 0 or max(lengths) > MAX_SAMPLE_ID_LENGTH:
            return None
        return [sample_id.encode() for sample_id in ids]

    def _line(self, file: SourceFile, encoder: RecordEncoder, line: Line) -> KeyedRecord | Quarantined:
        text, fields = line.text, self._columns[file.side].fields

        def encoded() -> EncodedRecord:
            return EncodedRecord(encoder.encode(line.position, line.line, JSON, text))

        if line.length > self._limits.record_bytes:
            message = too_large(line.length, self._limits.record_bytes)
            return self._rejected(encoded(), "too_large", message)
        if deeper_than(text, self._limits.depth):
            message = f"the record is nested deeper than the {self._limits.depth} levels of limits.depth"
            return self._rejected(encoded(), "too_deep", message)
        try:
            text = fields.of_json(text)
            sample_id = KEY_ONLY.decode(text).sample_id
        except msgspec.ValidationError as error:
            return self._rejected(encoded(), "no_sample_id", about_sample_id(str(error), fields.integer_ids))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return self._rejected(encoded(), "unreadable", _about_json(line.text, error))
        return self._keyed(encoded(), sample_id)

    def _row(self, encoder: RecordEncoder, row: Row, integers: bool) -> KeyedRecord | Quarantined:
        encoded = EncodedRecord(encoder.encode(row.number, row.line or row.number + 1, MSGPACK, row.payload))
        if row.error is not None:
            sample_id = row.sample_id if isinstance(row.sample_id, str) else None
            return self._rejected(encoded, row.cause, row.error, sample_id)
        if not isinstance(row.sample_id, str):
            found = "null" if row.sample_id is None else type(row.sample_id).__name__
            return self._rejected(encoded, "no_sample_id", not_a_sample_id(found, integers))
        return self._keyed(encoded, row.sample_id)

    def _keyed(self, encoded: EncodedRecord, sample_id: str) -> KeyedRecord | Quarantined:
        problem = wrong_length(sample_id)
        if problem is not None:
            return self._rejected(encoded, "no_sample_id", problem)
        return sample_id.encode(), encoded.encoded

    def _rejected(self, encoded: EncodedRecord, cause: Cause, error: str, sample_id: str | None = None) -> Quarantined:
        side = side_name(encoded.side, self._names)
        return quarantined(encoded, side, sample_id, "read", cause, error)


def _about_json(text: bytes, error: BaseException) -> str:
    hint = "; NaN and Infinity are not JSON" if b"NaN" in text or b"Infinity" in text else ""
    return f"this is not JSON: {explain(error)}{hint}"
