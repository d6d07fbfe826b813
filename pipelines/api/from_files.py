"""Files and finished runs for the Python API: runs the pipeline of the command in this process."""

from __future__ import annotations

import contextlib
import copy
import heapq
import json
import os
import re
import tempfile
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from apache_beam.options.pipeline_options import PipelineOptions

from ...transforms.io.publication import Claim, Process, heartbeat, owned_output, publish
from ...transforms.io.storage import new_run_id, output_problems
from ...transforms.process import OF_THE_MACHINE
from ...transforms.publish import ROWS_PER_GROUP, StagedFolder, quarantine_line
from ...transforms.records import GROUND_TRUTH, InputProblem
from ...transforms.rows import read_rows, sample_schema
from ...transforms.scored import Worst
from ..commands.common import read_quarantine, run_and_publish
from ..commands.compare import (
    LAYOUT as COMPARISON_LAYOUT,
    allowed_differences,
    build_comparison,
    check_threshold,
    plan_comparison,
)
from ..config.errors import UsageError
from ..config.settings import Configuration
from ..evaluate import build_evaluation, files_of, plan_evaluation, result_files
from ..inputs.inputs import Inputs
from ..inputs.mismatch import no_column, without_values
from ..runners import launch
from ..runs.causes import causes_of, stored_causes, why_unscored
from ..runs.comparison import COMPARISON
from ..runs.named import SystemRun, narrowed, open_system
from ..runs.provenance import Invocation
from ..runs.run import LAYOUT, worst_first
from .arguments import in_python
from .result import Result, RunToSave
from .scorer import result_of


@contextlib.contextmanager
def _as_python_errors(scratch: str = "") -> Iterator[None]:
    """Runs pipelines in this process, and converts their errors to those of the Python API.

    scratch: a folder that only we know; errors call a run in it by the name of its folder.
    """
    try:
        with launch.run_in_this_process():
            yield
    except (UsageError, InputProblem) as error:
        message = error.message if isinstance(error, InputProblem) else str(error)
        if scratch:
            message = re.sub(rf"{re.escape(scratch)}/(\w+)(:[\w.-]+)?", r"the \1", message)
        raise (OSError if OF_THE_MACHINE in message else ValueError)(in_python(message)) from None


def evaluate_files(configuration: Configuration, processes: int) -> Result:
    """Returns the result of evaluating the files that a configuration names.

    Raises ValueError if an input is wrong, MissingTool if a program is not installed, OSError if this machine
    failed.
    """
    with _as_python_errors(), tempfile.TemporaryDirectory(prefix="beamscore-") as folder:
        try:
            configuration.benchmark.setup()
        finally:
            configuration.benchmark.teardown()
        settings = msgspec.structs.replace(configuration.settings, output=folder)
        plan = plan_evaluation(replace(configuration, settings=settings), new_run_id())
        options, files = PipelineOptions([]), plan.inputs.files
        launch.use_processes(options, processes, sum(file.size for file in files))
        plan = replace(plan, invocation=Invocation.now(["beamscore.evaluate"], launch.runner_name(options), files))
        run_and_publish(options, partial(build_evaluation, plan=plan), folder, plan.run_id, LAYOUT)
        system = open_system(folder)
        _look_for_columns(plan.inputs, system.run.summary.warnings)
        document, causes = system.run.summary.document(), stored_causes(system.run.provenance)
        return _read(system, why_unscored(document, plan.inputs, causes, "the attribute `rejected`").values())


def _look_for_columns(inputs: Inputs, warnings: Container[str]) -> None:
    """Raises UsageError if a column has no value, as the warnings say, and the first ground truths do not have it."""
    absent = [column for column in inputs.more_columns if without_values(inputs.configuration, column) in warnings]
    known = list(inputs.first_records(GROUND_TRUTH).fields) if absent else []
    for column in absent:
        if column not in known:
            raise UsageError(no_column("ground_truth", column, known, inputs.columns[GROUND_TRUTH].fields))


def load(run: str | os.PathLike[str]) -> Result:
    """Returns the result of a finished run, with the rows of all its samples.

    run: its folder, or FOLDER:SYSTEM if it has several systems.

    Raises ValueError if there is no such run or system, or it is damaged.
    """
    with _as_python_errors():
        system = open_system(os.fspath(run))
        return _read(system)


