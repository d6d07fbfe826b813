"""The rows of finished runs, read back: one for each sample of a system, grouped by a hash of the sample_id."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io.filesystems import FileSystems
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from .io.storage import STORAGE_ERRORS
from .records import InputProblem
from .sample_schema import SLICE_PREFIX
from .stored_blocks import Block, BlockFolder, read_block

ROWS_PER_READ = 2048
BYTES_PER_BUCKET = 32 << 20
BYTES_PER_ROW = 1000
"""About what the objects of a row take in memory, beside the text of its cells."""
BYTES_HELD = 32 << 20
MAX_BUCKETS = 100_000


class SampleRow(msgspec.Struct, frozen=True, array_like=True):
    """What a run says of one sample of one system.

    unit: what the bootstrap draws. slice_values: of the columns that were asked for, as JSON; None: absent. metrics:
    the per-sample metrics that were asked for. statistics: a JSON object; None where the sample was not scored.
    truth_hash: of its ground truth; None where that could not be read.
    """

    sample_id: str
    status: str
    unit: str
    slice_values: tuple[str | None, ...]
    metrics: tuple[float | None, ...]
    statistics: str | None
    truth_hash: str | None

    def decoded_statistics(self) -> dict[str, float]:
        """Returns the statistics; none where the sample was not scored. Raises InputProblem where they are damaged."""
        if self.statistics is None:
            return {}
        try:
            return _STATISTICS.decode(self.statistics)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputProblem(f"sample {self.sample_id}: its statistics cannot be read ({error})") from error


_STATISTICS = msgspec.json.Decoder(dict[str, float])
_ROWS = msgspec.msgpack.Decoder(list[SampleRow])


@dataclass(frozen=True)
class SampleTable:
    """The rows of one system in the files of a run.

    side: a number that tells this table from others. slices, metrics: the columns that are wanted, by their names
    without `slice.`.
    """

    side: int
    files: tuple[str, ...]
    system: str
    slices: tuple[str, ...]
    metrics: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """The names of the columns to read."""
        slices = [f"{SLICE_PREFIX}{name}" for name in self.slices]
        return ["sample_id", "system", "status", "unit", *slices, *self.metrics, "statistics", "truth_hash"]

    def rows(self, batch: Any) -> Iterator[SampleRow]:
        """Yields the rows of the system in an Arrow batch."""
        columns = [batch.column(name).to_pylist() for name in self.columns]
        first = 4 + len(self.slices)
        for cells in zip(*columns, strict=True):
            if cells[1] == self.system:
                slices, metrics = cells[4:first], cells[first : first + len(self.metrics)]
                yield SampleRow(cells[0], cells[2], cells[3], slices, metrics, cells[-2], cells[-1])


@contextlib.contextmanager
def open_table(path: str) -> Iterator[Any]:
    """Opens a Parquet file of rows; raises InputProblem where it cannot be read, also within."""
    try:
        with FileSystems.open(path, compression_type="uncompressed") as stream, pq.ParquetFile(stream) as file:
            yield file
    except (*STORAGE_ERRORS, pa.ArrowException, KeyError) as error:
        raise InputProblem(f"{path}: the rows of the run cannot be read ({error})") from error


def check_columns(table: SampleTable) -> float:
    """Returns how many bytes the rows take in memory for each byte of their files, told by the first file.

    Raises InputProblem where it lacks a column, or has another type in its place; 0 without any file.
    """
    if not table.files:
        return 0.0
    path = table.files[0]
    with open_table(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
    for name in table.columns:
        kind = pa.float64() if name in table.metrics else pa.string()
        if name not in schema.names:
            raise InputProblem(f"{path}: the column {name} is missing: another version wrote this run; evaluate again")
        if schema.field(name).type != kind:
            raise InputProblem(f"{path}: the column {name} has the type {schema.field(name).type}, not {kind}")
    wanted = [place for place, name in enumerate(schema.names) if name in table.columns]
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    stored = sum(group.column(place).total_compressed_size for group in groups for place in range(len(schema.names)))
    cells = sum(group.column(place).total_uncompressed_size for group in groups for place in wanted)
    return float((cells + BYTES_PER_ROW * metadata.num_rows) / max(1, stored))


def bucket_count(total_bytes: float) -> int:
    """Returns how many buckets keep the rows of one within BYTES_PER_BUCKET, of `total_bytes` in memory."""
    return min(MAX_BUCKETS, 1 + int(total_bytes) // BYTES_PER_BUCKET)


class ReadSampleRows(beam.PTransform):
    """Reads tables; output: pairs (bucket, (side, block of rows)), where a bucket has all rows of its samples.

    A block is what `decode_block` reads. The files are read part by part, and a bundle holds no more than BYTES_HELD.
    folder: where the blocks go.
    """

    def __init__(self, tables: Sequence[SampleTable], buckets: int, folder: BlockFolder) -> None:
        super().__init__()
        self._tables = tuple(tables)
        self._buckets = buckets
        self._folder = folder

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        """Reads each row group on its own."""
        files = [(number, path) for number, table in enumerate(self._tables) for path in table.files]
        return (
            pipeline
            | "Files" >> beam.Create(files)
            | "SpreadFiles" >> beam.Reshuffle()
            | "RowGroups" >> beam.FlatMap(_row_groups)
            | "SpreadRowGroups" >> beam.Reshuffle()
            | "Rows" >> beam.ParDo(_ReadRowGroup(self._tables, self._buckets, self._folder))
        )


def _row_groups(file: tuple[int, str]) -> Iterator[tuple[int, str, int]]:
    number, path = file
    with open_table(path) as opened:
        groups = opened.num_row_groups
    for group in range(groups):
        yield number, path, group


class _ReadRowGroup(beam.DoFn):
    """Turns a row group into blocks by bucket."""

    def __init__(self, tables: tuple[SampleTable, ...], buckets: int, folder: BlockFolder) -> None:
        self._tables = tables
        self._buckets = buckets
        self._folder = folder

    def start_bundle(self) -> None:
        """Starts without rows."""
        self._writer = self._folder.writer()
        self._held: dict[tuple[int, int], list[SampleRow]] = {}
        self._bytes = 0

    def process(self, element: tuple[int, str, int]) -> Iterator[tuple[int, tuple[int, Block]]]:
        """Sorts the rows into their buckets, and yields what is held where it has become much."""
        number, path, group = element
        table = self._tables[number]
        for batch in _batches(table, path, group):
            for row in table.rows(batch):
                place = zlib.crc32(row.sample_id.encode()) % self._buckets, table.side
                self._held.setdefault(place, []).append(row)
            self._bytes += batch.nbytes + BYTES_PER_ROW * batch.num_rows
            if self._bytes >= BYTES_HELD:
                yield from self._blocks()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Yields what is held."""
        for block in self._blocks():
            yield GlobalWindows.windowed_value(block)

    def _blocks(self) -> Iterator[tuple[int, tuple[int, Block]]]:
        held, self._held, self._bytes = self._held, {}, 0
        for (bucket, side), rows in held.items():
            yield bucket, (side, self._writer.write(encode_block(rows)))


def _batches(table: SampleTable, path: str, group: int) -> Iterator[Any]:
    with open_table(path) as file:
        yield from file.iter_batches(ROWS_PER_READ, row_groups=[group], columns=table.columns)


def encode_block(rows: Sequence[SampleRow]) -> bytes:
    """Returns the content of a block of rows."""
    return msgspec.msgpack.encode(rows)


def decode_block(block: Block) -> list[SampleRow]:
    """Returns the rows of a block."""
    return _ROWS.decode(read_block(block))
