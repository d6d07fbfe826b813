"""The columns of the table that has a row for each sample and system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa


def sample_schema(metrics: Sequence[str]) -> Any:
    """Returns the Arrow schema of the rows of samples, with a column for each per-sample metric."""
    columns = [pa.field("sample_id", pa.string()), pa.field("system", pa.string()), pa.field("status", pa.string())]
    columns += [pa.field(name, pa.float64()) for name in metrics]
    return pa.schema([*columns, pa.field("details", pa.string())])
