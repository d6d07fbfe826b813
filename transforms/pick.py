"""Picks samples for people to look at: the worst of each system, those that changed most since an earlier run, those on
which systems differ most, a random few.

Each bundle offers what may be among them, with both records; a combiner keeps the best offers, so memory and shuffle
are bounded by the numbers of samples wanted, however many there are. The choice depends on the samples alone.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import apache_beam as beam
import msgspec

from ..metrics.benchmark import MetricSpec
from ..metrics.statistics.intervals import ROUNDING
from .collector import no_collection
from .earlier_rows import EarlierRows
from .pair import PairedSample
from .records import MSGPACK, EncodedRecord
from .sample_changes import FLIPS, kind_of_change
from .scored_sample import NO_DETAILS, ScoredSample

Why = Literal["lost", "won", "flip", "worst", "random"]
Reason = Literal["lost", "won", "flip", "worst", "random", "listed"]
PREFERENCE: tuple[Why, ...] = ("lost", "won", "flip", "worst", "random")
"""For which reason a sample is shown that was picked for several."""
LISTED: Reason = "listed"
"""The reason of the worst samples that report.md names, of which no record is needed."""
MAX_RECORD_BYTES = 32 << 10
MAX_DETAILS_BYTES = 16 << 10
MIN_FLIP = 0.5
"""Systems, or runs, differ on a sample where their main per-sample metrics are this far apart."""


class PickedSample(msgspec.Struct, frozen=True):
    """A sample that was picked to be looked at, with both records as JSON.

    rank: its place among those picked for the same reason, the lowest first. prediction: None where there was no
    record. A record or details of which the size is more than the bytes here are left out, but for their beginning.
    before: the main per-sample metric in the earlier run, where it is known.
    """

    rank: float
    sample_id: str
    system: int
    status: str
    why: Reason
    metrics: Mapping[str, float | None]
    details: bytes
    details_size: int
    truth: bytes
    truth_size: int
    prediction: bytes | None
    prediction_size: int = 0
    before: float | None = None


@dataclass(frozen=True, slots=True)
class Picks:
    """How many samples of each system to pick for each reason, by the main per-sample metric.

    flips: of those that lost most since the earlier run, as many of those that won most, and of those on which systems
    differ most. listed: of the worst, without their records. earlier: the rows of the earlier run, if there is one.
    """

    metric: MetricSpec
    worst: int = 0
    flips: int = 0
    random: int = 0
    listed: int = 0
    earlier: EarlierRows | None = None

    def count(self, why: Reason) -> int:
        """Returns how many samples are picked for one reason."""
        counts = {"worst": self.worst, "random": self.random, "listed": self.listed}
        return counts.get(why, self.flips)


class _Offer(NamedTuple):
    rank: float
    sample_id: str
    why: Reason
    scored: ScoredSample
    before: float | None = None


class Picker:
    """Offers the samples of one bundle that may be picked: each is better than all but `count` before it."""

    def __init__(self, picks: Picks) -> None:
        self._picks = picks
        self._counts = {why: picks.count(why) for why in (*PREFERENCE, LISTED)}
        self._worst = [why for why in _WORST if self._counts[why]]
        self._best: dict[tuple[Reason, int], list[float]] = {}
        # The highest rank that may still be among the best, once there are as many as are wanted.
        self._bounds: dict[tuple[Reason, int], float] = {}

    def offers(
        self, samples: Sequence[PairedSample], scored: Sequence[ScoredSample]
    ) -> Iterator[tuple[tuple[Reason, int], PickedSample]]:
        """Yields ((reason, system), sample) for each sample of a batch that may be picked."""
        found = [offer for offer in self._ranked(samples, scored) if self._is_among_best(offer)]
        paired = {sample.sample_id: sample for sample in samples} if found else {}
        for offer in found:
            yield (offer.why, offer.scored.system), _picked(offer, paired[offer.sample_id])

    def _ranked(self, samples: Sequence[PairedSample], scored: Sequence[ScoredSample]) -> Iterator[_Offer]:
        """Yields what may be among the best; of almost all samples nothing is, which is told by a few numbers."""
        metric = self._picks.metric
        by_sample: dict[str, list[tuple[float, ScoredSample, float | None]]] = {}
        several = self._picks.flips and any(sample.system for sample in scored)
        rows = self._picks.earlier
        earlier = rows.find(samples, scored) if rows is not None else [None] * len(scored)
        bounds = self._bounds
        for sample, before in zip(scored, earlier, strict=True):
            if sample.status == "rejected":
                continue
            if self._picks.random:
                rank = _hashed(sample.sample_id)
                if rank <= bounds.get(("random", sample.system), math.inf):
                    yield _Offer(rank, sample.sample_id, "random", sample, before)
            value = sample.metrics.get(metric.name)
            if value is None:
                continue
            rank = metric.goodness(value)
            for why in self._worst:
                if rank <= bounds.get((why, sample.system), math.inf):
                    yield _Offer(rank, sample.sample_id, why, sample, before)
            if before is not None and is_flip(metric, before, value):
                lost: Reason = "lost" if rank < metric.goodness(before) else "won"
                yield _Offer(-abs(value - before), sample.sample_id, lost, sample, before)
            if several:
                by_sample.setdefault(sample.sample_id, []).append((value, sample, before))
        for sample_id, of_systems in by_sample.items():
            values = [value for value, _, _ in of_systems]
            apart = max(values) - min(values)
            if apart >= MIN_FLIP - ROUNDING:
                for _, sample, before in of_systems:
                    yield _Offer(-apart, sample_id, "flip", sample, before)

    def _is_among_best(self, offer: _Offer) -> bool:
        key = (offer.why, offer.scored.system)
        best, count = self._best.setdefault(key, []), self._counts[offer.why]
        # The heap holds what is best so far by its negative, so that the worst of it is first. Ties are offered too.
        if not count or offer.rank > self._bounds.get(key, math.inf):
            return False
        if len(best) < count:
            heapq.heappush(best, -offer.rank)
        else:
            heapq.heapreplace(best, -offer.rank)
        if len(best) == count:
            self._bounds[key] = -best[0]
        return True


_WORST: tuple[Reason, ...] = ("worst", "listed")


def is_flip(metric: MetricSpec, before: float, value: float) -> bool:
    """Tells whether a sample became right or wrong, or changed by MIN_FLIP at least."""
    return kind_of_change(metric, before, value) in FLIPS or abs(value - before) >= MIN_FLIP - ROUNDING


def _hashed(sample_id: str) -> float:
    digest = hashlib.blake2b(sample_id.encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return float(int.from_bytes(digest, "big"))


def _picked(offer: _Offer, sample: PairedSample) -> PickedSample:
    scored = offer.scored
    if offer.why == LISTED:
        named = (offer.rank, scored.sample_id, scored.system, scored.status, offer.why, scored.metrics)
        return PickedSample(*named, NO_DETAILS, 0, b"", 0, None)
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
        offer.before,
    )


def beginning_of(record: EncodedRecord) -> bytes:
    """Returns a record as JSON, or the beginning of one that is too long; a Parquet row of that size is left out."""
    if record.encoding != MSGPACK:
        return record.payload[:MAX_RECORD_BYTES]
    if record.size > MAX_RECORD_BYTES:
        return b""
    with no_collection():
        return msgspec.json.encode(msgspec.msgpack.decode(record.payload))


Worst = tuple[float, str, str]
"""The main per-sample metric of a sample, its sample_id and its status."""


class KeptSamples(NamedTuple):
    """What was picked: `shown`, PickedSample, each sample of a system once; `listed`, pairs (system, list of Worst)."""

    shown: beam.PCollection
    listed: beam.PCollection


class PickSamples(beam.PTransform):
    """Picks samples: from pairs (list of PairedSample, list of ScoredSample) to KeptSamples."""

    def __init__(self, picks: Picks) -> None:
        super().__init__()
        self._picks = picks

    def expand(self, batches: beam.PCollection) -> KeptSamples:
        """Offers samples bundle by bundle, in the stage that scored them, and keeps those that are picked."""
        offers = batches | "Offer" >> beam.ParDo(OfferSamples(self._picks))
        kept: KeptSamples = offers | "Keep" >> KeepPicked(self._picks)
        return kept


class OfferSamples(beam.DoFn):
    """Offers the samples of a bundle; see Picker."""

    def __init__(self, picks: Picks) -> None:
        self._picks = picks

    def start_bundle(self) -> None:
        """Starts without a sample."""
        self._picker = Picker(self._picks)

    def process(
        self, batch: tuple[list[PairedSample], list[ScoredSample]]
    ) -> Iterator[tuple[tuple[Reason, int], PickedSample]]:
        """Yields ((reason, system), sample) for each sample of a batch that may be picked."""
        yield from self._picker.offers(*batch)


class KeepPicked(beam.PTransform):
    """Keeps the samples that are picked: from what `Picker` offers to KeptSamples."""

    def __init__(self, picks: Picks) -> None:
        super().__init__()
        self._picks = picks

    def expand(self, offers: beam.PCollection) -> KeptSamples:
        """Keeps for each reason as many as are wanted, and spreads those that are shown over the workers again."""
        best = offers | "Best" >> beam.CombinePerKey(_KeepBest(self._picks))
        shown = (
            best
            | "BySample" >> beam.FlatMap(_by_sample)
            | "Once" >> beam.GroupByKey()
            | "BestReason" >> beam.MapTuple(_best_reason)
        )
        return KeptSamples(shown, best | "Listed" >> beam.FlatMap(_listed, self._picks.metric.name))


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


def _by_sample(
    kept: tuple[tuple[Reason, int], list[PickedSample]],
) -> Iterator[tuple[tuple[int, str], PickedSample]]:
    (why, system), samples = kept
    for sample in samples if why != LISTED else ():
        yield (system, sample.sample_id), sample


def _listed(kept: tuple[tuple[Reason, int], list[PickedSample]], metric: str) -> Iterator[tuple[int, list[Worst]]]:
    (why, system), samples = kept
    if why == LISTED:
        yield system, [(sample.metrics[metric] or 0.0, sample.sample_id, sample.status) for sample in samples]


def _best_reason(_: tuple[int, str], samples: Sequence[PickedSample]) -> PickedSample:
    return min(samples, key=_preference)


def _preference(sample: PickedSample) -> int:
    return PREFERENCE.index(cast(Why, sample.why))


def order_of_picked(sample: PickedSample) -> tuple[int, int, float, str]:
    """Returns the key that sorts picked samples: by reason, then by rank."""
    rank = sample.rank if math.isfinite(sample.rank) else 0.0
    return _preference(sample), sample.system, rank, sample.sample_id
