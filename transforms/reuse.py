"""Scores that are taken from the rows of a finished run, where both records of a sample are the same by hash.

A score depends on its own pair alone, so a row of the same sample, ground truth and prediction, under the same options
and version, is what scoring would give, to the last bit. Rows of samples that were rejected, or whose prediction was,
are not taken: what the quarantine says of them is not in the row.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from metrics.benchmark import Pair, SampleScore
from metrics.scoring import Outcome, Status
from metrics.statistics.bootstrap import check_statistics
from transforms.io.storage import STORAGE_ERRORS
from transforms.records import InputProblem
from transforms.scored_sample import WITHOUT_FIELDS, hash_of

_COLUMNS = ("sample_id", "status", "prediction_status", "truth_hash", "prediction_hash")
_CONTENT = ("statistics", "coverage", "details")
_TAKEN = {("scored", "scored"), ("missing_prediction", None)}


@dataclass(frozen=True)
class ReusedRows:
    """The files of rows of a finished run, and the per-sample metrics that they have a column of."""

    files: tuple[str, ...]
    metrics: tuple[str, ...]

    def open(self) -> RowStore:
        """Returns the rows for this process, which reads them once, whatever the number of its threads.

        Raises InputProblem where a file is gone or not one of rows.
        """
        with _LOCK:
            if self not in _STORES:
                _STORES[self] = RowStore(self)
            return _STORES[self]


class RowStore:
    """The scores in the rows of a run by sample and hashes, on the disk of this machine."""

    def __init__(self, rows: ReusedRows) -> None:
        self._metrics = rows.metrics
        self._lock = threading.Lock()
        # Without a name it is a file of SQLite's own in the temporary folder, gone when this process is.
        self._connection = sqlite3.connect("", check_same_thread=False)
        self._connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
        self._connection.execute("CREATE TABLE rows (key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID")
        for path in rows.files:
            try:
                self._connection.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", self._read(path))
            except (*STORAGE_ERRORS, BeamIOError, pa.ArrowException, KeyError, ValueError) as error:
                self._connection.close()
                reason = " ".join(str(error).split())[:200]
                raise InputProblem(f"--reuse: {path}: cannot be read as rows of a run: {reason}") from error
        self._connection.commit()

    def _read(self, path: str) -> Iterator[tuple[bytes, bytes]]:
        columns = [*_COLUMNS, *_CONTENT, *self._metrics]
        with FileSystems.open(path, compression_type="uncompressed") as stream:
            parquet = pq.ParquetFile(stream, pre_buffer=False)
            missing = [name for name in columns if name not in parquet.schema_arrow.names]
            if missing:
                raise KeyError(f"there is no column {missing[0]}")
            for batch in parquet.iter_batches(columns=columns):
                cells = zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
                for sample_id, status, became, truth, prediction, statistics, *content in cells:
                    whole = truth is not None and statistics is not None and (became is None or prediction is not None)
                    if whole and (status, became) in _TAKEN:
                        yield _key(sample_id, truth, prediction), msgspec.msgpack.encode([status, statistics, *content])

    def find(self, pair: Pair[Any, Any], truth_hash: str | None) -> Outcome | None:
        """Returns what became of a pair; None where no row tells."""
        prediction_hash = None if pair.prediction is None else hash_of(pair.prediction)
        if truth_hash is None or (pair.prediction is not None and prediction_hash is None):
            return None
        with self._lock:
            query = "SELECT row FROM rows WHERE key = ?"
            found = self._connection.execute(query, (_key(pair.sample_id, truth_hash, prediction_hash),)).fetchone()
        if found is None:
            return None
        with contextlib.suppress(msgspec.MsgspecError, ValueError, UnicodeDecodeError):
            return self._outcome(found[0])
        return None

    def _outcome(self, row: bytes) -> Outcome:
        status, statistics, coverage, details, *values = msgspec.msgpack.decode(row)
        exact = msgspec.json.decode(statistics, type=dict[str, int | float])
        check_statistics(exact)
        counts = msgspec.json.decode(coverage, type=dict[str, int])
        extra = {name: n for name, n in counts.items() if "." not in name and name not in WITHOUT_FIELDS.values()}
        metrics = dict(zip(self._metrics, values, strict=True))
        taken: Status = "scored" if status == "scored" else "missing_prediction"
        return Outcome(taken, SampleScore(exact, metrics, msgspec.Raw(details.encode()), extra))


def _key(sample_id: str, truth_hash: str, prediction_hash: str | None) -> bytes:
    text = msgspec.json.encode((sample_id, truth_hash, prediction_hash))
    return hashlib.blake2b(text, digest_size=16).digest()


_LOCK = threading.Lock()
_STORES: dict[ReusedRows, RowStore] = {}


def split_known(
    store: RowStore | None, pairs: Sequence[tuple[Pair[Any, Any], str | None]]
) -> tuple[list[Outcome | None], list[Pair[Any, Any]]]:
    """Returns what is known of each pair, given with the hash of its truth, and the pairs that are left to score."""
    known = [None if store is None else store.find(pair, truth_hash) for pair, truth_hash in pairs]
    return known, [pair for (pair, _), outcome in zip(pairs, known, strict=True) if outcome is None]
