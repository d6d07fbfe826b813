"""From scored samples to the sums of the corpus and of each slice, added up for a bundle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import msgspec
from apache_beam.coders import registry
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from ..metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from .blas import limited_blas_threads
from .combine import SliceTotals
from .hashes import prediction_fingerprint, sample_fingerprint
from .records import InputProblem
from .scored_sample import ScoredSample
from .slice_labels import ALL_SAMPLES, MAX_SLICES, Slice

BYTES_HELD = 64 << 20


class SliceKey(NamedTuple):
    """A system, and a slice of the samples."""

    system: int
    slice: Slice = ALL_SAMPLES

    @property
    def label(self) -> str:
        """The label of the slice; that of all samples is empty."""
        return self.slice.label


class SliceKeyCoder(beam.coders.Coder):
    """Writes a SliceKey as MessagePack: equal keys have equal bytes."""

    def encode(self, value: SliceKey) -> bytes:
        """Returns the bytes of a key."""
        return msgspec.msgpack.encode(value)

    def decode(self, encoded: bytes) -> SliceKey:
        """Returns the key of these bytes."""
        return msgspec.msgpack.decode(encoded, type=SliceKey)

    def is_deterministic(self) -> bool:
        """Tells that keys can be grouped by their bytes."""
        return True

    def to_type_hint(self) -> type[SliceKey]:
        """Returns what it writes."""
        return SliceKey


registry.register_coder(SliceKey, SliceKeyCoder)


class PartialSums:
    """The totals of each slice that a bundle has seen.

    columns: the columns that the run slices by. most: how many slices a run may have; more raise InputProblem, here or
    in CheckSliceCount.
    """

    def __init__(self, columns: Sequence[str], bootstrap: Bootstrap, most: int) -> None:
        self._columns = columns
        self._bootstrap = bootstrap
        self._most = most
        self._seen: set[Slice] = set()
        self._totals: dict[tuple[int, Slice], SliceTotals] = {}

    def add(
        self,
        system: int,
        slices: Sequence[Slice],
        unit: str,
        statistics: Mapping[str, float],
        coverage: Mapping[str, int],
        prediction: int = 0,
    ) -> None:
        """Adds a sample to all samples of its system, and to its slices; prediction: the fingerprint of its own."""
        unit_hash = self._bootstrap.unit_hash(unit)
        self.of(system).add(unit_hash, statistics, coverage, prediction)
        for each in slices:
            self.of(system, each).add(unit_hash, statistics, coverage, prediction)

    def of(self, system: int, each: Slice = ALL_SAMPLES) -> SliceTotals:
        """Returns the totals of a slice, to be added to."""
        # A plain tuple is equal to the SliceKey, and made faster.
        totals = self._totals.get((system, each))
        if totals is None:
            self._see(each)
            totals = self._totals[system, each] = SliceTotals(BootstrapSums(self._bootstrap))
        return totals

    def take(self, limit: int = 0) -> Iterator[tuple[SliceKey, SliceTotals]]:
        """Yields the totals where they take more than `limit` bytes, and starts anew."""
        if limit and sum(totals.sums.size for totals in self._totals.values()) <= limit:
            return
        totals, self._totals = self._totals, {}
        for key, of_slice in totals.items():
            yield SliceKey(*key), of_slice

    def _see(self, each: Slice) -> None:
        """Counts the slices that this worker has seen, so that too many end the run before they fill its memory."""
        self._seen.add(each)
        # All samples are one of them.
        if len(self._seen) > self._most + 1:
            raise too_many_slices(self._columns, self._most)


class SliceSamples(beam.PTransform):
    """Adds scored samples up for all samples and for each slice.

    Input: lists of ScoredSample. Output: pairs (SliceKey, SliceTotals), one for each slice and bundle, or more where
    they would take more than BYTES_HELD.
    """

    def __init__(self, columns: Sequence[str], bootstrap: Bootstrap, most: int = MAX_SLICES) -> None:
        super().__init__()
        self._sum = SumSlices(tuple(columns), bootstrap, most)

    def expand(self, samples: beam.PCollection) -> beam.PCollection:
        """Adds up bundle by bundle."""
        return samples | "SumSlices" >> beam.ParDo(self._sum).with_output_types(tuple[SliceKey, SliceTotals])


class SumSlices(beam.DoFn):
    """Adds up the samples of a bundle; see SliceSamples."""

    def __init__(self, columns: Sequence[str], bootstrap: Bootstrap, most: int) -> None:
        self._columns = columns
        self._bootstrap = bootstrap
        self._most = most

    def setup(self) -> None:
        """Prepares the worker."""
        self._blas = limited_blas_threads()
        self._sums = PartialSums(self._columns, self._bootstrap, self._most)

    def teardown(self) -> None:
        """Leaves the worker as it was."""
        self._blas.close()

    def start_bundle(self) -> None:
        """Forgets what a bundle that failed has left."""
        for _ in self._sums.take():
            pass

    def process(self, samples: list[ScoredSample]) -> Iterator[tuple[SliceKey, SliceTotals]]:
        """Adds a batch, and yields the totals where they have become large."""
        for sample in samples:
            prediction = prediction_fingerprint(sample.sample_id, sample.prediction_hash, sample.prediction_status)
            statistics = sample.statistics or {}
            self._sums.add(sample.system, sample.slices, sample.unit, statistics, sample.coverage, prediction)
        truths = [sample_fingerprint(sample.sample_id, sample.truth_hash) for sample in samples if sample.system == 0]
        if truths:
            self._sums.of(0).fingerprint += sum(truths)
        yield from self._sums.take(BYTES_HELD)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Yields the totals."""
        for totals in self._sums.take():
            yield GlobalWindows.windowed_value(totals)


class CheckSliceCount(beam.PTransform):
    """Passes on pairs (SliceKey, anything), one for each slice, once it is known that they are not too many.

    Raises InputProblem where one system has more than `most` slices.
    """

    def __init__(self, columns: Sequence[str], most: int) -> None:
        super().__init__()
        self._columns = tuple(columns)
        self._most = most

    def expand(self, totals: beam.PCollection) -> beam.PCollection:
        """Counts, checks, and then lets all through."""
        counts = (
            totals
            | "Systems" >> beam.Map(_system_of_slice).with_output_types(int)
            | "Count" >> beam.combiners.Count.PerElement()
            | "Check" >> beam.Map(self._checked)
        )
        return totals | "Pass" >> beam.Map(_pass_on, beam.pvalue.AsList(counts))

    def _checked(self, counted: tuple[int, int]) -> int:
        # The corpus itself is one of them.
        if counted[1] > self._most + 1:
            raise too_many_slices(self._columns, self._most)
        return counted[1]


def _system_of_slice(item: tuple[SliceKey, Any]) -> int:
    return item[0].system


def _pass_on(item: Any, checked: Sequence[int]) -> Any:
    return item


def too_many_slices(columns: Sequence[str], most: int) -> InputProblem:
    """Returns the problem of a run with more slices than are allowed."""
    return InputProblem(
        f"slices by {', '.join(columns)}: there are more than {most}; slice by columns with fewer values, "
        "or raise limits.slices"
    )
