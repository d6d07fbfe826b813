"""Hard cases: the samples of a finished run below a threshold, or in a list, with their scores and both records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
import msgspec

from pipelines.config.inputs import Inputs
from transforms.io.record_files import WriteRecords, encoded
from transforms.io.sample_list import sample_ids
from transforms.pair import PairBySample, PairedSample
from transforms.records import EncodedRecord, InputProblem
from transforms.sample_rows import ROWS_PER_READ, open_table
from transforms.sample_schema import SLICE_PREFIX


@dataclass(frozen=True)
class Selection:
    """Which samples to take: those of `system` whose metric `column` is below `threshold`.

    files: the rows of the run. threshold: None: whatever they score. listed: a file whose samples alone are taken.
    """

    files: tuple[str, ...]
    system: str
    column: str
    threshold: float | None
    listed: str | None = None


def build_selection(pipeline: beam.Pipeline, inputs: Inputs, selection: Selection, write: WriteRecords) -> None:
    """Wires the pipeline: the rows of the run are filtered, then joined with the records that they came from."""
    rows = (
        pipeline
        | "Files" >> beam.Create(selection.files)
        | "SpreadFiles" >> beam.Reshuffle()
        | "Below" >> beam.FlatMap(_rows_below, selection).with_output_types(tuple[str, dict[str, Any]])
    )
    read = inputs.read(pipeline)
    paired = read.records | "Pair" >> PairBySample(inputs.systems)
    samples = paired.batches | "Key" >> beam.FlatMap(_keyed).with_output_types(tuple[str, PairedSample])
    sides = {"rows": rows, "samples": samples}
    if selection.listed is not None:
        listed = pipeline | "List" >> beam.Create([selection.listed])
        sides["listed"] = listed | "Listed" >> beam.FlatMap(_listed).with_output_types(tuple[str, None])
    _ = (
        sides
        | "Join" >> beam.CoGroupByKey()
        | "Selected" >> beam.FlatMap(_joined)
        | "Encode" >> beam.Map(encoded)
        | "Write" >> write
    )


def _listed(path: str) -> Iterator[tuple[str, None]]:
    for sample_id in sample_ids(path):
        yield sample_id, None


def _rows_below(path: str, selection: Selection) -> Iterator[tuple[str, dict[str, Any]]]:
    with open_table(path) as file:
        for batch in file.iter_batches(ROWS_PER_READ):
            yield from _below(batch, selection)


def _below(batch: Any, selection: Selection) -> Iterator[tuple[str, dict[str, Any]]]:
    columns = {name: batch.column(name).to_pylist() for name in batch.schema.names if not _is_left_out(name)}
    limit = selection.threshold
    for index, value in enumerate(columns[selection.column]):
        chosen = limit is None or (value is not None and value < limit)
        if chosen and columns["system"][index] == selection.system:
            row = {name: columns[name][index] for name in columns}
            row["details"] = json.loads(row["details"])
            yield row["sample_id"], row


_LEFT_OUT = frozenset(["prediction_status", "unit", "statistics", "coverage", "truth_hash", "prediction_hash"])


def _is_left_out(column: str) -> bool:
    """Tells whether a column of the rows says nothing that the records do not say."""
    return column in _LEFT_OUT or column.startswith(SLICE_PREFIX)


def _keyed(samples: list[PairedSample]) -> list[tuple[str, PairedSample]]:
    return [(sample.sample_id, sample) for sample in samples]


def _joined(group: tuple[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    sample_id, sides = group
    rows = list(sides["rows"])
    if not rows or not any(True for _ in sides.get("listed", [None])):
        return
    sample = next(iter(sides["samples"]), None)
    if sample is None:
        raise InputProblem(f"sample {sample_id} of the run is no longer in its ground truth; evaluate again")
    prediction = sample.predictions[0]
    records = {
        "ground_truth": _record(sample.truth),
        "prediction": None if prediction is None else _record(prediction),
    }
    for row in rows:
        yield {**row, **records}


def _record(encoded: EncodedRecord) -> Any:
    """Returns a record as JSON, or the beginning of its text where it is none: a rejected prediction may be that."""
    try:
        return encoded.decode(dict)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return encoded.text()
