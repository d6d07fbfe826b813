"""Picks samples for people to look at: the worst of each system, those on which systems differ most, a random few.

Each bundle offers what may be among them, with both records; a combiner keeps the best offers, so memory and shuffle
are bounded by the numbers of samples wanted, however many there are. The choice depends on the samples alone.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import apache_beam as beam
import msgspec

from metrics.benchmark import MetricSpec
from transforms.collector import no_collection
from transforms.pair import PairedSample
from transforms.records import MSGPACK, EncodedRecord
from transforms.scored_sample import NO_DETAILS, ScoredSample

Why = Literal["worst", "flip", "random"]
PREFERENCE: tuple[Why, ...] = ("flip", "worst", "random")
"""For which reason a sample is shown that was picked for several."""
MAX_RECORD_BYTES = 32 << 10
MAX_DETAILS_BYTES = 16 << 10
MIN_FLIP = 0.5
"""Systems differ on a sample where their main per-sample metrics are this far apart."""


class PickedSample(msgspec.Struct, frozen=True):
    """A sample that was picked to be looked at, with both records as JSON.

    rank: its place among those picked for the same reason, the lowest first. prediction: None where there was no
    record. A record or details of which the size is more than the bytes here are left out, but for their beginning.
    """

    rank: float
    sample_id: str
    system: int
    status: str
    why: Why
    metrics: Mapping[str, float | None]
    details: bytes
    details_size: int
    truth: bytes
    truth_size: int
    prediction: bytes | None
    prediction_size: int = 0


@dataclass(frozen=True, slots=True)
class Picks:
    """How many samples of each system to pick for each reason, and the main per-sample metric."""

    metric: MetricSpec
    worst: int
    flips: int
    random: int

    def count(self, why: Why) -> int:
        """Returns how many samples are picked for one reason."""
        return {"worst": self.worst, "flip": self.flips, "random": self.random}[why]


class _Offer(NamedTuple):
    rank: float
    sample_id: str
    why: Why
    scored: ScoredSample


class Picker:
    """Offers the samples of one bundle that may be picked: each is better than all but `count` before it."""

    def __init__(self, picks: Picks) -> None:
        self._picks = picks
        self._best: dict[tuple[Why, int], list[tuple[float, ...]]] = {}

    def offers(
        self, samples: Sequence[PairedSample], scored: Sequence[ScoredSample]
    ) -> Iterator[tuple[tuple[Why, int], PickedSample]]:
        """Yields ((reason, system), sample) for each sample of a batch that may be picked."""
        found = [offer for offer in self._ranked(scored) if self._is_among_best(offer)]
        paired = {sample.sample_id: sample for sample in samples} if found else {}
        for offer in found:
            yield (offer.why, offer.scored.system), _picked(offer, paired[offer.sample_id])

    def _ranked(self, scored: Sequence[ScoredSample]) -> Iterator[_Offer]:
        """Yields what may be among the best; of almost all samples nothing is, which is told by two numbers."""
        metric = self._picks.metric
        by_sample: dict[str, list[tuple[float, ScoredSample]]] = {}
        several = any(sample.system for sample in scored)
        for sample in scored:
            if sample.status == "rejected":
                continue
            rank = _hashed(sample.sample_id)
            if not self._is_beaten("random", sample.system, rank):
                yield _Offer(rank, sample.sample_id, "random", sample)
            value = sample.metrics.get(metric.name)
            if value is None:
                continue
            rank = metric.goodness(value)
            if not self._is_beaten("worst", sample.system, rank):
                yield _Offer(rank, sample.sample_id, "worst", sample)
            if several:
                by_sample.setdefault(sample.sample_id, []).append((value, sample))
        for sample_id, of_systems in by_sample.items():
            values = [value for value, _ in of_systems]
            apart = max(values) - min(values)
            if apart >= MIN_FLIP:
                for _, sample in of_systems:
                    yield _Offer(-apart, sample_id, "flip", sample)

    def _is_beaten(self, why: Why, system: int, rank: float) -> bool:
        best = self._best.get((why, system))
        return best is not None and len(best) >= self._picks.count(why) and (not best or -rank < best[0][0])

    def _is_among_best(self, offer: _Offer) -> bool:
        best = self._best.setdefault((offer.why, offer.scored.system), [])
        count = self._picks.count(offer.why)
        # The heap holds what is best so far by its negative, so that the worst of it is first. Ties are offered too.
        if len(best) < count:
            heapq.heappush(best, (-offer.rank,))
            return True
        if not count or -offer.rank < best[0][0]:
            return False
        heapq.heapreplace(best, (-offer.rank,))
        return True


def _hashed(sample_id: str) -> float:
    digest = hashlib.blake2b(sample_id.encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return float(int.from_bytes(digest, "big"))


def _picked(offer: _Offer, sample: PairedSample) -> PickedSample:
    scored = offer.scored
    truth, prediction = sample.truth, sample.predictions[scored.system]
    return PickedSample(
        offer.rank,
        scored.sample_id,
        scored.system,
        scored.status,
        offer.why,
        dict(scored.metrics),
        scored.details if len(scored.details) <= MAX_DETAILS_BYTES else NO_DETAILS,
        len(scored.details),
        beginning_of(truth),
        truth.size,
        None if prediction is None else beginning_of(prediction),
        0 if prediction is None else prediction.size,
    )


def beginning_of(record: EncodedRecord) -> bytes:
    """Returns a record as JSON, or the beginning of one that is too long; a Parquet row of that size is left out."""
    if record.encoding != MSGPACK:
        return record.payload[:MAX_RECORD_BYTES]
    if record.size > MAX_RECORD_BYTES:
        return b""
    with no_collection():
        return msgspec.json.encode(msgspec.msgpack.decode(record.payload))


class KeepPicked(beam.PTransform):
    """Keeps the samples that are picked.

    Input: what `Picker` offers. Output: ((system, sample_id), PickedSample), each sample of a system once, spread over
    the workers again.
    """

    def __init__(self, picks: Picks) -> None:
        super().__init__()
        self._picks = picks

    def expand(self, offers: beam.PCollection) -> beam.PCollection:
        """Keeps for each reason as many as are wanted."""
        return (
            offers
            | "Best" >> beam.CombinePerKey(_KeepBest(self._picks))
            | "BySample" >> beam.FlatMap(_by_sample)
            | "Once" >> beam.GroupByKey()
            | "BestReason" >> beam.MapTuple(_best_reason)
        )


class _KeepBest(beam.CombineFn):
    """Keeps the best samples of one system for one reason, as many as are wanted for that reason."""

    def __init__(self, picks: Picks) -> None:
        self._picks = picks

    def create_accumulator(self) -> list[PickedSample]:
        return []

    def add_input(self, kept: list[PickedSample], sample: PickedSample) -> list[PickedSample]:
        kept.append(sample)
        return self._best(kept) if len(kept) > 2 * self._picks.count(sample.why) else kept

    def merge_accumulators(self, accumulators: Iterable[list[PickedSample]]) -> list[PickedSample]:
        return self._best([sample for kept in accumulators for sample in kept])

    def extract_output(self, kept: list[PickedSample]) -> list[PickedSample]:
        return self._best(kept)

    def _best(self, kept: list[PickedSample]) -> list[PickedSample]:
        return sorted(kept, key=_order)[: self._picks.count(kept[0].why)] if kept else []


def _order(sample: PickedSample) -> tuple[float, str]:
    return sample.rank, sample.sample_id


def _by_sample(kept: tuple[object, list[PickedSample]]) -> Iterator[tuple[tuple[int, str], PickedSample]]:
    for sample in kept[1]:
        yield (sample.system, sample.sample_id), sample


def _best_reason(_: tuple[int, str], samples: Sequence[PickedSample]) -> PickedSample:
    return min(samples, key=lambda sample: PREFERENCE.index(sample.why))


def order_of_picked(sample: PickedSample) -> tuple[int, int, float, str]:
    """Returns the key that sorts picked samples: by reason, then by rank."""
    rank = sample.rank if math.isfinite(sample.rank) else 0.0
    return PREFERENCE.index(sample.why), sample.system, rank, sample.sample_id
