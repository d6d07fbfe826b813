"""`beamscore split`: training, validation and test sets, or folds."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions

from metrics import split as splits
from pipelines import launch, settings
from pipelines.commands.common import DONE, add_command, add_config, add_ground_truth
from pipelines.errors import UsageError
from pipelines.inputs import find_inputs
from pipelines.records import WriteRecords, columns_of
from pipelines.split import PublishedSplit, build_split

DEFAULT_FRACTIONS = "training=0.2,validation=0.2,testing=0.6"


def add(commands: Any) -> None:
    """Adds the command."""
    command = add_command(commands, "split", run, "write the records with a column that splits them by group")
    add_config(command)
    add_ground_truth(command)
    command.add_argument("--output", metavar="FILE", help="ends with .jsonl, .jsonl.gz, .jsonl.zst or .parquet")
    command.add_argument("--group", metavar="COLUMN", help="samples with the same value, an article say, stay together")
    command.add_argument("--column", metavar="NAME", default="split", help="the column to write (default: split)")
    command.add_argument("--seed", type=int, default=0, help="another seed draws another split")
    rule = command.add_mutually_exclusive_group()
    rule.add_argument("--fractions", metavar="NAME=FRACTION,...", help=f"default: {DEFAULT_FRACTIONS}")
    rule.add_argument("--folds", type=int, metavar="K", help="k-fold cross validation: 0 to K - 1")
    rule.add_argument(
        "--published",
        metavar="TRAINING,VALIDATION",
        help="the DeTEXT recipe: sizes of training (one sample a group) and validation (whole groups)",
    )


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Splits."""
    configuration = settings.load(parsed.config, parsed.set, {"ground_truth": parsed.ground_truth})
    if not parsed.output:
        raise UsageError("give --output FILE")
    rule = _rule(parsed)
    columns = columns_of(configuration.benchmark.truth_type)
    columns[parsed.column] = True
    more = (parsed.group,) if parsed.group else ()
    if parsed.group:
        columns.setdefault(parsed.group, True)
    inputs = find_inputs(configuration, more, predictions=False)
    write = WriteRecords(parsed.output, columns)
    launch.run(options, lambda pipeline: build_split(pipeline, inputs, parsed.group, parsed.column, rule, write))
    return DONE


def _rule(parsed: argparse.Namespace) -> Any:
    try:
        if parsed.published:
            training, validation = (int(number) for number in parsed.published.split(","))
            return PublishedSplit(training, validation, parsed.seed)
        if parsed.folds is not None:
            splits.fold("", parsed.folds)
            return partial(_fold, parsed.folds, parsed.seed)
        pairs = [each.partition("=") for each in (parsed.fractions or DEFAULT_FRACTIONS).split(",")]
        fractions = {name.strip(): float(number) for name, _, number in pairs}
        splits.part("", fractions)
        return partial(_part, fractions, parsed.seed)
    except ValueError as error:
        raise UsageError(f"split: {error}") from error


def _fold(folds: int, seed: int, group: str) -> str:
    return str(splits.fold(group, folds, seed))


def _part(fractions: dict[str, float], seed: int, group: str) -> str:
    return splits.part(group, fractions, seed)
