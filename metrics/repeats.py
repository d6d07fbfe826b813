"""Several predictions of each sample, such as those of a model that decodes with randomness: the repeats of a run.

A benchmark with repeats is a subclass of the benchmark. All repeats of a sample are one unit, so the statistics of a
sample are those of its repeats under other names (`fold_statistics`):

    name                  the mean over the repeats, by which denominators and units are counted
    @["","r"]name         of repeat r, as of a slice (`statistics.slice_names`)
    @["","r"]@            1 if all of these are 0
    @count:metric[k]      1 for each k up to the number n of repeats in which the per-sample metric has a value
    @rank:metric[n|i]     the i-th of these n values, the worst first

Let S_r be the sums of repeat r over all samples. A metric is the mean of values(S_r) over the repeats in which it has a
value, and its spread their sample standard deviation. The best of k is the mean over the samples of what the best of k
of their n repeats is expected to be: the sum over i of C(i - 1, k - 1) / C(n, k) times value i, as C(i - 1, k - 1) of
the C(n, k) subsets have value i as their best; for the worst, C(n - i, k - 1). Of c values of 1 among values of 0 the
best is 1 - C(n - c, k) / C(n, k), the unbiased estimator of pass@k (Chen et al., "Evaluating Large Language Models
Trained on Code", 2021).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, reduce
from itertools import product
from typing import Any

import msgspec
import numpy as np

from .benchmark import AnyBenchmark, DrawnPair, MetricSpec, RejectedRecord, SampleScore, Table
from .statistics.measured import spec_or_undeclared
from .statistics.ratios import Value, ratio
from .statistics.slice_names import AnySums, of_slice, prefixed, slices_of
from .statistics.sum_table import values_of_rows
from .statistics.sums import MAX_STATISTIC, Sums

MAX_REPEATS = 256
REPEATS = "repeats"
"""The metric that counts the repeats of a system."""
_COLUMN = ""
"""The column name of repeats; no column of the ground truth has it."""
_UNCOUNTED = "@"
"""The statistic of a repeat whose others are 0: sums of 0 are not kept, and would not tell that it is there."""


@lru_cache(maxsize=64)
def with_repeats(kind: type[AnyBenchmark]) -> type[AnyBenchmark]:
    """Returns the benchmark over repeats, with metrics about the repeats in addition to its own."""
    last = 1 + max((spec.main or 0 for spec in kind.metrics), default=0)
    metrics = [*kind.metrics]
    for number, name in enumerate(kind.main_metrics()):
        meaning, main = f"standard deviation of {name} over the repeats", None if number else last
        spec = spec_or_undeclared(kind, name)
        # That of two repeats, one at each bound; more repeats have less.
        most = None if spec.width is None else math.sqrt(spec.width**2 / 2)
        more: dict[str, Any] = {"parts": (name,), "loss": spec.reach, "spread": True}
        metrics.append(MetricSpec(f"{name}.spread", meaning, False, (0.0, most), main, **more))
    for spec in _ranked(kind):
        of_best = "pass@k: share of samples right in one at least of" if spec.binary else f"best {spec.name} of"
        of_worst = "share of samples right in all of" if spec.binary else f"worst {spec.name} of"
        shared = replace(spec, main=None, rank=None, denominator=f"@count:{spec.name}[K]", per_sample=1)
        for name, meaning in zip(_names(spec), (of_best, of_worst), strict=True):
            metrics.append(replace(shared, name=f"{name}[K]", meaning=f"{meaning} K repeats, as expected of any K"))
    metrics.append(MetricSpec(REPEATS, "how many repeats there are", bounds=(0.0, None)))
    declared = {"__module__": kind.__module__, "__doc__": kind.__doc__, "one_run": kind, "metrics": tuple(metrics)}
    return type(kind.__name__, (_WithRepeats, kind), declared)


def _ranked(kind: type[AnyBenchmark]) -> list[MetricSpec]:
    """Returns the per-sample metrics that have a best and worst of k: the main one and the binary ones."""
    return [spec for spec in kind.sample_metrics if spec.main is not None or spec.binary]


def _names(spec: MetricSpec) -> tuple[str, str]:
    return f"{spec.name}.{'pass_at' if spec.binary else 'best_of'}", f"{spec.name}.worst_of"


def _clipped(spec: MetricSpec, value: Any) -> Any:
    """Returns values clipped to the bounds of a metric; without a bound, to the limits of what can be summed."""
    low, high = spec.bounds
    return np.clip(value, -MAX_STATISTIC if low is None else low, MAX_STATISTIC if high is None else high)


def fold_statistics(kind: type[AnyBenchmark], runs: Mapping[str, SampleScore]) -> dict[str, float]:
    """Returns the statistics of a sample over its repeats. runs: the score of each repeat; not empty."""
    names = dict.fromkeys(name for score in runs.values() for name in score.statistics)
    folded = {name: exact_mean([score.statistics.get(name, 0) for score in runs.values()]) for name in names}
    for label, score in runs.items():
        folded |= prefixed(score.statistics if any(score.statistics.values()) else {_UNCOUNTED: 1}, _COLUMN, label)
    for spec in _ranked(kind):
        defined = [value for score in runs.values() if (value := score.metrics.get(spec.name)) is not None]
        values = sorted((float(_clipped(spec, value)) for value in defined), key=spec.signed_value)
        for place, value in enumerate(values, 1):
            folded[f"@count:{spec.name}[{place}]"] = 1
            if value:
                folded[f"@rank:{spec.name}[{len(values)}|{place}]"] = value
    return folded


def fold_metrics(runs: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    """Returns the mean of each per-sample metric over the repeats in which it has a value."""
    names = dict.fromkeys(name for metrics in runs for name in metrics)
    values = {name: [value for metrics in runs if (value := metrics.get(name)) is not None] for name in names}
    return {name: exact_mean(defined) if defined else None for name, defined in values.items()}


def is_of_k(spec: MetricSpec) -> bool:
    """Returns whether a metric is the best or worst of k, whose denominator counts the samples with k repeats."""
    return spec.denominator.startswith("@count:")


def exact_mean(values: Sequence[float]) -> float:
    """Returns the mean of some numbers; of equal numbers, exactly that number."""
    low = min(values)
    return low + math.fsum(value - low for value in values) / len(values)


def repeats_of(sums: AnySums) -> tuple[str, ...]:
    """Returns the labels of the repeats, in order: by length first, so that 10 comes after 9."""
    return tuple(sorted(slices_of(sums, _COLUMN), key=lambda label: (len(label), label)))


def _runs(sums: AnySums) -> dict[str, AnySums]:
    """Returns what the benchmark has summed up in each repeat, by its label."""
    runs = slices_of(sums, _COLUMN).items()
    return {label: run.renamed({name: name for name in run if name != _UNCOUNTED}) for label, run in runs}


def with_labels(statistics: Mapping[str, float], own: Sequence[str], labels: Sequence[str]) -> Mapping[str, float]:
    """Returns the statistics of a sample of a system as if its repeats, `own`, had other labels.

    Repeats are renamed in order; if there are more or fewer of them, each has the mean over the own repeats.

    >>> with_labels({"equal": 0.5, '@["","1"]equal': 1, '@["","2"]equal': 0}, "12", "ab")
    {'equal': 0.5, '@["","a"]equal': 1, '@["","b"]equal': 0}
    """
    if own == labels:
        return statistics
    named = {name: of_slice(name, _COLUMN) for name in statistics}
    if len(own) == len(labels):
        renamed, found = dict(zip(own, labels, strict=True)), dict[str, float]()
        for name, (label, base) in named.items():
            value = statistics[name]
            found |= {name: value} if label is None else prefixed({base: value}, _COLUMN, renamed[label])
        return found
    whole = {name: statistics[name] for name, (label, _) in named.items() if label is None}
    means = {name: value for name, value in whole.items() if not name.startswith(("@count:", "@rank:"))}
    for label in labels:
        whole |= prefixed(means, _COLUMN, label)
    return whole


class _WithRepeats(AnyBenchmark):
    """A benchmark over repeats of the benchmark `one_run`."""

    one_run: type[AnyBenchmark]
    takes_columns = True

    @cached_property
    def _one_run(self) -> AnyBenchmark:
        return self.one_run(self.options)

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the means over the repeats, then the metrics about the repeats."""
        return self.values_within(sums, sums)

    def values_within(self, sums: Sums, corpus: Sums) -> dict[str, float | None]:
        """Returns the metrics of some samples of a corpus; columns [R] if `sums` is a SumTable."""
        labels = _runs(sums)
        runs = [values_of_rows(self._one_run, part, corpus) for part in [*labels.values()] or [sums]]
        values: dict[str, Any] = {}
        spreads: dict[str, Any] = {}
        main = self.one_run.main_metrics()
        for name in dict.fromkeys(name for run in runs for name in run):
            values[name], spread = _mean_and_spread([run.get(name) for run in runs])
            spreads |= {f"{name}.spread": spread} if name in main else {}
        return {**values, **spreads, **_bests(_ranked(self.one_run), sums), REPEATS: float(len(labels))}

    def tables(self, sums: Sums) -> list[Table]:
        """Returns the main metrics of each repeat, then the tables of the benchmark, of all repeats together."""
        main, runs = self.one_run.main_metrics(), _runs(sums)
        values = {label: values_of_rows(self._one_run, part, sums) for label, part in runs.items()}
        rows = [[label, *(metrics.get(name) for name in main)] for label, metrics in values.items()]
        return [Table("Repeats", ["repeat", *main], rows), *self._one_run.tables(type(sums).merged(runs.values()))]

    def explain(self, details: Any) -> list[str]:
        """Returns what matched what in the worst repeat, after the main per-sample metric of each."""
        runs, shown = details["repeats"], details["worst"]
        name = self.main_sample_metric().name
        known = ((label, run["metrics"].get(name)) for label, run in runs.items())
        values = ", ".join(f"{label}: {'no value' if each is None else round(each, 4)}" for label, each in known)
        inner = _of_worst(details)
        return [f"repeat {shown}; {name} of each: {values}", *([] if inner is None else self._one_run.explain(inner))]

    def draw_batch(self, pairs: Sequence[DrawnPair[Any, Any]]) -> list[str | RejectedRecord]:
        """Draws the worst repeat of each sample. Not `draw`, by which a benchmark says that it has drawings."""
        return super().draw_batch([msgspec.structs.replace(each, details=_of_worst(each.details)) for each in pairs])

    def __reduce__(self) -> tuple[Any, ...]:
        # The class was created in this process, so no other process can import it.
        return _rebuilt, (self._one_run,)


