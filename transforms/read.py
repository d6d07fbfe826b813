"""Reads files, elements of collections, and rows of finished runs into blocks of encoded records.

What cannot be read is quarantined.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import itertools
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam import typehints
from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from apache_beam.pvalue import TaggedOutput
from apache_beam.transforms.core import RestrictionProvider
from apache_beam.utils.windowed_value import WindowedValue

from ..metrics.benchmark import error_text
from .blocks import IN_PIPELINE, Block, BlockBuffer, BlockFolder, KeyedRecord, ToBlocks, at_end
from .counters import RecordCounts
from .io.field_map import (
    SAMPLE_ID,
    WITH_FIELDS,
    FieldMap,
    SideColumns,
    about_sample_id,
    column_counter,
    fields_of,
    identified,
    needed_fields,
    present_fields,
    readable_json,
    record_json,
    wrong_length,
)
from .io.files import FilePart, SourceFile, match_files, part_size, split_file
from .io.readers import Line, RecordLimits, Row, clipped_repr, known_fields, nesting_problem, read_part, too_large
from .process import faults_end_the_bundle
from .records import (
    JSON,
    Cause,
    ColumnsReader,
    EncodedRecord,
    InputProblem,
    Quarantined,
    RecordEncoder,
    quarantined,
)
from .repeats import check_count, label_of, outcome_of
from .rows import RowSource, opened, read_rows

BYTES_PER_BUNDLE = 64 << 20
MAX_KEPT_READERS = 8
PART_END = 1 << 62
"""Past the last record of any part: their number is not known in advance."""


class RecordRangeTracker(OffsetRestrictionTracker):
    """Tracks which records of a part are read, by number, and splits only behind those that are claimed."""

    def try_split(self, fraction_of_remainder: float) -> tuple[OffsetRange, OffsetRange] | None:
        """Returns the claimed and the unclaimed range, or None if a share of the rest is asked for."""
        split: tuple[OffsetRange, OffsetRange] | None = None if fraction_of_remainder else super().try_split(0)
        return split


class PartRestrictionProvider(RestrictionProvider):
    """The records of a part that are to be read: at first all."""

    def initial_restriction(self, element: FilePart) -> OffsetRange:
        """Returns the whole part."""
        return OffsetRange(0, PART_END)

    def create_tracker(self, restriction: OffsetRange) -> RecordRangeTracker:
        """Returns the tracker that a reader asks whether it may read on."""
        return RecordRangeTracker(restriction)

    def restriction_size(self, element: FilePart, restriction: OffsetRange) -> int:
        """Returns the bytes of the whole part: how many are left is not known."""
        return element.size


RecordReader = Generator[KeyedRecord | Quarantined, None, None]
"""Reads the records of a part from some record on."""


KEPT_READERS: dict[Hashable, RecordReader] = {}
"""The latest few open readers of this process. Each waits for the bundle that reads on; its key is its reading
rules, its part and its position."""
atexit.register(KEPT_READERS.clear)
UNREAD = beam.DoFn.RestrictionParam(PartRestrictionProvider())


@dataclass(frozen=True)
class ReadPlan:
    """How the records of a run are read.

    names: of the systems. columns: by side. buckets, folder: see transforms.blocks. bundle_bytes: a bundle defers
    the rest once it has read this much; None: it reads on to the end.
    """

    names: tuple[str, ...]
    columns: Mapping[int, SideColumns]
    limits: RecordLimits
    buckets: int = 1
    folder: BlockFolder = IN_PIPELINE
    bundle_bytes: int | None = None


class ReadRecords(beam.PTransform):
    """Reads the files of both sides.

    Input: nothing (a pipeline). Output, by tag: `records`, pairs (bucket, block), see transforms.blocks; `quarantine`,
    Quarantined; `outcomes`, pairs (side, Sums) that count what was read and what was rejected.
    """

    def __init__(self, files: Sequence[SourceFile], plan: ReadPlan) -> None:
        super().__init__()
        self._files = list(files)
        self._plan = plan

    def expand(self, pipeline: beam.Pipeline) -> beam.pvalue.DoOutputsTuple:
        """Splits the files, spreads the parts over the workers, reads them."""
        # The files are spread by a grouping: Flink drops the second of two reshuffles without a grouping between them,
        # and one worker would read all parts of a file.
        read = (
            pipeline
            | "Files"
            >> beam.Create(list(enumerate(self._files)), reshuffle=False).with_output_types(tuple[int, SourceFile])
            | "Each" >> beam.GroupByKey()
            | "Split" >> beam.FlatMap(_split, part_size(self._files)).with_output_types(FilePart)
            | "Spread" >> beam.Reshuffle()
            | "ReadParts" >> beam.ParDo(ReadPart(self._plan)).with_outputs("quarantine", "outcomes", main="records")
        )
        return with_block_type(read, self._plan.folder.block_type)


def with_block_type(read: beam.pvalue.DoOutputsTuple, kind: Any) -> beam.pvalue.DoOutputsTuple:
    """Sets the type of the records, for their coder. By a hint of the ParDo, Beam would check all of its outputs."""
    read.records.element_type = typehints.Tuple[int, kind]
    return read


def _split(numbered: tuple[int, Iterable[SourceFile]], size: int) -> Iterator[FilePart]:
    for file in numbered[1]:
        yield from split_file(file, size)


_columns_reader = lru_cache(maxsize=64)(ColumnsReader)


class RecordIntake(beam.DoFn):
    """Checks and counts the records of a bundle, and holds them until their blocks are large enough.

    bytes: the size of the records of the bundle so far.
    """

    def __init__(self, plan: ReadPlan) -> None:
        self._plan = plan

    def start_bundle(self) -> None:
        """Starts with nothing read."""
        columns = self._plan.columns
        self._buffer = BlockBuffer(self._plan.buckets, self._plan.folder)
        self._counts = RecordCounts()
        self._absent = {side: set(each.counted) for side, each in columns.items()}
        self._fieldless = set(columns)
        self._repeats: dict[int, set[str]] = {side: set() for side, each in columns.items() if each.repeats}
        self.bytes = 0

    def finish_bundle(self) -> Iterator[WindowedValue | TaggedOutput]:
        """Yields the remaining blocks and the counts."""
        return at_end([*self._buffer.flush(), *(TaggedOutput("outcomes", each) for each in self._counts.flush())])

    def add(self, side: int, record: KeyedRecord | Quarantined) -> Iterator[tuple[int, Block] | TaggedOutput]:
        """Counts a record, and yields the blocks that are large enough, or the record if it was rejected."""
        self._counts.add(side, "read")
        if side in self._repeats and not isinstance(record, Quarantined):
            record = self._with_repeat(side, record)
        if isinstance(record, Quarantined):
            self._counts.add(side, "rejected")
            yield TaggedOutput("quarantine", record)
            return
        if side in self._fieldless:
            self._count_with_fields(side, EncodedRecord(record[1]).fields())
        if self._absent[side]:
            self._count_columns(side, EncodedRecord(record[1]))
        self.bytes += len(record[1])
        yield from self._buffer.add(record)

    def _with_repeat(self, side: int, record: KeyedRecord) -> KeyedRecord | Quarantined:
        """Returns a record that has a repeat, and counts it."""
        encoded, labels = EncodedRecord(record[1]), self._repeats[side]
        try:
            label = label_of(encoded)
        except ValueError as error:
            return self.rejected(encoded, "no_repeat", str(error), record[0].decode())
        if label not in labels:
            labels.add(label)
            check_count(labels)
        self._counts.add(side, outcome_of(label))
        return record

    def _count_with_fields(self, side: int, fields: Iterable[str]) -> None:
        """Counts the side once as having fields of the benchmark, if one of `fields` is."""
        if not self._plan.columns[side].scored.isdisjoint(fields):
            self._fieldless.remove(side)
            self._counts.add(side, WITH_FIELDS)

    def _count_columns(self, side: int, record: EncodedRecord) -> None:
        """Counts the columns in which a record is the first of the side with a value."""
        absent = self._absent[side]
        names = tuple(sorted(absent))
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            for name, value in zip(names, _columns_reader(names).read(record), strict=True):
                if value is not None:
                    absent.remove(name)
                    self._counts.add(side, column_counter(name))

    def record(self, encoder: RecordEncoder, item: Line | Row) -> KeyedRecord | Quarantined:
        """Returns the record of a line or a row."""
        fields = self._plan.columns[encoder.side].fields
        encoded, sample_id, problem = checked_record(encoder, item, fields, self._plan.limits)
        if problem is not None:
            return self.rejected(encoded, *problem, sample_id or None)
        return sample_id.encode(), encoded.encoded

    def rejected(self, encoded: EncodedRecord, cause: Cause, error: str, sample_id: str | None = None) -> Quarantined:
        """Returns the quarantine entry of a record."""
        return quarantined(encoded, self._plan.names, sample_id, "read", cause, error)


Checked = tuple[EncodedRecord, str, tuple[Cause, str] | None]


def checked_record(encoder: RecordEncoder, item: Line | Row, fields: FieldMap, limits: RecordLimits) -> Checked:
    """Returns the record of a line or a row, its sample_id, and why it is rejected: a cause and a message.

    The sample_id is empty if the record has none that is valid.
    """
    if isinstance(item, Row):
        encoded = EncodedRecord(encoder.encode(item.number, item.line or item.number + 1, item.encoding, item.payload))
        return encoded, *_checked_row(item, fields)
    text, sample_id, problem = _checked_line(item, fields, limits)
    return EncodedRecord(encoder.encode(item.position, item.line, JSON, text)), sample_id, problem


def _checked_line(line: Line, fields: FieldMap, limits: RecordLimits) -> tuple[bytes, str, tuple[Cause, str] | None]:
    if line.length > limits.record_bytes:
        return line.text, "", ("too_large", too_large(line.length, limits.record_bytes))
    if nested := nesting_problem(line.text, limits.depth):
        return line.text, "", ("too_deep", f"the record {nested}")
    sample_id, text, unidentified = identified(line.text, fields)
    if unidentified is not None:
        return text, sample_id, unidentified
    # A field may be from within text.
    if text is not line.text and (nested := nesting_problem(text, limits.depth)):
        return text, sample_id, ("too_deep", f"the record {nested}")
    return text, sample_id, None


def _checked_row(row: Row, fields: FieldMap) -> tuple[str, tuple[Cause, str] | None]:
    sample_id = row.sample_id if isinstance(row.sample_id, str) else None
    if row.error is not None:
        return sample_id or "", (row.cause, row.error)
    if sample_id is None:
        type_name = "null" if row.sample_id is None else type(row.sample_id).__name__
        return "", ("no_sample_id", about_sample_id(f"it is {type_name}", fields.integer_ids))
    if problem := wrong_length(sample_id):
        return "", ("no_sample_id", problem)
    return sample_id, None


class ReadPart(RecordIntake):
    """Reads one part of a file; for its outputs see ReadRecords.

    Records are held until their blocks are large enough, across the parts of a bundle, which may be small files.

    Flink makes all parts that one of its slots reads a single bundle, and holds the outputs of a bundle in memory until
    it has ended; with more than about 1 GB, it waits for ever. So a bundle that has read enough defers the rest of its
    parts to another bundle, which continues with the next record. The worker keeps the open reader for that bundle. If
    the bundle goes to a different worker, that one reads the part from its start and skips the records already read.
    """

    def process(self, part: FilePart, tracker: Any = UNREAD) -> Iterator[tuple[int, Block] | TaggedOutput]:
        """Yields the blocks of `part` that are large enough and the rejected records, until the bundle has enough."""
        if self._is_full():
            tracker.defer_remainder()
            return
        plan, side, restriction = self._plan, part.file.side, tracker.current_restriction()
        start, stop = restriction.start, restriction.stop
        # Another pipeline of this process may read the same file by different rules, or name the systems differently.
        rules = plan.names, plan.columns[side], plan.limits
        reader = KEPT_READERS.pop((rules, part, start, stop), None) or self._records(part, start, stop)
        for record in reader:
            if not tracker.try_claim(start):
                break
            start += 1
            yield from self.add(side, record)
            if self._is_full():
                tracker.defer_remainder()
                KEPT_READERS[rules, part, start, stop] = reader
                for oldest in list(KEPT_READERS)[:-MAX_KEPT_READERS]:
                    KEPT_READERS.pop(oldest, None)
                return
        else:
            tracker.try_claim(stop)
            if side in self._fieldless:
                # The columns of a file are fields of all its records, though its rows have no nulls.
                fields = plan.columns[side].fields
                self._count_with_fields(side, fields.whole(known_fields(part.file, fields) or ()))
        reader.close()

    def _is_full(self) -> bool:
        return self._plan.bundle_bytes is not None and self.bytes >= self._plan.bundle_bytes

    def _records(self, part: FilePart, start: int, stop: int) -> RecordReader:
        file = part.file
        encoder = RecordEncoder(file.side, file.number, file.path)
        for item in itertools.islice(read_part(part, self._plan.columns[file.side], self._plan.limits), start, stop):
            yield self.record(encoder, item)


Unpack = Callable[[Any], Any]

_PLAIN = (str, int, float)


def encode_records(plan: ReadPlan, side: int, unpack: Unpack | None) -> beam.PTransform:
    """Returns the transform that encodes the records of one side.

    Input: records, see `fields_of`; or anything that `unpack` turns into one.
    Output, by tag: as `ReadRecords`. A collection has no order: the position of a record is a hash of its content, so
    the first of several duplicates is the one with the smallest hash.

    side: GROUND_TRUTH or the number of a system.
    """
    return beam.ParDo(EncodeBundle(plan, side, unpack)).with_outputs("quarantine", "outcomes", main="records")


class EncodeBundle(RecordIntake):
    """Encodes records; they are checked, held and counted as in reading, see encode_records."""

    def __init__(self, plan: ReadPlan, side: int, unpack: Unpack | None) -> None:
        columns = plan.columns[side]
        columns = replace(columns, fields=columns.fields.parsing(columns.structured))
        super().__init__(replace(plan, columns={**plan.columns, side: columns}))
        self._encoder = RecordEncoder(side, 0, "")
        self._unpack = unpack
        paths = [columns.fields.path_of(name) for name in columns.structured]
        self._structured = frozenset(path[0] for path in paths if len(path) == 1)
        self._texts = columns.fields.columns({SAMPLE_ID, *columns.texts})
        self._scored = columns.fields.columns(columns.scored)
        self._fields, self._read = columns.fields, columns.read

    def process(self, element: Any) -> Iterator[tuple[int, Block] | TaggedOutput]:
        """Yields the blocks that are large enough, and the record if it is rejected."""
        encoded = self._encoded(element)
        if isinstance(encoded, Quarantined) and encoded.sample_id is None and _is_inference(element):
            if self._unpack is None:
                hint = "; give unpack=beamscore.unpack_inference"
            else:
                hint = "; use KeyedModelHandler with the sample_id as key" * (encoded.cause == "no_sample_id")
            encoded = msgspec.structs.replace(encoded, error=encoded.error + hint)
        yield from self.add(self._encoder.side, encoded)

    def _encoded(self, element: Any) -> KeyedRecord | Quarantined:
        is_unpacked = self._unpack is None
        try:
            # What `unpack` raises is about this element, except that memory is full.
            with faults_end_the_bundle("encoding", lambda it: not is_unpacked and not isinstance(it, MemoryError)):
                record = element if self._unpack is None else self._unpack(element)
                is_unpacked = True
                if self._encoder.side in self._fieldless:
                    nulls = [str(name) for name, value in fields_of(record).items() if value is None]
                    self._count_with_fields(self._encoder.side, self._fields.whole(self._fields.present(nulls)))
                self._whole = present_fields(record, self._structured)
                fields = needed_fields(self._whole, self._read)
                text, problem = readable_json(fields, self._texts, self._scored)
                if problem is not None:
                    return self._unreadable(element, problem, identified(text, self._fields)[0])
                position = _position(record_json(fields, is_sorted=True, scored=self._scored))
        except InputProblem:
            raise
        except Exception as error:  # noqa: BLE001 - any error belongs to this element
            what = "" if is_unpacked else f"unpack: {type(error).__name__}: "
            return self._unreadable(element, what + error_text(error))
        line = Line(position, 0, text[: self._plan.limits.record_bytes], len(text))
        return self.record(self._encoder, line)

    def _unreadable(self, element: Any, error: str, sample_id: str = "") -> Quarantined:
        text = clipped_repr(element)
        encoded = EncodedRecord(self._encoder.encode(_position(text), 0, JSON, text))
        return super().rejected(encoded, "unreadable", error, sample_id or None)

    def rejected(self, encoded: EncodedRecord, cause: Cause, error: str, sample_id: str | None = None) -> Quarantined:
        """Returns the quarantine entry of a record with all its fields: what it lacks may have another name."""
        if self._read is not None:
            # A field that is not read may hold anything of any size, such as an image.
            fields = {
                name: value if name in self._read or isinstance(value, _PLAIN) else f"<{type(value).__name__}>"
                for name, value in self._whole.items()
            }
            text, _ = readable_json(fields, (), ())
            encoded = EncodedRecord(self._encoder.encode(encoded.origin.position, 0, JSON, text))
        return super().rejected(encoded, cause, error, sample_id)


def _is_inference(element: Any) -> bool:
    """Returns whether an element is a PredictionResult of RunInference, or a pair of a key and one."""
    result = element[-1] if isinstance(element, tuple) and len(element) == 2 else element
    return hasattr(result, "inference") and hasattr(result, "example")


def _position(content: bytes) -> int:
    """Returns 63 bits of a hash, which any reader takes as a number."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big") >> 1


