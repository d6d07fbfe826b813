"""The metrics of a set of samples with their replicates, and the number of units behind each.

A metric is a ratio of sums, and for its precision a corpus counts as many units as contribute to its denominator. If
unit u adds d_u, the count is n = (sum d_u)^2 / sum d_u^2 units, which is their number if all add the same (Kish, Survey
Sampling, 1965, section 11.7). A weight of the Poisson bootstrap has mean 1 and variance 1, so the replicates D_r of the
denominator D have mean D and variance sum d_u^2: the mean of (D_r - D)^2 estimates it without bias, whether samples or
clusters are drawn, and no additional sum is needed.

A mean over K classes gives a unit of class k, of n_k units, the weight 1 / n_k, so few units of rare classes make most
of its variance, and of the error of that variance. The estimate of a variance of independent errors with the
weights a_u has (sum a_u^2)^2 / sum a_u^4 degrees of freedom (Satterthwaite, "An Approximate Distribution of Estimates
of Variance Components", Biometrics Bulletin 2, 1946): (sum 1 / n_k)^2 / sum 1 / n_k^3, which is the number of all
units if the classes are equally large. This assumes that the variance within each class is estimated from the class
alone. The bootstrap sees no variance within a class of a single unit, so the formula is right that nothing is known
about that class, and wrong to conclude the same for the others: a t of one degree of freedom would hide any loss. So a
mean over classes counts at least `MIN_CLASS_UNITS`, unless it has fewer units in all. Its effective sample size is
Kish's, K^2 / sum 1 / n_k.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..benchmark import PLACEHOLDER, AnyBenchmark, MetricSpec
from .slice_names import slices_of
from .sum_table import FloatArray, SumTable, checked_values, values_of_rows
from .sums import Sums

MIN_CLASS_UNITS = 5.0
"""A mean over classes counts at least this many units, if they exist; measured in docs/explanation/statistics.md."""

SLICES_AT_ONCE = 32
"""How many slices are measured in one call; a worker holds their sums."""

UNDECLARED = MetricSpec("", "", bounds=(None, None))
"""The spec of a metric that a benchmark returns without declaring it; its bounds are unknown."""


@dataclass(frozen=True)
class Measured:
    """The metrics of one slice of one system.

    values: by name; None if there was nothing to measure.
    replicates: by name, the value in each replicate [R]; NaN if there was nothing to measure.
    units: by name, how many samples, or clusters if clusters are drawn, count for the metric.
    denominators: by name, the denominator of the metric in the slice and in each replicate [1 + R]; derived metrics
    have none of their own.
    sizes: by name, the effective sample size of means over classes, in units of equal weight; for others see `units`.
    totals: by name, the units of means over classes, of which fewer may count; for others see `units`.
    predictions: the fingerprint of the predictions; None if it is not known.
    """

    values: dict[str, float | None]
    replicates: dict[str, FloatArray]
    units: dict[str, float]
    denominators: dict[str, FloatArray] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    totals: dict[str, float] = field(default_factory=dict)
    predictions: str | None = None

    def size(self, metric: str) -> float:
        """Returns the effective sample size of a metric, in units of equal weight; 0 if it was not measured."""
        return self.sizes.get(metric, self.units.get(metric, 0.0))

    def total(self, metric: str) -> float:
        """Returns how many units a metric has, whether or not they count; 0 if it was not measured."""
        return self.totals.get(metric, self.units.get(metric, 0.0))

    def at_most(self, samples: float) -> Measured:
        """Returns the same metrics with no more units than `samples`, which words or regions may outnumber."""
        units, sizes, totals = (
            {name: min(count, samples) for name, count in counts.items()}
            for counts in (self.units, self.sizes, self.totals)
        )
        return replace(self, units=units, sizes=sizes, totals=totals)

    @cached_property
    def errors(self) -> dict[str, float | None]:
        """The `spreads` of the replicates."""
        return spreads(self.replicates)


def spreads(replicates: Mapping[str, FloatArray]) -> dict[str, float | None]:
    """Returns the standard deviation of the replicates [R] of each metric that have a value.

    None if fewer than half have one, or there are no replicates.
    """
    if not replicates:
        return {}
    table = np.array([*replicates.values()])
    measured = ~np.isnan(table)
    counts, errors = measured.sum(axis=-1), np.empty(len(table), dtype=object)
    for count in np.unique(counts).tolist():
        if count and 2 * count >= table.shape[-1]:
            rows = counts == count
            errors[rows] = table[rows][measured[rows]].reshape(-1, count).std(axis=-1)
    return dict(zip(replicates, errors.tolist(), strict=True))


def measure(benchmark: AnyBenchmark, corpus: Sums, sums: SumTable, clustered: bool = False) -> Measured:
    """Returns the metrics of a slice from its sums, the first row of `sums`, and of its replicates, the other rows.

    corpus: the sums of all samples of the system. clustered: whether the bootstrap drew clusters of samples.
    """
    (measured,) = measure_slices(benchmark, corpus, [sums], clustered)
    return measured


def measure_slices(
    benchmark: AnyBenchmark, corpus: Sums, slices: Iterable[SumTable], clustered: bool
) -> Iterator[Measured]:
    """Yields the result of `measure` for each slice; all slices must have the same number of replicates.

    The replicates of many slices are measured in one call, since its time depends mostly on the number of operations.
    """
    for tables in _stackable(slices):
        yield from _measure_together(benchmark, corpus, tables, clustered)


def values_of_tables(
    benchmark: AnyBenchmark, corpus: Sums, tables: Iterable[SumTable]
) -> Iterator[dict[str, FloatArray]]:
    """Yields the metrics of each row of each table [R], of which many are computed in one call; see `measure_slices`.

    NaN, or no such metric, if there is nothing to measure. All tables must have the same number of rows.
    """
    for group in _stackable(tables):
        columns = values_of_rows(benchmark, SumTable.stacked(group), corpus)
        for number in range(len(group)):
            yield {name: column.reshape(len(group), -1)[number] for name, column in columns.items()}


def _stackable(slices: Iterable[SumTable]) -> Iterator[list[SumTable]]:
    """Yields the slices in groups with at most half padding; a slice with sums of slices gets its own group.

    The meaning of its names (`slices_of`) differs from slice to slice.
    """
    group: list[SumTable] = []
    names: set[str] = set()
    used = 0
    for table in slices:
        names |= set(table.names)
        used += len(table.names)
        cells = (len(group) + 1) * len(names)
        is_apart = cells > 2 * used or len(group) == SLICES_AT_ONCE or any(name.startswith("@") for name in names)
        if group and is_apart:
            yield group
            group, names, used = [], set(table.names), len(table.names)
        group.append(table)
    if group:
        yield group


def _measure_together(
    benchmark: AnyBenchmark, corpus: Sums, tables: Sequence[SumTable], clustered: bool
) -> Iterator[Measured]:
    kind, stacked, shape = type(benchmark), SumTable.stacked(tables), (len(tables), len(tables[0]))
    values_of = [values_of_rows(benchmark, table.row(0), corpus) for table in tables]
    specs = {name: spec_or_undeclared(kind, name) for values in values_of for name in values}
    plain = [name for name, spec in specs.items() if not spec.parts]
    denominators, counts = _denominators(kind, plain, stacked, shape, clustered)
    columns, none = values_of_rows(benchmark, stacked, corpus), np.full(len(stacked), np.nan)
    replicates = {name: columns.get(name, none).reshape(shape)[:, 1:] for name in specs}
    infinite = [name for name, column in columns.items() if np.isinf(column).any()]
    checked_values(benchmark, {f"{name} in a bootstrap replicate": math.inf for name in infinite})
    for number, values in enumerate(values_of):
        measured = Measured(
            values,
            {name: replicates[name][number] for name in values},
            {name: counts[name][number] for name in values if name in counts},
            {name: denominators[name][number] for name in values if name in counts},
        )
        # An estimate of the units from their sizes does not tell whether they are few.
        for name in counts:
            if name in values and (clustered or specs[name].per_sample is None):
                measured.totals[name] = float(denominators[name][number][0]) / (specs[name].per_sample or 1)
        _weigh_classes(kind, measured)
        for name in values:
            if name not in counts:
                _weigh_parts(kind, measured, name, tables[number], clustered)
        yield measured


def _weigh_classes(kind: type[AnyBenchmark], measured: Measured) -> None:
    """Sets the units and effective sample sizes of the means over classes."""
    units, means = measured.units, {}
    for metric in list(units):
        if classes := spec_or_undeclared(kind, metric).classes:
            if classes not in means:
                family = spec_or_undeclared(kind, classes)
                of_family = [size for each, size in units.items() if spec_or_undeclared(kind, each) is family]
                means[classes] = satterthwaite_df(of_family)
            measured.totals.setdefault(metric, units[metric])
            units[metric], measured.sizes[metric] = (min(units[metric], each) for each in means[classes])


def _weigh_parts(kind: type[AnyBenchmark], measured: Measured, metric: str, table: SumTable, clustered: bool) -> None:
    """Sets the units and the effective sample size of a metric made of metrics."""
    spec, units, sizes = spec_or_undeclared(kind, metric), measured.units, measured.sizes
    units[metric] = min(units.get(part, 0.0) for part in spec.parts)
    sizes[metric] = min(map(measured.size, spec.parts))
    measured.totals[metric] = min(map(measured.total, spec.parts))
    for mean, column in spec.sliced:
        slices = slices_of(table, column).values()
        for part in spec_or_undeclared(kind, mean).parts or (mean,):
            of_slices = [_denominators(kind, [part], each, (1, len(each)), clustered)[1][part][0] for each in slices]
            units[metric], sizes[metric] = map(min, (units[metric], sizes[metric]), satterthwaite_df(of_slices))


@lru_cache(maxsize=65536)
def spec_or_undeclared(kind: type[AnyBenchmark], metric: str) -> MetricSpec:
    """Returns the declaration of a metric, `UNDECLARED` if there is none."""
    return kind.spec_of(metric) or UNDECLARED


def class_families(kind: type[AnyBenchmark], metric: str) -> list[MetricSpec]:
    """Returns the families of classes over which a metric, or a part of it, is a mean; see `MetricSpec.classes`."""
    spec = spec_or_undeclared(kind, metric)
    specs = [spec, *(spec_or_undeclared(kind, part) for part in spec.parts)]
    return [family for each in specs if (family := kind.spec_of(each.classes))]


def slices_with_value(benchmark: AnyBenchmark, metric: str, column: str, sums: Sums, corpus: Sums) -> list[str]:
    """Returns the values of a column, among samples with these sums, in whose slices a metric has a value."""
    slices = slices_of(sums, column).items()
    return [value for value, each in slices if values_of_rows(benchmark, each, corpus).get(metric) is not None]


def _denominators(
    kind: type[AnyBenchmark], metrics: Sequence[str], sums: SumTable, shape: tuple[int, int], clustered: bool
) -> tuple[dict[str, FloatArray], dict[str, list[float]]]:
    """Returns the denominator of each metric in slices of the same length [S, 1 + R], and the units that count [S].

    Metrics with the same denominator share the array.
    """
    known: dict[Any, tuple[FloatArray, list[float]]] = {}
    for metric in metrics:
        spec = spec_or_undeclared(kind, metric)
        columns = denominator_columns(spec, metric, sums.places)
        if (columns, spec.per_sample) not in known:
            added, subtracted = (sums.floats[list(each)].sum(axis=0) for each in columns)
            total: FloatArray = (added - subtracted).reshape(shape)
            counts: list[float] = effective_sample_size(total, spec.per_sample, clustered).tolist()
            known[columns, spec.per_sample] = total, counts
        known[metric] = known[columns, spec.per_sample]
    return {name: known[name][0] for name in metrics}, {name: known[name][1] for name in metrics}


def denominator_columns(
    spec: MetricSpec, metric: str, names: Mapping[str, int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the columns, by name in `names`, of the statistics that a denominator adds up, and that it subtracts.

    A column that the denominator names twice is returned twice. `task1.confusion[CLASS|*]`, the denominator of
    `task1.recall[CLASS]`, is `task1.confusion[pie|...]` for `task1.recall[pie]`, with anything after the bar.
    """
    columns: tuple[list[int], list[int]] = [], []
    for term, is_subtracted in denominator_terms(spec, metric):
        if isinstance(term, str):
            columns[is_subtracted].extend([names[term]] if term in names else [])
        else:
            columns[is_subtracted].extend(column for name, column in names.items() if term.fullmatch(name))
    return tuple(columns[0]), tuple(columns[1])


