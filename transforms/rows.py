"""The rows of runs: their columns, their table, the one reader, of some columns by a filter, and its uses.

Rows of an earlier run join the samples of a run as one more side of transforms.pair.
A sample takes its score from a row if both its records have the same hashes. A score depends on its own pair alone,
so a row of the same sample, ground truth and prediction, under the same options and version, equals the result of
scoring, to the last bit. A row that was modified, or scored by different rules, is ignored. So are rows of samples that
were rejected, or whose prediction was: their quarantine entries are not in the row.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..metrics.benchmark import SampleScore
from ..metrics.scoring import CONTENT_COLUMNS, SLICE_PREFIX as SLICE_PREFIX, TEXT_COLUMNS, Outcome, Status
from .hashes import row_hash
from .io.storage import open_file, reason_of
from .records import EARLIER_ROWS, MSGPACK, REUSED_ROWS, Encoding, InputProblem
from .scored import WITHOUT_FIELDS, DecodedSample, PairedSample, ScoredSample

ROWS_PER_READ = 2048


def column_type(name: str) -> Any:
    """Returns the Arrow type of a column: text, unless it is a per-sample metric."""
    is_text = name.startswith(SLICE_PREFIX) or name in (*TEXT_COLUMNS, *CONTENT_COLUMNS)
    return pa.string() if is_text else pa.float64()


def sample_schema(metrics: Sequence[str], slice_columns: Sequence[str]) -> Any:
    """Returns the Arrow schema of the rows of samples.

    prediction_status: null if there was no record. unit: what the bootstrap draws. slice.NAME, for each column that
    the run slices by: its value as JSON, null if it is absent. Then a column for each per-sample metric. statistics:
    a JSON object, null if the sample was not scored. coverage: a JSON object of what the sample adds to the coverage
    of the summary. truth_hash, prediction_hash: see transforms.hashes; null without a record. details: JSON.
    row_hash: see transforms.hashes.row_hash.
    """
    names = [*TEXT_COLUMNS, *(f"{SLICE_PREFIX}{name}" for name in slice_columns), *metrics, *CONTENT_COLUMNS]
    return pa.schema([(name, column_type(name)) for name in names])


def sample_table(
    rows: Sequence[ScoredSample],
    systems: Sequence[str],
    metrics: Sequence[str],
    slice_columns: Sequence[str],
    signature: bytes,
) -> Any:
    """Returns the Arrow table of scored samples, see sample_schema.

    systems: the names of the systems. metrics: the per-sample metrics. slice_columns: the columns of slice_values.
    signature: see transforms.hashes.scoring_signature.
    """
    statistics = [None if row.statistics is None else exact_statistics(row.statistics) for row in rows]
    coverage = [_SORTED.encode(row.coverage) for row in rows]
    columns: list[list[Any]] = [
        [row.sample_id for row in rows],
        [systems[row.system] for row in rows],
        [row.status for row in rows],
        [row.prediction_status for row in rows],
        [row.unit for row in rows],
        *([_slice_value(row, number) for row in rows] for number in range(len(slice_columns))),
        *([row.metrics.get(name) for row in rows] for name in metrics),
        statistics,
        coverage,
        [row.truth_hash for row in rows],
        [row.prediction_hash for row in rows],
        [row.details for row in rows],
        [_row_hash(signature, *cells, metrics) for cells in zip(rows, statistics, coverage, strict=True)],
    ]
    schema = sample_schema(metrics, slice_columns)
    # Arrow accepts UTF-8 bytes as strings.
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema)


def _row_hash(
    signature: bytes, row: ScoredSample, statistics: bytes | None, coverage: bytes, metrics: Sequence[str]
) -> str:
    names = (row.sample_id, row.status, row.prediction_status, row.truth_hash, row.prediction_hash)
    texts = [None if name is None else name.encode() for name in names]
    values = [row.metrics.get(name) for name in metrics]
    values = [None if value is None else float(value) for value in values]
    return row_hash(signature, [*texts, statistics, coverage, row.details], values)


_SORTED = msgspec.json.Encoder(order="sorted")
_EXACT = msgspec.json.Encoder()


def _slice_value(row: ScoredSample, number: int) -> str | None:
    value = None if row.slice_values is None else row.slice_values[number]
    return None if value is None else _SORTED.encode(value).decode()


def exact_statistics(statistics: Mapping[str, float]) -> bytes:
    """Returns statistics as JSON with every number exact."""
    return _EXACT.encode(statistics)


def encode_table(table: Any) -> bytes:
    """Returns a table as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def read_rows(path: str, columns: Sequence[str], where: Any, groups: Sequence[int] | None = None) -> Iterator[Any]:
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
        raise InputProblem(
            f"{path}: the rows of the run cannot be read ({reason_of(error)}); evaluate again"
        ) from error


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
            return _FLOATS.decode(self.statistics)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputProblem(f"sample {self.sample_id}: its statistics cannot be read ({error})") from error


_FLOATS = msgspec.json.Decoder(dict[str, float])


@dataclass(frozen=True)
class SystemRows(RowSource):
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


_HASHED = ("sample_id", "status", "prediction_status", "truth_hash", "prediction_hash")
_RESULT = ("statistics", "coverage", "details")
_TEXT_CELLS = len(_HASHED) + len(_RESULT)
_REUSABLE = {("scored", "scored"), ("missing_prediction", None)}


