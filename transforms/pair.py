"""Pairs both sides by sample_id: one ground truth, and at most one prediction of each system."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import TaggedOutput
from apache_beam.utils.windowed_value import WindowedValue

from .blocks import Block, at_end, sorted_on_disk, unpack
from .counters import RecordCounts
from .records import GROUND_TRUTH, REUSED_ROWS, UNMATCHED, Cause, EncodedRecord, quarantined
from .repeats import label_of, paired_of
from .scored import PairedSample

SAMPLES_PER_BATCH = 256
BYTES_PER_BATCH = 8 << 20


def samples_per_batch(preferred: int) -> int:
    """Returns the batch size for a benchmark that prefers to score `preferred` pairs at once: a multiple of it."""
    return preferred * max(1, SAMPLES_PER_BATCH // preferred)


class PairBySample(beam.PTransform):
    """Pairs the records of each bucket.

    If several records of one side have the same sample_id, the first by (file, position) counts, in whatever order
    they arrive; the others are quarantined. So is a prediction whose sample has no ground truth. Rows of earlier runs
    join their sample, any number of them, if it exists.

    batch: how many samples are passed on together; fewer if they would have more than BYTES_PER_BATCH. repeats: the
    systems that may have several predictions for a sample; if there are any, the first of each repeat counts, and all
    predictions are passed on one after the other, see transforms.repeats.

    Input: pairs (bucket, block). Output, by tag: `batches`, lists of PairedSample; `quarantine`, Quarantined;
    `outcomes`, pairs (side, Sums) that count duplicates, unmatched predictions, and the paired ones of each repeat.
    """

    def __init__(self, names: Sequence[str], batch: int = SAMPLES_PER_BATCH, repeats: Collection[int] = ()) -> None:
        super().__init__()
        self._pair = DeduplicateAndPair(list(names), batch, repeats)

    def expand(self, blocks: beam.PCollection) -> beam.pvalue.DoOutputsTuple:
        """Groups by bucket, then pairs within."""
        return (
            blocks
            | "ByBucket" >> beam.GroupByKey()
            | "Pick" >> beam.ParDo(self._pair).with_outputs("quarantine", "outcomes", main="batches")
        )


class DeduplicateAndPair(beam.DoFn):
    """Makes samples of the records of a bucket; see PairBySample.

    A bucket is sorted by sample_id, side and position, on disk if it is large: memory stays bounded however many
    records it has, of one sample or of many.
    """

    def __init__(self, names: list[str], batch: int, repeats: Collection[int]) -> None:
        self._names = names
        self._batch = batch
        self._repeats = repeats

    def start_bundle(self) -> None:
        """Starts with no samples."""
        self._outcomes = RecordCounts()
        self._samples: list[PairedSample] = []
        self._size = 0

    def process(self, group: tuple[int, Iterable[Block]]) -> Iterator[list[PairedSample] | TaggedOutput]:
        """Yields the samples of a bucket, a batch at a time, and what is left over."""
        records = itertools.chain.from_iterable(map(unpack, group[1]))
        with sorted_on_disk(records) as ordered:
            yield from self._pair(ordered)

    def finish_bundle(self) -> Iterator[WindowedValue | TaggedOutput]:
        """Yields the remaining samples and the counts."""
        batches = [self._flush()] if self._samples else []
        return at_end([*batches, *(TaggedOutput("outcomes", each) for each in self._outcomes.flush())])

    def _pair(self, ordered: Iterable[tuple[bytes, bytes]]) -> Iterator[list[PairedSample] | TaggedOutput]:
        """Yields the samples of records sorted by sample_id, side (the ground truth first) and position."""
        for key, group in itertools.groupby(ordered, itemgetter(0)):
            sample_id, first, rows = key.decode(), dict[Any, EncodedRecord](), list[EncodedRecord]()
            for record in (EncodedRecord(encoded) for _, encoded in group):
                side = record.side
                if side >= REUSED_ROWS:
                    rows.append(record)
                    continue
                label = label_of(record) if side in self._repeats else None
                slot = side if label is None else (side, label)
                if slot not in first:
                    first[slot] = record
                    continue
                what = "sample_id" if label is None else f"repeat {label} of this sample_id"
                message = f"the {what} is first at {first[slot].origin.place}; only that record counts"
                yield self._quarantined(record, sample_id, "duplicate", message)
            yield from self._sample(sample_id, first, rows)

    def _sample(
        self, sample_id: str, records: dict[Any, EncodedRecord], rows: Sequence[EncodedRecord]
    ) -> Iterator[list[PairedSample] | TaggedOutput]:
        """Makes a sample of the first records of each side, and yields a batch when it is full."""
        truth = records.pop(GROUND_TRUTH, None)
        if truth is None:
            for record in records.values():
                yield self._quarantined(record, sample_id, "unmatched", UNMATCHED)
            return
        for slot in records:
            if isinstance(slot, tuple):
                self._outcomes.add(slot[0], paired_of(slot[1]))
        predictions = records.values() if self._repeats else [records.get(system) for system in range(len(self._names))]
        sample = PairedSample(sample_id, truth, tuple(predictions), tuple(rows))
        size = sample.nbytes
        if self._samples and self._size + size > BYTES_PER_BATCH:
            yield self._flush()
        self._samples.append(sample)
        self._size += size
        if len(self._samples) >= self._batch:
            yield self._flush()

    def _flush(self) -> list[PairedSample]:
        samples, self._samples, self._size = self._samples, [], 0
        return samples

    def _quarantined(self, record: EncodedRecord, sample_id: str, cause: Cause, message: str) -> TaggedOutput:
        self._outcomes.add(record.side, cause)
        return TaggedOutput("quarantine", quarantined(record, self._names, sample_id, "pair", cause, message))