def _of_worst(details: Any) -> Any:
    return None if details is None else details["repeats"][details["worst"]]["details"]


def _rebuilt(one_run: AnyBenchmark) -> AnyBenchmark:
    return with_repeats(type(one_run))(one_run.options)


def _mean_and_spread(values: Sequence[Value]) -> tuple[Value, Value]:
    """Returns the mean of the defined values, and their sample standard deviation, which needs two."""
    rows = np.array(np.broadcast_arrays(*[np.nan if value is None else value for value in values]), dtype=np.float64)
    count = np.sum(~np.isnan(rows), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.fmin.reduce(rows), np.fmax.reduce(rows)
        # From the lowest, and one by one: the mean of equal numbers is exactly that number, on every machine.
        middle = np.minimum(low + reduce(operator.add, np.nan_to_num(rows - low)) / count, high)
        variance = reduce(operator.add, np.nan_to_num(rows - middle) ** 2) / (count - 1)
        return _value(middle), _value(np.where(count > 1, np.sqrt(variance), np.nan))


def _value(value: Any) -> Value:
    return value if np.ndim(value) else None if np.isnan(value) else float(value)


def _bests(specs: Sequence[MetricSpec], sums: Any) -> dict[str, Value]:
    """Returns the expected best and worst of k repeats of each metric, for each k that any sample has."""
    bests: dict[str, Value] = {}
    for spec in specs:
        counts = {int(k): count for k, count in sums.family(f"@count:{spec.name}").items()}
        totals: dict[int, dict[int, Value]] = {}
        for key, total in sums.family(f"@rank:{spec.name}").items():
            n, i = map(int, key.split("|"))
            totals.setdefault(n, {})[i] = total
        for k, (place, name) in product(sorted(counts), enumerate(_names(spec))):
            whole: Value = 0.0
            for n in sorted(n for n in totals if n >= k):
                ways = {i: float(math.comb(n - i if place else i - 1, k - 1)) for i in totals[n]}
                of_n = reduce(operator.add, (total * ways[i] for i, total in totals[n].items()))
                whole = whole + of_n / float(math.comb(n, k))
            value = ratio(whole, counts[k])
            bests[f"{name}[{k}]"] = None if value is None else _value(_clipped(spec, value))
    return bests