class _ReusedRow(msgspec.Struct, array_like=True):
    status: Status
    truth_hash: str
    prediction_hash: str | None
    statistics: str
    coverage: str
    details: str
    metrics: list[float | None]


@dataclass(frozen=True)
class ReusedRows(RowSource):
    """The rows of runs that scored as this one does; they provide the scores of samples that have not changed.

    metrics: the per-sample metrics, each a column of the rows. signature: see transforms.hashes.scoring_signature.
    """

    metrics: tuple[str, ...] = ()
    signature: bytes = b""

    @property
    def columns(self) -> list[str]:
        """The row hash and the columns that it covers."""
        return ["row_hash", *_HASHED, *_RESULT, *self.metrics]

    def records(self, batch: Any) -> Iterator[tuple[str, bytes]]:
        """Yields the unmodified rows of samples that were not rejected."""
        for hashed, *row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            sample_id, status, outcome, truth, prediction, statistics, coverage, details, *metrics = row
            whole = truth is not None and statistics is not None and (outcome is None or prediction is not None)
            whole = whole and None not in (coverage, details) and (status, outcome) in _REUSABLE
            texts = [None if text is None else text.encode() for text in row[:_TEXT_CELLS]]
            if whole and row_hash(self.signature, texts, metrics) == hashed:
                content = _ReusedRow(status, truth, prediction, statistics, coverage, details, metrics)
                yield sample_id, msgspec.msgpack.encode(content)

    def find(self, paired: Sequence[PairedSample], samples: Sequence[DecodedSample]) -> list[Outcome | None]:
        """Returns the outcome of each sample of a batch; None if no row has it."""
        rows = _rows_of(paired, REUSED_ROWS, _ReusedRow)
        return [self._outcome(sample, rows.get(sample.pair.sample_id, ())) for sample in samples]

    def _outcome(self, sample: DecodedSample, rows: Sequence[_ReusedRow]) -> Outcome | None:
        hashes = sample.unscored.truth_hash, sample.unscored.prediction_hash
        # An existing prediction may have no hash, like a missing one.
        is_known = sample.unscored.prediction_hash is not None or sample.pair.prediction is None
        row = next((row for row in rows if is_known and (row.truth_hash, row.prediction_hash) == hashes), None)
        if row is None:
            return None
        statistics, metrics = _NUMBERS.decode(row.statistics), dict(zip(self.metrics, row.metrics, strict=True))
        score = SampleScore(statistics, metrics, msgspec.Raw(row.details.encode()), _extra(row.coverage))
        return Outcome(row.status, score)


_NUMBERS = msgspec.json.Decoder(dict[str, int | float])


@lru_cache(maxsize=1024)
def _extra(coverage: str) -> dict[str, int]:
    """Returns the counts of a benchmark's own in the coverage of a sample; most samples have the same."""
    counts = msgspec.json.decode(coverage, type=dict[str, int])
    return {name: n for name, n in counts.items() if "." not in name and name not in WITHOUT_FIELDS.values()}


class _EarlierValue(msgspec.Struct, array_like=True):
    system: str
    truth_hash: str | None
    value: float


@dataclass(frozen=True)
class EarlierRows(RowSource):
    """The rows of a finished run with the earlier values of samples.

    metric: the per-sample metric. systems: by the number of our system, the name of the system to compare it with;
    None: none.
    """

    metric: str = ""
    systems: tuple[str | None, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return ["sample_id", "system", "truth_hash", self.metric]

    def where(self) -> Any:
        """Keeps the rows of these systems that have a value."""
        systems = [name for name in self.systems if name is not None]
        return is_one_of("system", systems) & pc.field(self.metric).is_valid()

    def records(self, batch: Any) -> Iterator[tuple[str, bytes]]:
        """Yields the value of each row."""
        for sample_id, *cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield sample_id, msgspec.msgpack.encode(_EarlierValue(*cells))

    def read(self, sample_ids: Sequence[str]) -> dict[tuple[str, str, str | None], float]:
        """Returns the values of some samples by sample_id, system and truth_hash, without a pipeline."""
        where = self.where() & is_one_of("sample_id", sample_ids)
        batches = (batch for path in self.files for batch in read_rows(path, self.columns, where))
        rows = (zip(*(column.to_pylist() for column in batch.columns), strict=True) for batch in batches)
        return {(sample_id, *key): value for sample_id, *key, value in itertools.chain.from_iterable(rows)}

    def find(self, paired: Sequence[PairedSample], samples: Sequence[ScoredSample]) -> list[float | None]:
        """Returns the value of each sample in the earlier run; None if it had none, or its ground truth has changed."""
        values = {
            (sample_id, row.system, row.truth_hash): row.value
            for sample_id, rows in _rows_of(paired, EARLIER_ROWS, _EarlierValue).items()
            for row in rows
        }
        return [values.get((each.sample_id, self.systems[each.system] or "", each.truth_hash)) for each in samples]


def _rows_of(paired: Sequence[PairedSample], side: int, kind: Any) -> dict[str, list[Any]]:
    """Returns the rows of one use that joined each sample."""
    return {
        sample.sample_id: [row.decode(kind) for row in sample.rows if row.side == side]
        for sample in paired
        if sample.rows
    }
