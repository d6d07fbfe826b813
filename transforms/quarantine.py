"""Counts the quarantine by cause, each cause with some examples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import apache_beam as beam

from .records import Quarantined

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class CauseCount:
    """How many entries of the quarantine share side, stage and cause, and the first EXAMPLES of them by place."""

    count: int = 0
    examples: tuple[Quarantined, ...] = ()

    @property
    def example(self) -> Quarantined | None:
        """The first of them; None where there is none."""
        return next(iter(self.examples), None)

    def merge(self, other: CauseCount) -> CauseCount:
        """Adds up two counts."""
        examples = sorted((*self.examples, *other.examples), key=_place)[:EXAMPLES]
        return CauseCount(self.count + other.count, tuple(examples))


def _place(entry: Quarantined) -> tuple[str, int, str]:
    return entry.source, entry.position, entry.error


class CountCauses(beam.PTransform):
    """Input: Quarantined. Output: CauseCount, one for each side, stage and cause."""

    def expand(self, entries: beam.PCollection) -> beam.PCollection:
        """Counts by cause."""
        return (
            entries
            | "ByCause" >> beam.Map(_keyed).with_output_types(tuple[tuple[str, str, str], CauseCount])
            | "Count" >> beam.CombinePerKey(_merge_all)
            | "Counts" >> beam.Values()
        )


def _keyed(entry: Quarantined) -> tuple[tuple[str, str, str], CauseCount]:
    return (entry.side, entry.stage, entry.cause), CauseCount(1, (entry,))


def _merge_all(counts: Iterable[CauseCount]) -> CauseCount:
    total = CauseCount()
    for count in counts:
        total = total.merge(count)
    return total
