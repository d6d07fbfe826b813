"""The samples that moved a metric most between two runs, from the statistics in their rows.

The effect of a sample is the loss in the metric of the corpus if its statistics were those of the other run. All
samples are weighed by the gradient of the metric at the sums (the infinitesimal jackknife: Efron, "Nonparametric
Estimates of Standard Error", Biometrika 68, 1981). The effect of the first few hundred is then computed exactly.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import pyarrow.compute as pc

from ...metrics.statistics.measured import AnyBenchmark
from ...metrics.statistics.sums import UNITS_PER_ONE, Sums, to_units
from ...transforms.records import InputProblem
from ...transforms.rows import SLICE_PREFIX, read_rows
from ...transforms.slice_labels import slice_labels
from ..config.errors import UsageError, one_line
from .run import Run

MAX_ROWS = 2_000_000
CANDIDATES = 200
COLUMNS = ["sample_id", "status", "statistics"]


class MovedSample(NamedTuple):
    """A sample, the change of the metric that it alone causes, and its status in both runs."""

    sample_id: str
    effect: float
    before: str
    after: str


class SlicePart(NamedTuple):
    """A slice: the columns of the run, the columns of each slice as indexes into them, and the label."""

    columns: tuple[str, ...]
    slices: tuple[tuple[int, ...], ...]
    label: str

    def holds(self, cells: Sequence[str | None]) -> bool:
        """Returns whether a sample with these column values, as JSON, is in the slice."""
        values = [None if cell is None else json.loads(cell) for cell in cells]
        return self.label in slice_labels(self.columns, self.slices, values)


_Row = tuple[str, str]
"""The status of a sample, and its statistics as JSON; an empty text if it has none."""


def moved_most(
    benchmark: AnyBenchmark,
    metric: str,
    corpus: Sums,
    sums: Sums,
    ours: tuple[Run, str],
    theirs: tuple[Run, str],
    part: SlicePart | None = None,
    count: int = 5,
) -> list[MovedSample]:
    """Returns the `count` samples that moved a metric most between two runs, each given with its system.

    corpus: the sums of all samples of our run. sums: of the samples of `part`. part: a slice; None: all samples. Raises
    UsageError if either run has no rows with statistics, more than MAX_ROWS, or damaged ones.
    """
    before, after = _rows(*theirs, part), _rows(*ours, part)
    pairs = {sample_id: (before.get(sample_id, ("not there", "")), row) for sample_id, row in after.items()}
    changed = {sample_id: pair for sample_id, pair in pairs.items() if pair[0][1] != pair[1][1]}
    value = benchmark.values_within(sums, corpus).get(metric)
    if value is None or not changed:
        return []
    gradient: dict[str, float] = {}

    def slope(name: str) -> float:
        if name not in gradient:
            # One more of it, or one less if the metric is then undefined.
            steps = ((step, Sums.merged((sums, Sums({name: step * UNITS_PER_ONE})))) for step in (1, -1))
            moved = ((step, benchmark.values_within(shifted, corpus).get(metric)) for step, shifted in steps)
            gradient[name] = next((step * (each - value) for step, each in moved if each is not None), 0.0)
        return gradient[name]

    def weight(pair: tuple[_Row, _Row]) -> float:
        return abs(sum(slope(name) * difference for name, difference in _change(*pair).items()))

    weighed = heapq.nlargest(max(count, CANDIDATES), ((weight(pair), sample_id) for sample_id, pair in changed.items()))
    exact = []
    for _, sample_id in weighed:
        pair = changed[sample_id]
        change = {name: -to_units(difference) for name, difference in _change(*pair).items()}
        without = benchmark.values_within(Sums.merged((sums, Sums(change))), corpus).get(metric)
        if without is not None and without != value:
            exact.append(MovedSample(sample_id, value - without, pair[0][0], pair[1][0]))
    return sorted(exact, key=lambda each: (-abs(each.effect), each.sample_id))[:count]


def _change(before: _Row, after: _Row) -> dict[str, float]:
    """Returns the nonzero changes of the statistics of a sample, by name."""
    then, now = (msgspec.json.decode(row[1] or "{}", type=dict[str, float]) for row in (before, after))
    changes = {name: now.get(name, 0.0) - then.get(name, 0.0) for name in {**now, **then}}
    return {name: change for name, change in changes.items() if change}


def _rows(run: Run, system: str, part: SlicePart | None) -> dict[str, _Row]:
    """Returns the rows of a system by sample; raises UsageError if they are missing, damaged or too many."""
    rows: dict[str, _Row] = {}
    columns = [*COLUMNS, *(f"{SLICE_PREFIX}{name}" for name in (part.columns if part else ()))]
    if not run.rows:
        raise UsageError("a run has no rows (samples/)")
    try:
        for path in run.rows:
            for batch in read_rows(path, columns, pc.field("system") == system):
                records = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                for sample_id, status, statistics, *cells in records:
                    if part is None or part.holds(cells):
                        rows[sample_id] = status, statistics or ""
                if len(rows) > MAX_ROWS:
                    raise UsageError(f"a run has more than {MAX_ROWS:,} samples")
    except InputProblem as error:
        raise UsageError(error.message) from error
    except ValueError as error:
        raise UsageError(f"{path}: the rows of the run cannot be read ({one_line(error)})") from error
    return rows
