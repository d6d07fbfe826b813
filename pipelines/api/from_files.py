"""Evaluates files for the Python API: the pipeline of the command, in this process."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
from apache_beam.options.pipeline_options import PipelineOptions

from ...transforms.faults import OF_THE_MACHINE
from ...transforms.io.storage import new_run_id
from ...transforms.records import InputProblem
from ..commands.common import run_and_publish
from ..config.errors import UsageError
from ..config.settings import Configuration
from ..config.systems import DEFAULT_SYSTEM
from ..evaluate import EvaluationPlan, build_evaluation, plan_evaluation
from ..results.provenance import Launch
from ..results.run import LAYOUT
from ..results.unscored import why_unscored
from ..runtime import launch
from ..runtime.process import run_in_this_process
from .scorer import Rejected, Result, Side, SliceResult


def evaluate_files(configuration: Configuration, processes: int) -> Result:
    """Returns the result of an evaluation of the files that a configuration names.

    Raises ValueError where an input is wrong, MissingTool where a program is not installed, OSError where this machine
    failed.
    """
    try:
        with run_in_this_process(), tempfile.TemporaryDirectory(prefix="beamscore-") as folder:
            plan = _run(configuration, processes, folder)
            return _read(Path(folder), plan)
    except (UsageError, InputProblem) as error:
        message = error.message if isinstance(error, InputProblem) else str(error)
        raise (OSError if OF_THE_MACHINE in message else ValueError)(message) from None


def _run(configuration: Configuration, processes: int, folder: str) -> EvaluationPlan:
    shared = msgspec.structs.replace(configuration.settings, output=folder)
    try:
        configuration.benchmark.setup()
    finally:
        configuration.benchmark.teardown()
    plan = plan_evaluation(replace(configuration, settings=shared), new_run_id())
    options = PipelineOptions([])
    launch.use_processes(options, processes, sum(file.size for file in plan.inputs.files))
    plan = replace(plan, launch=Launch.now(["beamscore.evaluate"], launch.runner_name(options), plan.inputs.files))
    build = partial(build_evaluation, plan=plan)
    run_and_publish(options, build, folder, plan.run_id, LAYOUT)
    return plan


def _read(folder: Path, plan: EvaluationPlan) -> Result:
    whole = json.loads((folder / "summary.json").read_bytes())
    summary = whole["systems"][DEFAULT_SYSTEM]
    sums = json.loads((folder / "sums.json").read_bytes())["systems"][DEFAULT_SYSTEM]
    slices = {
        label: SliceResult(each["values"], _intervals(each), sum(each["coverage"]["ground_truth"].values()))
        for label, each in summary["slices"].items()
    }
    unscored = why_unscored(whole, plan.inputs, rejected="the attribute `rejected`")
    return Result(
        plan.configuration.benchmark.name,
        summary["values"],
        _intervals(summary),
        slices,
        summary["coverage"],
        pq.read_table(str(folder / "samples")),
        [
            _rejected(line)
            for path in sorted((folder / "quarantine").glob("*"))
            for line in path.read_bytes().splitlines()
        ],
        sums["sums"],
        [*unscored.values(), *whole.get("warnings", [])],
        tuple(plan.configuration.benchmark.main_metrics()),
    )


def _intervals(document: Mapping[str, Any]) -> dict[str, tuple[float, float] | None]:
    return {name: None if ends is None else (ends[0], ends[1]) for name, ends in document["intervals"].items()}


def _rejected(line: bytes) -> Rejected:
    entry = json.loads(line)
    side: Side = "ground_truth" if entry["side"] == "ground_truth" else "predictions"
    return Rejected(side, entry["sample_id"], entry["error"])
