"""`beamscore compare`: whether one system is better than another, by which metrics, and on which samples.

The rows of both runs are read, paired, summed and tested; the result is published.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import posixpath
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import apache_beam as beam
import msgspec
import numpy as np
from apache_beam.options.pipeline_options import PipelineOptions

from ...metrics.repeats import repeats_of
from ...metrics.statistics.bootstrap import Bootstrap
from ...metrics.statistics.comparison import SWAPS, ComparedSlice, SlicePair, SwapWeights, compare_slices, dependencies
from ...metrics.statistics.paired import MIN_DIFFERING_UNITS, units_needed
from ...metrics.statistics.sum_table import FloatArray, values_at
from ...metrics.statistics.sums import Sums
from ...transforms.blocks import EXPANSION, buckets_for, unpack
from ...transforms.compare import REGROUPED, CompareBuckets, ComparePlan, PairSums, merged_sums
from ...transforms.draw import draw_together
from ...transforms.io.publication import Layout
from ...transforms.io.storage import file_size, new_run_id, prepare_output
from ...transforms.publish import Publish, StagedFolder, encode_json
from ...transforms.read import ReadRowBlocks
from ...transforms.records import InputProblem, printable
from ...transforms.rows import SystemRows
from ...transforms.sample_changes import ChangePlan, GatherChanged, WriteChanges, merged_counts
from ..config.errors import UsageError
from ..reports.cards import DrawChanged
from ..reports.cells import cell_markdown
from ..reports.comparison import PAGE, ComparisonPage, compared_metric, comparison_reports, plan_page
from ..reports.document import Counts
from ..runners import launch
from ..runs.comparison import COMPARISON, REPORT, ComparisonSetting, document
from ..runs.differences import COMPARED, changed_formulas, differences, surroundings
from ..runs.documents import verdict_lines
from ..runs.named import SystemRun, open_system, operand
from ..runs.provenance import PAGE_PROBLEM
from . import console
from .common import hand_over, require_rows, run_and_publish
from .messages import DONE, exit_code, warn

MAX_SAMPLES = 1000
COMPARED_TOGETHER = 8
"""Slices per batch: the sums of both systems and of all swaps are in memory together."""
BYTES_OF_SLICE = 1 << 20
"""A slice with more counts for several: one with the sums of slices may have a hundred times as many."""
LAYOUT = Layout((REPORT, PAGE, COMPARISON), ("changes",))


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Compares; the exit code is 0 whatever the result, but 3 if the page could not be made."""
    check_threshold(parsed.threshold, "--threshold")
    if not 0 <= parsed.samples <= MAX_SAMPLES:
        raise UsageError(f"--samples {parsed.samples}: must be a whole number from 0 to {MAX_SAMPLES}")
    path = partial(launch.path_for_workers, options)
    baseline, candidate = open_system(path(parsed.baseline)), open_system(path(parsed.candidate))
    reasons = allowed_differences(baseline, candidate, parsed.allow_differences, "--allow-differences")
    warn(reasons)
    before, after = baseline.run.signature, candidate.run.signature
    if before.versions and after.versions:
        warn(surroundings(before, after, it="the candidate"))
    plan = plan_comparison(baseline, candidate, reasons, parsed.threshold, parsed.changes)
    if parsed.output is None and (launch.is_detached(options) or not launch.is_local(options)):
        raise UsageError("give --output DIR: the workers of this runner share no folder with the command")
    if parsed.output is not None and not parsed.no_html:
        plan = replace(plan, page=plan_page(baseline, candidate, parsed.samples, parsed.command_line, parsed.output))
    # Without a folder for the result, only the console shows it.
    made = contextlib.nullcontext(parsed.output) if parsed.output else tempfile.TemporaryDirectory(prefix="beamscore-")
    with made as output:
        prepare_output(output)
        folder, run_id = path(output), new_run_id()
        build = partial(build_comparison, plan=plan, output=folder, run_id=run_id)
        launch.use_processes(options, None, plan.size)
        if launch.is_detached(options):
            return hand_over(options, build, folder, run_id, LAYOUT)
        document = json.loads(run_and_publish(options, build, folder, run_id, LAYOUT).read(COMPARISON))
    problem = document.get(PAGE_PROBLEM)
    warn(document["differences"][len(reasons) :])
    if not parsed.quiet:
        benchmark = plan.setting.benchmark
        main = [name for name in benchmark.main_metrics() if name in document["metrics"]]
        console.print_comparison([compared_metric(type(benchmark), name, document) for name in main])
        print(*map(printable, verdict_lines(document)), sep="\n")
        print(f"Samples paired: {cell_markdown(Counts(document['samples']))}")
        print(f"signature: {document['signature']}")
        if parsed.output:
            print(f"report: {posixpath.join(folder, REPORT if parsed.no_html or problem else PAGE)}")
    return exit_code(DONE, PAGE, problem, REPORT)


