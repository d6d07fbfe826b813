"""`beamscore compare`: whether one system is better than another, in what, and on which samples."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import posixpath
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from ...transforms.io.storage import new_run_id, prepare_output
from ...transforms.records import printable
from ..compare import LAYOUT, ComparisonPlan, build_comparison, plan_comparison
from ..compare_page import plan_page
from ..config.errors import UsageError
from ..reports.comparison import PAGE
from ..reports.markdown import samples_line, verdicts_line
from ..runners import launch
from ..runs.comparison import COMPARISON, REPORT
from ..runs.differences import COMPARED, differences, surroundings
from ..runs.named import SystemRun, open_system
from ..runs.provenance import PAGE_PROBLEM
from ..runs.verdict import verdict_lines
from . import console
from .common import hand_over, run_and_publish, without_page
from .messages import DONE, warn

MAX_SAMPLES = 1000


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Compares; whatever comes out of it, the exit code is 0, but 3 where the page could not be made."""
    if not math.isfinite(parsed.threshold) or parsed.threshold < 0:
        raise UsageError(f"--threshold {parsed.threshold}: must be a number of at least 0")
    if not 0 <= parsed.samples <= MAX_SAMPLES:
        raise UsageError(f"--samples {parsed.samples}: must be a whole number from 0 to {MAX_SAMPLES}")
    baseline, candidate = open_system(parsed.baseline), open_system(parsed.candidate)
    before, after = baseline.run.signature, candidate.run.signature
    found = differences(before, after, COMPARED, it="the candidate")
    hint = ""
    if before.benchmark == after.benchmark:
        hint = "; give --allow-differences to compare the samples with the same ground truth all the same"
    if found and not (hint and parsed.allow_differences):
        raise UsageError(f"{baseline.name} and {candidate.name} do not compare: {'; '.join(found)}{hint}")
    warn(found)
    if before.versions and after.versions:
        warn(surroundings(before, after, it="the candidate"))
    plan = plan_comparison(
        baseline, candidate, found, parsed.threshold, parsed.changes, size=_size(baseline, candidate)
    )
    warn(plan.setting.missing)
    if parsed.output is None and (launch.is_detached(options) or not launch.is_local(options)):
        raise UsageError("give --output DIR: the workers of this runner share no folder with the command")
    if parsed.output is not None and not parsed.no_html:
        plan = replace(plan, page=plan_page(baseline, candidate, parsed.samples, parsed.command_line, parsed.output))
    with _output(parsed.output) as folder:
        return _compare(plan, folder, parsed, options)


def _compare(plan: ComparisonPlan, folder: str, parsed: argparse.Namespace, options: PipelineOptions) -> int:
    prepare_output(folder)
    folder = launch.path_for_workers(options, folder)
    run_id = new_run_id()
    path = partial(launch.path_for_workers, options)
    build = partial(build_comparison, plan=plan, output=folder, run_id=run_id, path=path)
    launch.use_processes(options, None, plan.size)
    if launch.is_detached(options):
        return hand_over(options, build, folder, run_id, LAYOUT)
    document = json.loads(run_and_publish(options, build, folder, run_id, LAYOUT).read(COMPARISON))
    problem = document.get(PAGE_PROBLEM)
    warn(document["differences"][len(plan.setting.differences) :])
    if not parsed.quiet:
        _print(document, plan)
        if parsed.output:
            print(f"report: {posixpath.join(folder, REPORT if parsed.no_html or problem else PAGE)}")
    return without_page(DONE, PAGE, problem, REPORT)


def _print(document: Mapping[str, Any], plan: ComparisonPlan) -> None:
    main = [name for name in plan.setting.benchmark.main_metrics() if name in document["metrics"]]
    console.print_comparison(document["metrics"], main)
    print(*map(printable, verdict_lines(document)), sep="\n")
    print(verdicts_line(document["verdicts"], len(document["slices"])))
    print(samples_line(document["samples"]))


@contextlib.contextmanager
def _output(given: str | None) -> Iterator[str]:
    """Gives the folder of the result: without one, the console has all that is told."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="beamscore-") as folder:
        yield folder


def _size(*sides: SystemRun) -> int:
    """Returns the bytes of the rows of both sides."""
    files = [path for side in sides for path in side.run.rows]
    return sum(entry.size_in_bytes for found in FileSystems.match(files) for entry in found.metadata_list)