class ReadRowBlocks(beam.PTransform):
    """Reads the rows of finished runs as pairs (bucket, block), as ReadRecords reads inputs.

    Each row group is read on its own, however large a file is. sources: by side; the records of their rows belong to
    that side.
    """

    def __init__(self, sources: Mapping[int, RowSource], buckets: int, folder: BlockFolder) -> None:
        super().__init__()
        self._sources = dict(sources)
        self._to_blocks = ToBlocks(buckets, folder)
        self._type = typehints.Tuple[int, folder.block_type]

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        """Spreads the files by a grouping and the row groups by a reshuffle; see ReadRecords."""
        files = [(side, path) for side, source in self._sources.items() for path in source.files]
        return (
            pipeline
            | "Files" >> beam.Create(list(enumerate(files)), reshuffle=False)
            | "Each" >> beam.GroupByKey()
            | "RowGroups" >> beam.FlatMap(_row_groups)
            | "Spread" >> beam.Reshuffle()
            | "Read" >> beam.ParDo(_ReadRowGroup(self._sources)).with_output_types(tuple[bytes, bytes])
            | "Blocks" >> beam.ParDo(self._to_blocks).with_output_types(self._type)
        )


def _row_groups(numbered: tuple[int, Iterable[tuple[int, str]]]) -> Iterator[tuple[int, str, int]]:
    for side, path in numbered[1]:
        with opened(path) as fragment:
            yield from ((side, path, group) for group in range(fragment.num_row_groups))


