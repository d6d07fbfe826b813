"""Files and finished runs for the Python API: the pipeline of the command, in this process."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.options.pipeline_options import PipelineOptions

from ...transforms.faults import OF_THE_MACHINE
from ...transforms.io.storage import new_run_id, read_bytes
from ...transforms.records import Cause, InputProblem
from ...transforms.rows import read_rows, sample_schema
from ..commands.common import run_and_publish
from ..commands.compare import LAYOUT as COMPARISON_LAYOUT
from ..commands.compare import allowed_differences, build_comparison, plan_comparison
from ..config.errors import UsageError
from ..config.settings import Configuration
from ..evaluate import build_evaluation, plan_evaluation
from ..runners import launch
from ..runs.causes import why_unscored
from ..runs.comparison import COMPARISON
from ..runs.named import SystemRun, narrowed, open_system
from ..runs.provenance import Invocation
from ..runs.run import LAYOUT
from .result import Finished, Rejected, Result, Side
from .save import save_result
from .scorer import result_of


def evaluate_files(configuration: Configuration, processes: int) -> Result:
    """Returns the result of an evaluation of the files that a configuration names.

    Raises ValueError where an input is wrong, MissingTool where a program is not installed, OSError where this machine
    failed.
    """
    with _in_words(), launch.run_in_this_process(), tempfile.TemporaryDirectory(prefix="beamscore-") as folder:
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
        document = msgspec.to_builtins(system.run.summary)
        unscored = why_unscored(document, plan.inputs, rejected="the attribute `rejected`")
        return _read(system, [*unscored.values(), *system.run.summary.warnings])


def load(run: str | os.PathLike[str]) -> Result:
    """Returns the result of a finished run, with the rows of all its samples.

    run: its folder, or FOLDER:SYSTEM where it has several systems.

    Raises ValueError where there is no such run or system, or it is damaged.
    """
    with _in_words(), launch.run_in_this_process():
        system = open_system(os.fspath(run))
        return _read(system, system.run.summary.warnings)


def save(result: Result, folder: str | os.PathLike[str]) -> None:
    """Writes a result as a finished run; see `Result.save`."""
    with _in_words(), launch.run_in_this_process():
        save_result(result, os.fspath(folder))


def compare_runs(
    baseline: Result | str, candidate: Result | str, allow_differences: bool, threshold: float
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns comparison.json of two results or finished runs, and the main metrics; see `compare`."""
    if not threshold >= 0:
        raise ValueError(f"threshold: must be a number of at least 0, not {threshold}")
    with _in_words(), launch.run_in_this_process(), tempfile.TemporaryDirectory(prefix="beamscore-") as scratch:
        before = _opened(baseline, os.path.join(scratch, "baseline"))
        after = _opened(candidate, os.path.join(scratch, "candidate"))
        found = allowed_differences(before, after, allow_differences, "allow_differences=True")
        plan = plan_comparison(before, after, found, threshold, most=0)
        options, run_id, output = PipelineOptions([]), new_run_id(), os.path.join(scratch, "comparison")
        launch.use_processes(options, 1, plan.size)
        build = partial(build_comparison, plan=plan, output=output, run_id=run_id)
        document = json.loads(run_and_publish(options, build, output, run_id, COMPARISON_LAYOUT).read(COMPARISON))
    for name, given in (("baseline", baseline), ("candidate", candidate)):
        if isinstance(given, Result):
            # What was saved is gone.
            document[name]["run"] = name
    return document, tuple(plan.setting.benchmark.main_metrics())


def _opened(given: Result | str, folder: str) -> SystemRun:
    """Returns a finished run, or a result as one, which is saved in the folder."""
    if isinstance(given, Result):
        save_result(given, folder)
    return open_system(folder if isinstance(given, Result) else given)


@contextlib.contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except (UsageError, InputProblem) as error:
        message = error.message if isinstance(error, InputProblem) else str(error)
        raise (OSError if OF_THE_MACHINE in message else ValueError)(message) from None


def _read(system: SystemRun, warnings: list[str]) -> Result:
    run = system.run
    schema = sample_schema(run.configuration.benchmark.sample_metric_names(), run.configuration.columns())
    where = pc.field("system") == system.system
    batches = [batch for path in run.rows for batch in read_rows(path, schema.names, where)]
    lines = [line for path in run.quarantine for line in read_bytes(path).splitlines()]
    entries = [(line, msgspec.json.decode(line, type=_Entry)) for line in lines]
    entries = [(line, entry) for line, entry in entries if entry.side in ("ground_truth", system.system)]
    samples = pa.Table.from_batches(batches, schema)
    rejected = [entry.rejected() for _, entry in entries]
    origin = Finished(narrowed(run, system.system), [line for line, _ in entries])
    return result_of(run, system.system, samples, rejected, warnings, origin)


class _Entry(msgspec.Struct):
    side: str
    sample_id: str | None
    error: str
    cause: Cause

    def rejected(self) -> Rejected:
        side: Side = "ground_truth" if self.side == "ground_truth" else "predictions"
        return Rejected(side, self.sample_id, self.error, self.cause)
