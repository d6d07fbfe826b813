"""What can be watched of a run: Beam's metrics under a fixed set of names, and a count for the local console."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apache_beam.metrics import Metrics

NAMESPACE = "beamscore"


class Observed:
    """Counters by what became of a record, and distributions of what scoring costs."""

    read = Metrics.counter(NAMESPACE, "records_read")
    rejected = Metrics.counter(NAMESPACE, "records_rejected")
    duplicate = Metrics.counter(NAMESPACE, "records_duplicate")
    unmatched = Metrics.counter(NAMESPACE, "records_unmatched")
    scored = Metrics.counter(NAMESPACE, "samples_scored")
    missing = Metrics.counter(NAMESPACE, "samples_missing_prediction")
    samples_rejected = Metrics.counter(NAMESPACE, "samples_rejected")
    batch_size = Metrics.distribution(NAMESPACE, "batch_size")
    sample_microseconds = Metrics.distribution(NAMESPACE, "sample_microseconds")


def timing_name(timed: str) -> str:
    """Returns the name of the distribution of one of a benchmark's `timed`, in microseconds a batch."""
    return f"{timed}_microseconds"


def timing(timed: str) -> Any:
    """Returns the distribution of one of a benchmark's `timed`."""
    return Metrics.distribution(NAMESPACE, timing_name(timed))


def metric_names(timed: Sequence[str] = ()) -> set[str]:
    """Returns the names of all metrics of an evaluation by a benchmark with these `timed`."""
    metrics = [each for each in vars(Observed).values() if hasattr(each, "metric_name")]
    return {each.metric_name.name for each in metrics} | {timing_name(each) for each in timed}


@dataclass
class Progress:
    """How far the workers of this process have come, for a progress line.

    Only a hint for people: a retried bundle counts twice, and other processes are not seen.
    """

    records_read: int = 0
    truths_read: int = 0
    samples_scored: int = 0


PROGRESS = Progress()