def allowed_differences(baseline: SystemRun, candidate: SystemRun, allowed: bool, option: str) -> list[str]:
    """Returns the differences between two systems, and what is done about them.

    Raises UsageError, which names the `option` that allows them, if the systems differ and that is not allowed. Other
    numbers of repeats, and other code of the benchmark than that of the runs, never are.
    """
    for side in (baseline, candidate):
        side.run.check_code()
    before, after = baseline.run.signature, candidate.run.signature
    reasons = differences(before, after, COMPARED, it="the candidate")
    refused = f"{baseline.name} and {candidate.name} cannot be compared"
    can_be_allowed = before.benchmark == after.benchmark and before.config.get("repeats") == after.config.get("repeats")
    if can_be_allowed:
        # A swap of an answer with several repeats of another is not defined.
        ours, theirs = (len(repeats_of(side.run.corpus(side.system))) for side in (baseline, candidate))
        if ours != theirs:
            raise UsageError(
                f"{refused}: they have {ours} and {theirs} repeats; a gate with not_worse_than compares their means"
            )
    if reasons and not (can_be_allowed and allowed):
        hint = f"; give {option} to compare the samples with the same ground truth" if can_be_allowed else ""
        raise UsageError(f"{refused}: {'; '.join(reasons)}{hint}")
    if changed_formulas(*(each.config.get("derived") or {} for each in (before, after))):
        reasons.append("the candidate's derived metrics are computed by the formulas of the baseline")
    missing = baseline.run.configuration.settings.missing
    ours, theirs = (each.run.systems[each.system].measured_repeats(missing) for each in (baseline, candidate))
    if ours != theirs:
        numbers = f"the baseline has {ours:,} scored repeats of samples, the candidate {theirs:,}"
        reasons.append(f"{numbers}: those left out may hide a loss")
    return reasons


@dataclass(frozen=True)
class ComparisonPlan:
    """A comparison that has been checked: all that the pipeline is built from.

    page: of comparison.html; None: no page.
    """

    baseline: SystemRun
    candidate: SystemRun
    setting: ComparisonSetting
    compare: ComparePlan
    page: ComparisonPage | None = None

    def tables(self) -> tuple[SystemRows, SystemRows]:
        """Returns the rows of both sides."""
        metrics = tuple(spec.name for spec in self.compare.changes.specs)
        first, second = (
            SystemRows(tuple(side.run.rows), side.system, self.compare.columns, metrics)
            for side in (self.baseline, self.candidate)
        )
        return first, second

    @property
    def size(self) -> int:
        """The size of the files of rows of both sides, in bytes."""
        return sum(file_size(path) for side in (self.baseline, self.candidate) for path in side.run.rows)


def check_threshold(threshold: float, option: str) -> None:
    """Raises UsageError, with the name of the option, if a threshold is negative or no finite number."""
    if not math.isfinite(threshold) or threshold < 0:
        raise UsageError(f"{option} {threshold}: must be a number of at least 0")


