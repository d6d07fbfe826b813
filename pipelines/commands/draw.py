"""`beamscore draw`: pictures of samples."""

from __future__ import annotations

import argparse
import contextlib
import posixpath
from collections.abc import Mapping, Sequence
from functools import partial

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from ...transforms.blocks import only_samples
from ...transforms.draw import PICTURE, PROBLEM, DrawSamples, file_name, staged_name
from ...transforms.io.storage import (
    delete_files,
    list_folder,
    new_run_id,
    prepare_output,
    read_bytes,
    reason_of,
    rename_files,
)
from ...transforms.pair import PairBySample
from ...transforms.read import sample_ids
from ...transforms.records import printable
from ..config.errors import UsageError, as_input_errors
from ..inputs.inputs import Inputs, find_inputs
from ..inputs.mismatch import doubtful_sides
from ..runners import launch
from ..runs.numbers import count_of
from .arguments import configuration_of
from .common import check_tools, unsupported
from .messages import DONE, warn

NAMED = 5
"""The maximum number of samples that are named, of those that cannot be drawn or have no image."""


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Draws the samples, with the prediction of the first system; exits with code 2 if one has no picture."""
    configuration = configuration_of(parsed)
    if "draw" not in configuration.benchmark.abilities():
        raise unsupported("draw", configuration.benchmark.name)
    samples = _samples_to_draw(parsed)
    target = _targets(parsed, samples)
    check_tools(configuration)
    inputs = find_inputs(configuration, ())
    folder = posixpath.dirname(target[samples[0]]) or "."
    prepare_output(folder)
    prefix = f".draw-{new_run_id()}"
    staged = posixpath.join(launch.path_for_workers(options, folder), prefix)
    option = "--sample" if parsed.samples is None else "--samples"
    try:
        launch.run(options, lambda pipeline: _build(pipeline, inputs, samples, staged))
        names, staged_file = list_folder(folder), partial(staged_name, prefix)
        drawn = dict.fromkeys(each for each in samples if staged_file(each, PICTURE) in names)
        noted = {each for each in samples if staged_file(each, PROBLEM) in names}

        def reason(each: str) -> str:
            return read_bytes(posixpath.join(folder, staged_file(each, PROBLEM))).decode()

        problems = {
            each: f"cannot be drawn: {reason(each)}" if each in noted else "not found in the ground truth"
            for each in samples
            if each not in drawn
        }
        for each in list(drawn):
            try:
                rename_files([(posixpath.join(folder, staged_file(each, PICTURE)), target[each])])
            except OSError as error:
                problems[each] = f"cannot be written: {reason_of(error)}"
                del drawn[each]
        imageless = [each for each in drawn if each in noted]
        notes = [f"{option} {each} is drawn without its image: {reason(each)}" for each in imageless[:NAMED]]
    finally:
        with contextlib.suppress(OSError):
            delete_files([posixpath.join(folder, name) for name in list_folder(folder) if name.startswith(prefix)])
    if drawn:
        print(printable(f"{parsed.output}: {count_of(len(drawn), 'picture')}"))
    doubts = doubtful_sides(inputs)
    if doubts and not drawn:
        raise UsageError(doubts[0])
    if len(imageless) > NAMED:
        notes.append(f"{len(imageless) - NAMED:,} more are drawn without their images")
    warn([*inputs.warnings, *doubts, *notes])
    if problems:
        more = [f"{len(problems) - NAMED:,} more have no picture"] if len(problems) > NAMED else []
        raise UsageError("; ".join([f"{option} {each}: {problems[each]}" for each in list(problems)[:NAMED]] + more))
    return DONE


def _samples_to_draw(parsed: argparse.Namespace) -> list[str]:
    """Returns the ids of the samples to draw, without duplicates; raises UsageError if there are none."""
    samples = dict.fromkeys(parsed.sample)
    if parsed.samples is not None:
        with as_input_errors("--samples"):
            samples |= dict.fromkeys(sample_ids(parsed.samples))
    if not samples:
        raise UsageError("there is no sample to draw; give --sample ID, or --samples FILE with a sample_id in each row")
    return list(samples)


def _targets(parsed: argparse.Namespace, samples: Sequence[str]) -> Mapping[str, str]:
    """Returns the path of the picture of each sample."""
    is_file = parsed.output.endswith(".svg")
    if is_file and len(samples) == 1:
        return {samples[0]: parsed.output}
    if is_file:
        raise UsageError(f"--output {parsed.output}: several samples are drawn; give the folder for their pictures")
    if parsed.samples is None and len(samples) == 1:
        raise UsageError(f"--output {parsed.output}: must end with .svg")
    return {each: posixpath.join(parsed.output, file_name(each)) for each in samples}


def _build(pipeline: beam.Pipeline, inputs: Inputs, samples: Sequence[str], staged: str) -> None:
    benchmark, settings = inputs.configuration.benchmark, inputs.configuration.settings
    _ = (
        inputs.read(pipeline).records
        | "Only" >> beam.FlatMap(only_samples, samples).with_output_types(tuple[int, bytes])
        | "Pair" >> PairBySample(inputs.systems, repeats=[0] if settings.repeats else [])
    ).batches | "Draw" >> beam.ParDo(DrawSamples(benchmark, staged, settings.pictures, settings.repeats))
