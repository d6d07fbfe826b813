"""Hard cases: the samples of a finished run below a threshold, or in a list, with their scores and both records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam import typehints

from ..transforms.blocks import KeyedRecord, ToBlocks, bucket_count
from ..transforms.io.record_files import WriteRecords, encoded
from ..transforms.io.sample_list import sample_ids
from ..transforms.pair import PairBySample, PairedSample
from ..transforms.records import JSON, EncodedRecord, InputProblem, Quarantined, RecordEncoder
from ..transforms.sample_filter import IdBitmap, KeepWanted
from ..transforms.sample_rows import ROWS_PER_READ, open_table
from ..transforms.sample_schema import SLICE_PREFIX
from .config.inputs import Inputs
from .runtime import launch


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
    """Wires the pipeline: the rows of the run are filtered, then paired with the records that they came from.

    The rows are one more side of their samples. Only records of samples that have such a row are shuffled.
    """
    folder, buckets = launch.block_folder(pipeline), bucket_count(inputs.files)
    keyed_block = typehints.Tuple[int, folder.block_type]
    rows = (
        pipeline
        | "Files" >> beam.Create(list(enumerate(selection.files)))
        | "SpreadFiles" >> beam.Reshuffle()
        | "Below" >> beam.ParDo(RowsBelow(selection, len(inputs.systems))).with_output_types(tuple[bytes, bytes])
    )
    wanted = beam.pvalue.AsSingleton(rows | "Ids" >> beam.Keys() | "Bitmap" >> beam.CombineGlobally(IdBitmap()))
    sides = (
        rows | "Rows" >> beam.ParDo(ToBlocks(buckets, folder)).with_output_types(keyed_block),
        inputs.read(pipeline).records
        | "Wanted" >> beam.ParDo(KeepWanted(buckets, folder), wanted).with_output_types(keyed_block),
    )
    paired = sides | "Sides" >> beam.Flatten() | "Pair" >> PairBySample((*inputs.systems, ROWS))
    _ = paired.quarantine | "Gone" >> beam.Map(_check_not_gone)
    _ = (
        paired.batches
        | "Selected" >> beam.FlatMap(_joined)
        | "Encode" >> beam.Map(encoded)
        | "Write" >> write.through(folder)
    )


ROWS = "rows of the run"
"""The name of the side of the rows; no system can be called so."""


class RowsBelow(beam.DoFn):
    """Takes the rows of a selection out of the files of a run: from (number, path) to KeyedRecord of side `side`."""

    def __init__(self, selection: Selection, side: int) -> None:
        self._selection = selection
        self._side = side

    def setup(self) -> None:
        """Reads the list of samples."""
        listed = self._selection.listed
        self._listed = None if listed is None else frozenset(sample_ids(listed))

    def process(self, file: tuple[int, str]) -> Iterator[KeyedRecord]:
        """Yields the rows of a file, each as JSON."""
        number, path = file
        encoder, position = RecordEncoder(self._side, number, path), 0
        with open_table(path) as table:
            for batch in table.iter_batches(ROWS_PER_READ):
                for row in _below(batch, self._selection, self._listed):
                    position += 1
                    text = msgspec.json.encode(row)
                    yield row["sample_id"].encode(), encoder.encode(position, position, JSON, text)


def _below(batch: Any, selection: Selection, listed: frozenset[str] | None) -> Iterator[dict[str, Any]]:
    columns = {name: batch.column(name).to_pylist() for name in batch.schema.names if not _is_left_out(name)}
    limit = selection.threshold
    for index, value in enumerate(columns[selection.column]):
        chosen = limit is None or (value is not None and value < limit)
        is_listed = listed is None or columns["sample_id"][index] in listed
        if chosen and is_listed and columns["system"][index] == selection.system:
            row = {name: columns[name][index] for name in columns}
            row["details"] = json.loads(row["details"])
            yield row


_LEFT_OUT = frozenset(
    ["prediction_status", "unit", "statistics", "coverage", "truth_hash", "prediction_hash", "row_hash"]
)


def _is_left_out(column: str) -> bool:
    """Tells whether a column of the rows says nothing that the records do not say."""
    return column in _LEFT_OUT or column.startswith(SLICE_PREFIX)


def _check_not_gone(entry: Quarantined) -> None:
    if entry.side == ROWS and entry.cause == "unmatched":
        raise InputProblem(f"sample {entry.sample_id} of the run is no longer in its ground truth; evaluate again")


def _joined(samples: Sequence[PairedSample]) -> Iterator[dict[str, Any]]:
    for sample in samples:
        *predictions, row = sample.predictions
        if row is not None:
            yield {
                # sample_id is text, the other cells stay the JSON that they are.
                **row.decode(dict[str, msgspec.Raw]),
                "sample_id": sample.sample_id,
                "ground_truth": _record(sample.truth),
                "prediction": None if predictions[0] is None else _record(predictions[0]),
            }


def _record(encoded: EncodedRecord) -> Any:
    """Returns a record as JSON, or the beginning of its text where it is none: a rejected prediction may be that."""
    try:
        return encoded.decode(dict)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return encoded.text()
