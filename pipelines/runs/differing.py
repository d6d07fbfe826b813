"""How many units of two systems differ in a metric, from the statistics in the rows of their runs.

The sums of two runs have the difference of a metric and its error, and these imply that some number of units differ at
least. The rows are read only if that number is too small to show that a test can be significant.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pyarrow.compute as pc

from ...metrics.statistics.comparison import dependencies
from ...metrics.statistics.paired import PairedDifference
from ...metrics.statistics.sums import Sums
from ...transforms.records import InputProblem
from ...transforms.rows import is_one_of, read_rows
from .run import Run

MAX_ROWS = 2_000_000
ROWS_PER_STEP = 1000
Side = tuple[Run, str]
"""A run and a system of it."""


def least_differing(paired: PairedDifference) -> float:
    """Returns how many units differ at least: by Cauchy's inequality (sum of d)^2 / sum of d^2, of their changes d.

    For a mean over n units that is 1 / (SE^2 / difference^2 + 1 / n); infinity without a difference or an error.
    """
    if not paired.difference or paired.error is None or not paired.units:
        return float("inf")
    return 1 / ((paired.error / paired.difference) ** 2 + 1 / paired.units)


def differing_units(ours: Side, theirs: Side, metrics: Sequence[str], enough: int) -> dict[str, int]:
    """Returns by metric how many units, samples or clusters, differ in a statistic of it, counted up to `enough`.

    Raises InputProblem if a run has no rows, more than MAX_ROWS, or damaged ones.
    """
    benchmark = ours[0].configuration.benchmark
    corpora = [Sums(run.sums.systems[system].sums) for run, system in (ours, theirs)]
    depending = dependencies(benchmark, Sums.merged(corpora))
    # The statistics of a slice that are summed up among all samples: see metrics.statistics.sum_table.with_slices.
    for name, parts in list(depending.items()):
        for place in (place for place, letter in enumerate(name) if letter == "]" and name.startswith("@")):
            if (base := name[place + 1 :]) in depending:
                depending[base] |= parts
    known = {hash(row) for rows in _rows(theirs, ["sample_id", "statistics"]) for row in rows}
    columns = ["sample_id", "statistics", "unit"]
    changed = (row for rows in _rows(ours, columns) for row in rows if hash(row[:2]) not in known)
    units: dict[str, set[str]] = {metric: set() for metric in metrics}
    while any(len(each) < enough for each in units.values()) and (step := [*itertools.islice(changed, ROWS_PER_STEP)]):
        where = is_one_of("sample_id", [sample_id for sample_id, *_ in step])
        earlier = dict(row for rows in _rows(theirs, ["sample_id", "statistics"], where) for row in rows)
        for sample_id, text, unit in step:
            if text and earlier.get(sample_id):
                now, then = (msgspec.json.decode(each, type=dict[str, float]) for each in (text, earlier[sample_id]))
                moved = [name for name in now.keys() | then.keys() if now.get(name, 0) != then.get(name, 0)]
                for metric in units:
                    if any(metric in depending.get(name, metrics) for name in moved):
                        units[metric].add(unit)
    return {metric: min(len(each), enough) for metric, each in units.items()}


def _rows(side: Side, columns: Sequence[str], where: Any = None) -> Iterator[Iterator[tuple[Any, ...]]]:
    """Yields the rows of a system, those of an Arrow batch together."""
    run, system = side
    if not run.rows:
        raise InputProblem(f"{run.path}: the run has no rows (samples/)")
    of_system, count = pc.field("system") == system, 0
    for path in run.rows:
        for batch in read_rows(path, columns, of_system if where is None else of_system & where):
            count += len(batch)
            if count > MAX_ROWS:
                raise InputProblem(f"{run.path}: the run has more than {MAX_ROWS:,} samples")
            yield zip(*(column.to_pylist() for column in batch.columns), strict=True)
