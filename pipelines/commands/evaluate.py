"""`beamscore evaluate`: scores predictions and writes a report, or with `--check` says what it would do."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import apache_beam as beam
import msgspec
from apache_beam.options.pipeline_options import PipelineOptions

from ...metrics.benchmark import record_fields
from ...metrics.scoring import score_pairs
from ...transforms.hashes import scoring_signature
from ...transforms.io.publication import (
    ask_to_keep,
    check_foreign,
    check_not_replaced,
    find_published,
    kept_runs,
    remove_kept,
)
from ...transforms.io.storage import exists, list_folder, new_run_id, output_problem, reason_of, write_probe
from ...transforms.process import faults_end_the_bundle
from ...transforms.records import GROUND_TRUTH, InputProblem, Quarantined, printable
from ...transforms.repeats import REPEAT, Repeats, score_batch
from ...transforms.rows import ReusedRows
from ...transforms.scored import BatchDecoder, PairedSample
from ...transforms.totals import ComputedSlice, PartialSums, SliceKey, slice_results
from ..api.scorer import core_of
from ..config.errors import UsageError, as_input_errors
from ..config.settings import Configuration, of_system, predictions_of
from ..evaluate import EvaluationPlan, build_evaluation, inputs_of, plan_evaluation
from ..inputs.inputs import Inputs
from ..inputs.mismatch import (
    FirstRecords,
    all_rejected,
    other_ids,
    other_records,
    record_type,
    shown_name,
    shown_names,
    side_label,
)
from ..runners import launch
from ..runs.causes import SCORE_ALL, stored_causes, why_unscored
from ..runs.differences import REUSED, RunSignature, differences
from ..runs.gates import coverage_failures, decide
from ..runs.numbers import count_of
from ..runs.provenance import Invocation, versions
from ..runs.run import LAYOUT, Run
from . import console
from .arguments import configuration_of
from .common import check_tools, hand_over, run_and_publish
from .gate import JudgedRun, check_files, read_baseline, remove_verdicts, report_run, require_baseline
from .messages import DONE, WRONG_USAGE, say, warn

SAMPLES_SCORED = 64
"""How many samples are scored by `--check`."""


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Evaluates; code 1 if a gate or the limit of rejected records failed, or nothing was scored, 4 if inconclusive."""
    if not parsed.check:
        remove_verdicts(parsed)
    configuration = configuration_of(parsed)
    # The configuration may name the output: only now is it known that the files may be written.
    check_files(parsed, configuration.settings.output)
    require_baseline(parsed, configuration)
    _check_options(parsed, configuration, launch.is_detached(options))
    baseline = read_baseline(parsed, configuration, output=configuration.settings.output)
    reused = reused_run(parsed.reuse, configuration)
    if parsed.check:
        return _check(configuration, options)
    plan = plan_evaluation(configuration, new_run_id())
    place = partial(launch.path_for_workers, options)
    plan = replace(plan, baseline=baseline and baseline.placed(place), page=not parsed.no_html, resume=parsed.resume)
    if reused is not None:
        files = list(map(place, reused.rows))
        plan = replace(plan, reuse=reused_of(files, configuration))
    if plan.baseline is not None and plan.page:
        with as_input_errors("--baseline"):
            plan = replace(plan, earlier=plan.baseline.earlier_rows(configuration, plan.systems))
    warn(plan.inputs.warnings)
    invocation = Invocation.now(parsed.command_line, launch.runner_name(options), plan.inputs.files)
    references = [None if run is None else run.reference for run in (baseline, reused)]
    invocation = replace(invocation, baseline=references[0], reused=references[1])
    plan = replace(plan, output=launch.path_for_workers(options, plan.output), invocation=invocation)
    launch.use_processes(options, parsed.processes, sum(file.size for file in plan.inputs.files))
    check_tools(configuration, options)
    if launch.is_detached(options):
        build = partial(build_evaluation, plan=plan)
        note = ". Gates are not judged: run `beamscore gate` when it has ended"
        return hand_over(options, build, plan.output, plan.run_id, LAYOUT, note)
    return _evaluate(parsed, options, plan)


def _evaluate(parsed: argparse.Namespace, options: PipelineOptions, plan: EvaluationPlan) -> int:
    """Evaluates, and returns the exit code.

    If nothing of a system was scored, only the reason for that is reported, and no other failure of the system.
    """

    def build(pipeline: beam.Pipeline) -> None:
        build_evaluation(pipeline, resumed(plan) if plan.resume else plan)

    on_success = partial(remove_kept, plan.output) if plan.resume else lambda: None
    with console.progress_line(len(plan.systems), parsed.quiet, launch.is_local(options)):
        published = run_and_publish(options, build, plan.output, plan.run_id, LAYOUT, on_success)
    run, configuration = Run.published_at(plan.output, published), plan.configuration
    document, causes = run.summary.document(), stored_causes(run.provenance)
    unscored = why_unscored(document, plan.inputs, causes)
    failures, decision = list(unscored.values()), decide([])
    if "" not in unscored:
        others = {name: system for name, system in document["systems"].items() if name not in unscored}
        failures += [each.text for each in coverage_failures(others, configuration.settings, causes)]
        decision = decide(document.get("gates", []), list(unscored))
    return report_run(parsed, JudgedRun(run, configuration, failures, plan.baseline), decision)


