"""Splits a data set by group, and writes its records with the split as a column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam.pvalue import TaggedOutput

from metrics.common.errors import explain
from metrics.common.split import published_split
from pipelines.config.inputs import Inputs
from transforms.io.record_files import WriteRecords, encoded
from transforms.pair import PairBySample, PairedSample
from transforms.records import InputProblem, Quarantined, quarantined
from transforms.slice_labels import value_text


@dataclass(frozen=True)
class PublishedSplit:
    """The sizes and the seed of the published recipe, which must see the whole set."""

    training: int
    validation: int
    seed: int


@dataclass(frozen=True)
class SplitPlan:
    """How to split. group: the column of what must stay together, or None. column: the one that is written.

    rule: from a group to its split; a sample without a group is its own. hint: at the column that may have been meant
    where no record has the group.
    """

    group: str | None
    column: str
    rule: Callable[[str], str] | PublishedSplit
    hint: str = ""


def build_split(
    pipeline: beam.Pipeline, inputs: Inputs, plan: SplitPlan, write: WriteRecords, rejected: WriteRecords
) -> None:
    """Wires the pipeline: read, take each sample once, draw, write; what cannot be split goes to `rejected`."""
    read = inputs.read(pipeline)
    paired = read.records | "Pair" >> PairBySample(inputs.systems)
    decoded = paired.batches | "Decode" >> beam.ParDo(DecodeRecords(plan)).with_outputs("quarantine", main="records")
    if isinstance(plan.rule, PublishedSplit):
        chosen = (
            decoded.records
            | "Groups" >> beam.Map(lambda record: (0, (record["sample_id"], _group(record, plan.group))))
            | "Together" >> beam.GroupByKey()
            | "Recipe" >> beam.FlatMap(_recipe, plan.rule)
        )
        split = decoded.records | "Look up" >> beam.Map(_looked_up, plan.column, beam.pvalue.AsDict(chosen))
    else:
        split = decoded.records | "Draw" >> beam.Map(_drawn, plan.group, plan.column, plan.rule)
    if plan.group is not None:
        known = (
            decoded.records
            | "HasGroup" >> beam.Map(lambda record: _group(record, plan.group) is not None)
            | "CountGroups" >> beam.combiners.Count.PerElement()
        )
        split = split | "CheckGroups" >> beam.Map(_check_groups, plan, beam.pvalue.AsDict(known))
    _ = split | "Encode" >> beam.Map(encoded) | "Write" >> write
    entries = (read.quarantine, paired.quarantine, decoded.quarantine) | "AllQuarantined" >> beam.Flatten()
    _ = entries | "Lines" >> beam.Map(_rejected_line) | "WriteRejected" >> rejected


class DecodeRecords(beam.DoFn):
    """Decodes whole records, and quarantines those that cannot be."""

    def __init__(self, plan: SplitPlan) -> None:
        self._column = plan.column

    def process(self, samples: list[PairedSample]) -> Iterator[dict[str, Any] | TaggedOutput]:
        """Yields the records; raises InputProblem where one has the column that is to be written."""
        for sample in samples:
            yield self._decoded(sample)

    def _decoded(self, sample: PairedSample) -> dict[str, Any] | TaggedOutput:
        truth = sample.truth
        try:
            record: dict[str, Any] = truth.decode(dict)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            entry = quarantined(truth, "ground_truth", sample.sample_id, "read", "unreadable", explain(error))
            return TaggedOutput("quarantine", entry)
        if record.get(self._column) is not None:
            raise InputProblem(
                f"{truth.origin.place}: there is a column {self._column} already; give another name with --column"
            )
        return record


def _rejected_line(entry: Quarantined) -> tuple[str, bytes]:
    return f"{entry.source}:{entry.position:020}", entry.to_bytes()


def _check_groups(record: dict[str, Any], plan: SplitPlan, known: dict[bool, int]) -> dict[str, Any]:
    if not known.get(True):
        raise InputProblem(f"--group {plan.group}: no record has such a column{plan.hint}")
    return record


def _group(record: dict[str, Any], group: str | None) -> str | None:
    value = record.get(group) if group else None
    return None if value is None else value_text(value)


def _drawn(record: dict[str, Any], group: str | None, column: str, rule: Callable[[str], str]) -> dict[str, Any]:
    key = _group(record, group)
    return {**record, column: rule(f"sample:{record['sample_id']}" if key is None else f"group:{key}")}


def _recipe(gathered: tuple[int, Any], rule: PublishedSplit) -> Iterator[tuple[str, str]]:
    split = published_split(gathered[1], rule.training, rule.validation, rule.seed)
    yield from split.items()


def _looked_up(record: dict[str, Any], column: str, chosen: dict[str, str]) -> dict[str, Any]:
    return {**record, column: chosen[record["sample_id"]]}
