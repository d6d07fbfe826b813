"""The difference of the two systems of a run, for its page: where there are two, this is what a person looks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....metrics.statistics.paired import paired_differences
from ..run import RunResult
from .against import AgainstMetric, against_metric


@dataclass(frozen=True)
class TwoSystems:
    """The second system of a run less the first. found: by metric, the main ones. note: what is compared, in words."""

    note: str
    found: Mapping[str, AgainstMetric]


def two_systems(result: RunResult) -> TwoSystems | None:
    """Returns how the systems of a run differ; None unless there are two, both scored, with replicates."""
    settings, benchmark = result.configuration.settings, result.configuration.benchmark
    drawn, clustered = settings.bootstrap, settings.cluster is not None
    scored = all(system.overall.coverage for system in result.systems.values())
    if len(result.systems) != 2 or not scored or not drawn.replicates:
        return None
    before, after = (
        system.overall.measured(benchmark, drawn.replicates, clustered) for system in result.systems.values()
    )
    found = paired_differences(benchmark, before, after, drawn.confidence)
    first, second = result.systems
    lines = [f"{second} less {first}, with intervals of {drawn.replicates:,} paired bootstrap replicates."]
    lines += [f"{warning}." for warning in (result.places.warnings if result.places else [])]
    return TwoSystems(
        " ".join(lines),
        {
            metric: against_metric(benchmark, metric, found[metric], drawn.confidence)
            for metric in benchmark.main_metrics()
            if metric in found
        },
    )
