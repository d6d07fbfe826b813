"""Evaluates files for the Python API: the pipeline of the command, in this process."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from apache_beam.options.pipeline_options import PipelineOptions

from pipelines.api.scorer import Rejected, Result, Side, SliceResult
from pipelines.cli.common import check_tools, run_and_publish
from pipelines.config import settings
from pipelines.config.systems import DEFAULT_SYSTEM
from pipelines.evaluate import build_evaluation, plan_evaluation
from pipelines.results.provenance import Launch
from pipelines.results.run import LAYOUT, SUMMARY
from pipelines.runtime import launch
from pipelines.runtime.process import run_in_this_process
from transforms.io.storage import new_run_id


def evaluate_files(configuration: Mapping[str, Any], processes: int) -> Result:
    """Returns the result of an evaluation of files; `configuration` holds what a configuration file would.

    Raises pipelines.config.errors.UsageError where the configuration or an input is wrong.
    """
    with run_in_this_process(), tempfile.TemporaryDirectory(prefix="beamscore-") as folder:
        checked = settings.check({**configuration, "output": folder}, "evaluate")
        check_tools(checked)
        plan = plan_evaluation(checked, new_run_id())
        options = PipelineOptions([])
        launch.use_processes(options, processes, sum(file.size for file in plan.inputs.files))
        plan = replace(plan, launch=Launch.now(["beamscore.evaluate"], launch.runner_name(options), plan.inputs.files))
        build = partial(build_evaluation, plan=plan)
        run_and_publish(options, build, folder, plan.run_id, LAYOUT, SUMMARY)
        return _read(Path(folder), checked.benchmark.name)


def _read(folder: Path, benchmark: str) -> Result:
    summary = json.loads((folder / "summary.json").read_bytes())["systems"][DEFAULT_SYSTEM]
    sums = json.loads((folder / "sums.json").read_bytes())["systems"][DEFAULT_SYSTEM]
    slices = {
        label: SliceResult(each["values"], _intervals(each), sum(each["coverage"]["ground_truth"].values()))
        for label, each in summary["slices"].items()
    }
    return Result(
        benchmark,
        summary["values"],
        _intervals(summary),
        slices,
        summary["coverage"],
        pq.read_table(str(folder / "samples")),
        [_rejected(line) for path in sorted((folder / "quarantine").glob("*")) for line in path.open("rb")],
        sums["sums"],
    )


def _intervals(document: Mapping[str, Any]) -> dict[str, tuple[float, float] | None]:
    return {name: None if ends is None else (ends[0], ends[1]) for name, ends in document["intervals"].items()}


def _rejected(line: bytes) -> Rejected:
    entry = json.loads(line)
    side: Side = "ground_truth" if entry["side"] == "ground_truth" else "predictions"
    return Rejected(side, entry["sample_id"], entry["error"])
