"""`beamscore evaluate`: scores predictions and writes a report."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam.options.pipeline_options import PipelineOptions

from ...transforms.hashes import scoring_signature
from ...transforms.io.publication import ask_to_keep, kept_runs, remove_kept
from ...transforms.io.storage import new_run_id
from ...transforms.records import printable
from ...transforms.rows import ReusedRows
from ..config.errors import UsageError, as_input_errors, one_line
from ..config.settings import Configuration
from ..evaluate import EvaluationPlan, build_evaluation, plan_evaluation
from ..inputs.check import check_inputs
from ..inputs.inputs import find_inputs
from ..runners import launch
from ..runs.causes import stored_causes, why_unscored
from ..runs.differences import REUSED, RunSignature, differences
from ..runs.gates import coverage_failures, decide
from ..runs.provenance import Invocation, versions
from ..runs.run import LAYOUT, Run
from . import console
from .arguments import configuration_of
from .common import check_tools, hand_over, run_and_publish
from .gate import JudgedRun, read_baseline, remove_verdicts, report_run, require_baseline
from .messages import DONE, WRONG_USAGE, say, warn


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Evaluates; code 1 if a gate or the limit of rejected records failed, or nothing was scored, 4 if inconclusive."""
    remove_verdicts(parsed)
    configuration = configuration_of(parsed)
    require_baseline(parsed, configuration)
    if parsed.check:
        return _check(configuration, options)
    _check_options(parsed, configuration, launch.is_detached(options))
    baseline = read_baseline(parsed, configuration)
    if baseline is not None and os.path.abspath(baseline.path) == os.path.abspath(configuration.settings.output or ""):
        raise UsageError(f"--baseline {parsed.baseline}: this is --output, whose result this run replaces")
    reused = reused_run(parsed.reuse, configuration)
    plan = plan_evaluation(configuration, new_run_id())
    plan = replace(plan, baseline=baseline, page=not parsed.no_html, resume=parsed.resume)
    if reused is not None:
        files = [launch.path_for_workers(options, path) for path in reused.rows]
        plan = replace(plan, reuse=reused_of(files, configuration))
    if baseline is not None and plan.page:
        with as_input_errors("--baseline"):
            earlier = baseline.earlier_rows(configuration, plan.systems)
        if earlier is not None:
            files = [launch.path_for_workers(options, path) for path in baseline.rows]
            plan = replace(plan, earlier=replace(earlier, files=tuple(files)))
    warn(plan.inputs.warnings)
    invocation = Invocation.now(parsed.command_line, launch.runner_name(options), plan.inputs.files)
    others = {"baseline": baseline, "reused": reused}
    used: dict[str, Any] = {
        name: {"path": each.path, "run_id": each.run_id} for name, each in others.items() if each is not None
    }
    invocation = replace(invocation, **used)
    plan = replace(plan, output=launch.path_for_workers(options, plan.output), invocation=invocation)
    launch.use_processes(options, parsed.processes, sum(file.size for file in plan.inputs.files))
    check_tools(configuration, options)
    if launch.is_detached(options):
        build = partial(build_evaluation, plan=plan)
        note = ", which judges no gates; `beamscore gate` does when it has ended"
        return hand_over(options, build, plan.output, plan.run_id, LAYOUT, note)
    metrics_file = console.MetricsFile(parsed.metrics_file, configuration.benchmark.name)
    with metrics_file.kept():
        metrics_file.exit_code = _evaluate(parsed, options, plan, metrics_file)
    return metrics_file.exit_code


def _evaluate(
    parsed: argparse.Namespace, options: PipelineOptions, plan: EvaluationPlan, metrics_file: console.MetricsFile
) -> int:
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
    metrics_file.add_values(document, configuration.benchmark.main_metrics())
    unscored = why_unscored(document, plan.inputs, causes)
    failures, decision = list(unscored.values()), decide([])
    if "" not in unscored:
        others = {name: system for name, system in document["systems"].items() if name not in unscored}
        failures += [each.text for each in coverage_failures(others, configuration.settings, causes)]
        decision = decide(document.get("gates", []), list(unscored))
    return report_run(parsed, JudgedRun(run, configuration, run.summary.gates, failures, plan.baseline), decision)


def reused_run(path: str | None, configuration: Configuration) -> Run | None:
    """Returns the run of --reuse; if its scores may differ from ours, it warns and returns None."""
    if path is None:
        return None
    earlier = Run.read(path)
    reasons = differences(_signature_here(configuration), earlier.signature, REUSED)
    if reasons:
        warn([f"nothing is reused of {path}: {reasons[0]}"])
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
            reasons = [one_line(error)]
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
            raise UsageError(f"--{name} {path}: the job goes on without this command; use `beamscore gate` after it")
    if parsed.resume and is_detached:
        raise UsageError("--resume: the job goes on without this command, which could not tell that it was interrupted")
    for name, what in (("resume", "kept"), ("reuse", "reused")):
        if getattr(parsed, name) and configuration.settings.repeats:
            raise UsageError(f"--{name}: of samples with repeats no scores can be {what}; leave it out")


def _check(configuration: Configuration, options: PipelineOptions) -> int:
    """Prints what the run would do; returns 2 if it could score nothing."""
    inputs = find_inputs(configuration, configuration.truth_columns())
    warn(inputs.warnings)
    check_tools(configuration, options)
    findings = check_inputs(inputs, LAYOUT)
    for line in findings.lines:
        print(printable(line))
    for problem in findings.problems:
        say("ERROR", printable(problem))
    return WRONG_USAGE if findings.problems else DONE
