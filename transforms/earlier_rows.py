"""Rows of earlier runs that join the samples of a run: one more side of transforms.pair.

A sample takes its score from a row if both its records have the same hashes. A score depends on its own pair alone,
so a row of the same sample, ground truth and prediction, under the same options and version, equals the result of
scoring, to the last bit. A row that was modified, or scored by different rules, is ignored. So are rows of samples that
were rejected, or whose prediction was: their quarantine entries are not in the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
import pyarrow.compute as pc

from ..metrics.benchmark import SampleScore
from ..metrics.scoring import Outcome, Status
from .hashes import row_hash
from .records import EARLIER_ROWS, REUSED_ROWS
from .rows import RowSource, is_one_of
from .scored import WITHOUT_FIELDS, DecodedSample, PairedSample, ScoredSample

_HASHED = ("sample_id", "status", "prediction_status", "truth_hash", "prediction_hash")
_CONTENT = ("statistics", "coverage", "details")
_TEXTS = len(_HASHED) + len(_CONTENT)
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
        return ["row_hash", *_HASHED, *_CONTENT, *self.metrics]

    def records(self, batch: Any) -> Iterator[tuple[str, bytes]]:
        """Yields the unmodified rows of samples that were not rejected."""
        for hashed, *row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            sample_id, status, outcome, truth, prediction, statistics, coverage, details, *metrics = row
            whole = truth is not None and statistics is not None and (outcome is None or prediction is not None)
            whole = whole and None not in (coverage, details) and (status, outcome) in _REUSABLE
            texts = [None if text is None else text.encode() for text in row[:_TEXTS]]
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
        statistics, metrics = _STATISTICS.decode(row.statistics), dict(zip(self.metrics, row.metrics, strict=True))
        score = SampleScore(statistics, metrics, msgspec.Raw(row.details.encode()), _extra(row.coverage))
        return Outcome(row.status, score)


_STATISTICS = msgspec.json.Decoder(dict[str, int | float])


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
