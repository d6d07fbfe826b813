"""Counts the quarantine by cause, each cause with one example."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import apache_beam as beam

from transforms.records import Quarantined


@dataclass(frozen=True, slots=True)
class CauseCount:
    """How many entries of the quarantine share side, stage and cause, and the first of them by place."""

    count: int = 0
    example: Quarantined | None = None

    def merge(self, other: CauseCount) -> CauseCount:
        """Adds up two counts."""
        examples = [each.example for each in (self, other) if each.example is not None]
        return CauseCount(self.count + other.count, min(examples, key=_place, default=None))


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
    return (entry.side, entry.stage, entry.cause), CauseCount(1, entry)


def _merge_all(counts: Iterable[CauseCount]) -> CauseCount:
    total = CauseCount()
    for count in counts:
        total = total.merge(count)
    return total
