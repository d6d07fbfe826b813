"""`beamscore merge`: merges runs over disjoint samples into one, without scoring again.

Their sums are added; their rows and quarantine are copied.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import operator
import posixpath
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apache_beam as beam
import msgspec
import pyarrow.compute as pc
from apache_beam.options.pipeline_options import PipelineOptions

from ...metrics.repeats import repeats_of
from ...metrics.statistics.bootstrap import BootstrapSums
from ...transforms.io.publication import beat_from_worker, check_not_replaced
from ...transforms.io.storage import new_run_id, open_file, output_problems, prepare_output, reason_of
from ...transforms.publish import CountCauses, Publish, StagedFolder
from ...transforms.records import GROUND_TRUTH, CauseCount, InputProblem, printable
from ...transforms.rows import read_rows
from ...transforms.scored import WITHOUT_FIELDS, Worst
from ...transforms.totals import ComputedSlice, SliceKey, SliceTotals, slice_results
from ..config import settings
from ..config.errors import UsageError
from ..config.settings import Configuration
from ..evaluate import result_files
from ..inputs.mismatch import without_values
from ..runners import launch
from ..runs.differences import CONFIGURED, differences
from ..runs.documents import STATUSES
from ..runs.gates import decide
from ..runs.provenance import Invocation
from ..runs.run import LAYOUT, RARE_REPEATS, Run, worst_first
from .common import hand_over, read_quarantine, require_rows, run_and_publish
from .gate import JudgedRun, read_baseline, remove_verdicts, report_run

COPY_BYTES = 1 << 20
OVERLAPS_SHOWN = 5
MUST_EQUAL = ("gates", "inconclusive", "max_missing_fraction", "max_rejected_fraction", "limits", "sample_id_type")
"""The keys of a configuration that decide the exit code or which records are rejected: if they were taken from one run,
the result would depend on the order of the runs."""


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Merges, and evaluates the gates of the runs on the merged run."""
    remove_verdicts(parsed)
    if len(parsed.runs) < 2:
        raise UsageError("give at least two runs to merge")
    runs = [Run.read(launch.path_for_workers(options, path)) for path in parsed.runs]
    for each in runs:
        require_rows(each)
    configuration = merged_configuration(runs, parsed.output)
    baseline = read_baseline(parsed, configuration, output=parsed.output)
    files = (path for each in runs if each.published for path in each.published.files.values())
    check_not_replaced(parsed.output, LAYOUT, files)
    prepare_output(parsed.output)
    invocation = Invocation.now(parsed.command_line, launch.runner_name(options))
    sources = [{**each.reference, "inputs": each.provenance.get("inputs")} for each in runs]
    plan = MergePlan(
        tuple((each.path, each.run_id) for each in runs),
        configuration,
        launch.path_for_workers(options, parsed.output),
        new_run_id(),
        replace(invocation, sources=tuple(sources), baseline=baseline.reference if baseline else None),
        baseline and baseline.placed(functools.partial(launch.path_for_workers, options)),
        page=not parsed.no_html,
    )
    build = functools.partial(build_merge, plan=plan, runs=runs)
    if launch.is_detached(options):
        return hand_over(options, build, plan.output, plan.run_id, LAYOUT)
    merged = Run.published_at(plan.output, run_and_publish(options, build, plan.output, plan.run_id, LAYOUT))
    return report_run(parsed, JudgedRun.of(merged, baseline), decide(merged.summary.gates))


@dataclass(frozen=True)
class MergePlan:
    """The runs to merge, each as its folder and the id that it must still have, and the output.

    page: whether to write report.html, which has the rows of all samples but not their records.
    """

    runs: tuple[tuple[str, str], ...]
    configuration: Configuration
    output: str
    run_id: str
    invocation: Invocation
    baseline: Run | None
    page: bool


File = tuple[int, str]
"""The index of a run, and one of its files."""


