"""`beamscore evaluate`: scores predictions and writes a report."""

from __future__ import annotations

import argparse
import json
import posixpath
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions

from pipelines.cli import console
from pipelines.cli.common import (
    DONE,
    FAILED,
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
from pipelines.config import settings
from pipelines.evaluate import EvaluationPlan, build_evaluation, plan_evaluation
from pipelines.results.run import LAYOUT, REPORT, SUMMARY, verdict
from pipelines.results.unscored import why_unscored
from pipelines.runtime import launch
from pipelines.runtime.memory import free_bytes, memory_warnings
from transforms.io.storage import new_run_id


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
    plan = plan_evaluation(configuration, new_run_id())
    warn(plan.inputs.warnings)
    plan = replace(plan, output=launch.path_for_workers(options, plan.output))
    local = launch.is_local(options)
    launch.use_processes(options, parsed.processes, sum(file.size for file in plan.inputs.files))
    if local:
        warn(memory_warnings(plan.inputs.files, free_bytes()))
        check_tools(configuration)
    if launch.is_detached(options):
        return _leave(options, plan)
    with console.progress_line(len(plan.systems), parsed.quiet or not local):
        summary = run_and_publish(
            options, lambda pipeline: build_evaluation(pipeline, plan), plan.output, plan.run_id, LAYOUT, SUMMARY
        )
    document = json.loads(summary)
    if not parsed.quiet:
        report = posixpath.join(plan.output, REPORT)
        console.print_metrics(document, configuration.benchmark.main_metrics(), report)
    warn(document.get("warnings", []))
    failures = _failures(document, plan)
    for failure in failures:
        print(f"beamscore: {failure}", file=sys.stderr)
    return FAILED if failures else DONE


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
