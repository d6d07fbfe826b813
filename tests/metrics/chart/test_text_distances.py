"""Edit distances of the texts of many charts: each chart as if it were alone."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.chart.text_distances import Texts, distinct_texts, text_distances, text_steps
from tests.metrics.common.test_text import TEXTS, plain_edit_distance

CHARTS = st.lists(st.tuples(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=4)), max_size=4)
REPEATED = CHARTS.flatmap(lambda charts: st.lists(st.sampled_from(charts), max_size=8) if charts else st.just(charts))
"""Charts of which several have the same texts."""
LONG = st.lists(st.integers(0, 200).map("x".__mul__), max_size=4)


def sides(charts: list[tuple[list[str], list[str]]]) -> list[Texts]:
    return [
        Texts.of(
            [text for chart in charts for text in chart[side]], np.array([len(chart[side]) for chart in charts], int)
        )
        for side in (0, 1)
    ]


@given(CHARTS | REPEATED, st.sampled_from([0, 4, 1000]))
def test_distances_are_edits_over_the_longer_text(charts: list[tuple[list[str], list[str]]], limit: int) -> None:
    expected = [
        plain_edit_distance(text, other) / max(len(text), len(other), 1)
        for texts, others in charts
        for text in texts
        for other in others
    ]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("beamscore.metrics.chart.text_distances.MAX_PAIRED_TEXTS", limit)
        assert text_distances(*sides(charts)).tolist() == expected


def operations(texts: list[str], others: list[str]) -> int:
    """Counts a column of the table of edits for each character of `others`, in words of 64 characters of `texts`."""
    words = [1 + len(text) // 64 for text in texts]
    return (sum(words) if sum(map(len, texts)) >= 64 else len(texts)) * sum(map(len, others))


@given(st.lists(st.tuples(LONG, LONG), max_size=4))
def test_steps_are_those_of_each_chart_alone(charts: list[tuple[list[str], list[str]]]) -> None:
    expected = [
        2 * (1 + len(texts) * len(others) // 20) + max(operations(texts, others), operations(others, texts)) // 80
        for texts, others in charts
    ]
    assert text_steps(*sides(charts)).tolist() == expected


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=5), max_size=4))
def test_distinct_texts_are_found_by_their_places(charts: list[list[str]]) -> None:
    found, places = distinct_texts([*chain.from_iterable(charts)], np.array([*map(len, charts)], dtype=np.intp))
    assert found.counts.tolist() == [len(set(chart)) for chart in charts]
    start = 0
    remaining = iter(places.tolist())
    for chart, count in zip(charts, found.counts.tolist(), strict=True):
        assert [found.texts[start + next(remaining)] for _ in chart] == chart
        start += count