def _read(system: SystemRun, unscored: Iterable[str] | None = None) -> Result:
    run = system.run
    schema = sample_schema(run.configuration.benchmark.sample_metric_names(), run.configuration.columns())
    condition = pc.field("system") == system.system
    batches = [batch for path in run.rows for batch in read_rows(path, schema.names, condition)]
    entries = [entry for path in run.quarantine for entry in read_quarantine(path)]
    sides, systems = ("ground_truth", system.system), ("", system.system)
    entries = [entry for entry in entries if entry.side in sides and entry.system in systems]
    saved = RunToSave(narrowed(run, system.system), entries)
    return result_of(pa.Table.from_batches(batches, schema), unscored, saved)


def compare_runs(
    baseline: Result | str, candidate: Result | str, allow_differences: bool, threshold: float
) -> dict[str, Any]:
    """Returns comparison.json of two results or finished runs; see `compare`."""
    sides = {"baseline": baseline, "candidate": candidate}
    with tempfile.TemporaryDirectory(prefix="beamscore-") as scratch, _as_python_errors(scratch):
        check_threshold(threshold, "threshold")
        for name, result in sides.items():
            if isinstance(result, Result):
                save(result, os.path.join(scratch, name))
        before, after = (
            open_system(os.path.join(scratch, name) if isinstance(each, Result) else each)
            for name, each in sides.items()
        )
        reasons = allowed_differences(before, after, allow_differences, "allow_differences=True")
        plan = plan_comparison(before, after, reasons, threshold, most=0)
        options, run_id, output = PipelineOptions([]), new_run_id(), os.path.join(scratch, "comparison")
        build = partial(build_comparison, plan=plan, output=output, run_id=run_id)
        published = run_and_publish(options, build, output, run_id, COMPARISON_LAYOUT)
        document: dict[str, Any] = json.loads(published.read(COMPARISON))
    for name, result in sides.items():
        if isinstance(result, Result):
            # The saved copy no longer exists.
            document[name]["run"] = name
    return document


def save(result: Result, path: str | os.PathLike[str]) -> None:
    """Writes a result as a finished run; see `Result.save`."""
    if path == "":
        raise ValueError("folder: the path is empty")
    folder, run_id, (run_to_save, entries) = os.fspath(path), new_run_id(), result.saved
    run, (system,) = copy.copy(run_to_save), run_to_save.systems
    with (
        _as_python_errors(),
        owned_output(folder, Claim(run_id, Process.of(os.getpid())), LAYOUT),
        heartbeat(folder, run_id),
        output_problems(folder),
    ):
        samples, quarantine = (StagedFolder(folder, run_id, name) for name in LAYOUT.folders)
        staged = {"samples": [f"samples-{run_id}.parquet"], "quarantine": list[str]()}
        with samples.create(staged["samples"][0]) as stream:
            pq.write_table(result.samples, stream, row_group_size=ROWS_PER_GROUP, compression="zstd")
        if entries:
            staged["quarantine"].append(f"quarantine-{run_id}.jsonl")
            with quarantine.create(staged["quarantine"][0]) as stream:
                stream.writelines(map(quarantine_line, entries))
        paths = [f"{samples.path}/{name}" for name in staged["samples"]]
        run.worst, run.causes = {system: _worst(result, run.configuration)}, causes_of(entries)
        if run.published is None:
            read = {
                side: result.coverage[name]["read"]
                for side, name in ((GROUND_TRUTH, "ground_truth"), (0, "predictions"))
            }
            files = result_files(run, run_id, Invocation.now(["beamscore.Result.save"], ""), read, None, paths)
        else:
            files = files_of(run, {**run.provenance, "run_id": run_id} if run.provenance else {}, paths)
        publish(folder, run_id, LAYOUT, files, staged)


def _worst(result: Result, configuration: Configuration) -> list[Worst]:
    """Returns the worst samples of a result that have a value, as many as the reports list."""
    benchmark, most = configuration.benchmark, configuration.settings.worst_samples
    name = benchmark.main_sample_metric().name
    rows = result.samples.select([name, "sample_id", "status"]).filter(pc.field(name).is_valid())
    samples: Iterator[Worst] = zip(*(column.to_pylist() for column in rows.columns), strict=True)
    return heapq.nsmallest(most, samples, key=worst_first(benchmark))
