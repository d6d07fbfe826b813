"""`beamscore evaluate`: scores predictions and writes a report."""

from __future__ import annotations

import argparse
import json
import posixpath
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions

from pipelines.check import check_inputs
from pipelines.cli import console
from pipelines.cli.common import (
    DONE,
    FAILED,
    WRONG_USAGE,
    add_command,
    add_config,
    add_ground_truth,
    add_predictions,
    check_tools,
    hand_over,
    positive,
    run_and_publish,
    systems,
    warn,
)
from pipelines.cli.messages import say
from pipelines.cli.watch import MetricsFile
from pipelines.config import settings
from pipelines.config.inputs import find_inputs
from pipelines.evaluate import EvaluationPlan, build_evaluation, plan_evaluation
from pipelines.results.run import LAYOUT, REPORT, SUMMARY, verdict
from pipelines.results.unscored import why_unscored
from pipelines.runtime import launch
from transforms.io.storage import new_run_id
from transforms.records import printable


def add(commands: Any) -> None:
    """Adds the command."""
    command = add_command(commands, "evaluate", run, "score predictions and write a report")
    add_config(command)
    add_ground_truth(command)
    add_predictions(command)
    command.add_argument("--output", metavar="DIR", help="the folder for the result, on any filesystem of Beam")
    command.add_argument(
        "--slice", metavar="COLUMN[,COLUMN]", action="append", default=[], help="metrics by column, or crossed columns"
    )
    command.add_argument(
        "--processes", type=positive, metavar="N", help="worker processes of a local run (default: by cores and input)"
    )
    command.add_argument(
        "--check", action="store_true", help="look at the first records, say what the run would do, and stop"
    )
    command.add_argument(
        "--metrics-file", metavar="FILE", help="keep the metrics of the run in a textfile for Prometheus"
    )
    command.add_argument("--quiet", action="store_true", help="no progress and no metrics on the console")


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Evaluates; 1 where a gate or the fraction of rejected records failed, or nothing was scored."""
    given = {
        "ground_truth": parsed.ground_truth,
        "predictions": systems(parsed.predictions),
        "output": parsed.output,
        "slices": parsed.slice,
    }
    configuration = settings.load(parsed.config, parsed.set, given)
    if parsed.check:
        return _check(configuration, options, parsed.processes)
    plan = plan_evaluation(configuration, new_run_id())
    warn(plan.inputs.warnings)
    plan = replace(plan, output=launch.path_for_workers(options, plan.output))
    launch.use_processes(options, parsed.processes, sum(file.size for file in plan.inputs.files))
    if launch.is_local(options):
        check_tools(configuration)
    if launch.is_detached(options):
        return _leave(options, plan)
    watched = MetricsFile(parsed.metrics_file, configuration.benchmark.name)
    with watched.kept():
        watched.exit_code = _evaluate(options, plan, parsed.quiet, watched)
    return watched.exit_code


def _evaluate(options: PipelineOptions, plan: EvaluationPlan, quiet: bool, watched: MetricsFile) -> int:
    """Evaluates, and returns the exit code."""
    metrics = plan.configuration.benchmark.main_metrics()
    with console.progress_line(len(plan.systems), quiet, launch.is_local(options)):
        summary = run_and_publish(
            options,
            lambda pipeline: build_evaluation(pipeline, plan),
            plan.output,
            plan.run_id,
            LAYOUT,
            SUMMARY,
            watched.add_result,
        )
    document = json.loads(summary)
    watched.add_values(document, metrics)
    if not quiet:
        report = posixpath.join(plan.output, REPORT)
        console.print_metrics(document, metrics, report)
    warn(document.get("warnings", []))
    failures = _failures(document, plan)
    for failure in failures:
        say("ERROR", failure)
    return FAILED if failures else DONE


def _check(configuration: settings.Configuration, options: PipelineOptions, processes: int | None) -> int:
    """Says what the run would do; 2 where it could score nothing."""
    inputs = find_inputs(configuration, configuration.truth_columns())
    warn(inputs.warnings)
    if launch.is_local(options):
        check_tools(configuration)
    launch.use_processes(options, processes, sum(file.size for file in inputs.files))
    found = check_inputs(inputs, LAYOUT, launch.process_count(options))
    for line in found.lines:
        print(printable(line))
    for problem in found.problems:
        say("ERROR", printable(problem))
    return WRONG_USAGE if found.problems else DONE


def _failures(document: Mapping[str, Any], plan: EvaluationPlan) -> list[str]:
    """Returns why the run fails; of a system of which nothing was scored, the reason for that alone."""
    unscored = why_unscored(document, plan.inputs)
    if "" in unscored:
        return [unscored[""]]
    others = {name: system for name, system in document["systems"].items() if name not in unscored}
    judged = verdict({**document, "systems": others}, plan.configuration.settings).failures
    return [*unscored.values(), *judged]


def _leave(options: PipelineOptions, plan: EvaluationPlan) -> int:
    hand_over(options, lambda pipeline: build_evaluation(pipeline, plan), plan.output, plan.run_id, LAYOUT)
    print(f"the job goes on without this command, which judges no gates; its result will be in {plan.output}")
    return DONE
