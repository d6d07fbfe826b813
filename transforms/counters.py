"""What can be watched of a run: Beam's metrics under a fixed set of names, and a count for the local console."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apache_beam.metrics import Metrics

from ..metrics.scoring import Status
from ..metrics.statistics.sums import Sums
from .records import GROUND_TRUTH, Cause

NAMESPACE = "beamscore"


METRICS: dict[str, Any] = {
    **{
        name: Metrics.counter(NAMESPACE, name)
        for name in (
            *("records_read", "records_rejected", "records_duplicate", "records_unmatched"),
            *("samples_scored", "samples_missing_prediction", "samples_rejected"),
        )
    },
    **{name: Metrics.distribution(NAMESPACE, name) for name in ("batch_size", "sample_microseconds")},
}
"""Counters by what became of a record or a sample, and distributions of what scoring costs."""


def timing(timed: str) -> Any:
    """Returns the distribution of one of a benchmark's `timed`, in microseconds a batch."""
    return Metrics.distribution(NAMESPACE, f"{timed}_microseconds")


PROGRESS_FOLDER = "BEAMSCORE_PROGRESS"
"""The environment variable that names the folder through which the workers of one machine tell how far they are."""

NOTE_INTERVAL_S = 0.25


@dataclass
class Progress:
    """How far the workers of this machine have come, for a progress line.

    Only a hint for people: a retried bundle counts twice.
    """

    records_read: int = 0
    truths_read: int = 0
    samples_scored: int = 0
    _next_note: float = 0.0

    def note(self, always: bool = False) -> None:
        """Leaves the counts of this process where another can read them, if one asked for them.

        always: also where it is not time yet, as at the end of a bundle: no other count may follow.
        """
        now = time.monotonic()
        if now < self._next_note and not always:
            return
        self._next_note = now + NOTE_INTERVAL_S
        folder = os.environ.get(PROGRESS_FOLDER)
        if folder:
            counts = f"{self.records_read} {self.truths_read} {self.samples_scored}\n"
            with contextlib.suppress(OSError):
                Path(folder, str(os.getpid())).write_text(counts)

    def with_others(self) -> Progress:
        """Returns the counts of this process and of all others that left theirs."""
        total = Progress(self.records_read, self.truths_read, self.samples_scored)
        folder = os.environ.get(PROGRESS_FOLDER)
        for path in Path(folder).iterdir() if folder else ():
            counts = path.read_text().split() if path.name != str(os.getpid()) else []
            if len(counts) == 3:
                total.records_read += int(counts[0])
                total.truths_read += int(counts[1])
                total.samples_scored += int(counts[2])
        return total


PROGRESS = Progress()


class RecordCounts:
    """What became of the records of a bundle, each counted once; Beam's counters and the progress follow from it."""

    def __init__(self) -> None:
        self._counts: dict[int, Counter[str]] = {}

    def add(self, side: int, outcome: str, count: int = 1) -> None:
        """Counts records of a side that were `read`, or are `rejected`, `duplicate` or `unmatched`."""
        if not count:
            return
        self._counts.setdefault(side, Counter())[outcome] += count
        if (name := f"records_{outcome}") in METRICS:
            METRICS[name].inc(count)
        if outcome == "read":
            PROGRESS.records_read += count
            PROGRESS.truths_read += count if side == GROUND_TRUTH else 0
            PROGRESS.note()

    def flush(self) -> Iterator[tuple[int, Sums]]:
        """Yields the counts of each side, and starts anew."""
        PROGRESS.note(always=True)
        counts, self._counts = self._counts, {}
        for side, outcomes in counts.items():
            yield side, Sums.of(outcomes)


def count_samples(statuses: Iterable[Status], quarantined: Iterable[Cause]) -> None:
    """Counts what became of the samples of a batch, and of the records that scoring quarantined."""
    counts = Counter(statuses)
    for status, count in counts.items():
        METRICS[f"samples_{status}"].inc(count)
    for cause, count in Counter(quarantined).items():
        METRICS["records_unmatched" if cause == "unmatched" else "records_rejected"].inc(count)
    PROGRESS.samples_scored += counts.total() - counts["rejected"]
    PROGRESS.note()
