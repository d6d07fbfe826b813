"""`beamscore select`: the hard cases of a finished run."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions

from metrics.benchmark import Benchmark
from pipelines.cli.common import Globs, add_command, add_record_output, write_records
from pipelines.config import settings
from pipelines.config.errors import UsageError
from pipelines.config.inputs import Inputs, find_inputs
from pipelines.results.run import open_result
from pipelines.runtime import launch
from pipelines.select import Selection, build_selection, read_summary
from transforms.io.parquet_schema import Columns, Kind
from transforms.io.published import Published
from transforms.io.record_files import WriteRecords


def add(commands: Any) -> None:
    """Adds the command."""
    command = add_command(commands, "select", run, "write the samples of a finished run that score low")
    command.add_argument("run", metavar="DIR", help="the output folder of the run")
    add_record_output(command)
    command.add_argument("--value", metavar="NAME", help="the per-sample metric (default: that of the worst samples)")
    command.add_argument("--below", type=float, default=1.0, help="the threshold (default: 1)")
    command.add_argument("--system", metavar="NAME", help="the system (default: the best)")
    command.add_argument(
        "--ground-truth", metavar="GLOB", action=Globs, nargs="+", help="where it is now, if it has moved since the run"
    )
    command.add_argument(
        "--predictions",
        metavar="GLOB",
        action=Globs,
        nargs="+",
        help="where those of the system are now, if they have moved",
    )


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Selects; the inputs are those that the run's summary names, unless they have moved."""
    result = open_result(parsed.run)
    summary = read_summary(parsed.run, result)
    if not parsed.output:
        raise UsageError("give --output FILE")
    if math.isnan(parsed.below):
        raise UsageError("--below nan: must be a number")
    kind = type(settings.check({**summary["config"], "gates": {}}, parsed.run).benchmark)
    value, system = parsed.value or kind.main_sample_metric().name, parsed.system or summary["ranking"][0]
    if value not in kind.sample_metric_names():
        raise UsageError(f"--value {value}: no such metric; there are {', '.join(kind.sample_metric_names())}")
    if system not in summary["systems"]:
        raise UsageError(f"--system {system}: not in this run; there are {', '.join(summary['systems'])}")
    inputs = _inputs(parsed, summary["config"], system)
    write = WriteRecords(launch.path_for_workers(options, parsed.output), _columns(kind), parsed.shards)
    _check_rows(parsed.run, result, summary["systems"][system])
    files = tuple(launch.path_for_workers(options, path) for path in result.folder("samples"))
    selection = Selection(files, system, value, parsed.below)
    return write_records(options, lambda pipeline: build_selection(pipeline, inputs, selection, write), write, None)


def _columns(kind: type[Benchmark[Any, Any, Any]]) -> Columns:
    columns = dict.fromkeys(["sample_id", "system", "status"], Kind.TEXT)
    columns |= dict.fromkeys(kind.sample_metric_names(), Kind.NUMBER)
    return columns | dict.fromkeys(["details", "ground_truth", "prediction"], Kind.JSON)


def _check_rows(run: str, result: Published, system: Mapping[str, Any]) -> None:
    """Raises UsageError where the run should have rows, but they are not there."""
    counts = system.get("coverage", {}).get("ground_truth", {})
    if not result.folder("samples") and (counts.get("scored") or counts.get("missing_prediction")):
        raise UsageError(f"{run}: the rows of the run are not there: samples/ holds no samples-*.parquet")


def _inputs(parsed: argparse.Namespace, config: Mapping[str, Any], system: str) -> Inputs:
    """Finds the records that the run scored."""
    predictions = parsed.predictions or config.get("predictions", {}).get(system)
    changed = {"ground_truth": parsed.ground_truth or config.get("ground_truth"), "predictions": {system: predictions}}
    configuration = settings.check({**config, **changed, "slices": [], "gates": {}}, parsed.run)
    try:
        return find_inputs(configuration, (), whole=True)
    except UsageError as error:
        hint = "where the inputs of the run have moved, give --ground-truth and --predictions"
        raise UsageError(f"{error}; {hint}") from error
