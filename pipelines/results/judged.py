"""What gates look at: the slices of a run that is being finalised, or of a finished one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from ...metrics.statistics.measured import AnyBenchmark, Measured, measure
from ...metrics.statistics.sums import Sums
from ...transforms.finalize import SliceResult, corpus_sums
from ..config.settings import Configuration
from .run import RunResult
from .stored import Run
from .stored_documents import SliceSums, left_out_samples, measured_samples
from .verdict import Interval


@dataclass(frozen=True)
class JudgedSlice:
    """What a gate looks at: one slice of one system.

    samples: how many were measured. left_out: how many were not, as they were rejected, or lack a prediction and
    missing ones are left out.
    """

    values: Mapping[str, float | None]
    intervals: Mapping[str, Interval | None]
    samples: int
    measure: Callable[[], Measured]
    left_out: int = 0


JudgedSystems = Mapping[str, Mapping[str, JudgedSlice]]
"""By system and label; the label of all samples is empty."""


def judged_result(result: RunResult) -> JudgedSystems:
    """Returns the slices of a run that is being finalised."""
    return {
        name: {
            label: _judged(result.configuration, found)
            for label, found in [("", system.overall), *system.slices.items()]
        }
        for name, system in result.systems.items()
    }


def _judged(configuration: Configuration, found: SliceResult) -> JudgedSlice:
    prefix, bootstrap = "ground_truth.", configuration.settings.bootstrap
    counts = {key.removeprefix(prefix): count for key, count in found.coverage.items() if key.startswith(prefix)}
    return JudgedSlice(
        found.values,
        found.intervals,
        measured_samples(counts, configuration.settings.missing),
        lambda: found.measured(
            configuration.benchmark, bootstrap.replicates, configuration.settings.cluster is not None
        ),
        left_out_samples(counts, configuration.settings.missing),
    )


def judged_run(run: Run) -> JudgedSystems:
    """Returns the slices of a finished run."""
    return {
        name: {label: judged_slice(run, name, label) for label in ("", *system.slices)}
        for name, system in run.summary.systems.items()
    }


def judged_slice(run: Run, system: str, label: str) -> JudgedSlice:
    """Returns a slice of a finished run that is there; it holds no more of the run than its own sums."""
    found, sums = run.slice(system, label), run.slice_sums(system, label)
    assert found is not None
    assert sums is not None
    configuration, counts = run.configuration, found.counts("ground_truth")
    missing = configuration.settings.missing
    return JudgedSlice(
        found.values,
        found.intervals,
        measured_samples(counts, missing),
        partial(
            measure_stored,
            configuration.benchmark,
            corpus_sums(configuration.benchmark, run.corpus(system)),
            sums,
            run.sums.bootstrap.replicates,
            configuration.settings.cluster is not None,
            found.predictions_fingerprint,
        ),
        left_out_samples(counts, missing),
    )


def measure_stored(
    benchmark: AnyBenchmark, corpus: Sums, sums: SliceSums, replicates: int, clustered: bool, predictions: str | None
) -> Measured:
    """Returns the metrics of stored sums, with their replicates; raises ValueError where these are damaged."""
    return measure(benchmark, corpus, sums.all_sums(replicates), clustered, predictions)