@lru_cache(maxsize=16384)
def denominator_terms(spec: MetricSpec, metric: str) -> tuple[tuple[str | re.Pattern[str], bool], ...]:
    """Returns the statistics that a denominator names, each a name or a pattern, and whether it is subtracted."""
    member, word = "", _NOTHING
    if placeholder := PLACEHOLDER.search(spec.name):
        member = metric[placeholder.start() + 1 : len(metric) - (len(spec.name) - placeholder.end()) - 1]
        word = re.compile(rf"\b{placeholder[1]}\b")
    terms: list[tuple[str | re.Pattern[str], bool]] = []
    for term in spec.denominator.replace(" - ", " + -").split(" + "):
        # The member is inserted last: it may contain anything, including characters with a meaning in a declaration.
        parts = [member.join(word.split(part)) for part in term.removeprefix("-").split("*")]
        pattern = re.compile(".*".join(map(re.escape, parts)), re.DOTALL) if len(parts) > 1 else parts[0]
        terms.append((pattern, term.startswith("-")))
    return tuple(terms)


def effective_sample_size(denominators: FloatArray, per_sample: int | None, clustered: bool) -> FloatArray:
    """Returns how many units count [...], from the denominator of the corpus and of its replicates [..., 1 + R].

    Exact if the samples are the units and each that counts adds `per_sample`; otherwise estimated from the replicates,
    with a relative standard error of sqrt(2 / R), and at most the denominator, since a count cannot have more units.
    0 if the denominator is 0.
    """
    total, replicates = denominators[..., 0], denominators[..., 1:]
    most = np.maximum(total, 0.0) / (per_sample or 1)
    if replicates.shape[-1] == 0 or (per_sample is not None and not clustered):
        return most
    spread = np.mean((replicates - total[..., None]) ** 2, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        counted: FloatArray = np.fmin(most, total * total / spread)
    return counted


def satterthwaite_df(classes: Sequence[float]) -> tuple[float, float]:
    """Returns how many units count for a mean over K classes, from the units of each, and its effective sample size.

    At least `MIN_CLASS_UNITS` count, and never more than there are. The size is Kish's, K^2 / sum 1 / n_k: as many
    units of equal weight would give a mean with the same variance. Both are 0 without any unit.

    >>> [tuple(round(each, 6) for each in satterthwaite_df(n)) for n in ([10, 10, 10], [30, 6, 3], [100, 1], [1, 1])]
    [(30.0, 30.0), (6.820604, 16.875), (5.0, 3.960396), (2.0, 2.0)]
    """
    shares = [1 / units for units in classes if units > 0]
    if not shares:
        return 0.0, 0.0
    freedom = math.fsum(shares) ** 2 / math.fsum(share**3 for share in shares)
    units = min(max(freedom, MIN_CLASS_UNITS), math.fsum(units for units in classes if units > 0))
    return units, len(shares) ** 2 / math.fsum(shares)


_NOTHING = re.compile("(?!)")
