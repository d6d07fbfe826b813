"""From a scored sample to what it adds to the corpus and to each slice that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam

from metrics.statistics.bootstrap import Bootstrap
from transforms.records import InputProblem
from transforms.score import ScoredSample
from transforms.slice_labels import slice_labels

MAX_SLICES = 10_000


class Contribution(NamedTuple):
    """What one sample adds: its bootstrap unit, the statistics, and the counts of the coverage."""

    unit_hash: int
    statistics: dict[str, float]
    coverage: dict[str, int]


class SliceKey(NamedTuple):
    """A system, and a slice of the samples; the empty label stands for all samples."""

    system: int
    label: str

    def encode(self) -> str:
        """Returns the key as text, the form in which it is shuffled."""
        return f"{self.system}:{self.label}"

    @classmethod
    def decode(cls, text: str) -> SliceKey:
        """Returns the key that `encode` gave the text for."""
        system, _, label = text.partition(":")
        return cls(int(system), label)


class SliceSamples(beam.PTransform):
    """Fans scored samples out to the corpus and to their slices.

    slices: the columns of each slice in the order of `columns`, as indexes into a sample's `columns`.
    most: how many slices a run may have; more raise InputProblem, here or in `CheckSliceCount`.

    Input: ScoredSample. Output: pairs (encoded SliceKey, Contribution).
    """

    def __init__(
        self, columns: Sequence[str], slices: Sequence[Sequence[int]], bootstrap: Bootstrap, most: int = MAX_SLICES
    ) -> None:
        super().__init__()
        self._columns = tuple(columns)
        self._slices = tuple(tuple(each) for each in slices)
        self._bootstrap = bootstrap
        self._most = most

    def expand(self, samples: beam.PCollection) -> beam.PCollection:
        """Yields one contribution for each slice of each sample."""
        fan_out = FanOut(self._columns, self._slices, self._bootstrap, self._most)
        return samples | "FanOut" >> beam.ParDo(fan_out).with_output_types(tuple[str, Contribution])


class FanOut(beam.DoFn):
    """Yields one contribution for each slice of each sample; see SliceSamples."""

    def __init__(
        self, columns: Sequence[str], slices: Sequence[Sequence[int]], bootstrap: Bootstrap, most: int
    ) -> None:
        self._columns = columns
        self._slices = slices
        self._bootstrap = bootstrap
        self._most = most
        self._seen: set[str] = set()

    def process(self, sample: ScoredSample) -> Iterator[tuple[str, Contribution]]:
        """Yields the contributions of a sample."""
        contribution = Contribution(self._bootstrap.unit_hash(sample.unit), sample.statistics, sample.coverage)
        yield SliceKey(sample.system, "").encode(), contribution
        for label in slice_labels(self._columns, self._slices, sample.columns):
            if label not in self._seen:
                self._see(label)
            yield SliceKey(sample.system, label).encode(), contribution

    def _see(self, label: str) -> None:
        """Counts the labels that this worker has seen, so that too many end the run before they fill its memory."""
        self._seen.add(label)
        if len(self._seen) > self._most:
            raise too_many_slices(self._columns, self._most)


class CheckSliceCount(beam.PTransform):
    """Passes on pairs (encoded SliceKey, anything), one for each slice, once it is known that they are not too many.

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
            | "Systems" >> beam.Map(_system_of_slice)
            | "Count" >> beam.combiners.Count.PerElement()
            | "Check" >> beam.Map(self._checked)
        )
        return totals | "Pass" >> beam.Map(_pass_on, beam.pvalue.AsList(counts))

    def _checked(self, counted: tuple[int, int]) -> int:
        # The corpus itself is one of them.
        if counted[1] > self._most + 1:
            raise too_many_slices(self._columns, self._most)
        return counted[1]


def _system_of_slice(item: tuple[str, Any]) -> int:
    return SliceKey.decode(item[0]).system


def _pass_on(item: Any, checked: Sequence[int]) -> Any:
    return item


def too_many_slices(columns: Sequence[str], most: int) -> InputProblem:
    """Returns the problem of a run with more slices than are allowed."""
    return InputProblem(
        f"slices by {', '.join(columns)}: there are more than {most}; slice by columns with fewer values, "
        "or raise limits.slices"
    )