def build_merge(pipeline: beam.Pipeline, plan: MergePlan, runs: Sequence[Run]) -> None:
    """Wires the pipeline; runs: those of the plan, for their files."""
    benchmark = plan.configuration.benchmark
    samples = [(number, path) for number, run in enumerate(runs) for path in run.rows]
    entries = [(number, path) for number, run in enumerate(runs) for path in run.quarantine]
    rows = pipeline | "Samples" >> beam.Create(samples) | "SpreadSamples" >> beam.Reshuffle()
    lines = pipeline | "Quarantine" >> beam.Create(entries) | "SpreadQuarantine" >> beam.Reshuffle()
    # Beam encodes an `int` in 64 bits, and there may be more runs.
    ids = (
        rows | "SampleIds" >> beam.FlatMap(_sample_ids, next(iter(runs[0].systems))).with_output_types(tuple[str, Any]),
        lines | "QuarantinedIds" >> beam.FlatMap(_quarantined_ids).with_output_types(tuple[str, Any]),
    )
    shared = (
        ids
        | "AllIds" >> beam.Flatten()
        | "RunsOfId" >> beam.CombinePerKey(lambda runs: functools.reduce(operator.or_, runs, 0))
        | "Overlaps" >> beam.Filter(lambda item: item[1].bit_count() > 1)
    )
    most, metric = max(1, plan.configuration.settings.worst_samples), benchmark.main_sample_metric().name
    parts = {
        "overlaps": shared | "FirstOverlaps" >> beam.combiners.Top.Smallest(OVERLAPS_SHOWN),
        "worst": rows
        | "WorstOfFile" >> beam.FlatMap(_worst_of_file, metric).with_output_types(tuple[str, Worst])
        | "Worst" >> beam.combiners.Top.PerKey(most, key=worst_first(benchmark), reverse=True),
        "causes": lines
        | "Entries" >> beam.FlatMapTuple(lambda _, path: read_quarantine(path))
        | "Causes" >> CountCauses(),
        "samples_files": rows | "CopySamples" >> beam.Map(_copied, _staged(plan, "samples"), ".parquet"),
        "quarantine_files": lines | "CopyQuarantine" >> beam.Map(_copied, _staged(plan, "quarantine"), ".jsonl"),
    }
    _ = parts | "Publish" >> Publish(plan.output, plan.run_id, LAYOUT, functools.partial(_make, plan))


def _make(plan: MergePlan, parts: dict[str, list[Any]]) -> dict[str, bytes]:
    """Returns the files of the merged result; raises InputProblem if runs have samples in common."""
    (shared,) = parts["overlaps"]
    if shared:
        named = ", ".join(f"{printable(sample)} ({_named(plan, runs)})" for sample, runs in shared)
        hint = "merge runs over disjoint samples, each with the predictions of its own samples alone"
        raise InputProblem(f"sample_ids are in more than one of the runs, such as {named}; {hint}")
    try:
        runs = [Run.read(path) for path, _ in plan.runs]
        for run, (path, run_id) in zip(runs, plan.runs, strict=True):
            if run.run_id != run_id:
                raise InputProblem(f"{path}: another run has replaced the result meanwhile; merge again")
        merged = merged_run(plan.configuration, runs, dict(parts["worst"]), parts["causes"])
    except UsageError as error:
        raise InputProblem(str(error)) from error
    records = {number: each.counts("predictions")["read"] for number, each in enumerate(merged.systems.values())}
    records[GROUND_TRUTH] = next(iter(merged.systems.values())).counts("ground_truth")["read"]
    merged.staged = [posixpath.join(_staged(plan, "samples").path, name) for name in sorted(parts["samples_files"])]
    samples = merged.staged if plan.page else None
    return result_files(merged, plan.run_id, plan.invocation, records, plan.baseline, samples)


