"""`beamscore describe`: the tables of a data set."""

from __future__ import annotations

import argparse
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions

from metrics.describe import DESCRIPTIONS, description_of
from pipelines import launch, settings
from pipelines.commands.common import DONE, add_command, add_config, add_ground_truth
from pipelines.describe import REPORT, build_description
from pipelines.errors import UsageError
from pipelines.evaluate import prepare_output
from pipelines.inputs import find_inputs
from transforms.stage import new_run_id, remove_staging


def add(commands: Any) -> None:
    """Adds the command."""
    command = add_command(commands, "describe", run, "write the tables of a data set")
    add_config(command)
    add_ground_truth(command)
    command.add_argument("--output", metavar="DIR", help="the folder for description.json and description.md")
    command.add_argument("--slice", metavar="COLUMN", action="append", default=[], help="compare, such as by split")


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Describes."""
    given = {"ground_truth": parsed.ground_truth, "output": parsed.output, "slices": parsed.slice}
    configuration = settings.load(parsed.config, parsed.set, given)
    name, output = configuration.benchmark.name, configuration.settings.output
    if name not in DESCRIPTIONS:
        raise UsageError(f"{name} has no description; there is one for {', '.join(sorted(DESCRIPTIONS))}")
    if not output:
        raise UsageError("output: nothing is given; give --output DIR, or output in the configuration")
    inputs = find_inputs(configuration, configuration.columns(), predictions=False)
    prepare_output(output)
    run_id = new_run_id()
    try:
        launch.run(options, lambda p: build_description(p, inputs, description_of(name), output, run_id))
    except BaseException:
        remove_staging(output, run_id)
        raise
    print(f"report: {output}/{REPORT}")
    return DONE
