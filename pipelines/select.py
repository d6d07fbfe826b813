"""Hard cases: the samples of a finished run below a threshold, with their scores and both records."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from pipelines.errors import UsageError, one_line
from pipelines.inputs import Inputs
from pipelines.records import WriteRecords
from pipelines.result import SUMMARY
from transforms.pair import PairBySample, PairedSample


@dataclass(frozen=True)
class Selection:
    """Which samples to take: those of `system` whose figure `column` is below `threshold`."""

    run: str
    system: str
    column: str
    threshold: float


def read_summary(run: str) -> dict[str, Any]:
    """Returns the summary of the run in the folder `run`.

    Raises UsageError where there is none.
    """
    path = posixpath.join(run, SUMMARY)
    try:
        with FileSystems.open(path) as stream:
            document = json.loads(stream.read())
    except (OSError, BeamIOError, ValueError) as error:
        raise UsageError(f"{path}: no finished run is here ({one_line(error)}); give its --output folder") from error
    if not isinstance(document, dict) or "systems" not in document:
        raise UsageError(f"{path}: this is no summary of a run")
    return document


def build_selection(pipeline: beam.Pipeline, inputs: Inputs, selection: Selection, write: WriteRecords) -> None:
    """Wires the pipeline: the rows of the run are filtered, then joined with the records that they came from."""
    rows = (
        pipeline
        | "Rows" >> beam.io.ReadFromParquetBatched(posixpath.join(selection.run, "samples", "*.parquet"))
        | "Below" >> beam.FlatMap(_below, selection).with_output_types(tuple[str, dict[str, Any]])
    )
    read = inputs.read(pipeline)
    paired = read.records | "Pair" >> PairBySample(inputs.systems)
    samples = paired.samples | "Key" >> beam.Map(_records).with_output_types(tuple[str, dict[str, Any]])
    _ = (
        {"rows": rows, "samples": samples}
        | "Join" >> beam.CoGroupByKey()
        | "Selected" >> beam.FlatMap(_joined)
        | "Write" >> write
    )


def _below(table: Any, selection: Selection) -> Iterator[tuple[str, dict[str, Any]]]:
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    for index, figure in enumerate(columns[selection.column]):
        if figure is not None and figure < selection.threshold and columns["system"][index] == selection.system:
            row = {name: columns[name][index] for name in columns}
            row["details"] = json.loads(row["details"])
            yield row["sample_id"], row


def _records(sample: PairedSample) -> tuple[str, dict[str, Any]]:
    prediction = sample.predictions[0]
    return sample.sample_id, {
        "ground_truth": sample.truth.decode(dict),
        "prediction": None if prediction is None else prediction.decode(dict),
    }


def _joined(group: tuple[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    _, sides = group
    records = next(iter(sides["samples"]), {"ground_truth": None, "prediction": None})
    for row in sides["rows"]:
        yield {**row, **records}
