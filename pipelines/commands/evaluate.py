"""`beamscore evaluate`: scores predictions and writes a report."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
from apache_beam.options.pipeline_options import PipelineOptions

from ...transforms.earlier_rows import ReusedRows
from ...transforms.hashes import scoring_signature
from ...transforms.io.publication import ask_to_keep, kept_runs, remove_kept
from ...transforms.io.storage import new_run_id
from ...transforms.records import printable
from ..config.errors import UsageError, as_input_errors, one_line
from ..config.settings import Configuration
from ..evaluate import EvaluationPlan, build_evaluation, plan_evaluation
from ..inputs.check import check_inputs
from ..inputs.inputs import find_inputs
from ..runners import launch
from ..runs.causes import QuarantineCause, stored_causes, why_unscored
from ..runs.differences import REUSED, RunSignature, differences
from ..runs.gates import Decision, coverage_failures, decide
from ..runs.provenance import Invocation, versions
from ..runs.run import LAYOUT, Run
from . import console
from .arguments import configuration_of
from .common import check_tools, hand_over, run_and_publish
from .gate import JudgedRun, read_baseline, remove_verdicts, report_run, require_baseline
from .messages import DONE, WRONG_USAGE, say, warn


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Evaluates; 1 where a gate or the fraction of rejected records failed, or nothing was scored, 4 inconclusive."""
    remove_verdicts(parsed)
    configuration = configuration_of(parsed)
    require_baseline(parsed, configuration)
    if parsed.check:
        return _check(configuration, options)
    _check_verdicts(parsed, configuration, options)
    if parsed.resume and launch.is_detached(options):
        raise UsageError(
            "--resume: the job goes on without this command, which could not tell whether it was interrupted"
        )
    baseline = read_baseline(parsed, configuration)
    if baseline is not None and os.path.abspath(baseline.path) == os.path.abspath(configuration.settings.output or ""):
        raise UsageError(f"--baseline {parsed.baseline}: this is --output, whose result this run replaces")
    reuse, reused = reused_rows(parsed.reuse, configuration, options)
    plan = plan_evaluation(configuration, new_run_id())
    plan = replace(plan, baseline=baseline, reuse=reuse, page=not parsed.no_html, resume=parsed.resume)
    if baseline is not None and plan.page:
        with as_input_errors("--baseline"):
            earlier = baseline.earlier_rows(configuration, plan.systems)
        files = tuple(launch.path_for_workers(options, path) for path in baseline.rows)
        plan = replace(plan, earlier=None if earlier is None else replace(earlier, files=files))
    warn(plan.inputs.warnings)
    started = Invocation.now(parsed.command_line, launch.runner_name(options), plan.inputs.files)
    if baseline is not None:
        started = replace(started, baseline={"path": baseline.path, "run_id": baseline.run_id})
    if reused is not None:
        started = replace(started, reused={"path": reused.path, "run_id": reused.run_id})
    plan = replace(plan, output=launch.path_for_workers(options, plan.output), invocation=started)
    launch.use_processes(options, parsed.processes, sum(file.size for file in plan.inputs.files))
    check_tools(configuration, options)
    if launch.is_detached(options):
        build = partial(build_evaluation, plan=plan)
        gates = ", which judges no gates; `beamscore gate` does when it has ended"
        return hand_over(options, build, plan.output, plan.run_id, LAYOUT, gates)
    watched = console.MetricsFile(parsed.metrics_file, configuration.benchmark.name)
    with watched.kept():
        watched.exit_code = _evaluate(parsed, options, plan, watched)
    return watched.exit_code


def _evaluate(
    parsed: argparse.Namespace, options: PipelineOptions, plan: EvaluationPlan, watched: console.MetricsFile
) -> int:
    """Evaluates, and returns the exit code."""

    def on_result(_: Any) -> None:
        if plan.resume:
            remove_kept(plan.output)

    with console.progress_line(len(plan.systems), parsed.quiet, launch.is_local(options)):
        published = run_and_publish(
            options,
            lambda pipeline: build_evaluation(pipeline, resumed(plan) if plan.resume else plan),
            plan.output,
            plan.run_id,
            LAYOUT,
            on_result,
        )
    run, configuration = Run.published_at(plan.output, published), plan.configuration
    document = run.summary.document()
    watched.add_values(document, configuration.benchmark.main_metrics())
    failures, decision = _judged(document, plan, stored_causes(run.provenance))
    judged = JudgedRun(run, configuration, run.summary.gates, failures, plan.baseline)
    return report_run(parsed, judged, decision)


