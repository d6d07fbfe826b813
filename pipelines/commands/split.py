"""`beamscore split`: training, validation and test sets, or folds."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions

from ...metrics.common import split as splits
from ...transforms.io.record_files import WriteRecords, columns_of
from ...transforms.records import GROUND_TRUTH
from ..config.errors import UsageError
from ..config.explain import nearest
from ..config.inputs import find_inputs
from ..config.mismatch import doubtful_sides
from ..runtime import launch
from ..split import PublishedSplit, SplitPlan, build_split
from .arguments import DEFAULT_FRACTIONS, configuration_of
from .common import rejected_beside, write_records
from .messages import warn


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Splits; 1 where a record could not be read or stands twice, with the list of those in OUTPUT.rejected.jsonl."""
    configuration = configuration_of(parsed)
    if not parsed.output:
        raise UsageError("give --output FILE")
    if parsed.column in ("sample_id", parsed.group):
        raise UsageError(f"--column {parsed.column}: the split needs a column of its own")
    plan = SplitPlan(parsed.group, parsed.column, _rule(parsed))
    write = WriteRecords(
        launch.path_for_workers(options, parsed.output), columns_of(configuration.benchmark.truth_type), parsed.shards
    )
    rejected = rejected_beside(write)
    inputs = find_inputs(configuration, (parsed.group,) if parsed.group else (), predictions=False, whole=True)
    warn(doubtful_sides(inputs))
    if parsed.group:
        columns = list(inputs.first_records(GROUND_TRUTH).fields)
        plan = replace(plan, hint="" if parsed.group in columns else nearest(parsed.group, columns))
    read = [file.path for file in inputs.files]
    return write_records(
        options, lambda pipeline: build_split(pipeline, inputs, plan, write, rejected), read, write, rejected
    )


def _rule(parsed: argparse.Namespace) -> Any:
    if parsed.published is not None:
        sizes = re.fullmatch(r"\s*(\d{1,18})\s*,\s*(\d{1,18})\s*", parsed.published)
        if not sizes:
            raise UsageError(f"--published {parsed.published}: must be T,V, such as 100,100")
        return PublishedSplit(int(sizes[1]), int(sizes[2]), parsed.seed)
    if parsed.folds is not None:
        if parsed.folds < 2:
            raise UsageError(f"--folds {parsed.folds}: cross validation needs at least 2")
        return partial(_fold, parsed.folds, parsed.seed)
    given = DEFAULT_FRACTIONS if parsed.fractions is None else parsed.fractions
    try:
        return partial(_part, _fractions(given), parsed.seed)
    except (ValueError, ArithmeticError) as error:
        raise UsageError(f"--fractions {given}: {error}; give NAME=X,... that add up to 1") from error


def _fractions(given: str) -> dict[str, Fraction]:
    fractions: dict[str, Fraction] = {}
    for each in given.split(","):
        name, _, number = (part.strip() for part in each.partition("="))
        if not name or name in fractions:
            raise ValueError(f"each part needs a name of its own, not {each!r}")
        fractions[name] = Fraction(number)
    if sum(fractions.values()) != 1:
        raise ValueError(f"they add up to {float(sum(fractions.values())):g}")
    splits.part("", fractions)
    return fractions


def _fold(folds: int, seed: int, group: str) -> str:
    return str(splits.fold(group, folds, seed))


def _part(fractions: dict[str, Fraction], seed: int, group: str) -> str:
    return splits.part(group, fractions, seed)
