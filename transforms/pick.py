"""Picks samples for people to look at: the worst of each system, those that changed most since an earlier run, those on
which systems differ most, a random few.

Each bundle yields candidates, with both records; a combiner keeps the best of them, so memory and shuffle are bounded
by the numbers of samples wanted, however many there are. The choice depends on the samples alone.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import apache_beam as beam
import msgspec

from ..metrics.benchmark import MetricSpec
from ..metrics.statistics.intervals import ROUNDING
from .earlier_rows import EarlierRows
from .sample_changes import FLIPS, kind_of_change
from .scored_batch import PairedSample
from .scored_sample import NO_DETAILS, ScoredSample

Why = Literal["lost", "won", "flip", "worst", "random"]
PREFERENCE: tuple[Why, ...] = ("lost", "won", "flip", "worst", "random")
"""For which reason a sample is shown that was picked for several."""
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
    why: Why
    metrics: Mapping[str, float | None]
    details: bytes
    details_size: int
    truth: bytes
    truth_size: int
    prediction: bytes | None
    prediction_size: int = 0
    before: float | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """How many samples of each system to pick for each reason, by the main per-sample metric.

    flips: of those that lost most since the earlier run, as many of those that won most, and of those on which systems
    differ most. listed: of the worst that report.md names, which may be more than are shown. earlier: the rows of the
    earlier run, if there is one.
    """

    metric: MetricSpec
    worst: int = 0
    flips: int = 0
    random: int = 0
    listed: int = 0
    earlier: EarlierRows | None = None

    def count(self, why: Why) -> int:
        """Returns how many samples are picked for one reason."""
        return {"worst": max(self.worst, self.listed), "random": self.random}.get(why, self.flips)


Key = tuple[Why, int]
"""A reason, and the number of a system."""


class SelectCandidates(beam.DoFn):
    """Selects the samples of a bundle that may be picked: each is as good as all but those wanted before it, or better.

    From pairs (list of PairedSample, list of ScoredSample) to pairs (Key, list of one PickedSample).
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._counts = {why: selection.count(why) for why in PREFERENCE}

    def start_bundle(self) -> None:
        """Starts without a sample."""
        # Heaps of the best ranks so far, with the other sign: the worst of them is first.
        self._best: defaultdict[Key, list[float]] = defaultdict(list)

    def process(self, batch: tuple[list[PairedSample], list[ScoredSample]]) -> Iterator[tuple[Key, list[PickedSample]]]:
        """Yields the candidates of a batch."""
        samples, scored = batch
        paired = {sample.sample_id: sample for sample in samples}
        for why, rank, sample, before in self._ranked(samples, scored):
            if self._is_among_best((why, sample.system), rank):
                yield (why, sample.system), [_picked(why, rank, sample, before, paired[sample.sample_id])]

    def _ranked(
        self, samples: Sequence[PairedSample], scored: Sequence[ScoredSample]
    ) -> Iterator[tuple[Why, float, ScoredSample, float | None]]:
        """Yields for each reason that holds for a sample its rank, the sample, and its value in the earlier run."""
        metric, rows = self._selection.metric, self._selection.earlier
        by_sample: defaultdict[str, list[tuple[float, ScoredSample, float | None]]] = defaultdict(list)
        earlier = rows.find(samples, scored) if rows is not None else [None] * len(scored)
        for sample, before in zip(scored, earlier, strict=True):
            if sample.status == "rejected":
                continue
            if self._counts["random"]:
                yield "random", _hashed(sample.sample_id), sample, before
            value = sample.metrics.get(metric.name)
            if value is None:
                continue
            rank = metric.goodness(value)
            yield "worst", rank, sample, before
            if before is not None and is_flip(metric, before, value):
                yield "lost" if rank < metric.goodness(before) else "won", -abs(value - before), sample, before
            by_sample[sample.sample_id].append((value, sample, before))
        for of_systems in by_sample.values():
            values = [value for value, _, _ in of_systems]
            apart = max(values) - min(values)
            if apart >= MIN_FLIP - ROUNDING:
                for _, sample, before in of_systems:
                    yield "flip", -apart, sample, before

    def _is_among_best(self, key: Key, rank: float) -> bool:
        best, count = self._best[key], self._counts[key[0]]
        if len(best) < count:
            heapq.heappush(best, -rank)
        elif count and rank <= -best[0]:  # Of equal ranks the sample_ids decide, when all are there.
            heapq.heapreplace(best, -rank)
        else:
            return False
        return True