def reused_rows(
    path: str | None, configuration: Configuration, options: PipelineOptions
) -> tuple[ReusedRows | None, Run | None]:
    """Returns the rows of the run that --reuse names, and the run; warns where its scores may be others than ours."""
    if path is None:
        return None, None
    found = Run.read(path)
    reasons = differences(_signature_here(configuration), found.signature, REUSED)
    if reasons:
        warn([f"nothing is reused of {path}: {reasons[0]}"])
        return None, None
    files = tuple(launch.path_for_workers(options, each) for each in found.rows)
    return reused_of(files, configuration), found


def _signature_here(configuration: Configuration) -> RunSignature:
    return RunSignature.of(configuration, versions(configuration.benchmark))


def reused_of(files: Sequence[str], configuration: Configuration) -> ReusedRows:
    """Returns the rows of these files, of which those that were scored as under this configuration are taken."""
    benchmark, missing = configuration.benchmark, configuration.settings.missing
    return ReusedRows(tuple(files), benchmark.sample_metric_names(), scoring_signature(benchmark, missing))


def resumed(plan: EvaluationPlan) -> EvaluationPlan:
    """Returns the plan of a run that begins with the rows that interrupted runs have kept, and keeps its own.

    The run must own its output: what runs that were killed have left is kept only then.
    """
    configuration = plan.configuration
    files = list(plan.reuse.files) if plan.reuse is not None else []
    here = _signature_here(configuration)
    for run in kept_runs(plan.output):
        try:
            reasons = differences(here, msgspec.json.decode(run.start, type=RunSignature), REUSED)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            reasons = [one_line(error)]
        if reasons:
            warn([f"nothing is taken from the interrupted run {run.run_id}: {reasons[0]}"])
        else:
            files += run.files
    ask_to_keep(plan.output, plan.run_id, msgspec.json.encode(here))
    if not files:
        return plan
    return replace(plan, reuse=reused_of(files, configuration))


def _check_verdicts(parsed: argparse.Namespace, configuration: Configuration, options: PipelineOptions) -> None:
    """Refuses options of gates that would have no effect: nobody should wait for verdicts that never come."""
    for name in ("junit", "markdown"):
        path = getattr(parsed, name)
        if path and not configuration.settings.gates:
            raise UsageError(f"--{name} {path}: there are no verdicts to write; the configuration has no gates")
        if path and launch.is_detached(options):
            raise UsageError(f"--{name} {path}: the job goes on without this command; use `beamscore gate` after it")


def _check(configuration: Configuration, options: PipelineOptions) -> int:
    """Says what the run would do; 2 where it could score nothing."""
    inputs = find_inputs(configuration, configuration.truth_columns())
    warn(inputs.warnings)
    check_tools(configuration, options)
    found = check_inputs(inputs, LAYOUT)
    for line in found.lines:
        print(printable(line))
    for problem in found.problems:
        say("ERROR", printable(problem))
    return WRONG_USAGE if found.problems else DONE


def _judged(
    document: Mapping[str, Any], plan: EvaluationPlan, causes: Sequence[QuarantineCause]
) -> tuple[list[str], Decision]:
    """Returns why the run fails, beside its gates, and what these mean.

    Of a system of which nothing was scored, the reason for that is told, alone.
    """
    unscored = why_unscored(document, plan.inputs, causes)
    if "" in unscored:
        return [unscored[""]], decide([])
    others = {name: system for name, system in document["systems"].items() if name not in unscored}
    failures = coverage_failures(others, plan.configuration.settings, causes)
    return [*unscored.values(), *failures], decide(document.get("gates", []), list(unscored))