def merged_configuration(runs: Sequence[Run], output: str) -> Configuration:
    """Returns the configuration of one evaluation of all inputs: the first run's, with the inputs of all runs.

    It allows as many slices as any of the runs does.

    Raises UsageError if the runs do not match in benchmark, version, options, systems, slices or what they are judged
    by, or if one lacks a fingerprint, so that the merged run would have a wrong one.
    """
    first, *others = runs
    for run in runs:
        run.check_code()
        labels = [(name, label) for name, system in run.systems.items() for label in ("", *system.slices)]
        for truths, predictions, label in ((*_fingerprints(run, *each), each[1]) for each in labels):
            if truths is None or predictions is None:
                side = "ground truth has" if truths is None else "predictions have"
                place = f" in the slice {label}" if label else ""
                raise UsageError(f"{run.path}: cannot be merged: its {side} no fingerprint{place}; evaluate it again")
    for run in others:
        reasons = [f"{each}; evaluate it again" for each in differences(first.signature, run.signature, CONFIGURED)]
        if run.systems.keys() != first.systems.keys():
            reasons.append(f"it has the systems {', '.join(run.systems)}, not {', '.join(first.systems)}")
        sliced = [" and ".join(each.summary.config.get("slices", [])) or "no column" for each in (run, first)]
        for key, reason in (
            ("slices", f"it was sliced by {', not by '.join(sliced)}"),
            ("derived", "it has different derived metrics"),
            *((key, f"it has a different value of {key}; evaluate it again with the same") for key in MUST_EQUAL),
        ):
            if _compared(run, key) != _compared(first, key):
                reasons.append(reason)
        if reasons:
            raise UsageError(f"{run.path}: cannot be merged with {first.path}: {reasons[0]}")
    if first.summary.config.get("repeats"):
        _check_repeats([run for run in runs if _has_samples(run) or _read_predictions(run)])
    stored = [run.configuration.settings for run in runs]
    inputs = {
        "ground_truth": _unique(each.ground_truth for each in stored),
        "predictions": {name: _unique(each.predictions.get(name, []) for each in stored) for name in first.systems},
    }
    limits = {**msgspec.to_builtins(stored[0].limits), "slices": max(each.limits.slices for each in stored)}
    return settings.check({**first.summary.config, **inputs, "limits": limits, "output": output}, first.path)


def _check_repeats(runs: Sequence[Run]) -> None:
    """Raises UsageError if the runs have different repeats; what has no records has none to compare."""
    for run in runs[1:]:
        for name in run.systems:
            ours, theirs = (", ".join(repeats_of(each.corpus(name))) or "none" for each in (runs[0], run))
            if ours != theirs:
                reason = f"it has different repeats ({theirs}, not {ours})"
                raise UsageError(f"{run.path}: cannot be merged with {runs[0].path}: {reason}")


def _compared(run: Run, key: str) -> Any:
    """Returns the value of a key of the configuration; of the limits, those by which records are rejected.

    Of `derived`, it is the names: that no formula differs is a condition of any comparison.
    """
    value = run.summary.config.get(key)
    if key == "derived":
        return set(value or ())
    return {**value, "slices": None} if key == "limits" and value else value


def _unique(globs: Iterable[list[str]]) -> list[str]:
    return list(dict.fromkeys(itertools.chain.from_iterable(globs)))


def merged_run(
    configuration: Configuration,
    runs: Sequence[Run],
    worst: Mapping[str, Sequence[Worst]],
    causes: Sequence[CauseCount],
) -> Run:
    """Returns the run of one evaluation of all samples of the runs; worst, causes: of all their rows and entries.

    Raises UsageError if stored sums are damaged, or there are more slices than the configuration allows.
    """
    shared, benchmark = configuration.settings, configuration.benchmark
    confidence, clustered = shared.bootstrap.confidence, shared.cluster is not None
    slices: dict[str, dict[str, ComputedSlice]] = {}
    warned = {line.partition(" (")[0] for run in runs for line in run.summary.warnings}
    for number, name in enumerate(runs[0].systems):
        totals = _totals(runs, name)
        if len(totals) - 1 > shared.limits.slices:
            raise UsageError(
                f"{name}: together the runs have {len(totals) - 1} slices, more than the {shared.limits.slices} of "
                "limits.slices; evaluate one of them again with a higher limit"
            )
        corpus, keyed = totals[""].sums.sums(), [(SliceKey(number), each) for each in totals.values()]
        results = slice_results(benchmark, confidence, keyed, corpus, clustered, shared.missing)
        slices[name] = dict(zip(totals, results, strict=True))
        # Stored sums lack those of 0, so a statistic that is 0 everywhere looks as if no sample had it.
        known = [line for line in slices[name][""].misspelled if line.partition(" (")[0] in warned]
        slices[name][""] = replace(slices[name][""], misspelled=known)
    coverages = {name: _coverage([run.systems[name].coverage for run in runs]) for name in runs[0].systems}
    return Run.finalized(configuration, slices, coverages, worst, causes, _warnings(configuration, runs))


def _warnings(configuration: Configuration, runs: Sequence[Run]) -> list[str]:
    """Returns the warnings that do not follow from sums: about columns without a value, and the rare repeats of a run.

    Only a run knows the counts of its repeats, so its warning has its path.
    """
    # A column that exists in one of them is not missing from all; without samples and slices, none is known.
    asked = [
        run.summary.warnings
        for run in runs
        if _has_samples(run) or any(system.slices for system in run.systems.values())
    ]
    absent = [without_values(configuration, column) for column in configuration.truth_columns()]
    rare = [f"{run.path}: {line}" for run in runs for line in run.summary.warnings if RARE_REPEATS in line]
    return [*(line for line in absent if asked and all(line in each for each in asked)), *rare]


