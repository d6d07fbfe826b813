"""The sample rows of a page, from the tables that a run writes, and the distributions of their metrics."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...metrics.benchmark import AnyBenchmark, MetricSpec
from ...metrics.statistics.sums import Sums
from ...transforms.hashes import bucket_of
from ...transforms.rows import SLICE_PREFIX
from ...transforms.slice_labels import value_text
from ..runs.numbers import fixed
from .document import Distribution, SampleTable, SliceValue, cell_name
from .text import MAX_ID_LENGTH, distinct_line

MAX_ROWS = 100_000
"""A page with more rows would take seconds to open. Beyond this it holds some rows and says where the rest is."""
MAX_LABELS = 10_000
MAX_WHOLE = 1e15
BINS = 20
EDGE_DECIMALS = 10
"""Rounds an edge such as 0.15 to the number that a person would write."""
_HASHES = 1 << 32
_QUARTILES = (0.25, 0.5, 0.75)


def page_rows(rows: Any, systems: Sequence[str], specs: Sequence[MetricSpec], total: int) -> SampleTable:
    """Returns the rows of an Arrow table for the page, in the order of the table; see `sort_worst_first`.

    total: the number of rows of the run. A column with more than 10,000 distinct labels cannot be filtered by, and is
    left out.
    """
    slices: dict[str, Sequence[SliceValue]] = {
        name.removeprefix(SLICE_PREFIX): slice_column(rows[name])
        for name in rows.schema.names
        if name.startswith(SLICE_PREFIX) and pc.count_distinct(rows[name], mode="all").as_py() <= MAX_LABELS
    }
    number = {name: index for index, name in enumerate(systems)}
    return SampleTable(
        total,
        [distinct_line(sample_id, MAX_ID_LENGTH) for sample_id in rows["sample_id"].to_pylist()],
        [number[system] for system in rows["system"].to_pylist()],
        rows["status"].to_pylist(),
        slices,
        {spec.name: [*map(rounded, rows[spec.name].to_pylist())] for spec in specs},
    )


def sort_worst_first(rows: Any, specs: Sequence[MetricSpec]) -> Any:
    """Returns an Arrow table sorted by the main per-sample metric, the worst rows first, rows without a value last.

    Rows of equal value are sorted by sample_id and system.
    """
    main = next(spec for spec in specs if spec.main is not None)
    columns = (rows[name].to_pylist() for name in (main.name, "sample_id", "system"))
    keys = [
        (value is None, 0.0 if value is None else main.signed_value(value), sample_id, system)
        for value, sample_id, system in zip(*columns, strict=True)
    ]
    return rows.take(pa.array(sorted(range(len(keys)), key=keys.__getitem__), pa.int64()))


def hashed_share(rows: Any, share: float) -> Any:
    """Returns the rows of an Arrow table whose sample_id has one of the lowest hashes: about `share` of all.

    The selection depends on nothing but the sample_ids.
    """
    bound = share * _HASHES
    chosen = [bucket_of(each.encode(), _HASHES) < bound for each in rows["sample_id"].to_pylist()]
    return rows.filter(pa.array(chosen, pa.bool_()))


def rounded(value: float | None) -> float | None:
    """Returns a value of one sample as `fixed` rounds it: an int if whole, which is shorter; None if not finite."""
    if value is None or not math.isfinite(value):
        return None
    number = float(fixed(value))
    return int(number) if number.is_integer() and abs(number) < MAX_WHOLE else number


_MEMBER = re.compile(r"((?:\\.|[^\\=])*)=((?:\\.|[^\\,])*)(?:,|$)", re.DOTALL)


def columns_of(label: str) -> dict[str, str]:
    """Returns the columns of a slice with their values, parsed from its label, as the page filters by them.

    >>> columns_of("source=web,kind=a\\\\,b=c")
    {'source': 'web', 'kind': 'a,b=c'}
    """
    texts = (re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL) for pair in _MEMBER.findall(label) for text in pair)
    return {name: distinct_line(value) for name, value in zip(texts, texts, strict=True)}


def _shown(value: Any) -> str:
    return distinct_line(value_text(value))


def slice_column(column: Any) -> list[SliceValue]:
    """Returns the values of a slice column, which holds JSON, each as written in slice labels."""
    parsed: dict[str | None, SliceValue] = {}
    for text in pc.unique(column).to_pylist():
        value = json.loads(text or "null")
        parsed[text] = [*map(_shown, value)] if isinstance(value, list) else _shown(value)
    return [parsed[text] for text in column.to_pylist()]


def matrix_cells(
    benchmark: AnyBenchmark, statistics: Sequence[str | None], titles: Collection[str]
) -> dict[str, list[int]]:
    """Returns the rows that each cell of the confusion matrices with these titles counts, by `cell_name`.

    statistics: of each row, as JSON; None if it was not scored.
    """
    cells: dict[str, list[int]] = {}
    for place, text in enumerate(statistics):
        sums = Sums.of(msgspec.json.decode(text, type=dict[str, float])) if text else Sums()
        for table in benchmark.tables(sums) if text else ():
            for row in table.rows if table.title in titles else ():
                for column, value in zip(table.header[1:], row[1:], strict=True):
                    if value:
                        cells.setdefault(cell_name(table.title, row[0], column), []).append(place)
    return cells


def distributions(table: SampleTable, specs: Sequence[MetricSpec], systems: int) -> tuple[Distribution, ...]:
    """Returns the distribution of each metric that any sample has, the main metric first."""
    of_system = np.asarray(table.systems, dtype=np.intp)
    per_metric = []
    for spec in sorted(specs, key=lambda spec: spec.main is None):
        column = np.asarray([np.nan if value is None else value for value in table.metrics[spec.name]], dtype=float)
        is_finite = np.isfinite(column)
        if is_finite.any():
            values = [column[is_finite & (of_system == system)] for system in range(systems)]
            per_metric.append(_distribution(spec, values))
    return tuple(per_metric)


def _distribution(spec: MetricSpec, by_system: Sequence[np.ndarray]) -> Distribution:
    edges = bin_edges(spec.bounds, np.concatenate(by_system))
    counts = tuple(tuple(np.histogram(values, edges)[0].tolist()) for values in by_system)
    quartiles = (np.quantile(values, _QUARTILES).tolist() if len(values) else () for values in by_system)
    return Distribution(spec.name, spec.meaning, tuple(edges.tolist()), counts, tuple(map(tuple, quartiles)))


def bin_edges(bounds: tuple[float | None, float | None], values: np.ndarray) -> np.ndarray:
    """Returns the edges of the bins of `values`, which must not be empty: between the bounds, or the extremes.

    If all values are whole numbers in a small range, such as counts, each number is the center of its own bin.
    """
    low, high = float(values.min()), float(values.max())
    whole = bounds != (0.0, 1.0) and high - low < BINS and bool((values == np.round(values)).all())
    if whole:
        edges: np.ndarray = np.arange(low - 0.5, high + 1.0)
        return edges
    low = low if bounds[0] is None else min(low, bounds[0])
    high = high if bounds[1] is None else max(high, bounds[1])
    high = high if high > low else low + 1.0
    edges = np.round(np.linspace(low, high, BINS + 1), EDGE_DECIMALS).clip(low, high)
    # Rounding moves large numbers by their last digits, and the extremes must be in a bin.
    edges[0], edges[-1] = low, high
    return edges
