"""The tables that reports share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...metrics.benchmark import Table as DataTable
from ..runs.documents import GateVerdict
from .document import (
    Bar,
    Block,
    Cell,
    Cells,
    Code,
    Compared,
    Counts,
    Difference,
    Link,
    MatrixCell,
    Measured,
    Metric,
    Slice,
    Table,
    Text,
    Word,
    cell_name,
)

MAX_SLICES_LISTED = 200
DETECTABLE = "Detectable is a true difference that is found with a chance of 80%."


def metric_table(title: str, metrics: Sequence[Metric], systems: Sequence[str], folded: bool | None = None) -> Table:
    """Returns the values of metrics with their intervals, a column for each system."""
    rows = [
        (metric, *(_on_bounds(metric, found, number) for number, found in enumerate(metric.values)), _direction(metric))
        for metric in metrics
    ]
    return Table(title, ("metric", *systems, "better"), rows, "metrics", folded)


def _on_bounds(metric: Metric, found: Measured, system: int) -> Cell:
    """Returns a value between the bounds of its metric, which are 0 and 1 where none are declared."""
    ends = [0.0 if metric.low is None else metric.low, 1.0 if metric.high is None else metric.high]
    ends += [value for value in (found.value, found.low, found.high) if value is not None]
    return Bar(found, min(ends), max(ends), system=system)


def _direction(metric: Metric) -> str:
    return "higher" if metric.higher_is_better else "lower"


def leaderboard(metrics: Sequence[Metric], systems: Sequence[str], places: Sequence[tuple[int, int]]) -> Table:
    """Returns the systems by place with their values, each metric on the range of all systems.

    places: pairs (place, system).
    """
    rows: list[Sequence[Cells]] = []
    ranges = [
        [end for found in metric.values for end in (found.value, found.low, found.high) if end is not None] or [0.0]
        for metric in metrics
    ]
    for place, system in places:
        found = (Bar(each.values[system], min(ends), max(ends), system=0)
                 for each, ends in zip(metrics, ranges, strict=True))  # fmt: skip
        rows.append((place, Link(systems[system], {}, system), *found))
    return Table("Systems by place, with their main metrics", ("place", "system", *metrics), rows, "metrics")


def compared_table(
    title: str, rows: Sequence[Compared], systems: Sequence[str], sides: Sequence[str], folded: bool | None = None
) -> Table:
    """Returns metrics of two sides with their differences, on a range around zero that all share.

    systems: their names, where there may be several.
    """
    ends = (end for row in rows for end in (row.difference.value, row.difference.low, row.difference.high))
    reach = max((abs(end) for end in ends if end is not None), default=0.0) or 1.0
    has_systems, is_tested = len(systems) > 1, any(row.p is not None for row in rows)
    header = ("metric", *(["system"] * has_systems), *sides, "difference", "verdict", *(["p"] * is_tested))
    lines: list[Sequence[Cells]] = [
        (
            row.metric,
            *([systems[row.system]] if has_systems else []),
            row.baseline,
            row.candidate,
            Bar(row.difference, -reach, reach, 0.0),
            Word(row.difference.verdict),
            *([None if row.p is None else Code(f"{row.p:.3f}")] if is_tested else []),
            row.detectable,
            _direction(row.metric),
        )
        for row in rows
    ]
    return Table(title, (*header, "detectable", "better"), lines, "metrics", folded)


def gate_blocks(gates: Sequence[GateVerdict]) -> Iterator[Block]:
    """Yields what each gate says, where there are any."""
    if gates:
        yield Text("Gates", "heading")
        rows = [
            (Word(gate.verdict), gate.system or "–", Code(gate.gate), gate.tier, gate.value, gate.reason)
            for gate in gates
        ]
        yield Table("Gates", ("verdict", "system", "gate", "tier", "value", "reason"), rows)


def coverage_row(name: str, side: str, counts: Mapping[str, int], system: int) -> Sequence[Cells]:
    """Returns what became of the records of a side; those of the ground truth lead to their samples."""
    found = {status: count for status, count in counts.items() if status != "read"}
    return name, side.replace("_", " "), counts["read"], Counts(found, system if side == "ground_truth" else None)


def slice_blocks(
    slices: Sequence[Slice], metrics: Sequence[Metric], systems: Sequence[str], is_compared: bool, others: str
) -> Iterator[Block]:
    """Yields the first slices as Markdown has them: their values, or their differences. others: the file with all."""
    shown = [place for place in range(len(metrics)) if any(each.values[place].value is not None for each in slices)]
    many = len(systems) > 1 and not is_compared
    cell: Callable[[Slice, int], Cells] = _difference if is_compared else lambda found, place: found.values[place]
    rows = [
        (found.label, *([systems[found.system]] * many), found.samples, *(cell(found, place) for place in shown))
        for found in slices[:MAX_SLICES_LISTED]
    ]
    names = (metrics[place].name for place in shown)
    yield Table("Slices", ("slice", *(["system"] * many), "samples", *names), rows, where="markdown")
    if len(slices) > MAX_SLICES_LISTED:
        yield Text(f"{len(slices) - MAX_SLICES_LISTED:,} more slices are in {others}.", where="markdown")


def _difference(found: Slice, place: int) -> Cells:
    difference = found.differences[place]
    value = Difference(difference.value)
    return (value, Word(difference.verdict)) if difference.verdict in ("better", "worse") else value


def benchmark_table(found: DataTable, system: int, name: str, folded: bool) -> Table:
    """Returns a table of a benchmark for one system. name: of the system, where there are several."""
    title = f"{found.title} – {name}" if name else found.title
    if is_matrix(found):
        rows: list[Sequence[Cells]] = []
        for label, *values in found.rows:
            counts = [int(count or 0) for count in values]
            links = ({"cell": cell_name(found.title, label, column)} for column in found.header[1:])
            cells = [
                MatrixCell(count, count / (sum(counts) or 1), column == label, link, system)
                for count, column, link in zip(counts, found.header[1:], links, strict=True)
            ]
            rows.append((str(label), *cells))
        return Table(title, found.header, rows, "matrix", folded)
    return Table(title, found.header, with_decimals(found.rows), folded=folded)


def is_matrix(found: DataTable) -> bool:
    """Tells whether a table counts classes against classes: whole numbers, its rows named as some of its columns."""
    rows: Sequence[Sequence[Any]] = found.rows
    return (
        len(set(found.header[1:])) > 1
        and sum(row[0] in found.header[1:] for row in rows) >= max(1, len(rows) - 2)
        and all(isinstance(value, int) and value >= 0 for row in rows for value in row[1:])
    )


def with_decimals(rows: Sequence[Sequence[str | float | None]]) -> list[list[str | float | None]]:
    """Returns rows in which a column that holds any metric has decimals throughout."""
    metrics = {column for row in rows for column, value in enumerate(row) if isinstance(value, float)}
    return [
        [float(value) if column in metrics and isinstance(value, int) else value for column, value in enumerate(row)]
        for row in rows
    ]
