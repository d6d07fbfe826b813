"""The systems of a run in order, with ties: systems that the corpus cannot distinguish share a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ...metrics.benchmark import MetricSpec
from ...metrics.repeats import REPEATS
from ...metrics.statistics.measured import Measured
from ...metrics.statistics.paired import paired_differences, same_samples

if TYPE_CHECKING:
    from .run import Run


class Place(msgspec.Struct, frozen=True):
    """The place of a system, from 1, as in summary.json.

    tied: whether it shares its place with the system above, because no interval of the difference excludes 0, or both
    are equal in all ranking metrics. difference: to the first system of the previous place or of its own, with its
    interval; None for the first system of all.
    """

    system: str
    place: int
    tied: bool = False
    difference: float | None = None
    interval: tuple[float, float] | None = None


class Ranking(msgspec.Struct, frozen=True):
    """The places of the systems by one metric, and warnings about them."""

    metric: str
    places: list[Place]
    warnings: list[str]

    def document(self) -> dict[str, Any]:
        """Returns the form of summary.json, which has the warnings among its own."""
        return {"metric": self.metric, "places": msgspec.to_builtins(self.places)}


def rank(values: Mapping[str, Mapping[str, float | None]], ranking: Sequence[MetricSpec]) -> list[str]:
    """Returns the systems from best to worst: by the first metric of `ranking` in its direction, then by the next.

    A metric that was not measured ranks last; full ties keep the order of the names.
    """

    def order(name: str) -> tuple[Any, ...]:
        measured = [(spec, values[name].get(spec.name)) for spec in ranking]
        return (*((value is None, -spec.signed_value(value or 0.0)) for spec, value in measured), name)

    return sorted(values, key=order)


def rank_with_ties(run: Run) -> Ranking | None:
    """Returns the places of the systems of a run, best first; None for a single system, or without a metric.

    The metric is the first ranking metric that any system has. A system shares the place of the first system of the
    group above if they have a difference and no interval that excludes 0, or are equal in all ranking metrics.
    """
    benchmark, order = run.configuration.benchmark, run.summary.ranking
    metrics = benchmark.ranking_metrics()
    if len(order) < 2 or not metrics:
        return None
    values = {name: [run.systems[name].values.get(spec.name) for spec in metrics] for name in order}
    of_metrics = zip(metrics, zip(*values.values(), strict=True), strict=True)
    spec = next((spec for spec, column in of_metrics if any(value is not None for value in column)), metrics[0])
    measured = {name: run.measured(name, "") for name in order}
    confidence = run.configuration.settings.bootstrap.confidence
    leader, *others = order
    places = [Place(leader, 1)]
    for number, name in enumerate(others, start=2):
        behind = paired_differences(benchmark, measured[leader], measured[name], confidence)[spec.name]
        low, high = behind.interval or (0.0, 0.0)
        tied = values[name] == values[leader] or (behind.difference is not None and low <= 0 <= high)
        place = places[-1].place if tied else number
        places.append(Place(name, place, tied, behind.difference, behind.interval))
        leader = leader if tied else name
    return Ranking(spec.name, places, _other_samples(run, spec, measured))


def _other_samples(run: Run, spec: MetricSpec, measured: Mapping[str, Measured]) -> list[str]:
    """Returns a warning if systems did not measure the same samples: their differences are then not paired."""
    benchmark, (first, *others) = run.configuration.benchmark, run.summary.ranking
    missing = run.configuration.settings.missing
    samples = run.systems[first].measured_samples(missing) if missing == "exclude" else 0
    same = {name: same_samples(benchmark, spec.name, measured[first], measured[name], samples) for name in others}
    left_out, rejected = (
        {name: system.left_out(rule, system.values.get(REPEATS)) for name, system in run.systems.items()}
        for rule in (missing, "wrong")
    )
    certain = [name for name in others if same[name] is False or (not same[name] and left_out[name] != left_out[first])]
    # As many samples without a prediction need not be the same ones.
    apart = certain or [name for name in others if not same[name] and left_out[name] > rejected[name]]
    if not apart:
        return []
    return [
        f"{', '.join(apart)} {'' if certain else 'may have '}scored other samples than {first}: their places rest on "
        "different data, and `beamscore compare` compares what they have in common"
    ]
