"""What changed from one system to another, sample by sample: flips, counts, and the list of those that changed most.

For up to a few hundred samples the records are gathered: the inputs of both runs are read once more, and all other
records are dropped on reading.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
import msgspec
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from ..metrics.benchmark import MetricSpec
from ..metrics.statistics.intervals import ROUNDING
from .blocks import Block, KeyedRecord, only_samples, sorted_on_disk, unpack
from .io.publication import beat_from_worker
from .io.storage import output_problems
from .pair import PairBySample
from .publish import StagedFolder
from .repeats import prediction_of, worst_of
from .rows import SLICE_PREFIX, SampleRow, SystemRows, is_one_of, read_rows
from .scored import PairedSample

RUN_SIDES = ("baseline", "candidate")
KINDS = ("better", "worse", "wrong_to_right", "right_to_wrong", "better_beyond", "worse_beyond", "appeared", "vanished")
"""The ways in which samples change; the samples of each are counted for every per-sample metric.

better and worse count every change; a value is right if it is the best one that the metric can have; beyond counts
changes of more than the threshold; appeared and vanished count samples in which only one system has a value.
"""
FLIPS = ("wrong_to_right", "right_to_wrong")


@dataclass(frozen=True)
class ChangePlan:
    """The per-sample metrics in the order of the rows, the index of the main one, and the threshold of a large change.

    most: how many of the samples that changed most are listed.
    """

    specs: tuple[MetricSpec, ...]
    main: int
    threshold: float
    most: int

    def columns(self) -> list[str]:
        """Returns the names of the columns of a listed sample, in order."""
        names = ["status", *(spec.name for spec in self.specs)]
        return ["sample_id", "change", "kind", *(f"{side}.{name}" for side in RUN_SIDES for name in names)]


ChangedSample = KeyedRecord
"""A sample that changed: a sort key, by which the largest changes come first, and its columns as a JSON object.

