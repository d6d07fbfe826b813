"""Percentile intervals against order statistics taken by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.statistics.intervals import percentile_intervals
from metrics.statistics.ratios import ratio
from metrics.statistics.sums import Sums


def values(sums: Sums) -> dict[str, float | None]:
    return {"share": ratio(sums["hits"], sums["all"])}


def replicates(shares: list[float | None]) -> list[Sums]:
    return [Sums() if share is None else Sums.of({"hits": share, "all": 1}) for share in shares]


def quantile(ordered: list[float], share: float) -> float:
    """The quantile that is linear between order statistics: place (n - 1) share, counted from 0."""
    place = (len(ordered) - 1) * share
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def test_the_middle_of_eleven_replicates() -> None:
    shares: list[float | None] = [0.5, 0.0, 1.0, 0.875, 0.125, 0.25, 0.75, 0.375, 0.625, 0.4375, 0.5625]
    # In order: 0 .125 .25 .375 .4375 .5 .5625 .625 .75 .875 1; the 0.1 quantile is at place 1, the 0.9 one at place 9.
    assert percentile_intervals(values, replicates(shares), 0.8)["share"] == pytest.approx((0.125, 0.875), abs=1e-15)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_quantiles_are_linear_between_order_statistics(shares: list[float], confidence: float) -> None:
    found = percentile_intervals(values, replicates(list(shares)), confidence)["share"]
    ordered = sorted(values(sums)["share"] or 0.0 for sums in replicates(list(shares)))
    tail = (1 - confidence) / 2
    assert found == pytest.approx((quantile(ordered, tail), quantile(ordered, 1 - tail)), rel=1e-9, abs=1e-15)


@given(st.permutations([0.0, 0.1, 0.2, 0.7, 0.9, None]))
def test_the_order_of_replicates_does_not_matter(shares: list[float | None]) -> None:
    assert percentile_intervals(values, replicates(shares), 0.9) == percentile_intervals(
        values, replicates([0.0, 0.1, 0.2, 0.7, 0.9, None]), 0.9
    )


@pytest.mark.parametrize(
    ("shares", "measured"),
    [
        ([0.5, 0.5], True),
        ([0.5, None], True),  # half of the replicates is enough
        ([0.5, None, None], False),
        ([0.5, 0.5, 0.5, None, None, None, None], False),
        ([None, None], False),
    ],
)
def test_an_interval_needs_half_of_the_replicates(shares: list[float | None], measured: bool) -> None:
    found = percentile_intervals(values, replicates(shares), 0.95)
    assert found == {"share": (0.5, 0.5) if measured else None}


def test_no_replicates_no_intervals() -> None:
    assert percentile_intervals(values, [], 0.95) == {}