def reused_run(path: str | None, configuration: Configuration) -> Run | None:
    """Returns the run of --reuse; if its scores may differ from ours, it warns and returns None."""
    if path is None:
        return None
    earlier = Run.read(path)
    reasons = differences(_signature_here(configuration), earlier.signature, REUSED)
    if reasons:
        warn([f"nothing is reused from {path}: {reasons[0]}"])
    return None if reasons else earlier


def _signature_here(configuration: Configuration) -> RunSignature:
    return RunSignature.of(configuration, versions(configuration.benchmark))


def reused_of(files: Iterable[str], configuration: Configuration) -> ReusedRows:
    """Returns the rows of these files; only rows scored as under this configuration are reused."""
    benchmark, missing = configuration.benchmark, configuration.settings.missing
    return ReusedRows(tuple(files), benchmark.sample_metric_names(), scoring_signature(benchmark, missing))


def resumed(plan: EvaluationPlan) -> EvaluationPlan:
    """Returns the plan of a run that starts from the rows kept by interrupted runs, and keeps its own.

    The run must own its output: only then are the leftovers of killed runs kept.
    """
    files = list(plan.reuse.files) if plan.reuse is not None else []
    signature = _signature_here(plan.configuration)
    for run in kept_runs(plan.output):
        try:
            reasons = differences(signature, msgspec.json.decode(run.start, type=RunSignature), REUSED)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            reasons = [reason_of(error)]
        if reasons:
            warn([f"nothing is taken from the interrupted run {run.run_id}: {reasons[0]}"])
        else:
            files += run.files
    ask_to_keep(plan.output, plan.run_id, msgspec.json.encode(signature))
    return replace(plan, reuse=reused_of(files, plan.configuration)) if files else plan


def _check_options(parsed: argparse.Namespace, configuration: Configuration, is_detached: bool) -> None:
    """Rejects options that would have no effect, so that no user waits for verdicts, say, that never come."""
    for name in ("junit", "markdown"):
        path = getattr(parsed, name)
        if path and not configuration.settings.gates:
            raise UsageError(f"--{name} {path}: there are no verdicts to write; the configuration has no gates")
        if path and is_detached:
            raise UsageError(
                f"--{name} {path}: the job continues without this command; run `beamscore gate` when it has ended"
            )
    if parsed.resume and is_detached:
        raise UsageError("--resume: not for a job that continues without this command")
    for name, what in (("resume", "kept"), ("reuse", "reused")):
        if getattr(parsed, name) and configuration.settings.repeats:
            raise UsageError(f"--{name}: scores of samples with repeats cannot be {what}; leave it out")


def _check(configuration: Configuration, options: PipelineOptions) -> int:
    """Reads the first records of each side, scores some, and prints what the run would do.

    Returns 2 if anything would keep the run from scoring, or a blocking gate from being judged. Nothing is written
    except a probe in an existing output folder.
    """
    settings, benchmark = configuration.settings, configuration.benchmark
    inputs = inputs_of(configuration)
    warn(inputs.warnings)
    check_tools(configuration, options)
    protocol = getattr(benchmark.options, "protocol", None)
    lines: list[str | InputProblem] = [f"benchmark: {benchmark.name}" + (f", protocol {protocol}" if protocol else "")]
    first = {side: inputs.first_records(side) for side in (GROUND_TRUTH, *range(len(inputs.systems)))}
    for side, records in first.items():
        lines += _check_side(inputs, side, records)
    for system in range(len(inputs.systems)):
        if first[GROUND_TRUTH].by_id and first[system].by_id:
            lines += _check_scores(inputs, system, first[GROUND_TRUTH], first[system])
    if settings.output:
        lines += _check_output(settings.output, inputs)
    problems = [line for line in lines if isinstance(line, InputProblem)]
    for line in lines:
        if isinstance(line, str):
            print(printable(line))
    for problem in problems:
        say(problem.message)
    return WRONG_USAGE if problems else DONE