def plan_comparison(
    baseline: SystemRun, candidate: SystemRun, differences: Sequence[str], threshold: float, most: int
) -> ComparisonPlan:
    """Returns the plan of a comparison of two sides.

    differences: those between the sides. threshold: a larger change of a per-sample metric is a large one. most: the
    maximum number of changed samples that are listed.

    Raises UsageError or InputProblem if a side lacks what is needed.
    """
    configuration, sides = baseline.run.configuration, (baseline, candidate)
    settings, benchmark = configuration.settings, configuration.benchmark
    corpora = Sums(baseline.sums.sums), Sums(candidate.sums.sums)
    sums = Sums.merged(corpora)
    for side in sides:
        require_rows(side.run)
    labels = [side.sums.slices.keys() for side in sides]
    setting = ComparisonSetting(
        benchmark,
        baseline=(baseline.run.path, baseline.system),
        candidate=(candidate.run.path, candidate.system),
        metrics=tuple(values_at(benchmark, sums, sums)),
        corpora=corpora,
        settings=settings,
        differences=tuple(differences),
        one_sided=(tuple(sorted(labels[0] - labels[1])), tuple(sorted(labels[1] - labels[0]))),
        threshold=threshold,
        signature=" against ".join(dict.fromkeys(side.run.summary.signature for side in (candidate, baseline))),
    )
    others = candidate.run.configuration.slice_columns()
    common = [text for text, each in zip(settings.slices, configuration.slice_columns(), strict=True) if each in others]
    shared = replace(configuration, settings=msgspec.structs.replace(settings, slices=common))
    bits = {metric: 1 << number for number, metric in enumerate(setting.metrics)}
    depending = dependencies(benchmark, corpora).items()
    main = benchmark.sample_metric_names().index(benchmark.main_sample_metric().name)
    compare = ComparePlan(
        columns=shared.columns(),
        slices=shared.slice_columns(),
        bootstrap=Bootstrap(settings.bootstrap.replicates, settings.bootstrap.seed),
        swaps=SwapWeights(SWAPS, settings.bootstrap.seed),
        masks={name: sum(bits.get(metric, 0) for metric in metrics) for name, metrics in depending},
        all_metrics=(1 << len(setting.metrics)) - 1,
        units_needed=max(units_needed(settings.bootstrap.confidence), MIN_DIFFERING_UNITS),
        changes=ChangePlan(tuple(benchmark.sample_metrics), main, threshold, most),
        sliced=benchmark.sliced_columns,
        repeats=(repeats_of(corpora[0]), repeats_of(corpora[1])),
    )
    plan = ComparisonPlan(baseline, candidate, setting, compare)
    for table in plan.tables():
        table.check()
    return plan


