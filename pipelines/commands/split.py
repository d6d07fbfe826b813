"""`beamscore split`: training, validation and test sets, or folds, as a column of the records.

The draw is a hash of the seed and the group, so a group is never split, and neither the order of the samples nor the
presence of others moves a sample.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pvalue import TaggedOutput

from ...metrics.benchmark import explain
from ...metrics.common.text import nearest
from ...transforms.io.record_files import columns_of, encoded
from ...transforms.pair import PairBySample
from ...transforms.records import GROUND_TRUTH, InputProblem, Quarantined, quarantined
from ...transforms.scored import PairedSample
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
    plan = SplitPlan(parsed.group, parsed.column, _rule(parsed))
    inputs = find_inputs(configuration, (parsed.group,) if parsed.group else (), predictions=False, whole=True)
    warn(doubtful_sides(inputs))
    first = inputs.first_records(GROUND_TRUTH)
    if parsed.group and first.records and parsed.group not in first.fields:
        none = "no record has" if first.whole else f"none of the first {first.records:,} records has"
        raise UsageError(f"--group {parsed.group}: {none} such a column{nearest(parsed.group, list(first.fields))}")
    read, columns = [file.path for file in inputs.files], columns_of(configuration.benchmark.truth_type)
    return write_records(parsed, options, lambda pipeline: build_split(pipeline, inputs, plan), read, columns)


def _rule(parsed: argparse.Namespace) -> Callable[[str], str | int]:
    if parsed.folds is not None:
        if parsed.folds < 2:
            raise UsageError(f"--folds {parsed.folds}: cross validation needs at least 2")
        return partial(fold, folds=parsed.folds, seed=parsed.seed)
    text = DEFAULT_FRACTIONS if parsed.fractions is None else parsed.fractions
    try:
        return partial(part, fractions=_fractions(text), seed=parsed.seed)
    except (ValueError, ArithmeticError) as error:
        raise UsageError(f"--fractions {text}: {error}; give NAME=X,... that add up to 1") from error


def _fractions(text: str) -> dict[str, Fraction]:
    fractions: dict[str, Fraction] = {}
    for assignment in text.split(","):
        name, _, number = (part.strip() for part in assignment.partition("="))
        if not name or name in fractions:
            raise ValueError(f"each part needs a name of its own, not {assignment!r}")
        fractions[name] = Fraction(number)
        if fractions[name] < 0:
            raise ValueError(f"fractions must be between 0 and 1, not {number}")
    if sum(fractions.values()) != 1:
        raise ValueError(f"they add up to {float(sum(fractions.values())):g}")
    return fractions


def draw(group: str, seed: int, purpose: str) -> Fraction:
    """Returns the group's number, uniform over [0, 1) in steps of 2**-64, independent for each seed and purpose."""
    key = hashlib.blake2b(f"{seed}:{purpose}".encode(), digest_size=32).digest()
    digest = hashlib.blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
    return Fraction(int.from_bytes(digest, "big"), 1 << 64)


def fold(group: str, folds: int, seed: int) -> int:
    """Returns the fold of a group, 0 .. `folds` - 1, for k-fold cross validation."""
    return int(draw(group, seed, "fold") * folds)


def part(group: str, fractions: Mapping[str, Fraction], seed: int) -> str:
    """Returns the part of a group; each part has the probability of its fraction.

    fractions: they add up to 1. Their order matters: they divide the range of the draw from the left.
    """
    drawn = draw(group, seed, "part")
    ends = itertools.accumulate(fractions.values())
    return next(name for name, end in zip(fractions, ends, strict=True) if drawn < end)


@dataclass(frozen=True)
class SplitPlan:
    """How to split. group: the column whose equal values stay together, or None. column: the one to write.

    rule: maps a group to its split; a sample without a group is a group of its own.
    """

    group: str | None
    column: str
    rule: Callable[[str], str | int]

    def split_of(self, record: Mapping[str, Any]) -> str:
        """Returns the split of a record."""
        value = record.get(self.group) if self.group else None
        return str(self.rule(f"sample:{record['sample_id']}" if value is None else f"group:{value_text(value)}"))


def build_split(pipeline: beam.Pipeline, inputs: Inputs, plan: SplitPlan) -> tuple[beam.PCollection, beam.PCollection]:
    """Wires the pipeline: read, deduplicate, draw; returns the records, and lines on those that cannot be split."""
    read = inputs.read(pipeline)
    paired = read.records | "Pair" >> PairBySample(inputs.systems)
    split = paired.batches | "Draw" >> beam.FlatMap(with_split, plan).with_outputs("quarantine", main="records")
    entries = (read.quarantine, paired.quarantine, split.quarantine) | "AllQuarantined" >> beam.Flatten()
    return split.records, entries | "Lines" >> beam.Map(_rejected_line)


def with_split(samples: list[PairedSample], plan: SplitPlan) -> Iterator[tuple[str, bytes] | TaggedOutput]:
    """Yields all fields of each record with the column of the split, and undecodable records for the quarantine.

    Raises InputProblem if a record already has the column.
    """
    for sample in samples:
        truth = sample.truth
        try:
            record: dict[str, Any] = truth.decode(dict)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            entry = quarantined(truth, "ground_truth", sample.sample_id, "read", "unreadable", explain(error))
            yield TaggedOutput("quarantine", entry)
            continue
        if record.get(plan.column) is not None:
            raise InputProblem(
                f"{truth.origin.place}: there is a column {plan.column} already; give another name with --column"
            )
        yield encoded({**record, plan.column: plan.split_of(record)})


def _rejected_line(entry: Quarantined) -> tuple[str, bytes]:
    return f"{entry.source}:{entry.position:020}", entry.to_bytes()