def _check_side(inputs: Inputs, side: int, first: FirstRecords) -> Iterator[str | InputProblem]:
    """Yields the content of a side, and what is wrong with it."""
    label, files = side_label(inputs, side), inputs.files_of(side)
    size, count = sum(file.size for file in files), first.read
    records = count_of(count, "record") if first.whole else f"{count:,} and more records"
    yield f"{label}: {count_of(len(files), 'file')}, {size:,} bytes, {records}"
    if not first.read:
        reason = first.unreadable
        yield InputProblem(f"{label}: none of the first records can be read{reason and f': {reason}'}")
        return
    if first.unreadable:
        yield InputProblem(first.unreadable)
    fields = list(record_fields(record_type(inputs, side)))
    present = {name: first.fields[name] for name in fields if first.fields.get(name)}
    counts = ", ".join(f"{name} in {number} of {first.records}" for name, number in present.items())
    others = [name for name in first.fields if name not in {*fields, "sample_id"}]
    for what, names in (
        ("fields found", counts or "none"),
        ("fields missing", ", ".join(name for name in fields if name not in present)),
        ("other columns", shown_names(others)),
    ):
        if names:
            yield f"  {what}: {names}"
    if (problem := all_rejected(inputs, side, first)) is not None:
        yield InputProblem(problem)
        return
    if first.rejected:
        yield f"  {first.rejected} of the first records would be rejected, such as {first.problem}"
    if first.duplicates and not inputs.columns[side].repeats:
        number, example = len(first.duplicates), first.duplicates[0]
        remedy = f"; {SCORE_ALL}" if REPEAT in first.fields and side != GROUND_TRUTH else ""
        yield f"  {number} of the first records would be left out as duplicates, such as {example}{remedy}"
    if (mismatch := other_records(inputs, side, first)) is not None:
        yield InputProblem(mismatch)
    elif not present and side == GROUND_TRUTH:
        yield InputProblem(f"{label}: the fields {', '.join(fields)} have no value in any of the first records")


def _check_scores(
    inputs: Inputs, system: int, truths: FirstRecords, predictions: FirstRecords
) -> Iterator[str | InputProblem]:
    """Yields the scores of the first samples of a system that have a prediction."""
    name, kind = inputs.systems[system], type(inputs.configuration.benchmark)
    common = [sample_id for sample_id in predictions.by_id if sample_id in truths.by_id]
    whole = truths.whole and predictions.whole
    among = "all" if whole else "the first"
    yield (
        f"pairs{of_system(name)}: {len(common):,} of {among} {len(predictions.by_id):,} sample_ids are in {among} "
        f"{count_of(len(truths.by_id), 'record')} of the ground truth"
    )
    if not common:
        reason = other_ids(truths.sample_id, predictions.sample_id)
        problem = InputProblem(f"{predictions_of(name)}: {reason}")
        yield problem if whole else f"  among the first records, {reason}; the order may differ"
        return
    samples = [
        PairedSample(each, truths.by_id[each], (predictions.by_id[each],), systems=(system,))
        for each in common[:SAMPLES_SCORED]
    ]
    (overall, *slices), rejected = _scored(inputs, system, samples)
    known = [f"{each} {value:.4g}" for each in kind.main_metrics() if (value := overall.values[each]) is not None]
    yield f"  scores of the first {len(samples)}: {', '.join(known) or 'none'}"
    yield from (f"  {line}" for line in overall.misspelled)
    if slices:
        yield f"  slices so far: {shown_names(sorted(each.key.label for each in slices))}"
    if rejected:
        count = len({each.sample_id for each in rejected})
        told = f"would be rejected, such as {shown_name(rejected[0].sample_id or '')}: {rejected[0].error}"
        if count == len(samples):
            yield InputProblem(f"pairs{of_system(name)}: all of the first {count} {told}")
            return
        yield f"  {count} of them {told}"
    is_all = whole and len(samples) == len(truths.by_id)
    if is_all and all(value is None for value in overall.values.values()):
        yield InputProblem(f"pairs{of_system(name)}: no metric has a value; see the ground truth and the predictions")


def _scored(
    inputs: Inputs, system: int, samples: Sequence[PairedSample]
) -> tuple[list[ComputedSlice], list[Quarantined]]:
    """Returns the results of samples, that of all of them first, and their rejected records.

    The prediction of a sample is scored as its only repeat, whichever it is.
    """
    core = core_of(inputs.configuration, inputs.systems)
    plan, benchmark = core.scoring, core.scoring.benchmark
    score = partial(score_pairs, benchmark, missing=plan.missing)
    with faults_end_the_bundle("scoring"):
        benchmark.setup()
        try:
            batch = score_batch(BatchDecoder(replace(plan, repeats=False)), samples, (), score)[1]
        finally:
            benchmark.teardown()
    scored = Repeats(benchmark, len(plan.names), ()).fold((), batch.samples)[1] if plan.repeats else batch.samples
    # No interval is shown.
    sums = PartialSums(replace(core, bootstrap=replace(core.bootstrap, replicates=0)))
    sums.add_samples(scored)
    totals = dict(sums.flush())
    corpus, clustered = totals[SliceKey(system)].sums.sums(), plan.cluster is not None
    found = slice_results(benchmark, core.confidence, totals.items(), corpus, clustered, plan.missing)
    return list(found), batch.quarantine


def _check_output(output: str, inputs: Inputs) -> Iterator[str | InputProblem]:
    """Yields what the output folder contains, if it exists, and whether it can be written."""
    try:
        check_not_replaced(output, LAYOUT, (file.path for file in inputs.files))
        check_foreign(output, LAYOUT)
        published = find_published(output, LAYOUT)
        names, is_there = list_folder(output), exists(output)
        if names or is_there:
            write_probe(output)
    except InputProblem as problem:
        yield problem
    except (OSError, ValueError) as error:
        yield output_problem(output, error)
    else:
        state = f"holds the result of run {published.run_id or 'unknown'}, which it would replace" if published else ""
        state = state or ("has other files" if names else "is empty" if is_there else "would be created")
        yield f"output: {output} {state}"
