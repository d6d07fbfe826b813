"""The records of the samples that changed most between two runs, for people to look at.

The inputs of the runs are read once more, for some hundred samples: their records are kept by sample_id, all others are
dropped where they are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam
import msgspec
import pyarrow.dataset as ds

from .blocks import only_samples
from .pair import PairBySample
from .pick import MAX_DETAILS_BYTES
from .rows import SLICE_PREFIX, SampleTable, is_one_of, read_rows
from .sample_changes import ChangedSample
from .scored_batch import PairedSample

Text = tuple[bytes, int]
"""The JSON of a record or its beginning, and the bytes of the whole."""


class ChangedRecords(msgspec.Struct, frozen=True):
    """A sample that changed. row: see ChangePlan.columns. Of details and predictions, the baseline comes first.

    details: JSON; None where they are too long or the row was not found. truth, predictions: None where there is no
    record or nobody looked. slices: the columns that both runs slice by, each with its value in the baseline as JSON.
    source: the file of the ground truth.
    """

    row: dict[str, Any]
    details: tuple[bytes | None, bytes | None]
    truth: Text | None
    predictions: tuple[Text | None, Text | None]
    slices: dict[str, str | None] = {}
    source: str = ""


class PickChanged(beam.PTransform):
    """Keeps the ChangedSample that lost most and those that won most, `count` of each."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def expand(self, changed: beam.PCollection) -> beam.PCollection:
        """Keeps the best of each bundle, then of all."""
        return (
            changed
            | "Direction" >> beam.Map(_by_direction)
            | "Most" >> beam.combiners.Top.PerKey(self._count, reverse=True)
            | "Each" >> beam.FlatMap(lambda kept: kept[1])
        )


class _Change(msgspec.Struct):
    change: float | None = None


_CHANGE = msgspec.json.Decoder(_Change)


def _by_direction(sample: ChangedSample) -> tuple[int, ChangedSample]:
    change = _CHANGE.decode(sample[1]).change or 0.0
    return (change > 0) - (change < 0), sample


class GatherChanged(beam.PTransform):
    """Gathers what is known of the samples that were picked: from ChangedSample to ChangedRecords.

    tables: the rows of both runs, for the details. records: blocks of their inputs, where predictions have the systems
    0, the baseline, and 1, the candidate; None: the inputs are not read.
    """

    def __init__(self, tables: Sequence[SampleTable], records: beam.PCollection | None) -> None:
        super().__init__()
        self._tables = tuple(tables)
        self._records = records

    def expand(self, picked: beam.PCollection) -> beam.PCollection:
        """Groups by sample_id."""
        rows = picked | "Rows" >> beam.Map(_row)
        wanted = beam.pvalue.AsList(rows | "Ids" >> beam.Keys())
        files = [(side, table, path) for side, table in enumerate(self._tables) for path in table.files]
        pieces = {
            "row": rows,
            "details": picked.pipeline
            | "Files" >> beam.Create(files)
            | "SpreadFiles" >> beam.Reshuffle()
            | "Details" >> beam.FlatMap(_details, wanted),
        }
        if self._records is not None:
            paired = (
                self._records
                | "Only" >> beam.FlatMap(only_samples, wanted).with_output_types(tuple[int, bytes])
                | "Pair" >> PairBySample(("baseline", "candidate"))
            )
            pieces["records"] = paired.batches | "Records" >> beam.FlatMap(_records)
        return pieces | "BySample" >> beam.CoGroupByKey() | "Gather" >> beam.FlatMapTuple(_gathered)


def _row(sample: ChangedSample) -> tuple[str, dict[str, Any]]:
    row = msgspec.json.decode(sample[1])
    return row["sample_id"], row


def _details(file: tuple[int, SampleTable, str], wanted: Sequence[str]) -> Iterator[tuple[str, tuple[int, Any, Any]]]:
    """Yields the details and slices of the samples that are wanted, of one system in one file, each with its side."""
    side, table, path = file
    if not wanted:
        return
    where = (ds.field("system") == table.system) & is_one_of("sample_id", wanted)
    for batch in read_rows(path, ["sample_id", "details", *(f"{SLICE_PREFIX}{name}" for name in table.slices)], where):
        for sample_id, details, *cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            is_short = details is not None and len(details) <= MAX_DETAILS_BYTES
            slices = dict(zip(table.slices, cells, strict=True))
            yield sample_id, (side, details.encode() if is_short else None, slices)


def _records(samples: Sequence[PairedSample]) -> Iterator[tuple[str, tuple[Text, list[Text | None], str]]]:
    for sample in samples:
        predictions = [None if each is None else (each.beginning(), each.size) for each in sample.predictions]
        truth = sample.truth
        yield sample.sample_id, ((truth.beginning(), truth.size), predictions, truth.origin.path)


def _gathered(_: str, pieces: Mapping[str, Sequence[Any]]) -> Iterator[ChangedRecords]:
    for row in pieces["row"]:
        details = {side: found for side, found, _ in pieces["details"]}
        slices: dict[str, str | None] = next((found for side, _, found in pieces["details"] if side == 0), {})
        truth, predictions, source = next(iter(pieces.get("records", ())), (None, (None, None), ""))
        both = (details.get(0), details.get(1)), truth, (predictions[0], predictions[1])
        yield ChangedRecords(row, *both, slices, source)
