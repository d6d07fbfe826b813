"""The reader of the rows of finished runs: some columns, by a filter, from one file or as records for a shuffle."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import apache_beam as beam
import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
from apache_beam import typehints
from apache_beam.io.filesystems import FileSystems

from .blocks import BlockFolder, KeyedRecord, ToBlocks
from .io.storage import STORAGE_ERRORS
from .records import MSGPACK, Encoding, InputProblem, RecordEncoder
from .sample_schema import SLICE_PREFIX, column_type

ROWS_PER_READ = 2048
# Row groups are small; reading ahead would hold more of them at once.
_PARQUET = ds.ParquetFileFormat(default_fragment_scan_options=ds.ParquetFragmentScanOptions(pre_buffer=False))


def read_rows(
    path: str, columns: Sequence[str], where: Any = None, groups: Sequence[int] | None = None
) -> Iterator[Any]:
    """Yields Arrow batches of the rows of a file, with `columns` in this order.

    where: an expression of pyarrow.dataset; None: all rows. groups: the row groups to read; None: all.

    Raises InputProblem where the file is damaged, lacks a column, or has another type in its place.
    """
    with _opened(path, groups) as fragment:
        _check_columns(path, columns, fragment.physical_schema)
        batches = fragment.to_batches(
            columns=list(columns), filter=where, batch_size=ROWS_PER_READ, batch_readahead=0, use_threads=False
        )
        for batch in batches:
            # Text that is not UTF-8 is found here, and not by whoever looks at a cell.
            batch.validate(full=True)
            yield batch


def is_one_of(column: str, texts: Iterable[str]) -> Any:
    """Returns the expression that a column holds one of some texts; of none, no row does."""
    return ds.field(column).isin(pa.array(list(texts), pa.string()))


@contextlib.contextmanager
def _opened(path: str, groups: Sequence[int] | None = None) -> Iterator[Any]:
    try:
        with FileSystems.open(path, compression_type="uncompressed") as stream:
            yield _PARQUET.make_fragment(pa.PythonFile(stream, mode="r"), row_groups=groups)
    except (*STORAGE_ERRORS, pa.ArrowException, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputProblem(f"{path}: the rows of the run cannot be read ({reason}); evaluate again") from error


def _check_columns(path: str, columns: Sequence[str], schema: Any) -> None:
    for name in columns:
        if name not in schema.names:
            raise InputProblem(f"{path}: the column {name} is missing: another version wrote this run; evaluate again")
        found, wanted = schema.field(name).type, column_type(name)
        if found != wanted:
            raise InputProblem(f"{path}: the column {name} has the type {found}, not {wanted}; evaluate again")


@dataclass(frozen=True)
class RowSource:
    """Files of rows, and what a shuffle needs of them: the base of each use of rows in a pipeline."""

    files: tuple[str, ...]
    encoding: ClassVar[Encoding] = MSGPACK

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        raise NotImplementedError

    def where(self) -> Any:
        """Returns the expression that tells which rows are read, once in each worker; None: all."""
        return None

    def records(self, batch: Any) -> Iterator[tuple[str, bytes]]:
        """Yields the sample_id and the encoded content of the rows in an Arrow batch."""
        raise NotImplementedError

    def reading(self) -> contextlib.AbstractContextManager[None]:
        """Returns the context in which files are read: what a damaged one means."""
        return contextlib.nullcontext()

    def check(self) -> None:
        """Raises InputProblem where a file has no such rows, told by its footer."""
        for path in self.files:
            with _opened(path) as fragment:
                _check_columns(path, self.columns, fragment.physical_schema)


class ReadRowBlocks(beam.PTransform):
    """Reads the rows of finished runs as pairs (bucket, block), as ReadRecords reads inputs.

    Each row group is read on its own, however large a file is. sources: by the side of the records that become of their
    rows.
    """

    def __init__(self, sources: Mapping[int, RowSource], buckets: int, folder: BlockFolder) -> None:
        super().__init__()
        self._sources = dict(sources)
        self._to_blocks = ToBlocks(buckets, folder)
        self._type = typehints.Tuple[int, folder.block_type]

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        """Spreads the files by a grouping and the row groups by a reshuffle; see transforms.read.ReadRecords."""
        files = [(side, path) for side, source in self._sources.items() for path in source.files]
        return (
            pipeline
            | "Files" >> beam.Create(list(enumerate(files)), reshuffle=False)
            | "Each" >> beam.GroupByKey()
            | "RowGroups" >> beam.FlatMap(_row_groups, self._sources)
            | "Spread" >> beam.Reshuffle()
            | "Read" >> beam.ParDo(_ReadRowGroup(self._sources)).with_output_types(tuple[bytes, bytes])
            | "Blocks" >> beam.ParDo(self._to_blocks).with_output_types(self._type)
        )


def _row_groups(
    numbered: tuple[int, Iterable[tuple[int, str]]], sources: Mapping[int, RowSource]
) -> Iterator[tuple[int, str, int]]:
    for side, path in numbered[1]:
        with sources[side].reading(), _opened(path) as fragment:
            groups = fragment.num_row_groups
            for group in range(groups):
                yield side, path, group


class _ReadRowGroup(beam.DoFn):
    """Reads the rows of one row group."""

    def __init__(self, sources: Mapping[int, RowSource]) -> None:
        self._sources = sources

    def setup(self) -> None:
        """Makes the filters."""
        self._where = {side: source.where() for side, source in self._sources.items()}

    def process(self, element: tuple[int, str, int]) -> Iterator[KeyedRecord]:
        """Yields a record for each row that is wanted."""
        side, path, group = element
        source, encoder, position = self._sources[side], RecordEncoder(side, 0, ""), 0
        with source.reading():
            for batch in read_rows(path, source.columns, self._where[side], [group]):
                for sample_id, content in source.records(batch):
                    position += 1
                    yield sample_id.encode(), encoder.encode(position, position, source.encoding, content)


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


@dataclass(frozen=True)
class SampleTable(RowSource):
    """The rows of one system in the files of a run.

    slices, metrics: the columns that are wanted, by their names without `slice.`.
    """

    system: str = ""
    slices: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns to read."""
        slices = [f"{SLICE_PREFIX}{name}" for name in self.slices]
        return ["sample_id", "status", "unit", *slices, *self.metrics, "statistics", "truth_hash"]

    def where(self) -> Any:
        """Keeps the rows of the system."""
        return ds.field("system") == self.system

    def records(self, batch: Any) -> Iterator[tuple[str, bytes]]:
        """Yields the rows, each as a SampleRow."""
        first = 3 + len(self.slices)
        for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            slices, metrics = cells[3:first], cells[first : first + len(self.metrics)]
            row = SampleRow(cells[0], cells[1], cells[2], slices, metrics, cells[-2], cells[-1])
            yield row.sample_id, msgspec.msgpack.encode(row)
