"""Counts of records and samples by status, as metrics of Beam under a fixed set of names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from apache_beam.metrics import Metrics

from ..metrics.scoring import Status
from ..metrics.statistics.sums import Sums
from .process import PROGRESS
from .records import GROUND_TRUTH, Cause

NAMESPACE = "beamscore"


_COUNTERS = (
    *("records_read", "records_rejected", "records_duplicate", "records_unmatched"),
    *("samples_scored", "samples_missing_prediction", "samples_rejected"),
)
METRICS: dict[str, Any] = {
    **{name: Metrics.counter(NAMESPACE, name) for name in _COUNTERS},
    **{name: Metrics.distribution(NAMESPACE, name) for name in ("batch_size", "sample_microseconds")},
}
"""Counters of records and samples by status, and distributions of the cost of scoring."""


def timing(timed: str) -> Any:
    """Returns the distribution of one of a benchmark's `timed`, in microseconds per batch."""
    return Metrics.distribution(NAMESPACE, f"{timed}_microseconds")


class RecordCounts:
    """Counts the records of a bundle by outcome, each once; updates Beam's counters and the progress."""

    def __init__(self) -> None:
        self._counts: defaultdict[int, Counter[str]] = defaultdict(Counter)

    def add(self, side: int, outcome: str) -> None:
        """Counts a record of a side that was `read`, or is `rejected`, `duplicate` or `unmatched`."""
        self._counts[side][outcome] += 1
        if outcome == "read":
            PROGRESS.records_read += 1
            PROGRESS.truths_read += side == GROUND_TRUTH
            PROGRESS.note()

    def flush(self) -> Iterator[tuple[int, Sums]]:
        """Yields and resets the counts of each side."""
        PROGRESS.note(always=True)
        for side, outcomes in self._counts.items():
            for outcome, count in outcomes.items():
                if (name := f"records_{outcome}") in METRICS:
                    METRICS[name].inc(count)
            yield side, Sums.of(outcomes)
        self._counts.clear()


def count_samples(statuses: Iterable[Status], quarantined: Iterable[Cause]) -> None:
    """Counts the samples of a batch by status, and the records that scoring quarantined by cause."""
    counts = Counter(statuses)
    for status, count in counts.items():
        METRICS[f"samples_{status}"].inc(count)
    for cause, count in Counter(quarantined).items():
        METRICS["records_unmatched" if cause == "unmatched" else "records_rejected"].inc(count)
    PROGRESS.samples_scored += counts.total() - counts["rejected"]
    PROGRESS.note()
