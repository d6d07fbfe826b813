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
from ...transforms.blocks import Block, ToBlocks, unpack
from ...transforms.io.record_files import WriteRecords, columns_of, encoded
from ...transforms.pair import PairBySample
from ...transforms.records import GROUND_TRUTH, InputProblem, Quarantined, quarantined
from ...transforms.scored_batch import PairedSample
from ...transforms.slice_labels import value_text
from ..config.errors import UsageError, nearest
from ..inputs.inputs import Inputs, find_inputs
from ..inputs.mismatch import doubtful_sides
from ..runners import launch
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


def _rule(parsed: argparse.Namespace) -> Callable[[str], str | int] | PublishedSplit:
    if parsed.published is not None:
        sizes = re.fullmatch(r"\s*(\d{1,18})\s*,\s*(\d{1,18})\s*", parsed.published)
        if not sizes:
            raise UsageError(f"--published {parsed.published}: must be T,V, such as 100,100")
        return PublishedSplit(int(sizes[1]), int(sizes[2]), parsed.seed)
    if parsed.folds is not None:
        if parsed.folds < 2:
            raise UsageError(f"--folds {parsed.folds}: cross validation needs at least 2")
        return partial(splits.fold, folds=parsed.folds, seed=parsed.seed)
    given = DEFAULT_FRACTIONS if parsed.fractions is None else parsed.fractions
    try:
        return partial(splits.part, fractions=_fractions(given), seed=parsed.seed)
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
    rule: Callable[[str], str | int] | PublishedSplit
    hint: str = ""


def build_split(
    pipeline: beam.Pipeline, inputs: Inputs, plan: SplitPlan, write: WriteRecords, rejected: WriteRecords
) -> None:
    """Wires the pipeline: read, take each sample once, draw, write; what cannot be split goes to `rejected`.

    The split of a record may wait for what is known of all, in a block.
    """
    read = inputs.read(pipeline)
    paired = read.records | "Pair" >> PairBySample(inputs.systems)
    folder = launch.block_folder(pipeline)
    decoded = paired.batches | "Decode" >> beam.ParDo(DecodeRecords(plan)).with_outputs("quarantine", main="records")
    split = (
        decoded.records
        | "Keep" >> beam.Map(lambda record: (record["sample_id"].encode(), msgspec.json.encode(record)))
        | "Blocks" >> beam.ParDo(ToBlocks(1, folder)).with_output_types(typehints.Tuple[int, folder.block_type])
        | "Draw" >> beam.FlatMap(_drawn, plan, **_known_of_all(decoded.records, plan))
    )
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
            truth = sample.truth
            try:
                record: dict[str, Any] = truth.decode(dict)
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                entry = quarantined(truth, "ground_truth", sample.sample_id, "read", "unreadable", explain(error))
                yield TaggedOutput("quarantine", entry)
                continue
            if record.get(self._column) is not None:
                raise InputProblem(
                    f"{truth.origin.place}: there is a column {self._column} already; give another name with --column"
                )
            yield record


def _rejected_line(entry: Quarantined) -> tuple[str, bytes]:
    return f"{entry.source}:{entry.position:020}", entry.to_bytes()


def _known_of_all(records: beam.PCollection, plan: SplitPlan) -> dict[str, Any]:
    """Returns the side inputs of _drawn."""
    groups = records | "Groups" >> beam.Map(lambda record: (record["sample_id"], _group(record, plan.group)))
    known: dict[str, Any] = {}
    if plan.group is not None:
        has_group = groups | "HasGroup" >> beam.Map(lambda sample: sample[1] is not None) | beam.CombineGlobally(any)
        known["has_group"] = beam.pvalue.AsSingleton(has_group)
    if isinstance(plan.rule, PublishedSplit):
        chosen = (
            groups
            | "Key" >> beam.Map(lambda sample: (0, sample))
            | "Together" >> beam.GroupByKey()
            | "Recipe" >> beam.FlatMap(_recipe, plan.rule)
        )
        known["chosen"] = beam.pvalue.AsDict(chosen)
    return known


def _group(record: dict[str, Any], group: str | None) -> str | None:
    value = record.get(group) if group else None
    return None if value is None else value_text(value)


def _recipe(gathered: tuple[int, Any], rule: PublishedSplit) -> Iterator[tuple[str, str]]:
    yield from splits.published_split(gathered[1], rule.training, rule.validation, rule.seed).items()


def _drawn(
    keyed: tuple[int, Block], plan: SplitPlan, has_group: bool = True, chosen: Mapping[str, str] | None = None
) -> Iterator[dict[str, Any]]:
    """Yields the records of a block with their splits; chosen: by sample_id, under the published recipe."""
    if not has_group:
        raise InputProblem(f"--group {plan.group}: no record has such a column{plan.hint}")
    for _, encoded_record in unpack(keyed[1]):
        record = msgspec.json.decode(encoded_record)
        sample_id, group = record["sample_id"], _group(record, plan.group)
        if isinstance(plan.rule, PublishedSplit):
            assert chosen is not None
            split = chosen[sample_id]
        else:
            split = str(plan.rule(f"sample:{sample_id}" if group is None else f"group:{group}"))
        yield {**record, plan.column: split}
