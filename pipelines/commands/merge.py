"""`beamscore merge`: one run of runs over disjoint samples, without scoring again."""

from __future__ import annotations

import argparse
import json
import os
import posixpath
from dataclasses import replace

from apache_beam.options.pipeline_options import PipelineOptions

from ...transforms.io.published import check_not_replaced
from ...transforms.io.storage import new_run_id, prepare_output
from ..config.errors import UsageError
from ..merge import MergePlan, build_merge
from ..results.causes import duplicate_warnings, stored_causes
from ..results.gates import decide, record_failures, rejection_notes
from ..results.merged import merged_configuration
from ..results.provenance import PAGE_PROBLEM, Launch
from ..results.run import LAYOUT, PAGE, REPORT, RUN, SUMMARY
from ..results.stored import Run
from ..runtime import launch
from . import console
from .common import hand_over, run_and_publish, without_page
from .gate import conclude, read_baseline, remove_verdicts, write_verdicts
from .messages import DONE, warn


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Merges, and judges the gates of the runs on the whole."""
    remove_verdicts(parsed)
    if len(parsed.runs) < 2:
        raise UsageError("give at least two runs to merge")
    same = [path for path in parsed.runs if os.path.abspath(path) == os.path.abspath(parsed.output)]
    if same:
        raise UsageError(f"--output {parsed.output}: this is one of the runs that are merged; give a folder of its own")
    runs = [Run(launch.path_for_workers(options, path)) for path in parsed.runs]
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
    check_not_replaced(parsed.output, LAYOUT, (path for found in runs for path in found.published.files.values()))
    prepare_output(parsed.output)
    sources = tuple(
        {"path": found.path, "run_id": found.run_id, "inputs": found.provenance.get("inputs")} for found in runs
    )
    started = replace(Launch.now(parsed.command_line, launch.runner_name(options)), sources=sources)
    plan = MergePlan(
        tuple((found.path, found.run_id) for found in runs),
        configuration,
        launch.path_for_workers(options, parsed.output),
        new_run_id(),
        started,
        baseline,
        page=not parsed.no_html,
    )
    if launch.is_detached(options):
        hand_over(options, lambda pipeline: build_merge(pipeline, plan, runs), plan.output, plan.run_id, LAYOUT)
        print(f"the job goes on without this command; its result will be in {plan.output}")
        return DONE
    published = run_and_publish(
        options, lambda pipeline: build_merge(pipeline, plan, runs), plan.output, plan.run_id, LAYOUT
    )
    document = json.loads(published.read(SUMMARY))
    made = json.loads(published.read(RUN))
    problem, causes = made.get(PAGE_PROBLEM), stored_causes(made)
    if not parsed.quiet:
        report = posixpath.join(plan.output, REPORT)
        notes = rejection_notes(document["systems"], configuration.settings, causes)
        console.print_metrics(document, configuration.benchmark.main_metrics(), report, notes)
    warn([*document.get("warnings", []), *duplicate_warnings(causes)])
    failures = record_failures(document["systems"], configuration.settings, causes)
    code = conclude(decide(document.get("gates", [])), failures)
    verdicts = document.get("gates", [])
    write_verdicts(parsed, plan.output, configuration, verdicts, failures, baseline, document["systems"])
    return without_page(code, PAGE, problem, REPORT)
