"""The columns of the table that has a row for each sample and system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

SLICE_PREFIX = "slice."


def sample_schema(metrics: Sequence[str], slice_columns: Sequence[str] = ()) -> Any:
    """Returns the Arrow schema of the rows of samples.

    prediction_status: null where there was no record. unit: what the bootstrap draws. slice.NAME, for each column that
    the run slices by: its value as JSON, null where it is absent. Then a column for each per-sample metric. statistics:
    a JSON object, null where the sample was not scored. coverage: a JSON object of what the sample adds to the coverage
    of the summary. truth_hash, prediction_hash: see transforms.hashes; null where there is none. details: JSON.
    row_hash: see transforms.hashes.RowHasher.
    """
    columns = [(name, pa.string()) for name in ("sample_id", "system", "status", "prediction_status", "unit")]
    columns += [(f"{SLICE_PREFIX}{name}", pa.string()) for name in slice_columns]
    columns += [(name, pa.float64()) for name in metrics]
    columns += [(name, pa.string()) for name in ("statistics", "coverage", "truth_hash", "prediction_hash")]
    columns += [("details", pa.string()), ("row_hash", pa.string())]
    return pa.schema(columns)
