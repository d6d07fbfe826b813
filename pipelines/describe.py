"""The description of a data set: the same combiner, another statistics function."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam.pvalue import TaggedOutput

from metrics.common.errors import explain
from metrics.description import Description
from metrics.statistics.bootstrap import Bootstrap
from metrics.statistics.sums import Sums
from metrics.table import Table
from pipelines.config.inputs import Inputs
from pipelines.results.report import cell, data_table
from transforms.combine import SumStatistics
from transforms.io.published import Layout
from transforms.io.staging import StagedFolder
from transforms.pair import PairBySample, PairedSample
from transforms.publish import Publish, WriteQuarantine, encode_json
from transforms.quarantine import CauseCount, CountCauses
from transforms.records import ColumnsReader, quarantined
from transforms.slice import CheckSliceCount, Contribution, SliceKey
from transforms.slice_labels import check_slice_count, slice_labels

DOCUMENT, REPORT = "description.json", "description.md"
LAYOUT = Layout("description", (REPORT, DOCUMENT), ("quarantine",))


def build_description(
    pipeline: beam.Pipeline, inputs: Inputs, description: Description[Any], output: str, run_id: str
) -> None:
    """Wires the pipeline: read, take each sample once, count by slice, write."""
    read = inputs.read(pipeline)
    paired = read.records | "Pair" >> PairBySample(inputs.systems)
    counted = paired.samples | "Describe" >> beam.ParDo(DescribeSamples(description, inputs)).with_outputs(
        "quarantine", "distinct", main="counts"
    )
    most = inputs.configuration.settings.limits.slices
    sums = (
        counted.counts
        | "Combine" >> beam.CombinePerKey(SumStatistics(Bootstrap(replicates=0)))
        | "SliceCount" >> CheckSliceCount(inputs.more_columns, most)
    )
    distinct = (
        counted.distinct
        | "Once" >> beam.Distinct()
        | "Names" >> beam.Map(lambda entry: (entry[0], entry[1]))
        | "CountDistinct" >> beam.combiners.Count.PerElement()
    )
    entries = (read.quarantine, paired.quarantine, counted.quarantine) | beam.Flatten() | beam.Values()
    parts = {
        "sums": sums | "Plain" >> beam.MapTuple(lambda key, totals: (key, totals.sums.sums())),
        "distinct": distinct,
        "quarantine_files": entries | WriteQuarantine(StagedFolder(output, run_id, "quarantine")),
        "causes": entries | "Causes" >> CountCauses(),
    }
    make = partial(make_description, description, inputs.configuration.settings.slices)
    _ = parts | "Publish" >> Publish(output, run_id, LAYOUT, make)


class DescribeSamples(beam.DoFn):
    """Turns a sample into counts for each of its slices, and into the keys of its distinct counts."""

    def __init__(self, description: Description[Any], inputs: Inputs) -> None:
        self._description = description
        self._columns = inputs.more_columns
        self._slices = inputs.configuration.slice_indexes()
        self._slices_per_sample = inputs.configuration.settings.limits.slices_per_sample

    def setup(self) -> None:
        """Makes the type that the columns are decoded into."""
        self._reader = ColumnsReader(self._columns)

    def process(self, sample: PairedSample) -> Iterator[tuple[str, Contribution] | TaggedOutput]:
        """Yields one contribution for each slice."""
        try:
            truth = sample.truth.decode(self._description.truth_type)
            columns = self._reader.read(sample.truth)
            check_slice_count(self._columns, self._slices, columns, self._slices_per_sample)
            statistics: dict[str, float] = {"samples": 1, **self._description.statistics(truth)}
            keys = self._description.distinct_keys(truth)
        except Exception as error:  # noqa: BLE001 - whatever a record does to a description must not end the run
            entry = quarantined(sample.truth, "ground_truth", sample.sample_id, "score", "invalid", explain(error))
            yield TaggedOutput("quarantine", (sample.truth.origin.side, entry))
            return
        for label in ["", *slice_labels(self._columns, self._slices, columns)]:
            key = SliceKey(0, label).encode()
            yield key, Contribution(0, statistics, {})
            for name, value in keys.items():
                yield TaggedOutput("distinct", (key, name, value))


def make_description(description: Description[Any], slices: list[str], parts: dict[str, list[Any]]) -> dict[str, bytes]:
    """Returns description.json and description.md."""
    by_label = {SliceKey.decode(key).label: sums for key, sums in parts["sums"]}
    for (key, name), count in parts["distinct"]:
        label = SliceKey.decode(key).label
        by_label[label] = by_label.get(label, Sums()).merge(Sums.of({name: count}))
    overall = by_label.pop("", Sums())
    sliced = {label: by_label[label] for label in sorted(by_label)}
    tables = description.tables(overall)
    compared = description.side_by_side(sliced) if sliced else []
    document = {
        "benchmark": description.name,
        "samples": round(overall["samples"]),
        "rejected": sum(cause.count for cause in parts["causes"] if not _is_duplicate(cause)),
        "duplicates": sum(cause.count for cause in parts["causes"] if _is_duplicate(cause)),
        "sums": {name: overall[name] for name in overall},
        "tables": msgspec.to_builtins(tables),
        "slices": {label: {name: sums[name] for name in sums} for label, sums in sliced.items()},
        "compared": msgspec.to_builtins(compared),
    }
    return {REPORT: _report(description, document, [*tables, *compared]).encode(), DOCUMENT: encode_json(document)}


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
