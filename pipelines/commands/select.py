"""`beamscore select`: the hard cases of a finished run."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions

from ...metrics.benchmark import Benchmark
from ...transforms.io.record_files import Columns, Kind, WriteRecords
from ...transforms.read import sample_ids
from ..config import settings
from ..config.errors import UsageError, as_input_errors
from ..inputs.inputs import Inputs, find_inputs
from ..runners import launch
from ..runs.run import Run
from ..select import Selection, build_selection
from .common import write_records


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Selects; the inputs are those that the run's summary names, unless they have moved."""
    found = Run.read(parsed.run)
    summary = found.summary
    if not parsed.output:
        raise UsageError("give --output FILE")
    if parsed.below is not None and math.isnan(parsed.below):
        raise UsageError("--below nan: must be a number")
    kind = type(found.configuration.benchmark)
    value, system = parsed.value or kind.main_sample_metric().name, parsed.system or summary.ranking[0]
    if value not in kind.sample_metric_names():
        raise UsageError(f"--value {value}: no such metric; there are {', '.join(kind.sample_metric_names())}")
    if system not in summary.systems:
        raise UsageError(f"--system {system}: not in this run; there are {', '.join(summary.systems)}")
    inputs = _inputs(parsed, summary.config, system)
    write = WriteRecords(launch.path_for_workers(options, parsed.output), _columns(kind), parsed.shards)
    _check_rows(found, system)
    files = tuple(launch.path_for_workers(options, path) for path in found.rows)
    below, listed = parsed.below, None
    if parsed.samples is None:
        below = 1.0 if below is None else below
    else:
        listed = launch.path_for_workers(options, parsed.samples)
        # What is wrong with the list is said before anything is read.
        with as_input_errors("--samples"):
            next(sample_ids(listed), None)
    selection = Selection(files, system, kind.sample_metric_names(), value, below, listed)
    read = [*(file.path for file in inputs.files), *files, *([listed] if listed else [])]
    return write_records(
        options, lambda pipeline: build_selection(pipeline, inputs, selection, write), read, write, None
    )


def _columns(kind: type[Benchmark[Any, Any, Any]]) -> Columns:
    columns = dict.fromkeys(["sample_id", "system", "status"], Kind.TEXT)
    columns |= dict.fromkeys(kind.sample_metric_names(), Kind.NUMBER)
    return columns | dict.fromkeys(["details", "ground_truth", "prediction"], Kind.JSON)


def _check_rows(run: Run, system: str) -> None:
    """Raises UsageError where the run should have rows, but they are not there."""
    counts = run.summary.systems[system].counts("ground_truth")
    if not run.rows and (counts.get("scored") or counts.get("missing_prediction")):
        raise UsageError(f"{run.path}: the rows of the run are missing: samples/ holds no samples-*.parquet")


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
