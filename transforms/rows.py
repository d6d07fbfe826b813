"""The rows of finished runs: their columns, and the one reader, of some columns by a filter."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from .io.storage import open_file
from .records import MSGPACK, Encoding, InputProblem

ROWS_PER_READ = 2048
SLICE_PREFIX = "slice."
_TEXTS = ("sample_id", "system", "status", "prediction_status", "unit")
_CONTENTS = ("statistics", "coverage", "truth_hash", "prediction_hash", "details", "row_hash")


def column_type(name: str) -> Any:
    """Returns the Arrow type of a column: text, unless it is a per-sample metric."""
    is_text = name.startswith(SLICE_PREFIX) or name in (*_TEXTS, *_CONTENTS)
    return pa.string() if is_text else pa.float64()


def sample_schema(metrics: Sequence[str], slice_columns: Sequence[str] = ()) -> Any:
    """Returns the Arrow schema of the rows of samples.

    prediction_status: null if there was no record. unit: what the bootstrap draws. slice.NAME, for each column that
    the run slices by: its value as JSON, null if it is absent. Then a column for each per-sample metric. statistics:
    a JSON object, null if the sample was not scored. coverage: a JSON object of what the sample adds to the coverage
    of the summary. truth_hash, prediction_hash: see transforms.hashes; null without a record. details: JSON.
    row_hash: see transforms.hashes.row_hash.
    """
    names = [*_TEXTS, *(f"{SLICE_PREFIX}{name}" for name in slice_columns), *metrics, *_CONTENTS]
    return pa.schema([(name, column_type(name)) for name in names])


def read_rows(
    path: str, columns: Sequence[str], where: Any = None, groups: Sequence[int] | None = None
) -> Iterator[Any]:
    """Yields Arrow batches of the rows of a file, with `columns` in this order.

    where: an expression of pyarrow.compute; None: all rows. groups: the row groups to read; None: all.

    Raises InputProblem if the file is damaged, lacks a column, or has one of a different type.
    """
    with opened(path, groups) as fragment:
        _check_columns(path, columns, fragment.physical_schema)
        batches = fragment.to_batches(
            columns=list(columns), filter=where, batch_size=ROWS_PER_READ, batch_readahead=0, use_threads=False
        )
        for batch in batches:
            # Text that is not UTF-8 is detected here, not when a cell is read.
            batch.validate(full=True)
            yield batch


def is_one_of(column: str, texts: Iterable[str]) -> Any:
    """Returns the expression that a column holds one of some texts; without texts it matches no row."""
    return pc.field(column).isin(pa.array(list(texts), pa.string()))


@contextlib.contextmanager
def opened(path: str, groups: Sequence[int] | None = None) -> Iterator[Any]:
    """Opens some row groups of a file of rows, or all of them; raises InputProblem if it is damaged."""
    # Not at the top: it takes half a second to import, and most commands read no rows.
    import pyarrow.dataset as ds

    # Row groups are small; reading ahead would hold more of them at once.
    scan = ds.ParquetFragmentScanOptions(pre_buffer=False)
    parquet = ds.ParquetFileFormat(default_fragment_scan_options=scan)
    try:
        with open_file(path) as stream:
            yield parquet.make_fragment(pa.PythonFile(stream, mode="r"), row_groups=groups)
    except (OSError, pa.ArrowException, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputProblem(f"{path}: the rows of the run cannot be read ({reason}); evaluate again") from error


def _check_columns(path: str, columns: Sequence[str], schema: Any) -> None:
    for name in columns:
        if name not in schema.names:
            raise InputProblem(f"{path}: the column {name} is missing: another version wrote this run; evaluate again")
        actual, expected = schema.field(name).type, column_type(name)
        if actual != expected:
            raise InputProblem(f"{path}: the column {name} has the type {actual}, not {expected}; evaluate again")


@dataclass(frozen=True)
class RowSource:
    """Files of rows, and what a shuffle needs from them: the base class for each use of rows in a pipeline."""

    files: tuple[str, ...]
    encoding: ClassVar[Encoding] = MSGPACK

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        raise NotImplementedError

    def where(self) -> Any:
        """Returns the filter expression of the rows to read; called once per worker. None: all."""
        return None

    def records(self, batch: Any) -> Iterator[tuple[str, bytes]]:
        """Yields the sample_id and the encoded content of the rows in an Arrow batch."""
        raise NotImplementedError

    def check(self) -> None:
        """Raises InputProblem if a file has no such rows, according to its footer."""
        for path in self.files:
            with opened(path) as fragment:
                _check_columns(path, self.columns, fragment.physical_schema)


class SampleRow(msgspec.Struct, frozen=True, array_like=True):
    """One sample of one system in a finished run.

    unit: the unit that the bootstrap draws. slice_values: of the requested columns, as JSON; None: absent. metrics:
    the requested per-sample metrics. statistics: a JSON object; None if the sample was not scored.
    truth_hash: of its ground truth; None if that could not be read.
    """

    sample_id: str
    status: str
    unit: str
    slice_values: tuple[str | None, ...]
    metrics: tuple[float | None, ...]
    statistics: str | None
    truth_hash: str | None

    def decoded_statistics(self) -> dict[str, float]:
        """Returns the statistics, empty if the sample was not scored. Raises InputProblem if they are damaged."""
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

    slices, metrics: the columns to read, by their names without `slice.`.
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
        return pc.field("system") == self.system

    def records(self, batch: Any) -> Iterator[tuple[str, bytes]]:
        """Yields the rows, each as a SampleRow."""
        first = 3 + len(self.slices)
        for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            slices, metrics = cells[3:first], cells[first : first + len(self.metrics)]
            row = SampleRow(cells[0], cells[1], cells[2], slices, metrics, cells[-2], cells[-1])
            yield row.sample_id, msgspec.msgpack.encode(row)