def build_comparison(pipeline: beam.Pipeline, plan: ComparisonPlan, output: str, run_id: str) -> None:
    """Wires the pipeline."""
    folder = launch.block_folder(pipeline)
    publish = Publish(output, run_id, LAYOUT, partial(make_comparison, plan.setting, page=plan.page))
    compared = (
        pipeline
        | "Rows" >> ReadRowBlocks(dict(enumerate(plan.tables())), buckets_for(plan.size * EXPANSION), folder)
        | "Buckets" >> beam.GroupByKey()
        | "Pair"
        >> beam.ParDo(CompareBuckets(plan.compare, folder)).with_outputs("slices", "counts", "metrics", "changed")
    )
    slices = (
        compared.slices
        | "Slices" >> beam.GroupByKey()
        | "Merge" >> beam.Map(merged_sums, plan.compare)
        | "Together"
        >> beam.BatchElements(
            COMPARED_TOGETHER, COMPARED_TOGETHER, element_size_fn=_slices_counted, clock=time.perf_counter
        )
        | "Compare" >> beam.FlatMap(compared_slices, plan.setting)
    )
    written = compared.changed | "Changes" >> WriteChanges(
        StagedFolder(output, run_id, "changes"), plan.compare.changes.most
    )
    parts = {
        "slices": slices | "WithoutSwaps" >> beam.Map(lambda comparison: replace(comparison, largest=None)),
        "largest": slices
        | "Largest" >> beam.Map(lambda comparison: comparison.largest)
        | "LargestOfAll" >> beam.CombineGlobally(largest_of_all).without_defaults(),
        "counts": compared.counts | "Counts" >> beam.CombinePerKey(sum),
        "metrics": compared.metrics,
        "first": written.first,
        "changes_files": written.files,
    }
    if plan.page is not None and plan.page.count:
        pictures, records, repeats = None, None, plan.baseline.run.configuration.settings.repeats
        if plan.page.inputs is not None:
            # The baseline says where the real pictures of the samples are.
            pictures = plan.page.inputs.configuration.settings.pictures
            records = plan.page.inputs.read(pipeline).records
        parts["changed"] = (
            compared.changed
            | "Unpack" >> beam.FlatMap(unpack)
            | "Gather" >> GatherChanged(plan.page.count, plan.tables(), records, repeats)
            | "Draw" >> draw_together(DrawChanged(plan.setting.benchmark, plan.page.no_records, pictures))
        )
    _ = parts | "Publish" >> publish


def _slices_counted(item: tuple[str, PairSums]) -> int:
    """Returns for how many slices of a batch the sums of a slice count."""
    return min(1 + item[1].size // BYTES_OF_SLICE, COMPARED_TOGETHER)


def compared_slices(items: list[tuple[str, PairSums]], setting: ComparisonSetting) -> Iterator[ComparedSlice]:
    """Yields the comparison of each slice from the sums of its samples; items: their labels and sums."""
    pairs = [
        SlicePair(
            label,
            sums.samples,
            (sums.baseline.table(), sums.candidate.table()),
            sums.changes.table().below(),
            {name: sums.differing_in(number) for number, name in enumerate(setting.metrics)},
        )
        for label, sums in items
    ]
    confidence, clustered = setting.settings.bootstrap.confidence, setting.settings.cluster is not None
    return compare_slices(setting.benchmark, pairs, setting.corpora, confidence, clustered)


def largest_of_all(largest: Iterable[FloatArray | None]) -> FloatArray | None:
    """Returns the elementwise maximum of arrays; None if there are none."""
    arrays = [each for each in largest if each is not None]
    return np.maximum.reduce(arrays) if arrays else None


def make_comparison(
    setting: ComparisonSetting, parts: dict[str, list[Any]], page: ComparisonPage | None = None
) -> dict[str, bytes]:
    """Returns comparison.json and comparison.md, and comparison.html unless `page` is None.

    Raises InputProblem if no sample was scored by both sides.
    """
    counts = dict(parts["counts"])
    if not counts.get("compared"):
        sides = " and ".join(f"{run}:{system}" for run, system in (setting.baseline, setting.candidate))
        others = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(counts.items()))
        raise InputProblem(f"{sides} have no sample in common that both scored ({others or 'neither has a row'})")
    regrouped = counts.pop(REGROUPED, 0)
    if regrouped:
        text = f"{regrouped} samples have a different cluster or different slice values in the candidate"
        setting = replace(setting, differences=(*setting.differences, f"{text}: the baseline's are used"))
    slices = {each.label: each for each in parts["slices"]}
    largest = parts["largest"][0] if parts["largest"] else None
    comparison = document(setting, counts, slices, largest, merged_counts(parts["metrics"]))
    first = [row for rows in parts["first"] for row in rows]
    if page is not None:
        page = replace(page, changes=posixpath.join(operand(page.output), LAYOUT.folders[0], parts["changes_files"][0]))
    reports = comparison_reports(comparison, setting.benchmark, first, page, parts.get("changed", ()))
    return {**reports.files, COMPARISON: encode_json({**comparison, **reports.about})}
