"""What differs between the rows of a system in two runs: how many units of a metric, and which samples moved it most.

The sums of two runs have the difference of a metric and its error, and these imply that some number of units differ at
least. The rows are read to count them only if that number is too small to show that a test can be significant.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ...metrics.benchmark import AnyBenchmark, finite_number
from ...metrics.repeats import repeats_of, with_labels
from ...metrics.statistics.comparison import dependencies
from ...metrics.statistics.measured import spec_or_undeclared
from ...metrics.statistics.paired import PairedDifference
from ...metrics.statistics.slice_names import with_slices
from ...metrics.statistics.sum_table import values_at
from ...metrics.statistics.sums import UNITS_PER_ONE, Sums, to_units
from ...transforms.io.storage import reason_of
from ...transforms.records import InputProblem
from ...transforms.rows import SLICE_PREFIX, exact_statistics, is_one_of, read_rows
from ...transforms.slice_labels import MAX_SLICES, Slice, sample_slices
from ..config.settings import Configuration
from .named import SystemRun

Row = TypeVar("Row", bound=tuple[Any, ...])
MAX_ROWS = 2_000_000
ROWS_PER_STEP = 1000
CANDIDATES = 200


def least_differing(paired: PairedDifference) -> float:
    """Returns how many units differ at least: by Cauchy's inequality (sum of d)^2 / sum of d^2, of their changes d.

    For a mean over n units that is 1 / (SE^2 / difference^2 + 1 / n); infinity without a difference or an error.
    """
    if not paired.difference or paired.error is None or not paired.units:
        return float("inf")
    return 1 / ((paired.error / paired.difference) ** 2 + 1 / paired.units)


def differing_units(ours: SystemRun, theirs: SystemRun, metrics: Sequence[str], enough: int) -> dict[str, int]:
    """Returns by metric how many units, samples or clusters, differ in a statistic of it, counted up to `enough`.

    Raises InputProblem if a run has no rows, more than MAX_ROWS, or damaged ones.
    """
    corpora = Sums(ours.sums.sums), Sums(theirs.sums.sums)
    depending = dependencies(ours.run.configuration.benchmark, corpora)
    # The statistics of a slice that are summed up among all samples: see metrics.statistics.slice_names.with_slices.
    for name, parts in list(depending.items()):
        for place in (place for place, letter in enumerate(name) if letter == "]" and name.startswith("@")):
            if (base := name[place + 1 :]) in depending:
                depending[base] |= parts
    labels, own = map(repeats_of, corpora)
    as_ours = partial(_relabeled, labels, own)
    earlier_rows = ((name, as_ours(text)) for name, text in _rows(theirs, ["sample_id", "statistics"]))
    known = {hash(row) for row in _at_most(theirs, earlier_rows)}
    rows = _at_most(ours, _rows(ours, ["sample_id", "statistics", "unit"]))
    changed = (row for row in rows if hash(row[:2]) not in known)
    units: dict[str, set[str]] = {metric: set() for metric in metrics}
    while any(len(each) < enough for each in units.values()) and (step := [*itertools.islice(changed, ROWS_PER_STEP)]):
        where = is_one_of("sample_id", [sample_id for sample_id, *_ in step])
        earlier = dict(_rows(theirs, ["sample_id", "statistics"], where))
        for sample_id, text, unit in step:
            if text and earlier.get(sample_id):
                moved = _changes(as_ours(earlier[sample_id]), text)
                for metric in units:
                    if any(metric in depending.get(name, metrics) for name in moved):
                        units[metric].add(unit)
    return {metric: min(len(each), enough) for metric, each in units.items()}


class MovedSample(NamedTuple):
    """A sample, the change of the metric that it alone causes, and its status in both runs."""

    sample_id: str
    effect: float
    before: str
    after: str


def top_contributors(
    benchmark: AnyBenchmark, metric: str, ours: SystemRun, theirs: SystemRun, label: str = "", count: int = 5
) -> list[MovedSample]:
    """Returns the `count` samples that cost a metric of a slice most, then those that improved it most.

    The effect of a sample is the loss in the metric if its statistics were those of the other run. All samples are
    weighed by the gradient of the metric at the sums (the infinitesimal jackknife: Efron, "Nonparametric Estimates of
    Standard Error", Biometrika 68, 1981). The effect of the first CANDIDATES is then computed exactly.

    label: of a slice that both runs have; empty: all samples. Raises InputProblem if either run has no rows, more than
    MAX_ROWS, or damaged ones.
    """
    corpus, sums = Sums(ours.sums.sums), Sums(ours.run.slice_sums(ours.system, label).sums)
    spec = spec_or_undeclared(type(benchmark), metric)
    sliced = list(dict.fromkeys(column for _, column in spec.sliced))
    labels = repeats_of(corpus)
    before, after = (_statistics(side, labels, ours.run.configuration, label, sliced) for side in (theirs, ours))
    pairs = {sample_id: (before.get(sample_id, ("not there", "")), row) for sample_id, row in after.items()}
    changed = {sample_id: pair for sample_id, pair in pairs.items() if pair[0][1] != pair[1][1]}
    value = values_at(benchmark, sums, corpus).get(metric)
    if value is None or not changed:
        return []
    gradient: dict[str, float] = {}

    def value_at(other: Sums) -> float | None:
        # It may fail, or be complex: samples have no such sums.
        with contextlib.suppress(ValueError):
            return finite_number("values:", metric, values_at(benchmark, other, corpus).get(metric))
        return None

    def slope(name: str) -> float:
        if name not in gradient:
            # One more of it, or one less if the metric is then undefined.
            steps = ((step, Sums.merged((sums, Sums({name: step * UNITS_PER_ONE})))) for step in (1, -1))
            moved = ((step, value_at(shifted)) for step, shifted in steps)
            gradient[name] = next((step * (each - value) for step, each in moved if each is not None), 0.0)
        return gradient[name]

    def order(effect: float) -> tuple[bool, float]:
        return spec.signed_value(effect) >= 0, -abs(effect)

    def weight(before: str, after: str) -> float:
        return sum(slope(name) * change for name, change in _changes(before, after).items())

    weighed = ((order(weight(then[1], now[1])), sample_id) for sample_id, (then, now) in changed.items())
    exact = []
    for _, sample_id in heapq.nsmallest(max(count, CANDIDATES), weighed):
        then, now = changed[sample_id]
        undone = {name: -to_units(change) for name, change in _changes(then[1], now[1]).items()}
        without = value_at(Sums.merged((sums, Sums(undone))))
        if without is not None and without != value:
            exact.append(MovedSample(sample_id, value - without, then[0], now[0]))
    return sorted(exact, key=lambda each: (order(each.effect), each.sample_id))[:count]


def _changes(before: str, after: str) -> dict[str, float]:
    """Returns the nonzero changes of the statistics of a sample, by name; each side is JSON, or empty without any."""
    then, now = (msgspec.json.decode(text or "{}", type=dict[str, float]) for text in (before, after))
    changes = {name: now.get(name, 0.0) - then.get(name, 0.0) for name in {**now, **then}}
    return {name: change for name, change in changes.items() if change}


def _relabeled(labels: Sequence[str], own: Sequence[str], text: str | None) -> str:
    """Returns the statistics of a sample as JSON, empty without any, as if its repeats, `own`, had other labels.

    The sums are by label: beside those of one run, statistics under other labels would be further repeats.
    """
    if not text or own == labels:
        return text or ""
    return exact_statistics(with_labels(msgspec.json.decode(text), own, labels)).decode()


def _statistics(
    side: SystemRun, labels: Sequence[str], configuration: Configuration, label: str, sliced: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Returns the status of each sample in a slice, and its statistics as JSON, empty without any.

    labels: those that its repeats get. sliced: for the slices of these columns, the statistics are repeated; see
    `with_slices`. configuration: that of the run which has the slice.
    """
    own = repeats_of(Sums(side.sums.sums))
    # A run may have further slices, of columns that the rows of the other lack.
    available = {*side.run.configuration.columns(), *sliced} if label or sliced else set()
    slices = [each for each in configuration.slice_columns() if available.issuperset(each)]
    names = list(dict.fromkeys(itertools.chain.from_iterable(slices)))
    columns = ["sample_id", "status", "statistics", *(f"{SLICE_PREFIX}{name}" for name in names)]

    @lru_cache(MAX_SLICES)
    def slices_of(*cells: str | None) -> tuple[Slice, ...]:
        values = (None if cell is None else json.loads(cell) for cell in cells)
        return sample_slices(slices, dict(zip(names, values, strict=True)))

    @lru_cache(MAX_SLICES)
    def is_in_slice(*cells: str | None) -> bool:
        return label in [each.label for each in slices_of(*cells)]

    def in_slice() -> Iterator[tuple[str, str, str]]:
        for batch in _batches(side, columns):
            if label:
                # Most rows are in no slice that is asked for: of these, only the cells are decoded.
                cells = zip(*(column.to_pylist() for column in batch.columns[3:]), strict=True)
                batch = batch.filter(pa.array(itertools.starmap(is_in_slice, cells), pa.bool_()))
            for sample_id, status, statistics, *own_cells in _tuples(batch):
                text = _relabeled(labels, own, statistics)
                if sliced and text:
                    text = json.dumps(with_slices(json.loads(text), slices_of(*own_cells), sliced))
                yield sample_id, status, text

    try:
        return {sample_id: (status, statistics) for sample_id, status, statistics in _at_most(side, in_slice())}
    except ValueError as error:
        raise InputProblem(f"{side.run.path}: the rows of the run cannot be read ({reason_of(error)})") from error


def _rows(side: SystemRun, columns: Sequence[str], where: Any = None) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of a system; raises InputProblem if they are missing or damaged."""
    return itertools.chain.from_iterable(map(_tuples, _batches(side, columns, where)))


def _tuples(batch: Any) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _batches(side: SystemRun, columns: Sequence[str], where: Any = None) -> Iterator[Any]:
    """Yields the rows of a system as Arrow batches; raises InputProblem if they are missing or damaged."""
    run = side.run
    if not run.rows:
        raise InputProblem(f"{run.path}: the run has no rows (samples/)")
    of_system = pc.field("system") == side.system
    for path in run.rows:
        yield from read_rows(path, columns, of_system if where is None else of_system & where)


def _at_most(side: SystemRun, rows: Iterable[Row]) -> Iterator[Row]:
    """Yields rows that are held in memory; raises InputProblem if there are more than MAX_ROWS."""
    for count, row in enumerate(rows, start=1):
        if count > MAX_ROWS:
            raise InputProblem(f"{side.run.path}: the run has more than {MAX_ROWS:,} samples")
        yield row
