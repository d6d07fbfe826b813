"""Scores that are taken from the rows of a finished run, where both records of a sample are the same by hash.

A score depends on its own pair alone, so a row of the same sample, ground truth and prediction, under the same options
and version, is what scoring would give, to the last bit. A row that is not as it was written, or was scored by other
rules, is not taken; nor are rows of samples that were rejected, or whose prediction was: what the quarantine says of
them is not in the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from ..metrics.benchmark import Pair, SampleScore
from ..metrics.scoring import Outcome, Status
from ..metrics.statistics.bootstrap import check_statistics
from .hashes import RowHasher
from .io.key_store import KeyStore, key_of, once_per_process
from .io.storage import STORAGE_ERRORS
from .records import InputProblem
from .scored_sample import WITHOUT_FIELDS, DecodedSample

_COLUMNS = ("sample_id", "status", "prediction_status", "truth_hash", "prediction_hash")
_CONTENT = ("statistics", "coverage", "details")
_TEXTS = len(_COLUMNS) + len(_CONTENT)
_TAKEN = {("scored", "scored"), ("missing_prediction", None)}


@dataclass(frozen=True)
class ReusedRows:
    """The files of rows of a finished run, the per-sample metrics that they have a column of, and how it scored.

    signature: see transforms.hashes.scoring_signature.
    """

    files: tuple[str, ...]
    metrics: tuple[str, ...]
    signature: bytes

    def open(self) -> RowStore:
        """Returns the rows for this process, which reads them once, whatever the number of its threads.

        Raises InputProblem where a file is gone or not one of rows.
        """
        return _store_of(self)


class RowStore:
    """The scores in the rows of a run by sample and hashes, on the disk of this machine."""

    def __init__(self, rows: ReusedRows) -> None:
        self._metrics = rows.metrics
        self._hasher = RowHasher(rows.signature)
        self._store = KeyStore()
        for path in rows.files:
            try:
                self._store.add(self._read(path))
            except (*STORAGE_ERRORS, BeamIOError, pa.ArrowException, KeyError, ValueError) as error:
                self._store.close()
                reason = " ".join(str(error).split())[:200]
                raise InputProblem(f"--reuse: {path}: cannot be read as rows of a run: {reason}") from error

    def _read(self, path: str) -> Iterator[tuple[bytes, bytes]]:
        columns = ["row_hash", *_COLUMNS, *_CONTENT, *self._metrics]
        with FileSystems.open(path, compression_type="uncompressed") as stream:
            parquet = pq.ParquetFile(stream, pre_buffer=False)
            missing = [name for name in columns if name not in parquet.schema_arrow.names]
            if missing:
                raise KeyError(f"there is no column {missing[0]}")
            for batch in parquet.iter_batches(columns=columns):
                cells = zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
                for row_hash, *row in cells:
                    sample_id, status, became, truth, prediction, statistics, *content = row
                    whole = truth is not None and statistics is not None and (became is None or prediction is not None)
                    whole = whole and None not in content[:2] and (status, became) in _TAKEN
                    if whole and self._hash(row) == row_hash:
                        yield (
                            key_of(sample_id, truth, prediction),
                            msgspec.msgpack.encode([status, statistics, *content]),
                        )

    def _hash(self, row: Sequence[Any]) -> str:
        texts = [None if text is None else text.encode() for text in row[:_TEXTS]]
        return self._hasher.hash(texts, row[_TEXTS:])

    def find(self, samples: Sequence[DecodedSample]) -> list[Outcome | None]:
        """Returns what became of each sample of a batch; None where no row tells."""
        keys = [_key_of(sample) for sample in samples]
        rows = self._store.find([key for key in keys if key is not None])
        return [None if key is None or key not in rows else self._outcome(rows[key]) for key in keys]

    def _outcome(self, row: bytes) -> Outcome | None:
        """Returns what a row says; None where its numbers are impossible."""
        try:
            status, statistics, coverage, details, *values = _ROW.decode(row)
            exact = _STATISTICS.decode(statistics)
            check_statistics(exact)
            extra = _extra(coverage)
        except (msgspec.MsgspecError, ValueError, UnicodeDecodeError):
            return None
        metrics = dict(zip(self._metrics, values, strict=True))
        taken: Status = "scored" if status == "scored" else "missing_prediction"
        return Outcome(taken, SampleScore(exact, metrics, msgspec.Raw(details.encode()), extra))


_ROW = msgspec.msgpack.Decoder(list[Any])
_STATISTICS = msgspec.json.Decoder(dict[str, int | float])


@lru_cache(maxsize=1024)
def _extra(coverage: str) -> dict[str, int]:
    """Returns the counts of a benchmark's own in the coverage of a sample; most samples have the same."""
    counts = msgspec.json.decode(coverage, type=dict[str, int])
    return {name: n for name, n in counts.items() if "." not in name and name not in WITHOUT_FIELDS.values()}


def _key_of(sample: DecodedSample) -> bytes | None:
    """Returns the key of the row that a sample may have; None where a record of it has no hash."""
    known = sample.truth_hash is not None and (sample.prediction_hash is not None or sample.pair.prediction is None)
    return key_of(sample.pair.sample_id, sample.truth_hash or "", sample.prediction_hash) if known else None


_store_of = once_per_process(RowStore)


def split_known(
    store: RowStore | None, samples: Sequence[DecodedSample]
) -> tuple[list[Outcome | None], list[Pair[Any, Any]]]:
    """Returns what is known of each sample, and the pairs that are left to score."""
    known: list[Outcome | None] = [None] * len(samples) if store is None else store.find(samples)
    return known, [sample.pair for sample, outcome in zip(samples, known, strict=True) if outcome is None]