See ChangePlan.columns."""

SAMPLES_PER_BLOCK = 1024
SAMPLES_BETWEEN_CUTS = 16 << 10


class ChangeCounter:
    """Counts the changes of a bundle, and keeps the samples that changed most.

    counts: by metric and kind.
    """

    def __init__(self, plan: ChangePlan) -> None:
        self._plan = plan
        self.counts = {spec.name: dict.fromkeys(KINDS, 0) for spec in plan.specs}
        self._changed: list[ChangedSample] = []

    def add(self, before: SampleRow, after: SampleRow) -> None:
        """Adds a sample that both systems scored."""
        changed = before.status != after.status
        for spec, old, new in zip(self._plan.specs, before.metrics, after.metrics, strict=True):
            if old != new:
                changed = True
                for kind in _kinds(spec, old, new, self._plan.threshold):
                    self.counts[spec.name][kind] += 1
        if changed and self._plan.most:
            self._changed.append(changed_sample(self._plan, before, after))
            if len(self._changed) >= self._plan.most + SAMPLES_BETWEEN_CUTS:
                self._cut()

    def blocks(self) -> Iterator[list[ChangedSample]]:
        """Yields the samples that changed most, in lists of at most SAMPLES_PER_BLOCK."""
        self._cut()
        for start in range(0, len(self._changed), SAMPLES_PER_BLOCK):
            yield self._changed[start : start + SAMPLES_PER_BLOCK]

    def _cut(self) -> None:
        self._changed.sort()
        del self._changed[self._plan.most :]


def _kinds(spec: MetricSpec, old: float | None, new: float | None, threshold: float) -> Iterator[str]:
    if old is None or new is None:
        yield "appeared" if old is None else "vanished"
        return
    direction = "better" if spec.signed_value(new) > spec.signed_value(old) else "worse"
    yield direction
    best = spec.bounds[1 if spec.higher_is_better else 0]
    if best is not None and new == best:
        yield "wrong_to_right"
    if best is not None and old == best:
        yield "right_to_wrong"
    if abs(new - old) > threshold + ROUNDING:
        yield f"{direction}_beyond"


def changed_sample(plan: ChangePlan, before: SampleRow, after: SampleRow) -> ChangedSample:
    """Returns the listed form of a sample: `change` is the change of the main metric, negative if it got worse.

    Samples are ordered by the size of this change, then by the sum of all changes, then by sample_id.
    """
    spec, old, new = plan.specs[plan.main], before.metrics[plan.main], after.metrics[plan.main]
    change = None if old is None or new is None else spec.signed_value(new) - spec.signed_value(old)
    pairs = zip(before.metrics, after.metrics, strict=True)
    others = sum(abs(a - b) for b, a in pairs if a is not None and b is not None)
    cells: list[Any] = [before.sample_id, change, kind_of_change(spec, old, new)]
    for row in (before, after):
        cells += [row.status, *row.metrics]
    row_of = dict(zip(plan.columns(), cells, strict=True))
    key = _descending(abs(change or 0.0)) + _descending(others) + before.sample_id.encode()
    return key, msgspec.json.encode(row_of)


def kind_of_change(spec: MetricSpec, old: float | None, new: float | None) -> str:
    """Returns the member of KINDS for how a metric changed, from FLIPS if one applies; "other" if it did not."""
    kinds = [] if old == new else [*_kinds(spec, old, new, math.inf)]
    return next((kind for kind in FLIPS if kind in kinds), kinds[0] if kinds else "other")


def _descending(number: float) -> bytes:
    """Returns eight bytes that order numbers from 0 up, the largest first."""
    return bytes(255 - byte for byte in struct.pack(">d", number))


def merged_counts(parts: Sequence[tuple[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    """Adds up the counts of all bundles, by metric."""
    whole: dict[str, dict[str, int]] = {}
    for name, counts in parts:
        of = whole.setdefault(name, dict.fromkeys(KINDS, 0))
        for kind, count in counts.items():
            of[kind] += count
    return whole


ROWS_SHOWN = 20


class WriteChanges(beam.PTransform):
    """Writes blocks of ChangedSample to a file of a staged folder, sorted on the disk of one worker.

    most: how many samples are written.
    Output, by tag: `files`, the name of the file; `first`, the list of the first rows, for the report.
    """

    def __init__(self, folder: StagedFolder, most: int) -> None:
        super().__init__()
        self._folder = folder
        self._most = most

    def expand(self, changed: beam.PCollection) -> beam.pvalue.DoOutputsTuple:
        """Gathers the blocks under one key; each bundle sends only samples that may be among the `most`."""
        empty = changed.pipeline | "Start" >> beam.Create([(None, None)])
        return (
            (empty, changed | "Key" >> beam.Map(lambda each: (None, each)))
            | "Together" >> beam.Flatten()
            | "Gather" >> beam.GroupByKey()
            | "Write" >> beam.ParDo(self._write).with_outputs("files", "first")
        )

    def _write(self, group: tuple[None, Iterable[Block | None]]) -> Iterator[TaggedOutput]:
        items = (sample for block in group[1] if block is not None for sample in unpack(block))
        first: list[dict[str, Any]] = []
        name = self._folder.new_name(".jsonl")
        with (
            output_problems(self._folder.output),
            sorted_on_disk(items) as ordered,
            self._folder.create(name) as lines,
        ):
            for _, row in itertools.islice(ordered, self._most):
                lines.write(row + b"\n")
                if len(first) < ROWS_SHOWN:
                    first.append(msgspec.json.decode(row))
        beat_from_worker(self._folder.output, self._folder.run_id)
        yield TaggedOutput("files", name)
        yield TaggedOutput("first", first)


MAX_DETAILS_BYTES = 16 << 10
"""Longer details of a sample are not shown."""

RecordText = tuple[bytes, int]
"""The JSON of a record or its beginning, and the bytes of the whole."""

Found = tuple[int, bytes | None, dict[str, Any], str | None]
"""Of the row of one side: the side, the details if they are short, the slices, and the worst repeat, if any."""


class ChangedRecords(msgspec.Struct, frozen=True):
    """A sample that changed most, for people to look at, with its records as the inputs of both runs have them.

    row: see ChangePlan.columns. details, predictions: the baseline comes first. details: JSON; None if they are too
    long or the row was not found. truth, predictions: None without a record, or if none were read. slices: the
    columns that both runs slice by, each with its value in the baseline as JSON. source: the file of the ground truth.
    """

    row: dict[str, Any]
    details: tuple[bytes | None, bytes | None]
    truth: RecordText | None
    predictions: tuple[RecordText | None, RecordText | None]
    slices: dict[str, str | None] = {}
    source: str = ""


def _by_direction(sample: ChangedSample) -> tuple[int, ChangedSample]:
    change = msgspec.json.decode(sample[1])["change"] or 0.0
    return (change > 0) - (change < 0), sample


class GatherChanged(beam.PTransform):
    """Gathers records and details of the samples that changed most: from ChangedSample to ChangedRecords.

    count: how many of those that lost, and of those that won. tables: the rows of both runs, for the details. records:
    blocks of their inputs, where predictions have the systems 0, the baseline, and 1, the candidate; None: the inputs
    are not read. repeats: whether samples have repeats; the prediction of the worst one is gathered.
    """

    def __init__(
        self, count: int, tables: Sequence[SystemRows], records: beam.PCollection | None, repeats: bool
    ) -> None:
        super().__init__()
        self._count = count
        self._tables = tuple(tables)
        self._records = records
        self._repeats = repeats

    def expand(self, changed: beam.PCollection) -> beam.PCollection:
        """Keeps the largest changes, first of each bundle, then of all, and groups by sample_id."""
        rows = (
            changed
            | "Direction" >> beam.Map(_by_direction)
            | "Most" >> beam.combiners.Top.PerKey(self._count, reverse=True)
            | "Rows" >> beam.FlatMapTuple(_rows)
        )
        sample_ids = beam.pvalue.AsList(rows | "Ids" >> beam.Keys())
        files = [(side, table, path) for side, table in enumerate(self._tables) for path in table.files]
        details = (
            changed.pipeline
            | "Files" >> beam.Create(files)
            | "SpreadFiles" >> beam.Reshuffle()
            | "Details" >> beam.FlatMap(_details, sample_ids, self._repeats)
        )
        pieces = {"row": rows, "details": details}
        if self._records is not None:
            paired = (
                self._records
                | "Only" >> beam.FlatMap(only_samples, sample_ids).with_output_types(tuple[int, bytes])
                | "Pair" >> PairBySample(RUN_SIDES, repeats=(0, 1) if self._repeats else ())
            )
            worst = beam.pvalue.AsDict(details | "Worst" >> beam.MapTuple(_worst))
            pieces["records"] = paired.batches | "Records" >> beam.FlatMap(_records, worst)
        return pieces | "BySample" >> beam.CoGroupByKey() | "Gather" >> beam.FlatMapTuple(_gathered)


def _rows(_: int, samples: Sequence[ChangedSample]) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in (msgspec.json.decode(sample[1]) for sample in samples):
        yield row["sample_id"], row


def _details(file: tuple[int, SystemRows, str], ids: Sequence[str], repeats: bool) -> Iterator[tuple[str, Found]]:
    """Yields what is looked for in the rows of some samples of one system in one file."""
    side, table, path = file
    if not ids:
        return
    where = (pc.field("system") == table.system) & is_one_of("sample_id", ids)
    for batch in read_rows(path, ["sample_id", "details", *(f"{SLICE_PREFIX}{name}" for name in table.slices)], where):
        for sample_id, details, *cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            is_short = details is not None and len(details) <= MAX_DETAILS_BYTES
            slices = dict(zip(table.slices, cells, strict=True))
            worst = worst_of(details) if repeats and details is not None else None
            yield sample_id, (side, details.encode() if is_short else None, slices, worst)


def _worst(sample_id: str, found: Found) -> tuple[tuple[str, int], str | None]:
    side, _, _, worst = found
    return (sample_id, side), worst


def _records(
    samples: Sequence[PairedSample], worst: Mapping[tuple[str, int], str | None]
) -> Iterator[tuple[str, tuple[RecordText, list[RecordText | None], str]]]:
    for sample in samples:
        shown = [prediction_of(sample, side, worst.get((sample.sample_id, side))) for side in (0, 1)]
        predictions = [None if each is None else (each.beginning(), each.size) for each in shown]
        truth = sample.truth
        yield sample.sample_id, ((truth.beginning(), truth.size), predictions, truth.origin.path)


def _gathered(_: str, pieces: Mapping[str, Sequence[Any]]) -> Iterator[ChangedRecords]:
    for row in pieces["row"]:
        details = {side: text for side, text, *_ in pieces["details"]}
        slices: dict[str, str | None] = next((cells for side, _, cells, _ in pieces["details"] if side == 0), {})
        truth, predictions, source = next(iter(pieces.get("records", ())), (None, (None, None), ""))
        both = (details.get(0), details.get(1)), truth, (predictions[0], predictions[1])
        yield ChangedRecords(row, *both, slices, source)
