"""`beamscore describe`: the tables of a data set, from counts that add up over its samples."""

from __future__ import annotations

import argparse
import json
import posixpath
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pvalue import TaggedOutput

from ...metrics.common.errors import ENVIRONMENT_FAULTS, explain
from ...metrics.description import Description
from ...metrics.statistics.sums import Sums
from ...metrics.table import Table
from ...transforms.faults import faults_end_the_bundle
from ...transforms.io.publication import Layout, check_not_replaced
from ...transforms.io.staging import StagedFolder
from ...transforms.io.storage import new_run_id, prepare_output
from ...transforms.pair import PairBySample
from ...transforms.publish import Publish, WriteQuarantine, encode_json
from ...transforms.quarantine import CauseCount, CountCauses
from ...transforms.records import ColumnsReader, printable, quarantined
from ...transforms.scored_batch import PairedSample
from ...transforms.scored_sample import WITHOUT_FIELDS, has_no_field
from ...transforms.slice import merge_sums
from ...transforms.slice_labels import ALL_SAMPLES, Slicing
from ...transforms.totals import too_many_slices
from ..config.errors import UsageError
from ..inputs.inputs import Inputs, find_inputs
from ..reports.markdown import cell, data_table
from ..runners import launch
from ..runs.causes import most_frequent, most_often, quarantine_causes, stored_causes, why_undescribed
from .arguments import configuration_of
from .common import run_and_publish, unsupported
from .messages import DONE, FAILED, say, warn


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Describes; 1 where there is nothing to describe, or more records were rejected than the configuration allows."""
    configuration = configuration_of(parsed)
    description, output = configuration.benchmark.description, configuration.settings.output
    if description is None:
        raise unsupported("describe", configuration.benchmark.name)
    if not output:
        raise UsageError("output: nothing is given; give --output DIR, or output in the configuration")
    inputs = find_inputs(configuration, configuration.columns(), predictions=False)
    warn(inputs.warnings)
    check_not_replaced(output, LAYOUT, (file.path for file in inputs.files))
    prepare_output(output)
    output = launch.path_for_workers(options, output)
    run_id = new_run_id()
    build = partial(build_description, inputs=inputs, description=description, output=output, run_id=run_id)
    document = json.loads(run_and_publish(options, build, output, run_id, LAYOUT).read(DOCUMENT))
    if (reason := why_undescribed(document, inputs)) is not None:
        say("ERROR", printable(reason))
        return FAILED
    print(f"report: {posixpath.join(output, REPORT)}")
    rejected, read = document["rejected"], document["samples"] + document["rejected"] + document["duplicates"]
    allowed = configuration.settings.max_rejected_fraction
    if rejected <= allowed * read:
        return DONE
    say(
        "ERROR",
        f"{rejected} of {read} records were rejected, more than max_rejected_fraction {allowed:g} allows"
        f"{most_often(most_frequent(stored_causes(document), ('ground_truth',)))}; see quarantine/",
    )
    return FAILED


DOCUMENT, REPORT = "description.json", "description.md"
_WITHOUT_FIELDS = WITHOUT_FIELDS["ground_truth"]
LAYOUT = Layout("description", (REPORT, DOCUMENT), ("quarantine",))


def build_description(
    pipeline: beam.Pipeline, inputs: Inputs, description: Description[Any], output: str, run_id: str
) -> None:
    """Wires the pipeline: read, take each sample once, count by slice, write."""
    read = inputs.read(pipeline)
    paired = read.records | "Pair" >> PairBySample(inputs.systems)
    described = paired.batches | "Describe" >> (
        beam.ParDo(DescribeSamples(description, inputs))
        .with_output_types(tuple[str, Sums])
        .with_outputs("quarantine", "distinct", main="sums")
    )
    distinct = described.distinct | "Once" >> beam.Distinct() | "CountOnce" >> beam.Map(_counted_once)
    sums = (described.sums, distinct) | "AllSums" >> beam.Flatten() | "Combine" >> beam.CombinePerKey(merge_sums)
    entries = (read.quarantine, paired.quarantine, described.quarantine) | "AllQuarantined" >> beam.Flatten()
    parts = {
        "sums": sums,
        "quarantine_files": entries | WriteQuarantine(StagedFolder(output, run_id, "quarantine")),
        "causes": entries | "Causes" >> CountCauses(),
    }
    most = inputs.configuration.settings.limits.slices
    make = partial(make_description, description, inputs.more_columns, most)
    _ = parts | "Publish" >> Publish(output, run_id, LAYOUT, make)


def _counted_once(entry: tuple[str, str, str]) -> tuple[str, Sums]:
    label, name, _ = entry
    return label, Sums.of({name: 1})


class DescribeSamples(beam.DoFn):
    """Yields the counts of each sample by the label of each of its slices, and the keys of its distinct counts."""

    def __init__(self, description: Description[Any], inputs: Inputs) -> None:
        configuration = inputs.configuration
        self._description = description
        self._slicing = Slicing(
            inputs.more_columns, configuration.slice_indexes(), configuration.settings.limits.slices_per_sample
        )

    def setup(self) -> None:
        """Makes the type that the columns are decoded into."""
        self._reader = ColumnsReader(self._slicing.columns)

    def process(self, samples: list[PairedSample]) -> Iterator[tuple[str, Sums] | TaggedOutput]:
        """Describes a batch."""
        for sample in samples:
            with faults_end_the_bundle("the description"):
                yield from self._describe(sample)

    def _describe(self, sample: PairedSample) -> Iterator[tuple[str, Sums] | TaggedOutput]:
        try:
            truth = sample.truth.decode(self._description.truth_type)
            slices = self._slicing.of(self._reader.read(sample.truth))
            statistics: dict[str, float] = {"samples": 1, **self._description.statistics(truth)}
            if has_no_field(truth):
                statistics[_WITHOUT_FIELDS] = 1
            keys = self._description.distinct_keys(truth)
        except ENVIRONMENT_FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a record does to a description must not end the run
            entry = quarantined(sample.truth, "ground_truth", sample.sample_id, "score", "invalid", explain(error))
            yield TaggedOutput("quarantine", entry)
            return
        sums = Sums.of(statistics)
        for each in (ALL_SAMPLES, *slices):
            yield each.label, sums
            for name, value in keys.items():
                yield TaggedOutput("distinct", (each.label, name, value))


def make_description(
    description: Description[Any], columns: Sequence[str], most: int, parts: dict[str, list[Any]]
) -> dict[str, bytes]:
    """Returns description.json and description.md; raises InputProblem where there are more slices than `most`."""
    if len(parts["sums"]) > most + 1:
        raise too_many_slices(columns, most)
    by_label = {label: _without(sums, _WITHOUT_FIELDS) for label, sums in parts["sums"]}
    bare = sum(round(sums[_WITHOUT_FIELDS]) for label, sums in parts["sums"] if label == ALL_SAMPLES.label)
    overall = by_label.pop(ALL_SAMPLES.label, Sums())
    sliced = {label: by_label[label] for label in sorted(by_label)}
    tables = description.tables(overall)
    compared = description.side_by_side(sliced) if sliced else []
    document = {
        "benchmark": description.name,
        "samples": round(overall["samples"]),
        "rejected": sum(cause.count for cause in parts["causes"] if not _is_duplicate(cause)),
        "duplicates": sum(cause.count for cause in parts["causes"] if _is_duplicate(cause)),
        **({_WITHOUT_FIELDS: bare} if bare else {}),
        **({"quarantine": msgspec.to_builtins(causes)} if (causes := quarantine_causes(parts["causes"])) else {}),
        "sums": {name: overall[name] for name in overall},
        "tables": msgspec.to_builtins(tables),
        "slices": {label: {name: sums[name] for name in sums} for label, sums in sliced.items()},
        "compared": msgspec.to_builtins(compared),
    }
    return {REPORT: _report(description, document, [*tables, *compared]).encode(), DOCUMENT: encode_json(document)}


def _without(sums: Sums, name: str) -> Sums:
    return Sums({each: total for each, total in sums.units().items() if each != name})


def _is_duplicate(cause: CauseCount) -> bool:
    return cause.example is not None and cause.example.cause == "duplicate"


def _report(description: Description[Any], document: dict[str, Any], tables: list[Table]) -> str:
    lines = [f"# {description.name}: the data set", f"{document['samples']} samples described."]
    left_out = [f"{document[what]} {what}" for what in ("rejected", "duplicates") if document[what]]
    if left_out:
        lines.append(f"Left out: {', '.join(left_out)}; quarantine/ says which and why.")
    for table in tables:
        lines += [f"## {cell(table.title)}", data_table(table)]
    return "\n\n".join(lines) + "\n"
