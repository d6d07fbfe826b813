"""What is known of one sample after scoring, and the rows that it makes; without Beam, for the Python API too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import msgspec
import pyarrow as pa

from ..metrics.benchmark import Pair
from ..metrics.scoring import Outcome, Status
from .hashes import record_hash, row_hash
from .records import EncodedRecord
from .rows import sample_schema
from .slice_labels import Slice

WITHOUT_FIELDS = {"ground_truth": "ground_truth_without_fields", "predictions": "predictions_without_fields"}
"""What counts, by side, the records of scored samples that hold nothing but nulls of the fields of the benchmark."""

NO_DETAILS = b"null"


class ScoredSample(msgspec.Struct, frozen=True):
    """One sample of one system after scoring.

    prediction_status: what became of the prediction's record; None where there is none.
    unit: what the bootstrap draws, the sample_id or the cluster.
    coverage: what the sample adds to the coverage counts.
    slices, slice_values: the slices that the sample belongs to, and the values of the columns behind them; None where
    the ground truth could not be decoded.
    statistics: None where the sample was not scored; the metrics are empty then, and the details null.
    truth_hash, prediction_hash: see transforms.hashes; None where a record is missing or cannot be decoded.
    """

    sample_id: str
    system: int
    status: Status
    prediction_status: str | None
    unit: str
    coverage: Mapping[str, int]
    slices: tuple[Slice, ...] = ()
    slice_values: tuple[Any, ...] | None = None
    statistics: Mapping[str, float] | None = None
    metrics: Mapping[str, float | None] = {}
    truth_hash: str | None = None
    prediction_hash: str | None = None
    details: bytes = NO_DETAILS


class DecodedSample(msgspec.Struct, frozen=True):
    """One sample of one system before scoring: see ScoredSample. truth, prediction: the records of the pair."""

    pair: Pair[Any, Any]
    system: int
    unit: str
    slices: tuple[Slice, ...]
    slice_values: tuple[Any, ...]
    truth_hash: str | None
    prediction_hash: str | None
    truth: EncodedRecord
    prediction: EncodedRecord | None

    def scored(self, outcome: Outcome, became: str | None) -> ScoredSample:
        """Returns what became of the sample. became: what became of the record of its prediction."""
        pair, score = self.pair, outcome.score
        return ScoredSample(
            pair.sample_id,
            self.system,
            outcome.status,
            became,
            self.unit,
            self._coverage(outcome, became),
            self.slices,
            self.slice_values,
            None if score is None else score.statistics,
            {} if score is None else score.metrics,
            self.truth_hash,
            self.prediction_hash,
            NO_DETAILS if score is None else bytes(score.details),
        )

    def _coverage(self, outcome: Outcome, became: str | None) -> Mapping[str, int]:
        counts = status_counts(outcome.status, became)
        if outcome.status != "rejected":
            given = None if outcome.prediction_rejected is not None else self.pair.prediction
            if has_no_field(self.pair.truth):
                counts[WITHOUT_FIELDS["ground_truth"]] = 1
            if given is not None and has_no_field(given):
                counts[WITHOUT_FIELDS["predictions"]] = 1
        for name, count in () if outcome.score is None else outcome.score.coverage.items():
            counts[name] = counts.get(name, 0) + count
        return counts


def unreadable_truth(sample_id: str, system: int, has_prediction: bool) -> ScoredSample:
    """Returns what becomes of a sample whose ground truth cannot be decoded."""
    became = "unmatched" if has_prediction else None
    return ScoredSample(sample_id, system, "rejected", became, sample_id, status_counts("rejected", became))


def status_counts(status: Status, became: str | None) -> dict[str, int]:
    """Returns what a sample adds to the coverage by its status and that of its prediction."""
    counts = {f"ground_truth.{status}": 1}
    if became is not None:
        counts[f"predictions.{became}"] = 1
    return counts


def has_no_field(record: msgspec.Struct) -> bool:
    """Tells whether a record holds nothing but nulls."""
    # A loop, since most records have the first field, which a generator takes longer to tell.
    for field in record.__struct_fields__:  # noqa: SIM110
        if getattr(record, field) is not None:
            return False
    return True


def hash_of(record: msgspec.Struct | None) -> str | None:
    """Returns the hash of a record; None without one, and of one that holds what cannot be written as JSON again."""
    if record is None:
        return None
    try:
        return record_hash(record)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


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
    # Arrow takes UTF-8 as it is for a string.
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
_STATISTICS = msgspec.json.Encoder(enc_hook=lambda value: int(value) if isinstance(value, Integral) else float(value))


def _slice_value(row: ScoredSample, number: int) -> str | None:
    value = None if row.slice_values is None else row.slice_values[number]
    return None if value is None else _SORTED.encode(value).decode()


def exact_statistics(statistics: Mapping[str, float]) -> bytes:
    """Returns statistics as JSON, in which every number is exact; those of NumPy are written as Python's."""
    return _STATISTICS.encode(statistics)