def is_flip(metric: MetricSpec, before: float, value: float) -> bool:
    """Tells whether a sample became right or wrong, or changed by MIN_FLIP at least."""
    return kind_of_change(metric, before, value) in FLIPS or abs(value - before) >= MIN_FLIP - ROUNDING


def _hashed(sample_id: str) -> float:
    digest = hashlib.blake2b(sample_id.encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return float(int.from_bytes(digest, "big"))


def _picked(why: Why, rank: float, scored: ScoredSample, before: float | None, sample: PairedSample) -> PickedSample:
    truth, prediction = sample.truth, sample.predictions[scored.system]
    return PickedSample(
        rank,
        scored.sample_id,
        scored.system,
        scored.status,
        why,
        dict(scored.metrics),
        scored.details if len(scored.details) <= MAX_DETAILS_BYTES else NO_DETAILS,
        len(scored.details),
        truth.beginning(),
        truth.size,
        None if prediction is None else prediction.beginning(),
        0 if prediction is None else prediction.size,
        before,
    )


Worst = tuple[float, str, str]
"""The main per-sample metric of a sample, its sample_id and its status."""


class KeptSamples(NamedTuple):
    """What was picked: `shown`, PickedSample, each sample of a system once; `listed`, pairs (system, list of Worst)."""

    shown: beam.PCollection
    listed: beam.PCollection


class PickSamples(beam.PTransform):
    """Picks samples: from pairs (list of PairedSample, list of ScoredSample) to KeptSamples."""

    def __init__(self, selection: Selection) -> None:
        super().__init__()
        self._selection = selection

    def expand(self, batches: beam.PCollection) -> KeptSamples:
        """Selects candidates in the stage that scored them, keeps the best, and spreads those that are shown again."""
        best = (
            batches
            | "Candidates" >> beam.ParDo(SelectCandidates(self._selection))
            | "Best" >> beam.CombinePerKey(_best, self._selection)
        )
        shown = (
            best
            | "Shown" >> beam.FlatMapTuple(self._shown)
            | "Once" >> beam.GroupByKey()
            | "BestReason" >> beam.MapTuple(_preferred)
        )
        return KeptSamples(shown, best | "Listed" >> beam.FlatMapTuple(self._listed))

    def _shown(self, key: Key, samples: list[PickedSample]) -> Iterator[tuple[tuple[int, str], PickedSample]]:
        why, system = key
        for sample in samples[: self._selection.worst] if why == "worst" else samples:
            yield (system, sample.sample_id), sample

    def _listed(self, key: Key, samples: list[PickedSample]) -> Iterator[tuple[int, list[Worst]]]:
        (why, system), metric, count = key, self._selection.metric.name, self._selection.listed
        if why == "worst" and count:
            yield system, [(each.metrics[metric] or 0.0, each.sample_id, each.status) for each in samples[:count]]


def _best(candidates: Iterable[list[PickedSample]], selection: Selection) -> list[PickedSample]:
    """Returns the best of the candidates for one reason, in order, as many as are wanted."""
    ordered = sorted(itertools.chain.from_iterable(candidates), key=lambda each: (each.rank, each.sample_id))
    return ordered[: selection.count(ordered[0].why)] if ordered else []


def _preferred(_: tuple[int, str], samples: Iterable[PickedSample]) -> PickedSample:
    return min(samples, key=_preference)


def _preference(sample: PickedSample) -> int:
    return PREFERENCE.index(sample.why)


def order_of_picked(sample: PickedSample) -> tuple[int, int, float, str]:
    """Returns the key that sorts picked samples: by reason, then by rank."""
    rank = sample.rank if math.isfinite(sample.rank) else 0.0
    return _preference(sample), sample.system, rank, sample.sample_id
