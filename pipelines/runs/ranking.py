"""The systems of a run in order, with ties: two that the corpus cannot tell apart share a place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...metrics.benchmark import MetricSpec
from ...metrics.statistics.measured import Measured
from ...metrics.statistics.paired import PairedDifference, paired_differences, same_samples

if TYPE_CHECKING:
    from .run import Run


@dataclass(frozen=True)
class Place:
    """The place of a system, from 1.

    behind: its difference to the first system of the place before or of its own; None for the first system of all.
    tied: whether it shares its place with the system above, as the interval of the difference holds 0, or both are
    equal in all metrics by which systems are ranked.
    """

    system: str
    place: int
    tied: bool
    behind: PairedDifference | None


@dataclass(frozen=True)
class Ranking:
    """The places of the systems by one metric, and what a reader should know of them."""

    metric: str
    places: list[Place]
    warnings: list[str]

    def document(self) -> dict[str, Any]:
        """Returns the form of summary.json."""
        return {
            "metric": self.metric,
            "places": [
                {
                    "system": each.system,
                    "place": each.place,
                    "tied": each.tied,
                    "difference": None if each.behind is None else each.behind.difference,
                    "interval": None if each.behind is None else each.behind.interval,
                }
                for each in self.places
            ],
            **({"warnings": self.warnings} if self.warnings else {}),
        }


def rank_with_ties(run: Run) -> Ranking | None:
    """Returns the places of the systems of a run, best first; None of a single one, or without such a metric.

    The metric is the first by which systems are ranked that any system has. A system shares the place of the first one
    of the group above while the paired interval of their difference holds 0, or both are equal in all such metrics.
    """
    benchmark, order = run.configuration.benchmark, run.summary.ranking
    metrics = benchmark.ranking_metrics()
    if len(order) < 2 or not metrics:
        return None
    values = {name: [run.systems[name].values.get(spec.name) for spec in metrics] for name in order}
    spec = next((spec for place, spec in enumerate(metrics) if any(values[name][place] is not None for name in order)),
                metrics[0])  # fmt: skip
    measured = {name: run.measured(name, "") for name in order}
    confidence = run.configuration.settings.bootstrap.confidence
    warnings = _other_samples(run, spec, measured)
    places = [Place(order[0], 1, tied=False, behind=None)]
    leader = order[0]
    for number, name in enumerate(order[1:], start=2):
        behind = paired_differences(benchmark, measured[leader], measured[name], confidence)[spec.name]
        tied = values[name] == values[leader] or (
            behind.interval is not None and behind.interval[0] <= 0 <= behind.interval[1]
        )
        places.append(Place(name, places[-1].place if tied else number, tied, behind))
        leader = leader if tied else name
    return Ranking(spec.name, places, warnings)


def _other_samples(run: Run, spec: MetricSpec, measured: Mapping[str, Measured]) -> list[str]:
    """Returns a warning where systems did not score the same samples: their differences are not paired then."""
    benchmark, (first, *others) = run.configuration.benchmark, run.summary.ranking
    same = {name: same_samples(benchmark, spec.name, measured[first], measured[name]) for name in others}
    counts = {name: run.systems[name].measured_samples("wrong") for name in measured}
    apart = [name for name in others if same[name] is False or (not same[name] and counts[name] != counts[first])]
    if not apart:
        return []
    return [
        f"{', '.join(apart)} scored other samples than {first}: their places rest on different data, and "
        "`beamscore compare` compares what they have in common"
    ]
