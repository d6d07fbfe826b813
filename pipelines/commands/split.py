"""`beamscore split`: training, validation and test sets, or folds, as a column of the records.

The draw is a hash of the seed and the group, so a group is never split, and neither the order of the samples nor the
presence of others moves a sample.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pvalue import TaggedOutput

from ...metrics.benchmark import error_text
from ...metrics.common.text import nearest
from ...transforms.io.record_files import encoded, known_columns
from ...transforms.pair import PairBySample
from ...transforms.records import GROUND_TRUTH, InputProblem, Quarantined, quarantined
from ...transforms.scored import PairedSample, json_value
from ...transforms.slice_labels import value_text
from ..config.errors import UsageError
from ..inputs.inputs import Inputs, find_inputs
from ..inputs.mismatch import doubtful_sides
from .arguments import DEFAULT_FRACTIONS, configuration_of
from .common import write_records
from .messages import warn


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Splits; returns 1 if a record was unreadable or duplicated; OUTPUT.rejected.jsonl lists these records."""
    configuration = configuration_of(parsed)
    if parsed.column in ("sample_id", parsed.group):
        raise UsageError(f"--column {parsed.column}: the split needs a column of its own")
    if parsed.folds is None:
        text = DEFAULT_FRACTIONS if parsed.fractions is None else parsed.fractions
        plan = SplitPlan(parsed.group, parsed.column, _fractions(text), parsed.seed)
    else:
        plan = SplitPlan(parsed.group, parsed.column, folds(parsed.folds), parsed.seed, "fold")
    inputs = find_inputs(configuration, (parsed.group,) if parsed.group else (), predictions=False, whole=True)
    warn(doubtful_sides(inputs))
    first = inputs.first_records(GROUND_TRUTH)
    if parsed.group and first.records and parsed.group not in first.fields:
        none = "no record has" if first.whole else f"none of the first {first.records:,} records has"
        raise UsageError(f"--group {parsed.group}: {none} such a column{nearest(parsed.group, list(first.fields))}")
    read, columns = [file.path for file in inputs.files], known_columns(configuration.benchmark.truth_type)
    return write_records(parsed, options, lambda pipeline: build_split(pipeline, inputs, plan), read, columns)


def _fractions(text: str) -> dict[str, Fraction]:
    """Returns the fractions of NAME=X,...; raises UsageError if they are none, or do not add up to 1."""
    try:
        parts = [
            (name.strip(), Fraction(number)) for name, _, number in (each.partition("=") for each in text.split(","))
        ]
    except (ValueError, ArithmeticError) as error:
        reason = "division by zero" if isinstance(error, ZeroDivisionError) else error
        raise UsageError(f"--fractions {text}: {reason}; give NAME=X,... that add up to 1") from error
    fractions = dict(parts)
    if len(fractions) < len(parts) or "" in fractions:
        raise UsageError(f"--fractions {text}: each part needs a name of its own")
    if min(fractions.values()) < 0 or sum(fractions.values()) != 1:
        raise UsageError(f"--fractions {text}: must be at least 0 and add up to 1")
    return fractions


@dataclass(frozen=True)
class SplitPlan:
    """How to split.

    group: the column whose equal values stay together; a sample without a group is a group of its own. column: the one
    to write. fractions: the share of the groups in each part, which add up to 1; they divide the range of the draw in
    their order. purpose: draws of different purposes are independent.
    """

    group: str | None
    column: str
    fractions: Mapping[str, Fraction]
    seed: int
    purpose: str = "part"

    def split_of(self, record: Mapping[str, Any]) -> str:
        """Returns the part of a record; raises the errors of json_value."""
        value = json_value(record.get(self.group), self.group) if self.group else None
        return self.part(f"sample:{record['sample_id']}" if value is None else f"group:{value_text(value)}")

    def part(self, group: str) -> str:
        """Returns the part of a group, drawn uniformly from [0, 1) in steps of 2**-64."""
        key = hashlib.blake2b(f"{self.seed}:{self.purpose}".encode(), digest_size=32).digest()
        digest = hashlib.blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
        drawn = Fraction(int.from_bytes(digest, "big"), 1 << 64)
        ends = itertools.accumulate(self.fractions.values())
        return next(name for name, end in zip(self.fractions, ends, strict=True) if drawn < end)


def folds(count: int) -> dict[str, Fraction]:
    """Returns the fractions of the folds 0 to `count` - 1 of a cross validation."""
    return {str(number): Fraction(1, count) for number in range(count)}


def build_split(
    pipeline: beam.Pipeline, inputs: Inputs, plan: SplitPlan
) -> tuple[beam.PCollection, tuple[beam.PCollection, ...]]:
    """Wires the pipeline: read, deduplicate, draw; returns the records, and lines on those that cannot be split."""
    read = inputs.read(pipeline)
    paired = read.records | "Pair" >> PairBySample(inputs.systems)
    split = paired.batches | "Draw" >> beam.FlatMap(with_split, plan).with_outputs("quarantine", main="records")
    entries = enumerate((read.quarantine, paired.quarantine, split.quarantine))
    return split.records, tuple(each | f"Lines{number}" >> beam.Map(_rejected_line) for number, each in entries)


def with_split(samples: list[PairedSample], plan: SplitPlan) -> Iterator[tuple[str, bytes] | TaggedOutput]:
    """Yields all fields of each record with the column of the split, and records for the quarantine that are not JSON.

    Raises InputProblem if a record already has the column.
    """
    for sample in samples:
        truth = sample.truth
        try:
            record: dict[str, Any] = truth.decode(dict)
            split = encoded({**record, plan.column: plan.split_of(record)})
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
            entry = quarantined(truth, (), sample.sample_id, "read", "unreadable", error_text(error))
            yield TaggedOutput("quarantine", entry)
            continue
        if record.get(plan.column) is not None:
            raise InputProblem(
                f"{truth.origin.place}: there is a column {plan.column} already; give another name with --column"
            )
        yield split


def _rejected_line(entry: Quarantined) -> tuple[str, bytes]:
    return f"{entry.source}:{entry.position:020}", msgspec.json.encode(entry)
