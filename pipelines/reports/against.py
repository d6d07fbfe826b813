"""The differences of a run from its baseline, and of its two systems, from the stored sums: nothing is scored again.

A difference is better or worse if its interval excludes zero, and samples that only one side measured cannot explain
it. For slices, the confidence of the interval is corrected for all slices and main metrics at once (Bonferroni): with m
of them, each has the confidence 1 - (1 - c) / m.
"""

from __future__ import annotations

import os
import posixpath
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from ...metrics.benchmark import AnyBenchmark
from ...metrics.common.text import some_of
from ...metrics.repeats import REPEATS
from ...metrics.statistics.measured import spec_or_undeclared
from ...metrics.statistics.paired import (
    PairedDifference,
    paired_differences,
    paired_interval,
    same_denominators,
    same_samples,
    units_needed,
)
from ...transforms.io.storage import is_on_disk
from ...transforms.records import InputProblem
from ..config.errors import UsageError
from ..runs.differences import PAIRED, differences, redefined
from ..runs.named import SystemRun, named_system
from ..runs.row_changes import differing_units, least_differing
from ..runs.run import PAGE, Run
from ..runs.sides import attributable_shift, side_of
from .document import Compared, Difference, Measured, Metric
from .judgement import difference_word

MAX_SLICES = 500
"""At most so many slices of a system are compared, the first by name: each computes all replicates of both runs."""
SLICES_NAMED = 5
SURE = 2
"""The sums give a rough number of differing units: rows are read unless it is this many times what a test needs."""
Key = tuple[str, str, str]
"""(system, label, metric); the label of all samples is empty."""


class BaselineDiff(NamedTuple):
    """The differences of the main metrics from another run, and that run as RUN or RUN:SYSTEM.

    note: what is compared, or why nothing is. link: the address of the page of that run; None if it has none. others:
    for each system that is compared, the other one as RUN:SYSTEM.
    """

    note: str = ""
    differences: Mapping[Key, Compared] = {}
    path: str = ""
    link: str | None = None
    others: Mapping[str, str] = {}


NOTHING = BaselineDiff()


def against_baseline(result: Run, baseline: Run | None, name: str = "the baseline") -> BaselineDiff:
    """Returns the differences from a baseline, of all samples and of the slices of both; NOTHING without a baseline.

    name: what the note calls the baseline.
    """
    if baseline is None:
        return NOTHING
    path = named_system(baseline.path, baseline.system)
    output, name = result.configuration.settings.output, f"{name} {path}"
    link = None if output is None else page_link(baseline.path, output, ".")
    compared: Mapping[Key, Compared] = {}
    try:
        reasons = differences(result.signature, baseline.signature, PAIRED)
        run = Run.read(baseline.path)
        if run.run_id != baseline.run_id:
            reasons = reasons or ["a different run has replaced it"]
        if not reasons:
            systems = {each: baseline.system_for(each) for each in result.systems}
            compared, labels = run_differences(result, run, systems)
            reasons = [] if compared else ["it has no system of the same name"]
    except (UsageError, OSError, ValueError, KeyError) as error:
        reasons = [str(error)]
    if reasons:
        return BaselineDiff(f"Not compared with {name}: {reasons[0]}.", {}, path, link)
    more = ""
    if any(len(system.slices) > MAX_SLICES for system in result.systems.values()):
        more = f" Only the first {MAX_SLICES:,} slices by name are compared; beamscore compare tests all."
    if not baseline.rows:
        more += " Its rows (samples/) are missing, so it is unknown which samples changed."
    samples = f"samples that may not be the same in {some_of(labels, SLICES_NAMED)}" if labels else "the same samples"
    replicates = f"{run.sums.bootstrap.replicates:,} paired bootstrap replicates"
    note = f"This run minus {name}, over {samples}, with intervals of {replicates}.{more}"
    others = {name: named_system(baseline.path, each) for name, each in systems.items() if each is not None}
    return BaselineDiff(note, compared, path, link, others)


