"""Picks samples to show: the worst of each system, of its slices and by each metric, the samples that changed most
since an earlier run, the samples on which systems differ most, a random few.

Each bundle yields candidates, with both records; a combiner keeps the best of them, so memory and shuffle are bounded
by the numbers of samples to pick, not by the size of the input. The choice depends on the samples alone.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import apache_beam as beam
import msgspec

from ..metrics.benchmark import MetricSpec
from ..metrics.statistics.intervals import ROUNDING
from .rows import EarlierRows
from .sample_changes import FLIPS, MAX_DETAILS_BYTES, kind_of_change
from .scored import NO_DETAILS, PairedSample, ScoredSample, Worst

Why = Literal["lost", "won", "flip", "worst", "metric", "slice", "random", "listed"]
"""A reason to pick a sample, from the best reason: see PREFERENCE. One that is only listed is not shown."""
PREFERENCE: tuple[Why, ...] = get_args(Why)
PER_GROUP = 3
"""How many of the worst samples are shown by each per-sample metric, and of each group of slices."""
SLICE_GROUPS = 32
"""How many groups the values of slice columns are hashed into: their number has no limit."""
MIN_FLIP = 0.5
"""Systems, or runs, differ on a sample if their main per-sample metrics are at least this far apart."""


class PickedSample(msgspec.Struct, frozen=True):
    """A picked sample, with both records as JSON.

    rank: its place among the samples picked for the same reason, the lowest first; ties go by the hash of the
    sample_id. whys: the reasons, the best first; the worst by a metric names it. prediction: None if there was no
    record. If the size of a record or of the details exceeds the bytes here, only the beginning is included.
    before: the main per-sample metric in the earlier run, if known. source: the file of the ground truth.
    """

    rank: tuple[float, int]
    sample_id: str
    system: int
    status: str
    why: Why
    whys: tuple[str, ...]
    metrics: Mapping[str, float | None]
    details: bytes
    truth: bytes
    truth_size: int
    prediction: bytes | None
    prediction_size: int = 0
    before: float | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """How many samples of each system to pick for each reason, by the main per-sample metric.

    flips: this many each of the samples that lost most and won most since the earlier run, and of those on which
    systems differ most. listed: of the worst that report.md names, also without a prediction. earlier: the rows of the
    earlier run, if any. others: the other per-sample metrics.
    """

    metric: MetricSpec
    worst: int = 0
    flips: int = 0
    random: int = 0
    listed: int = 0
    earlier: EarlierRows | None = None
    others: tuple[MetricSpec, ...] = ()

    def count(self, why: Why) -> int:
        """Returns how many samples are picked for one reason."""
        counts = {"worst": self.worst, "random": self.random, "listed": self.listed}
        return min(self.worst, PER_GROUP) if why in ("metric", "slice") else counts.get(why, self.flips)


Key = tuple[Why, int, str]
"""A reason, the number of a system, and the metric or the group of slices that the reason is about."""
Rank = tuple[float, int]


class SelectCandidates(beam.DoFn):
    """Selects the samples of a bundle that may be picked: those that rank among the best of the bundle so far.

    From pairs (list of PairedSample, list of ScoredSample) to pairs (Key, list of one PickedSample).
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._counts = {why: selection.count(why) for why in PREFERENCE}

    def start_bundle(self) -> None:
        """Resets the ranks."""
        # The best ranks so far, in order, with the sample_id that the combiner breaks ties by.
        self._best: defaultdict[Key, list[tuple[Rank, str]]] = defaultdict(list)

    def process(self, batch: tuple[list[PairedSample], list[ScoredSample]]) -> Iterator[tuple[Key, list[PickedSample]]]:
        """Yields the candidates of a batch."""
        samples, scored = batch
        paired = {sample.sample_id: sample for sample in samples}
        ties = {sample_id: _hashed(sample_id) for sample_id in paired}
        for why, about, value, sample, before in self._ranked(samples, scored):
            # Of equal samples the first by name are listed, as `merge` lists them.
            key, rank = (why, sample.system, about), (value, 0 if why == "listed" else ties[sample.sample_id])
            if self._is_among_best(key, (rank, sample.sample_id)):
                yield key, [_picked(key, rank, sample, before, paired[sample.sample_id])]

    def _ranked(
        self, samples: Sequence[PairedSample], scored: Sequence[ScoredSample]
    ) -> Iterator[tuple[Why, str, float, ScoredSample, float | None]]:
        """Yields each reason that holds for a sample, its subject, the value, the sample, and the earlier value.

        A sample without a prediction has nothing to show: it is only listed.
        """
        metric, rows = self._selection.metric, self._selection.earlier
        by_sample: defaultdict[str, list[tuple[float, ScoredSample, float | None]]] = defaultdict(list)
        earlier = rows.find(samples, scored) if rows is not None else [None] * len(scored)
        for sample, before in zip(scored, earlier, strict=True):
            value = sample.metrics.get(metric.name)
            if value is not None:
                yield "listed", "", metric.signed_value(value), sample, before
            if sample.status != "scored":
                continue
            yield "random", "", 0.0, sample, before
            for spec in self._selection.others:
                other = sample.metrics.get(spec.name)
                if other is not None:
                    yield "metric", spec.name, spec.signed_value(other), sample, before
            if value is None:
                continue
            rank = metric.signed_value(value)
            yield "worst", "", rank, sample, before
            for column, cell in enumerate(sample.slice_values or () if self._counts["slice"] else ()):
                yield "slice", str(_hashed(f"{column}={cell!r}") % SLICE_GROUPS), rank, sample, before
            if before is not None and is_flip(metric, before, value):
                moved: Why = "lost" if rank < metric.signed_value(before) else "won"
                yield moved, "", -abs(value - before), sample, before
            by_sample[sample.sample_id].append((value, sample, before))
        for of_systems in by_sample.values():
            values = [value for value, _, _ in of_systems]
            apart = max(values) - min(values)
            if apart >= MIN_FLIP - ROUNDING:
                for _, sample, before in of_systems:
                    yield "flip", "", -apart, sample, before

    def _is_among_best(self, key: Key, rank: tuple[Rank, str]) -> bool:
        best, count = self._best[key], self._counts[key[0]]
        if len(best) >= count and (not best or rank > best[-1]):
            return False
        bisect.insort(best, rank)
        del best[count:]
        return True


