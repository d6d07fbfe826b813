"""How a row group of Parquet is read so that decoding it takes bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..records import Cause
from .files import OpenParquet
from .parquet_pages import MAX_PAGE_BYTES, chunk_bounds

ROWS_PER_BATCH = 256
BYTES_PER_BATCH = 256 << 20
"""What the pages and dictionaries may make of one batch, at most."""

VALUES_PER_BATCH = 16 << 20
LONG_ROW = VALUES_PER_BATCH // ROWS_PER_BATCH
MAX_ROW_VALUES = 32 << 20
"""A row of more values is not even decoded to be skipped, unless records may have as many bytes."""


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """How to read row group `number`: rows a batch, and which leaf columns to read as dictionaries.

    start, stop: the rows of the group to read, counted within it. From `stop` on no row can be read, as decoding the
    column would take too much memory: `guilty` is the row that is too large, or None where it may be any of them, and
    `problem` says what is wrong with it. stop is None where all rows can be read.
    """

    number: int
    batch_rows: int
    dictionaries: tuple[str, ...] = ()
    start: int = 0
    stop: int | None = None
    guilty: int | None = None
    problem: str = ""

    def ids_alone(self) -> GroupPlan:
        """Returns how to read the ids of the rows that cannot be read."""
        return GroupPlan(self.number, self.batch_rows, start=self.stop or 0)

    def refusal(self, row: int) -> tuple[Cause, str]:
        """Returns why a row from `stop` on is not read."""
        if self.guilty is None or self.guilty == row:
            return "too_large", self.problem
        behind = row - self.guilty
        return "unreadable", f"it stands {behind} rows behind one that is too large to be skipped: {self.problem}"


def plan_group(
    parquet: OpenParquet, number: int, names: list[str], record_bytes: int, id_column: str = "sample_id"
) -> GroupPlan:
    """Returns how to read the columns `names` of a row group.

    Raises ValueError where its pages make no sense, or those of the column of the sample_id are too large.
    """
    group, schema = parquet.metadata.row_group(number), parquet.metadata.schema
    batch_bytes, most_values = 1, 1
    dictionaries = []
    values: dict[int, int] = {}
    columns: dict[int, str] = {}
    for leaf in range(group.num_columns):
        path, repetition = schema.column(leaf).path, schema.column(leaf).max_repetition_level
        if not any(_is_in(path, name) for name in names):
            continue
        column = group.column(leaf)
        bounds = chunk_bounds(parquet.stream, column, repetition, LONG_ROW)
        if max(bounds.page_bytes, bounds.dictionary_bytes) > MAX_PAGE_BYTES:
            return _refused_group(number, group, path, bounds.page_bytes, id_column)
        batch_bytes += bounds.row_bytes
        if repetition and bounds.dictionary_bytes * column.num_values > BYTES_PER_BATCH:
            dictionaries.append(path)
        elif not repetition:
            batch_bytes += bounds.dictionary_bytes
        for row, count in bounds.long_rows:
            values[row] = values.get(row, 0) + count
            columns[row] = path
            most_values = max(most_values, values[row])
    rows = max(1, min(ROWS_PER_BATCH, BYTES_PER_BATCH // batch_bytes, VALUES_PER_BATCH // most_values))
    plan = GroupPlan(number, rows, tuple(dictionaries))
    allowed = max(MAX_ROW_VALUES, record_bytes)
    too_long = min((row for row, count in values.items() if count > allowed), default=None)
    if too_long is None:
        return plan
    if _is_in(columns[too_long], id_column):
        raise ValueError(f"the column {id_column} has a row of {values[too_long]} values, more than {allowed}")
    problem = f"column {columns[too_long]}: the row has {values[too_long]} values, more than {allowed}"
    return replace(
        plan,
        batch_rows=next(size for size in range(rows, 0, -1) if too_long % size == 0),
        stop=too_long,
        guilty=too_long,
        problem=problem,
    )


def _is_in(path: str, column: str) -> bool:
    return path == column or path.startswith(f"{column}.")


def _refused_group(number: int, group: Any, path: str, page_bytes: int, id_column: str) -> GroupPlan:
    if _is_in(path, id_column):
        raise ValueError(f"a page of the column {id_column} unpacks to {page_bytes} bytes, more than {MAX_PAGE_BYTES}")
    problem = (
        f"column {path}: a page of the row group unpacks to {page_bytes} bytes, more than {MAX_PAGE_BYTES}; "
        "write the file with smaller pages"
    )
    return GroupPlan(number, 1, stop=0, guilty=0 if group.num_rows == 1 else None, problem=problem)