def run_differences(
    result: Run, run: Run, systems: Mapping[str, str | None], with_slices: bool = True
) -> tuple[dict[Key, Compared], list[str]]:
    """Returns the differences of a run from another one, and the labels whose samples may differ between the runs.

    systems: the systems to compare, each with its name in the other run; None if the other run does not have it. A
    derived metric that the runs define by two formulas is not compared.
    """
    configuration = result.configuration
    benchmark, confidence = configuration.benchmark, configuration.settings.bootstrap.confidence
    others = redefined(configuration.settings.derived, run.configuration.settings.derived)
    main = [metric for metric in benchmark.main_metrics() if metric not in others]
    paired: dict[Key, PairedDifference] = {}
    doubtful: set[str] = set()
    few, uneven = set[Key](), set[Key]()
    shifts: dict[Key, float] = defaultdict(float)
    for name, other in systems.items():
        if other is None:
            continue
        slices = ("", *(result.systems[name].slices if with_slices else ()))
        for label in [label for label in slices if run.slice(other, label) is not None][: MAX_SLICES + 1]:
            sides = run.measured(other, label), result.measured(name, label)
            by_metric = paired_differences(benchmark, *sides, confidence)
            truths = {each.fingerprint for each in (run.slice(other, label), result.slice(name, label)) if each}
            is_known = any(each.same_predictions for each in by_metric.values())
            differ = len(truths - {None}) > 1 or any(same_samples(benchmark, each, *sides) is False for each in main)
            known = [metric for metric in main if metric in by_metric]
            paired |= {(name, label, metric): by_metric[metric] for metric in known}
            for metric in known:
                parts = spec_or_undeclared(type(benchmark), metric).parts
                if not same_denominators((metric, *parts), *sides):
                    uneven.add((name, label, metric))
            for metric in known if differ or configuration.settings.missing == "exclude" else ():
                ours = side_of(benchmark, metric, result, name, label, sides[1])
                theirs = side_of(benchmark, metric, run, other, label, sides[0])
                if ours is not None and theirs is not None:
                    shifts[name, label, metric], _ = attributable_shift(configuration, metric, ours, theirs)
                    differ = differ or shifts[name, label, metric] > 0
            if differ or (not is_known and (_may_hide(run, other, label) or _may_hide(result, name, label))):
                doubtful.add(label or "all samples")
            if not label:
                pair = SystemRun(result, name), SystemRun(run, other)
                few |= {(name, "", metric) for metric in _with_few(main, by_metric, *pair)}
    tested = sum(bool(label) and each.interval is not None for (_, label, _), each in paired.items())
    corrected = 1 - (1 - confidence) / max(1, tested)
    numbers = {name: number for number, name in enumerate(result.systems)}
    grouped = configuration.settings.cluster is not None or configuration.settings.repeats
    compared = {
        (name, label, metric): _compared(
            benchmark,
            metric,
            each,
            confidence=corrected if label else confidence,
            system=numbers[name],
            has_few=(name, label, metric) in few,
            # Within a cluster, or the repeats of a sample, differences may cancel.
            may_differ=(name, label, metric) in uneven or bool(grouped and not each.same_predictions),
            shift=shifts[name, label, metric],
        )
        for (name, label, metric), each in paired.items()
    }
    return compared, sorted(doubtful)


def _may_hide(run: Run, system: str, label: str) -> bool:
    """Returns whether samples are left out that replicates do not tell apart: some of a cluster, or of the repeats."""
    settings, summary = run.configuration.settings, run.slice(system, label)
    if summary is None or not (settings.cluster or settings.repeats):
        return False
    return summary.left_out(settings.missing, run.systems[system].values.get(REPEATS)) > 0


def _with_few(
    metrics: Sequence[str], paired: Mapping[str, PairedDifference], ours: SystemRun, theirs: SystemRun
) -> list[str]:
    """Returns the metrics in which fewer units differ than a test needs; the rows are read if the sums do not show it.

    Without rows, a metric is returned if it has fewer units in all.
    """
    needed = units_needed(ours.run.configuration.settings.bootstrap.confidence)
    known = {name: each.interval for name, each in paired.items() if name in metrics and each.interval is not None}
    decided = [name for name, (low, high) in known.items() if not low <= 0 <= high]
    unsure = [name for name in decided if least_differing(paired[name]) < SURE * needed]
    if not unsure:
        return []
    try:
        counts = differing_units(ours, theirs, unsure, needed)
    except InputProblem:
        return [name for name in unsure if paired[name].total < needed]
    return [name for name, count in counts.items() if count < needed]


def two_systems(result: Run) -> BaselineDiff:
    """Returns the second system of a run less the first; NOTHING unless it has two, both scored, and replicates."""
    bootstrap = result.configuration.settings.bootstrap
    scored = all(system.counts for system in result.sums.systems.values())
    if len(result.systems) != 2 or not scored or not bootstrap.replicates:
        return NOTHING
    first, second = result.systems
    note = f"{second} minus {first}, with intervals of {bootstrap.replicates:,} paired bootstrap replicates."
    return BaselineDiff(note, run_differences(result, result, {second: first}, with_slices=False)[0])


def _compared(
    benchmark: AnyBenchmark,
    metric: str,
    paired: PairedDifference,
    confidence: float,
    system: int,
    has_few: bool,
    may_differ: bool,
    shift: float,
) -> Compared:
    """Returns a paired difference with its verdict. confidence: of the interval that decides the verdict. shift: how
    much of it the samples that only one side measured may explain."""
    spec, deciding = spec_or_undeclared(type(benchmark), metric), Measured(paired.difference)
    if paired.difference is not None and paired.error is not None:
        ends = paired_interval(paired.difference, paired.error, paired.units, confidence, spec.width, paired.total)
        deciding = Measured(paired.difference, *(ends or ()))
    low, high = paired.interval or (None, None)
    has_few = has_few or paired.total < units_needed(confidence)
    word = difference_word(deciding, spec.higher_is_better, may_differ, has_few, shift)
    difference = Difference(paired.difference, low, high, word)
    sides = Measured(paired.baseline), Measured(paired.candidate)
    return Compared(Metric.of(spec, metric), system, *sides, difference, None, paired.detectable)


def page_link(folder: str, output: str, run: str) -> str | None:
    """Returns the address of the page of a run, relative to a page in `output`; None if it cannot be linked.

    On a disk, the page must exist. In an object store it is assumed to: a check would cost a request for each run.
    """
    path = posixpath.normpath(posixpath.join(folder, run, PAGE)) if is_on_disk(folder) else None
    if path is not None:
        if not is_on_disk(output) or not os.path.exists(path):
            return None
        relative = os.path.relpath(path, output)
    elif posixpath.normpath(folder) == posixpath.normpath(output):
        relative = posixpath.normpath(posixpath.join(run, PAGE))
    else:
        return None
    # An address that begins with ./ is never parsed as a scheme.
    return "./" + quote(relative.encode("utf-8", "surrogateescape"))