def is_flip(metric: MetricSpec, before: float, value: float) -> bool:
    """Returns whether a sample became right or wrong, or changed by at least MIN_FLIP."""
    return kind_of_change(metric, before, value) in FLIPS or abs(value - before) >= MIN_FLIP - ROUNDING


def _hashed(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest(), "big")


def _picked(key: Key, rank: Rank, scored: ScoredSample, before: float | None, sample: PairedSample) -> PickedSample:
    truth, prediction, (why, _, about) = sample.truth, sample.predictions[scored.system], key
    return PickedSample(
        rank,
        scored.sample_id,
        scored.system,
        scored.status,
        why,
        (f"worst by {about}" if why == "metric" else why,),
        dict(scored.metrics),
        scored.details if len(scored.details) <= MAX_DETAILS_BYTES else NO_DETAILS,
        truth.beginning(),
        truth.size,
        None if prediction is None else prediction.beginning(),
        0 if prediction is None else prediction.size,
        before,
        truth.origin.path,
    )


class KeptSamples(NamedTuple):
    """Picked samples: `shown`, PickedSample, each sample of a system once; `listed`, pairs (system, list of Worst)."""

    shown: beam.PCollection
    listed: beam.PCollection


class PickSamples(beam.PTransform):
    """Picks samples: from pairs (list of PairedSample, list of ScoredSample) to KeptSamples."""

    def __init__(self, selection: Selection) -> None:
        super().__init__()
        self._selection = selection

    def expand(self, batches: beam.PCollection) -> KeptSamples:
        """Selects candidates in the stage that scored them, keeps the best, and reshuffles those to show."""
        best = (
            batches
            | "Candidates" >> beam.ParDo(SelectCandidates(self._selection))
            | "Best" >> beam.CombinePerKey(_best, self._selection)
        )
        shown = (
            best
            | "Shown" >> beam.FlatMapTuple(self._shown)
            | "Once" >> beam.GroupByKey()
            | "Reasons" >> beam.MapTuple(_with_reasons)
        )
        return KeptSamples(shown, best | "Listed" >> beam.FlatMapTuple(self._listed))

    def _shown(self, key: Key, samples: list[PickedSample]) -> Iterator[tuple[tuple[int, str], PickedSample]]:
        why, system, _ = key
        for sample in samples if why != "listed" else ():
            yield (system, sample.sample_id), sample

    def _listed(self, key: Key, samples: list[PickedSample]) -> Iterator[tuple[int, list[Worst]]]:
        (why, system, _), metric = key, self._selection.metric.name
        if why == "listed":
            yield system, [(each.metrics[metric] or 0.0, each.sample_id, each.status) for each in samples]


def _best(candidates: Iterable[list[PickedSample]], selection: Selection) -> list[PickedSample]:
    """Returns the best candidates for one reason, in order, at most as many as `selection` counts."""
    ordered = sorted(itertools.chain.from_iterable(candidates), key=lambda each: (each.rank, each.sample_id))
    return ordered[: selection.count(ordered[0].why)] if ordered else []


def _with_reasons(_: tuple[int, str], samples: Iterable[PickedSample]) -> PickedSample:
    """Returns a sample as picked for its best reason, with all its reasons."""
    ordered = sorted(samples, key=lambda each: (PREFERENCE.index(each.why), each.whys))
    return msgspec.structs.replace(ordered[0], whys=tuple(dict.fromkeys(why for each in ordered for why in each.whys)))


def order_of_picked(sample: PickedSample) -> tuple[int, int, float, int, str]:
    """Returns the key that sorts picked samples: by reason, then by rank."""
    return PREFERENCE.index(sample.why), sample.system, *sample.rank, sample.sample_id
