"""The comparison of two finished runs: read the rows of both, pair, add up, test, publish."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import apache_beam as beam
import numpy as np

from ..metrics.statistics.bootstrap import Bootstrap
from ..metrics.statistics.comparison import ComparedMetric, ComparedSlice, FloatArray, compare_slice
from ..metrics.statistics.paired import MIN_DIFFERING_UNITS, paired_differences
from ..metrics.statistics.same_samples import same_samples
from ..metrics.statistics.sums import Sums
from ..metrics.statistics.swaps import SWAPS, SwapBits, dependencies, units_needed
from ..transforms.blocks import EXPANSION, buckets_for, unpack
from ..transforms.compare import REGROUPED, CompareBuckets, ComparePlan, PairSums, merged_sums
from ..transforms.io.publication import Layout
from ..transforms.io.staging import StagedFolder
from ..transforms.publish import Publish, encode_json
from ..transforms.records import InputProblem
from ..transforms.rows import ReadRowBlocks, SampleTable
from ..transforms.sample_changes import ChangePlan, WriteChanges, merged_counts
from .compare_page import ChangedSamples, ComparisonPagePlan, in_order
from .config.errors import UsageError
from .reports.comparison import PAGE, comparison_reports
from .runners import launch
from .runs.comparison import COMPARISON, REPORT, ComparisonSetting, document
from .runs.named import SystemRun

LAYOUT = Layout("comparison", (REPORT, PAGE, COMPARISON), ("changes",))


@dataclass(frozen=True)
class ComparisonPlan:
    """A comparison that has been checked: all that the pipeline is built from.

    size: the bytes of the rows of both sides, in their files.
    page: what comparison.html shows; None: there is none.
    """

    baseline: SystemRun
    candidate: SystemRun
    setting: ComparisonSetting
    compare: ComparePlan
    size: int
    page: ComparisonPagePlan | None = None

    def tables(self, path: Callable[[str], str] = str) -> tuple[SampleTable, SampleTable]:
        """Returns the rows of both sides; `path` turns the path of a file into the one that workers use."""
        metrics = tuple(spec.name for spec in self.compare.changes.specs)
        first, second = (
            SampleTable(tuple(map(path, side.run.rows)), side.system, self.compare.columns, metrics)
            for side in (self.baseline, self.candidate)
        )
        return first, second


def plan_comparison(
    baseline: SystemRun,
    candidate: SystemRun,
    differences: Sequence[str] = (),
    threshold: float = 0.1,
    most: int = 100_000,
    swaps: int = SWAPS,
    size: int = 0,
) -> ComparisonPlan:
    """Returns the plan of a comparison of two sides.

    differences: what sets them apart. threshold: of a large change of a per-sample metric. most: how many samples that
    changed are listed. size: the bytes of the rows of both.

    Raises UsageError or InputProblem where a side lacks what is needed.
    """
    settings, benchmark = baseline.run.configuration.settings, baseline.run.configuration.benchmark
    corpora = Sums(baseline.sums.sums), Sums(candidate.sums.sums)
    sums = Sums.merged(corpora)
    missing = tuple(
        f"{side.run.path}: the rows of the run are missing (samples/)"
        for side in (baseline, candidate)
        if not side.run.rows
    )
    setting = ComparisonSetting(
        benchmark,
        (baseline.run.path, baseline.system),
        (candidate.run.path, candidate.system),
        tuple(benchmark.values(sums)),
        corpora,
        settings.bootstrap.confidence,
        settings.bootstrap.seed,
        settings.bootstrap.replicates,
        swaps,
        settings.cluster is not None,
        tuple(differences),
        missing,
        (_only_in(baseline, candidate), _only_in(candidate, baseline)),
        threshold,
    )
    plan = ComparisonPlan(baseline, candidate, setting, _compare_plan(baseline, candidate, setting, sums, most), size)
    if missing:
        _check_stored(baseline, candidate)
    else:
        for table in plan.tables():
            table.check()
    return plan


def _compare_plan(
    baseline: SystemRun, candidate: SystemRun, setting: ComparisonSetting, sums: Sums, most: int
) -> ComparePlan:
    benchmark = setting.benchmark
    slices = [
        each
        for each in baseline.run.configuration.slice_columns()
        if each in candidate.run.configuration.slice_columns()
    ]
    columns = tuple(dict.fromkeys(column for each in slices for column in each))
    bits = {metric: 1 << number for number, metric in enumerate(setting.metrics)}
    masks = {
        name: sum(bits.get(metric, 0) for metric in depending)
        for name, depending in dependencies(benchmark, sums).items()
    }
    main = benchmark.sample_metric_names().index(benchmark.main_sample_metric().name)
    return ComparePlan(
        columns,
        tuple(tuple(columns.index(column) for column in each) for each in slices),
        Bootstrap(setting.replicates, setting.seed),
        SwapBits(setting.swaps, setting.seed),
        masks,
        (1 << len(setting.metrics)) - 1,
        max(units_needed(setting.confidence), MIN_DIFFERING_UNITS),
        ChangePlan(tuple(benchmark.sample_metrics), main, setting.threshold, most),
    )


def _only_in(side: SystemRun, other: SystemRun) -> tuple[str, ...]:
    """Returns the labels of the slices that one side alone has."""
    return tuple(sorted(side.sums.slices.keys() - other.sums.slices.keys()))


def _check_stored(baseline: SystemRun, candidate: SystemRun) -> None:
    """Raises UsageError where the stored sums of two sides do not pair, so that without rows nothing can be said."""
    runs = f"{baseline.run.path} and {candidate.run.path}"
    if baseline.run.sums.bootstrap != candidate.run.sums.bootstrap:
        raise UsageError(f"{runs}: their replicates differ, and without the rows (samples/) there are no others")
    before, after = (side.overall.counts("ground_truth") for side in (baseline, candidate))
    measured = [side.run.measured(side.system, "") for side in (baseline, candidate)]
    benchmark = baseline.run.configuration.benchmark
    other = any(same_samples(benchmark, metric, *measured) is False for metric in benchmark.main_metrics())
    if baseline.run.summary.fingerprint != candidate.run.summary.fingerprint or before != after or other:
        raise UsageError(
            f"{runs}: they may not have scored the same samples, and without the rows (samples/) they cannot be paired"
        )


def build_comparison(
    pipeline: beam.Pipeline,
    plan: ComparisonPlan,
    output: str,
    run_id: str,
    path: Callable[[str], str] = str,
) -> None:
    """Wires the pipeline; `path` turns the path of a file into the one that workers use."""
    folder = launch.block_folder(pipeline)
    publish = Publish(output, run_id, LAYOUT, partial(make_result, plan.setting, page=plan.page))
    if plan.setting.missing:
        _ = _from_sums(pipeline, plan) | "Publish" >> publish
        return
    compared = (
        pipeline
        | "Read" >> ReadRowBlocks(dict(enumerate(plan.tables(path))), buckets_for(plan.size * EXPANSION), folder)
        | "Buckets" >> beam.GroupByKey()
        | "Pair"
        >> beam.ParDo(CompareBuckets(plan.compare, folder)).with_outputs("slices", "counts", "metrics", "changed")
    )
    slices = (
        compared.slices
        | "Slices" >> beam.GroupByKey()
        | "Merge" >> beam.Map(merged_sums, plan.compare)
        | "Compare" >> beam.Map(compared_slice, plan.setting)
    )
    written = compared.changed | "Changes" >> WriteChanges(
        StagedFolder(output, run_id, "changes"), plan.compare.changes.columns(), plan.compare.changes.most
    )
    parts = {
        "slices": slices | "WithoutSwaps" >> beam.Map(lambda found: replace(found, largest=None)),
        "largest": slices
        | "Largest" >> beam.Map(lambda found: found.largest)
        | "LargestOfAll" >> beam.CombineGlobally(largest_of_all).without_defaults(),
        "counts": compared.counts | "Counts" >> beam.CombinePerKey(sum),
        "metrics": compared.metrics,
        "first": written.first,
        "changes_files": written.files,
    }
    if plan.page is not None:
        shown = ChangedSamples(plan.page, plan.setting.benchmark, plan.tables(path))
        parts["changed"] = compared.changed | "Unpack" >> beam.FlatMap(unpack) | "Page" >> shown
    _ = parts | "Publish" >> publish


def compared_slice(item: tuple[str, PairSums], setting: ComparisonSetting) -> ComparedSlice:
    """Returns the comparison of a slice, by its label, from what its samples add up to."""
    label, sums = item
    differing = {}
    for number, name in enumerate(setting.metrics):
        differing[name] = sums.differing_in(number)
    return compare_slice(
        setting.benchmark,
        label,
        sums.samples,
        setting.corpora,
        (sums.baseline.all_sums(), sums.candidate.all_sums()),
        sums.changes.all_sums()[1:],
        differing,
        setting.confidence,
        setting.clustered,
    )


def largest_of_all(found: Iterable[FloatArray]) -> FloatArray | None:
    """Returns the largest of some arrays, place by place; of none, None."""
    largest = None
    for each in found:
        if each is not None:
            largest = each if largest is None else np.maximum(largest, each)
    return largest


def _from_sums(pipeline: beam.Pipeline, plan: ComparisonPlan) -> dict[str, beam.PCollection]:
    """Returns the parts of a comparison of the stored sums alone."""
    nothing = pipeline | "Nothing" >> beam.Create([])
    labels = sorted(plan.baseline.sums.slices.keys() & plan.candidate.sums.slices.keys())
    slices = [_compared_sums(plan, label) for label in ("", *labels)]
    return {
        "slices": pipeline | "Slices" >> beam.Create(slices),
        "counts": pipeline | "Counts" >> beam.Create([("compared", plan.baseline.samples)]),
        **dict.fromkeys(("largest", "metrics", "first", "changes_files", "changed"), nothing),
    }


def _compared_sums(plan: ComparisonPlan, label: str) -> ComparedSlice:
    before, after = (side.run.measured(side.system, label) for side in (plan.baseline, plan.candidate))
    found = paired_differences(plan.setting.benchmark, before, after, plan.setting.confidence)
    return ComparedSlice(label, None, {name: ComparedMetric(each, None) for name, each in found.items()}, None)


def _regrouped(count: int) -> str:
    return f"{count} samples have another cluster or other values to slice by in the candidate: the baseline's are used"


def make_result(
    setting: ComparisonSetting, parts: dict[str, list[Any]], page: ComparisonPagePlan | None = None
) -> dict[str, bytes]:
    """Returns comparison.json and comparison.md, and comparison.html where there is a plan of the page.

    Raises InputProblem where there is no sample that both sides scored.
    """
    counts = dict(parts["counts"])
    if not counts.get("compared"):
        sides = " and ".join(f"{run}:{system}" for run, system in (setting.baseline, setting.candidate))
        others = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(counts.items()))
        raise InputProblem(f"{sides} have no sample in common that both scored ({others or 'neither has a row'})")
    regrouped = counts.pop(REGROUPED, 0)
    if regrouped:
        setting = replace(setting, differences=(*setting.differences, _regrouped(regrouped)))
    slices = {found.label: found for found in parts["slices"]}
    largest = parts["largest"][0] if parts["largest"] else None
    found = document(setting, counts, slices, largest, merged_counts(parts["metrics"]))
    first = [row for rows in parts["first"] for row in rows]
    cards = in_order(parts["changed"]) if page is not None else []
    reports = comparison_reports(found, setting.benchmark, first, None if page is None else page.runs, cards)
    return {**reports.files, COMPARISON: encode_json({**found, **reports.about()})}
