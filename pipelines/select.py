"""Hard cases: the samples of a finished run below a threshold, or in a list, with their scores and both records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import apache_beam as beam
import msgspec
import pyarrow.dataset as ds

from ..transforms.blocks import bucket_count
from ..transforms.io.record_files import WriteRecords, encoded
from ..transforms.pair import PairBySample
from ..transforms.read import sample_ids
from ..transforms.records import JSON, EncodedRecord, Encoding, InputProblem, Quarantined
from ..transforms.rows import ReadRowBlocks, RowSource, is_one_of
from ..transforms.scored_batch import PairedSample
from .inputs.inputs import Inputs
from .runners import launch


@dataclass(frozen=True)
class Selection(RowSource):
    """Which samples to take: those of `system` whose metric `column` is below `threshold`.

    files: the rows of the run. metrics: all per-sample metrics. threshold: None: whatever they score. listed: a file
    whose samples alone are taken.
    """

    system: str = ""
    metrics: tuple[str, ...] = ()
    column: str = ""
    threshold: float | None = None
    listed: str | None = None
    encoding: ClassVar[Encoding] = JSON

    @property
    def columns(self) -> list[str]:
        """What the records do not say."""
        return ["sample_id", "system", "status", *self.metrics, "details"]

    def where(self) -> Any:
        """Reads the list of samples, too."""
        where = ds.field("system") == self.system
        if self.threshold is not None:
            where &= ds.field(self.column) < self.threshold
        return where if self.listed is None else where & is_one_of("sample_id", sample_ids(self.listed))

    def records(self, batch: Any) -> Iterator[tuple[str, bytes]]:
        """Yields the rows, each as JSON."""
        for row in batch.to_pylist():
            yield row["sample_id"], msgspec.json.encode({**row, "details": json.loads(row["details"])})


def build_selection(pipeline: beam.Pipeline, inputs: Inputs, selection: Selection, write: WriteRecords) -> None:
    """Wires the pipeline: the rows of the run are filtered, then paired with the records that they came from.

    The rows are one more side of their samples.
    """
    folder, buckets = launch.block_folder(pipeline), bucket_count(inputs.files)
    rows = pipeline | "Below" >> ReadRowBlocks({len(inputs.systems): selection}, buckets, folder)
    sides = rows, inputs.read(pipeline).records
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
