"""`beamscore merge`: one run of runs over disjoint samples, without scoring again."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from functools import partial

from apache_beam.options.pipeline_options import PipelineOptions

from ...transforms.io.publication import check_not_replaced
from ...transforms.io.storage import new_run_id, prepare_output
from ..config.errors import UsageError
from ..merge import MergePlan, build_merge, merged_configuration
from ..runners import launch
from ..runs.causes import stored_causes
from ..runs.gates import decide, record_failures
from ..runs.provenance import Invocation
from ..runs.run import LAYOUT, RUN, SUMMARY, Run
from .common import hand_over, run_and_publish
from .gate import read_baseline, remove_verdicts, report_run


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Merges, and judges the gates of the runs on the whole."""
    remove_verdicts(parsed)
    if len(parsed.runs) < 2:
        raise UsageError("give at least two runs to merge")
    same = [path for path in parsed.runs if os.path.abspath(path) == os.path.abspath(parsed.output)]
    if same:
        raise UsageError(f"--output {parsed.output}: this is one of the runs that are merged; give a folder of its own")
    runs = [Run.read(launch.path_for_workers(options, path)) for path in parsed.runs]
    ids: dict[str, str] = {}
    for found in runs:
        if found.run_id and ids.setdefault(found.run_id, found.path) != found.path:
            raise UsageError(f"{found.path}: this is a copy of {ids[found.run_id]}; merge each run once")
    if len({os.path.abspath(path) for path in parsed.runs}) < len(parsed.runs):
        raise UsageError("a run is given twice; merge each run once")
    for found in runs:
        counted = sum(system.samples for system in found.summary.systems.values())
        if counted and not found.rows:
            raise UsageError(f"{found.path}: the rows of the run are missing: samples/ holds no samples-*.parquet")
    configuration = merged_configuration(runs, parsed.output)
    baseline = read_baseline(parsed, configuration)
    check_not_replaced(
        parsed.output, LAYOUT, (path for found in runs if found.published for path in found.published.files.values())
    )
    prepare_output(parsed.output)
    sources = tuple(
        {"path": found.path, "run_id": found.run_id, "inputs": found.provenance.get("inputs")} for found in runs
    )
    started = replace(Invocation.now(parsed.command_line, launch.runner_name(options)), sources=sources)
    plan = MergePlan(
        tuple((found.path, found.run_id) for found in runs),
        configuration,
        launch.path_for_workers(options, parsed.output),
        new_run_id(),
        started,
        baseline,
        page=not parsed.no_html,
    )
    build = partial(build_merge, plan=plan, runs=runs)
    if launch.is_detached(options):
        return hand_over(options, build, plan.output, plan.run_id, LAYOUT)
    published = run_and_publish(options, build, plan.output, plan.run_id, LAYOUT)
    document, made = json.loads(published.read(SUMMARY)), json.loads(published.read(RUN))
    failures = record_failures(document["systems"], configuration.settings, stored_causes(made))
    decision = decide(document.get("gates", []))
    return report_run(parsed, plan.output, configuration, baseline, document, made, failures, decision)
