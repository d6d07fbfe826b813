"""`beamscore split`: training, validation and test sets, or folds, as a column of the records."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam import typehints
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pvalue import TaggedOutput

from ...metrics.common import split as splits
from ...metrics.common.errors import explain
from ...metrics.common.split import published_split
from ...transforms.blocks import KeyedRecord, ToBlocks, unpack
from ...transforms.io.record_files import WriteRecords, columns_of, encoded
from ...transforms.pair import PairBySample, PairedSample
from ...transforms.records import GROUND_TRUTH, InputProblem, Quarantined, quarantined
from ...transforms.slice_labels import value_text
from ...transforms.stored_blocks import Block
from ..config.errors import UsageError
from ..config.explain import nearest
from ..config.inputs import Inputs, find_inputs
from ..config.mismatch import doubtful_sides
from ..runtime import launch
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

    @property
    def needs_all_records(self) -> bool:
        """Whether the split of a record waits for others: for one that has the group, or for the published recipe."""
        return self.group is not None or isinstance(self.rule, PublishedSplit)


def build_split(
    pipeline: beam.Pipeline, inputs: Inputs, plan: SplitPlan, write: WriteRecords, rejected: WriteRecords
) -> None:
    """Wires the pipeline: read, take each sample once, draw, write; what cannot be split goes to `rejected`."""
    read = inputs.read(pipeline)
    paired = read.records | "Pair" >> PairBySample(inputs.systems)
    folder = launch.block_folder(pipeline)
    decoded = paired.batches | "Decode" >> beam.ParDo(DecodeRecords(plan)).with_outputs("quarantine", main="records")
    if plan.needs_all_records:
        known = _known_of_all(decoded.records, plan)
        # What waits for that waits in blocks.
        split = (
            decoded.records
            | "Keep" >> beam.Map(_keyed)
            | "Blocks" >> beam.ParDo(ToBlocks(1, folder)).with_output_types(typehints.Tuple[int, folder.block_type])
            | "Draw" >> beam.FlatMap(_drawn_of_block, plan, **known)
        )
    else:
        split = decoded.records | "Draw" >> beam.Map(_drawn, plan)
    _ = split | "Encode" >> beam.Map(encoded) | "Write" >> write.through(folder)
    entries = (read.quarantine, paired.quarantine, decoded.quarantine) | "AllQuarantined" >> beam.Flatten()
    _ = entries | "Lines" >> beam.Map(_rejected_line) | "WriteRejected" >> rejected.through(folder)


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


def _known_of_all(records: beam.PCollection, plan: SplitPlan) -> dict[str, Any]:
    """Returns the side inputs of _drawn_of_block."""
    groups = records | "Groups" >> beam.Map(_group_of_sample, plan.group)
    has_group = groups | "HasGroup" >> beam.Map(lambda sample: sample[1] is not None) | beam.CombineGlobally(any)
    known: dict[str, Any] = {"has_group": beam.pvalue.AsSingleton(has_group)}
    if isinstance(plan.rule, PublishedSplit):
        chosen = (
            groups
            | "Key" >> beam.Map(lambda sample: (0, sample))
            | "Together" >> beam.GroupByKey()
            | "Recipe" >> beam.FlatMap(_recipe, plan.rule)
        )
        known["chosen"] = beam.pvalue.AsDict(chosen)
    return known


def _group_of_sample(record: dict[str, Any], group: str | None) -> tuple[str, str | None]:
    return record["sample_id"], _group(record, group)


def _group(record: dict[str, Any], group: str | None) -> str | None:
    value = record.get(group) if group else None
    return None if value is None else value_text(value)


def _recipe(gathered: tuple[int, Any], rule: PublishedSplit) -> Iterator[tuple[str, str]]:
    split = published_split(gathered[1], rule.training, rule.validation, rule.seed)
    yield from split.items()


def _keyed(record: dict[str, Any]) -> KeyedRecord:
    return record["sample_id"].encode(), msgspec.json.encode(record)


def _drawn_of_block(
    keyed: tuple[int, Block], plan: SplitPlan, has_group: bool, chosen: Mapping[str, str] | None = None
) -> Iterator[dict[str, Any]]:
    """Yields the records of a block with their splits; has_group, chosen: see SplitPlan and _recipe."""
    if plan.group is not None and not has_group:
        raise InputProblem(f"--group {plan.group}: no record has such a column{plan.hint}")
    for _, encoded_record in unpack(keyed[1]):
        yield _drawn(msgspec.json.decode(encoded_record), plan, chosen)


def _drawn(record: dict[str, Any], plan: SplitPlan, chosen: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Returns a record with its split; chosen: by sample_id, under the published recipe."""
    if isinstance(plan.rule, PublishedSplit):
        assert chosen is not None
        return {**record, plan.column: chosen[record["sample_id"]]}
    group = _group(record, plan.group)
    return {**record, plan.column: plan.rule(f"sample:{record['sample_id']}" if group is None else f"group:{group}")}
