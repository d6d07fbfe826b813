"""The columns of the table that has a row for each sample and system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

SLICE_PREFIX = "slice."
_TEXTS = ("sample_id", "system", "status", "prediction_status", "unit")
_CONTENTS = ("statistics", "coverage", "truth_hash", "prediction_hash", "details", "row_hash")


def column_type(name: str) -> Any:
    """Returns the Arrow type of a column: text, unless it is a per-sample metric."""
    is_text = name.startswith(SLICE_PREFIX) or name in (*_TEXTS, *_CONTENTS)
    return pa.string() if is_text else pa.float64()


def sample_schema(metrics: Sequence[str], slice_columns: Sequence[str] = ()) -> Any:
    """Returns the Arrow schema of the rows of samples.

    prediction_status: null where there was no record. unit: what the bootstrap draws. slice.NAME, for each column that
    the run slices by: its value as JSON, null where it is absent. Then a column for each per-sample metric. statistics:
    a JSON object, null where the sample was not scored. coverage: a JSON object of what the sample adds to the coverage
    of the summary. truth_hash, prediction_hash: see transforms.hashes; null where there is none. details: JSON.
    row_hash: see transforms.hashes.row_hash.
    """
    names = [*_TEXTS, *(f"{SLICE_PREFIX}{name}" for name in slice_columns), *metrics, *_CONTENTS]
    return pa.schema([(name, column_type(name)) for name in names])