class _ReadRowGroup(beam.DoFn):
    """Reads the rows of one row group."""

    def __init__(self, sources: Mapping[int, RowSource]) -> None:
        self._sources = sources

    def setup(self) -> None:
        """Creates the filters."""
        self._where = {side: source.where() for side, source in self._sources.items()}

    def process(self, element: tuple[int, str, int]) -> Iterator[KeyedRecord]:
        """Yields a record for each row that passes the filter of its side."""
        side, path, group = element
        source, encoder, position = self._sources[side], RecordEncoder(side, 0, ""), 0
        for batch in read_rows(path, source.columns, self._where[side], [group]):
            for sample_id, content in source.records(batch):
                position += 1
                yield sample_id.encode(), encoder.encode(position, position, source.encoding, content)


def sample_ids(path: str) -> Iterator[str]:
    """Yields the sample_id of each record of a list of samples, such as the changes of a comparison, in order.

    Raises InputProblem if the file cannot be read, or, with its place, if a record has no sample_id.
    """
    columns, limits = SideColumns(frozenset()), RecordLimits()
    intake = RecordIntake(ReadPlan((path,), {0: columns}, limits))
    for file in match_files(0, [path], ""):
        encoder = RecordEncoder(0, 0, file.path)
        for part in split_file(file, part_size([file])):
            for item in read_part(part, columns, limits):
                record = intake.record(encoder, item)
                if isinstance(record, Quarantined):
                    raise InputProblem(f"{record.place}: this is no list of samples: {record.error}")
                yield record[0].decode()
