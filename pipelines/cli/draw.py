"""`beamscore draw`: a picture of one sample."""

from __future__ import annotations

import argparse
import posixpath
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from pipelines.cli.common import (
    DONE,
    add_command,
    add_config,
    add_ground_truth,
    add_predictions,
    check_tools,
    systems,
    unsupported,
)
from pipelines.config import settings
from pipelines.config.errors import UsageError
from pipelines.config.inputs import Inputs, find_inputs
from pipelines.runtime import launch
from transforms.blocks import only_sample
from transforms.draw import DrawSample
from transforms.io.storage import delete_files, new_run_id, prepare_output, rename_files
from transforms.pair import PairBySample


def add(commands: Any) -> None:
    """Adds the command."""
    command = add_command(commands, "draw", run, "draw ground truth and prediction of one sample as SVG")
    add_config(command)
    add_ground_truth(command)
    add_predictions(command)
    command.add_argument("--sample", metavar="ID", required=True, help="the sample_id")
    command.add_argument("--output", metavar="FILE.svg", required=True, help="the picture")


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Draws the sample; of several systems, the first."""
    given = {"ground_truth": parsed.ground_truth, "predictions": systems(parsed.predictions)}
    configuration = settings.load(parsed.config, parsed.set, given)
    if "draw" not in configuration.benchmark.abilities():
        raise unsupported("draw", configuration.benchmark.name)
    check_tools(configuration)
    inputs = find_inputs(configuration, ())
    prepare_output(posixpath.dirname(parsed.output) or ".")
    staged = launch.path_for_workers(options, f"{parsed.output}.{new_run_id()}.part")
    try:
        launch.run(options, lambda pipeline: _build(pipeline, inputs, parsed.sample, staged))
        if not FileSystems.exists(staged):
            raise UsageError(f"--sample {parsed.sample}: no readable ground-truth record has this sample_id")
        rename_files([(staged, parsed.output)])
    except BaseException:
        delete_files([staged])
        raise
    print(parsed.output)
    return DONE


def _build(pipeline: beam.Pipeline, inputs: Inputs, sample_id: str, output: str) -> None:
    _ = (
        inputs.read(pipeline).records
        | "One" >> beam.FlatMap(only_sample, sample_id).with_output_types(tuple[int, bytes])
        | "Pair" >> PairBySample(inputs.systems)
    ).batches | "Draw" >> beam.ParDo(DrawSample(inputs.configuration.benchmark, output))
