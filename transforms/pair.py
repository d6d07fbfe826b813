"""Pairs both sides by sample_id: one ground truth, and from each system one prediction or none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import apache_beam as beam
import msgspec
from apache_beam.pvalue import TaggedOutput

from metrics.statistics.sums import Sums
from transforms.counters import Observed
from transforms.read import side_name
from transforms.records import GROUND_TRUTH, EncodedRecord, Origin, Quarantined, quarantined


class PairedSample(msgspec.Struct, frozen=True):
    """One sample: its ground truth, and by system the prediction for it, if there is one."""

    sample_id: str
    truth: EncodedRecord
    predictions: tuple[EncodedRecord | None, ...]


class PairBySample(beam.PTransform):
    """Groups encoded records by sample_id.

    Of several records of one side with the same sample_id, the first by (file, position) counts, whatever the order
    in which they arrive; the others go to the quarantine. So does a prediction whose sample has no ground truth.

    Input: pairs (sample_id, encoded record). Output, by tag: `samples`, PairedSample; `quarantine`, pairs (side,
    Quarantined); `tally`, pairs (side, Sums) that count duplicates and unmatched predictions.
    """

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._names = list(names)

    def expand(self, records: beam.PCollection) -> beam.pvalue.DoOutputsTuple:
        """Groups, then picks."""
        return (
            records
            | "BySample" >> beam.GroupByKey()
            | "Pick" >> beam.ParDo(DeduplicateAndPair(self._names)).with_outputs("quarantine", "tally", main="samples")
        )


class DeduplicateAndPair(beam.DoFn):
    """Makes a sample of the records that share a sample_id; see PairBySample."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def process(self, group: tuple[str, Iterable[bytes]]) -> Iterator[PairedSample | TaggedOutput]:
        """Yields the sample, then what is left over; a group is never held in memory as a whole."""
        sample_id, frames = group
        first: dict[int, EncodedRecord] = {}
        count = 0
        for frame in frames:
            count += 1
            encoded = EncodedRecord.from_bytes(frame)
            side = encoded.origin.side
            if side not in first or encoded.origin < first[side].origin:
                first[side] = encoded
        if count > len(first):
            kept = {encoded.origin for encoded in first.values()}
            for frame in frames:
                encoded = EncodedRecord.from_bytes(frame)
                if encoded.origin not in kept:
                    yield from self._duplicate(sample_id, encoded, first[encoded.origin.side].origin)
        truth = first.pop(GROUND_TRUTH, None)
        if truth is not None:
            yield PairedSample(sample_id, truth, tuple(first.get(system) for system in range(len(self._names))))
            return
        for encoded in first.values():
            yield from self._unmatched(sample_id, encoded)

    def _duplicate(self, sample_id: str, encoded: EncodedRecord, kept: Origin) -> Iterator[TaggedOutput]:
        side = side_name(encoded.origin.side, self._names)
        message = f"the sample_id stands at {kept.place} already; that record counts, this one does not"
        entry = quarantined(encoded, side, sample_id, "pair", "duplicate", message)
        Observed.duplicate.inc()
        yield from _aside(encoded.origin.side, entry)

    def _unmatched(self, sample_id: str, encoded: EncodedRecord) -> Iterator[TaggedOutput]:
        side = side_name(encoded.origin.side, self._names)
        message = "no readable ground-truth record has this sample_id; check the ids of both sides"
        entry = quarantined(encoded, side, sample_id, "pair", "unmatched", message)
        Observed.unmatched.inc()
        yield from _aside(encoded.origin.side, entry)


def _aside(side: int, entry: Quarantined) -> Iterator[TaggedOutput]:
    yield TaggedOutput("quarantine", (side, entry))
    yield TaggedOutput("tally", (side, Sums.of({entry.cause: 1})))
