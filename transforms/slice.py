"""From a scored sample to what it adds to the corpus and to each slice that it belongs to."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import msgspec

from metrics.bootstrap import Bootstrap
from transforms.score import ScoredSample

LONGEST_LABEL = 200


class Contribution(NamedTuple):
    """What one sample adds: its bootstrap unit, the statistics, and the counts of the ledger."""

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

    Input: ScoredSample. Output: pairs (encoded SliceKey, Contribution).
    """

    def __init__(self, columns: Sequence[str], slices: Sequence[Sequence[int]], bootstrap: Bootstrap) -> None:
        super().__init__()
        self._columns = tuple(columns)
        self._slices = tuple(tuple(each) for each in slices)
        self._bootstrap = bootstrap

    def expand(self, samples: beam.PCollection) -> beam.PCollection:
        """Yields one contribution for each slice of each sample."""
        return samples | "FanOut" >> beam.FlatMap(self._fan_out).with_output_types(tuple[str, Contribution])

    def _fan_out(self, sample: ScoredSample) -> Iterator[tuple[str, Contribution]]:
        contribution = Contribution(self._bootstrap.unit_hash(sample.unit), sample.statistics, sample.coverage)
        for label in ["", *slice_labels(self._columns, self._slices, sample.columns)]:
            yield SliceKey(sample.system, label).encode(), contribution


def slice_labels(columns: Sequence[str], slices: Sequence[Sequence[int]], values: Sequence[Any] | None) -> list[str]:
    """Returns the labels of the slices that a sample with these column values belongs to, each once.

    A slice of one column is labelled `column=value`, a crossed one `first=x,second=y`. A list puts the sample
    into the slice of each of its members, an empty list into none; a column that is absent or null has the value
    `null`. No values at all (a ground truth that could not be read): no slices.
    """
    if values is None:
        return []
    labels: dict[str, None] = {}
    for slice_columns in slices:
        choices = [_members(values[column]) for column in slice_columns]
        for chosen in itertools.product(*choices):
            parts = [f"{columns[column]}={value}" for column, value in zip(slice_columns, chosen, strict=True)]
            labels[",".join(parts)] = None
    return list(labels)


def _members(value: Any) -> list[str]:
    if isinstance(value, list):
        return list(dict.fromkeys(value_text(member) for member in value))
    return [value_text(value)]


def value_text(value: Any) -> str:
    """Returns a column's value as text: a string as it is, anything else as JSON; long ones cut, with a hash."""
    if isinstance(value, str):
        text = value
    else:
        text = json.dumps(msgspec.to_builtins(value), sort_keys=True, ensure_ascii=False)
    if len(text) > LONGEST_LABEL:
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        return f"{text[:LONGEST_LABEL]}...{digest}"
    return text
