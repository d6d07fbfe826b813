"""A table for the report and the summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table, such as a confusion matrix: each row has a cell for each entry of `header`."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | float | None]]
