"""Splits a data set by group, and writes its records with the split as a column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from metrics.split import published_split
from pipelines.inputs import Inputs
from pipelines.records import WriteRecords
from transforms.labels import value_text
from transforms.pair import PairBySample, PairedSample


@dataclass(frozen=True)
class PublishedSplit:
    """The sizes and the seed of the published recipe, which must see the whole set."""

    training: int
    validation: int
    seed: int


def build_split(
    pipeline: beam.Pipeline,
    inputs: Inputs,
    group: str | None,
    column: str,
    rule: Callable[[str], str] | PublishedSplit,
    write: WriteRecords,
) -> None:
    """Wires the pipeline: read, take each sample once, draw, write.

    rule: from a group to its split; a sample without a group is its own.
    """
    read = inputs.read(pipeline)
    paired = read.records | "Pair" >> PairBySample(inputs.systems)
    records = paired.samples | "Decode" >> beam.Map(_decoded)
    if isinstance(rule, PublishedSplit):
        chosen = (
            records
            | "Groups" >> beam.Map(lambda record: (0, (record["sample_id"], _group(record, group))))
            | "Together" >> beam.GroupByKey()
            | "Recipe" >> beam.FlatMap(_recipe, rule)
        )
        split = records | "Look up" >> beam.Map(_looked_up, column, beam.pvalue.AsDict(chosen))
    else:
        split = records | "Draw" >> beam.Map(_drawn, group, column, rule)
    _ = split | "Write" >> write


def _decoded(sample: PairedSample) -> dict[str, Any]:
    record: dict[str, Any] = sample.truth.decode(dict)
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
