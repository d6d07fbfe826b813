"""The tables of a benchmark, such as confusion matrices, as the page shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..numbers import fixed
from .document import HeatCell, TablePart
from .text import one_line

MAX_CELL_LENGTH = 120
MAX_TABLE_ROWS = 200


def table_part(system: str, table: Mapping[str, Any]) -> TablePart:
    """Returns a table of summary.json; in a confusion matrix each count is shaded by its part of its row."""
    header, rows = [str(name) for name in table["header"]], table["rows"]
    matrix = is_matrix(header, rows)
    return TablePart(
        system,
        one_line(table["title"], MAX_CELL_LENGTH),
        matrix,
        tuple(one_line(name, MAX_CELL_LENGTH) for name in header),
        tuple(_matrix_row(row, header) if matrix else tuple(map(_cell, row)) for row in rows[:MAX_TABLE_ROWS]),
    )


def is_matrix(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> bool:
    """Tells whether a table counts classes against classes: whole numbers, its rows named as some of its columns."""
    columns = set(header[1:])
    shared = sum(row[0] in columns for row in rows)
    return (
        len(columns) > 1
        and shared >= max(1, len(rows) - 2)
        and all(isinstance(value, int) and value >= 0 for row in rows for value in row[1:])
    )


def _matrix_row(row: Sequence[Any], header: Sequence[str]) -> tuple[HeatCell, ...]:
    total = sum(row[1:])
    return (
        _cell(row[0]),
        *(
            HeatCell(f"{value:,}", True, value / total if total else 0.0, name == row[0])
            for name, value in zip(header[1:], row[1:], strict=True)
        ),
    )


def _cell(value: Any) -> HeatCell:
    if isinstance(value, str):
        return HeatCell(one_line(value, MAX_CELL_LENGTH))
    if value is None:
        return HeatCell("–", True)
    return HeatCell(f"{value:,}" if isinstance(value, int) else fixed(value), True)
