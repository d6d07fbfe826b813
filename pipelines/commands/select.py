"""`beamscore select`: the hard cases of a finished run."""

from __future__ import annotations

import argparse
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions

from pipelines import launch, settings
from pipelines.commands.common import DONE, add_command
from pipelines.errors import UsageError
from pipelines.inputs import find_inputs
from pipelines.records import WriteRecords
from pipelines.select import Selection, build_selection, read_summary


def add(commands: Any) -> None:
    """Adds the command."""
    command = add_command(commands, "select", run, "write the samples of a finished run that score low")
    command.add_argument("run", metavar="DIR", help="the output folder of the run")
    command.add_argument("--output", metavar="FILE", help="ends with .jsonl, .jsonl.gz, .jsonl.zst or .parquet")
    command.add_argument("--value", metavar="NAME", help="the per-sample figure (default: that of the worst samples)")
    command.add_argument("--below", type=float, default=1.0, help="the threshold (default: 1)")
    command.add_argument("--system", metavar="NAME", help="the system (default: the best)")


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Selects; the inputs are those that the run's summary names."""
    summary = read_summary(parsed.run)
    if not parsed.output:
        raise UsageError("give --output FILE")
    configuration = settings.check(dict(summary["config"]), parsed.run)
    kind = type(configuration.benchmark)
    value, system = parsed.value or kind.worst_by, parsed.system or summary["ranking"][0]
    if value not in kind.sample_columns:
        raise UsageError(f"--value {value}: no such figure; there are {', '.join(kind.sample_columns)}")
    if system not in summary["systems"]:
        raise UsageError(f"--system {system}: not in this run; there are {', '.join(summary['systems'])}")
    only = {**summary["config"], "predictions": {system: summary["config"]["predictions"][system]}, "slices": []}
    inputs = find_inputs(settings.check(only, parsed.run), ())
    columns = {"sample_id": True, "system": True, "status": True}
    columns |= dict.fromkeys([*kind.sample_columns, "details", "ground_truth", "prediction"], False)
    write = WriteRecords(parsed.output, columns)
    selection = Selection(parsed.run, system, value, parsed.below)
    launch.run(options, lambda pipeline: build_selection(pipeline, inputs, selection, write))
    return DONE
