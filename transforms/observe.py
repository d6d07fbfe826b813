"""What can be watched of a run: Beam's metrics under a fixed set of names, and a count for the local console."""

from __future__ import annotations

from dataclasses import dataclass

from apache_beam.metrics import Metrics

NAMESPACE = "beamscore"


class Observed:
    """Counters by what became of a record, and distributions of what scoring costs."""

    read = Metrics.counter(NAMESPACE, "records_read")
    rejected = Metrics.counter(NAMESPACE, "records_rejected")
    scored = Metrics.counter(NAMESPACE, "samples_scored")
    missing = Metrics.counter(NAMESPACE, "samples_missing_prediction")
    batch_size = Metrics.distribution(NAMESPACE, "batch_size")
    sample_microseconds = Metrics.distribution(NAMESPACE, "sample_microseconds")


@dataclass
class Progress:
    """How far the workers of this process have come, for a progress line.

    Only a hint for people: a retried bundle counts twice, and other processes are not seen.
    """

    records_read: int = 0
    truths_read: int = 0
    samples_scored: int = 0


PROGRESS = Progress()