def _has_samples(run: Run) -> bool:
    return any(system.measured_samples("wrong") for system in run.systems.values())


def _read_predictions(run: Run) -> bool:
    return any(system.counts("predictions")["read"] for system in run.systems.values())


def _totals(runs: Sequence[Run], system: str) -> dict[str, SliceTotals]:
    """Returns the sums of each slice of a system over all runs, by label."""
    totals: dict[str, SliceTotals] = {}
    for run in runs:
        bootstrap, sums = run.sums.bootstrap, run.sums.systems[system]
        for label, stored in {"": sums, **sums.slices}.items():
            try:
                more = SliceTotals(BootstrapSums(bootstrap, stored.table(bootstrap.replicates)), dict(stored.counts))
                fingerprints = (int(each or "", 16) for each in _fingerprints(run, system, label))
                more.fingerprint, more.predictions_fingerprint = fingerprints
                totals.setdefault(label, SliceTotals(BootstrapSums(bootstrap))).merge(more)
            except (ValueError, OverflowError) as error:
                raise UsageError(
                    f"{run.path}/sums.json: the sums of {system} are damaged: {reason_of(error)}"
                ) from error
    return totals


def _fingerprints(run: Run, system: str, label: str) -> tuple[str | None, str | None]:
    """Returns the fingerprints of ground truth and predictions in a slice, of all samples if the label is empty."""
    # A version that kept none of each slice kept that of all ground truth.
    found, whole = run.slice(system, label), run.summary.fingerprint
    of_slice = (found.fingerprint, found.predictions_fingerprint) if found else (None, None)
    return (of_slice[0] if label or whole is None else whole.hash), of_slice[1]


def _coverage(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the coverage of all records of the runs, the sum of each count."""
    merged: dict[str, Any] = {}
    for side, statuses in STATUSES.items():
        merged[side] = {name: sum(part[side][name] for part in parts) for name in ("read", *statuses)}
    extra = sorted({name for part in parts for name in part} - {*STATUSES, "balanced"})
    merged |= {name: sum(part.get(name, 0) for part in parts) for name in extra}
    for side, name in WITHOUT_FIELDS.items():
        # It says that no record of a side has a field, so of all parts that scored any.
        if not all(name in part for part in parts if part[side]["scored"] + part[side].get("missing_prediction", 0)):
            merged.pop(name, None)
    return {**merged, "balanced": all(part["balanced"] for part in parts)}


def _named(plan: MergePlan, runs: int) -> str:
    return " and ".join(path for number, (path, _) in enumerate(plan.runs) if runs >> number & 1)


def _sample_ids(file: File, system: str) -> Iterator[tuple[str, int]]:
    """Yields each sample of a run with the bit of the run; all systems have the same samples."""
    for batch in read_rows(file[1], ["sample_id"], pc.field("system") == system):
        for sample_id in batch.column(0).to_pylist():
            yield sample_id, 1 << file[0]


def _quarantined_ids(file: File) -> Iterator[tuple[str, int]]:
    """Yields quarantined samples too: a prediction that one run could not pair may match a sample of another."""
    for entry in read_quarantine(file[1]):
        if entry.sample_id is not None:
            yield entry.sample_id, 1 << file[0]


def _worst_of_file(file: File, metric: str) -> Iterator[tuple[str, Worst]]:
    """Yields the rows of a file that have a value of the metric, by system."""
    for batch in read_rows(file[1], [metric, "sample_id", "status", "system"], pc.field(metric).is_valid()):
        for *sample, name in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield name, tuple(sample)


def _staged(plan: MergePlan, folder: str) -> StagedFolder:
    return StagedFolder(plan.output, plan.run_id, folder)


def _copied(file: File, folder: StagedFolder, suffix: str) -> str:
    """Copies a file to a new one in a staged folder, as Parquet files cannot be concatenated; returns its name."""
    name = folder.new_name(suffix)
    with (
        output_problems(folder.output),
        open_file(file[1]) as source,
        contextlib.closing(folder.create(name)) as target,
    ):
        shutil.copyfileobj(source, target, COPY_BYTES)
    beat_from_worker(folder.output, folder.run_id)
    return name
