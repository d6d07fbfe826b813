"""Tables that several kinds of reports use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...metrics.benchmark import Table
from ..runs.documents import GateVerdict
from . import document as doc
from .cells import MARKED

MAX_SLICES_LISTED = 200
DETECTABLE = "Detectable: the smallest true difference whose interval excludes 0 with a probability of 80%."


def metric_table(
    title: str, metrics: Sequence[doc.Metric], systems: Sequence[str], folded: bool | None = None
) -> doc.Table:
    """Returns the values of metrics with their intervals, a column for each system.

    All values of a metric are drawn between its bounds; one that is not declared is 0 (low) or 1 (high), or the value
    beyond it.
    """
    rows: list[Sequence[doc.Cells]] = []
    for metric in metrics:
        bounds = 0.0 if metric.low is None else metric.low, 1.0 if metric.high is None else metric.high
        ends = [*bounds, *(end for value in metric.values for end in value.known)]
        bars = (doc.Bar(value, min(ends), max(ends), system=n) for n, value in enumerate(metric.values))
        rows.append((metric, *bars, _direction(metric)))
    return doc.Table(title, ("metric", *systems, "better"), rows, "metrics", folded)


def _direction(metric: doc.Metric) -> str:
    return "higher" if metric.higher_is_better else "lower"


def leaderboard(metrics: Sequence[doc.Metric], systems: Sequence[str], places: Sequence[tuple[int, int]]) -> doc.Table:
    """Returns the systems by place with their values. Each metric is drawn on the range of all systems.

    places: pairs (place, system).
    """
    ranges = [[end for value in metric.values for end in value.known] or [0.0] for metric in metrics]
    columns = [[doc.Bar(value, min(ends), max(ends), system=0) for value in metric.values]
               for metric, ends in zip(metrics, ranges, strict=True)]  # fmt: skip
    rows: list[Sequence[doc.Cells]] = [
        (place, doc.Link(systems[system], {}, system), *(column[system] for column in columns))
        for place, system in places
    ]
    return doc.Table("Systems by place, with their main metrics", ("place", "system", *metrics), rows, "metrics")


def compared_table(
    title: str, rows: Sequence[doc.Compared], systems: Sequence[str], sides: Sequence[str], folded: bool | None = None
) -> doc.Table:
    """Returns metrics of two sides with their differences, drawn on one common range around zero.

    systems: the names of the systems; with fewer than two, there is no column for them.
    """
    reach = max((abs(end) for row in rows for end in row.difference.known), default=0.0) or 1.0
    has_systems, is_tested = len(systems) > 1, any(row.p is not None for row in rows)
    header = ("metric", *(["system"] * has_systems), *sides, "difference", "verdict", *(["p"] * is_tested))
    lines: list[Sequence[doc.Cells]] = [
        (
            row.metric,
            *([systems[row.system]] if has_systems else []),
            row.baseline,
            row.candidate,
            doc.Bar(row.difference, -reach, reach, 0.0),
            doc.Word(row.difference.verdict),
            *([None if row.p is None else doc.Code(f"{row.p:.3f}")] if is_tested else []),
            row.detectable,
            _direction(row.metric),
        )
        for row in rows
    ]
    return doc.Table(title, (*header, "detectable", "better"), lines, "metrics", folded)


def gate_blocks(gates: Sequence[GateVerdict]) -> Iterator[doc.Block]:
    """Yields the verdicts of the gates; nothing without gates."""
    if gates:
        yield doc.Text("Gates", "heading")
        rows = [
            (doc.Word(gate.verdict), gate.system or "–", doc.Code(gate.gate), gate.tier, gate.value, gate.reason)
            for gate in gates
        ]
        yield doc.Table("Gates", ("verdict", "system", "gate", "tier", "value", "reason"), rows)


def slice_blocks(
    slices: Sequence[doc.Sliced], metrics: Sequence[doc.Metric], systems: Sequence[str], is_compared: bool, others: str
) -> Iterator[doc.Block]:
    """Yields the first slices for Markdown, with values, or with differences. others: the file with all slices."""
    places = [place for place in range(len(metrics)) if any(each.values[place].value is not None for each in slices)]
    has_systems = len(systems) > 1 and not is_compared
    rows: list[Sequence[doc.Cells]] = []
    for slice_ in slices[:MAX_SLICES_LISTED]:
        cells: list[doc.Cells] = [slice_.values[place] for place in places]
        if is_compared:
            changes = [slice_.differences[place] for place in places]
            cells = [
                (doc.Difference(each.value), *[doc.Word(each.verdict)] * (each.verdict in MARKED)) for each in changes
            ]
        rows.append((slice_.label, *([systems[slice_.system]] * has_systems), slice_.samples, *cells))
    names = (metrics[place].name for place in places)
    yield doc.Table("Slices", ("slice", *(["system"] * has_systems), "samples", *names), rows, where="markdown")
    if len(slices) > MAX_SLICES_LISTED:
        yield doc.Text(f"{len(slices) - MAX_SLICES_LISTED:,} more slices are in {others}.", where="markdown")


def benchmark_table(table: Table, system: int, name: str, folded: bool) -> doc.Table:
    """Returns a table of a benchmark for one system. name: of the system if there are several, else empty."""
    title = f"{table.title} – {name}" if name else table.title
    if is_matrix(table):
        rows: list[Sequence[doc.Cells]] = []
        for label, *values in table.rows:
            counts = [int(value or 0) for value in values]
            filters = [{"cell": doc.cell_name(table.title, label, column)} for column in table.header[1:]]
            cells = [
                doc.MatrixCell(count, count / (sum(counts) or 1), column == label, filter_, system)
                for count, column, filter_ in zip(counts, table.header[1:], filters, strict=True)
            ]
            rows.append((str(label), *cells))
        return doc.Table(title, table.header, rows, "matrix", folded)
    metrics = {column for row in table.rows for column, value in enumerate(row) if isinstance(value, float)}
    # A column with any float is written with decimals throughout.
    with_decimals = [
        [float(value) if column in metrics and isinstance(value, int) else value for column, value in enumerate(row)]
        for row in table.rows
    ]
    return doc.Table(title, table.header, with_decimals, folded=folded)


def is_matrix(table: Table) -> bool:
    """Returns whether a table is a confusion matrix: counts, with rows that are named like some of its columns."""
    rows: Sequence[Sequence[Any]] = table.rows
    return (
        len(set(table.header[1:])) > 1
        and sum(row[0] in table.header[1:] for row in rows) >= max(1, len(rows) - 2)
        and all(isinstance(value, int) and value >= 0 for row in rows for value in row[1:])
    )
