"""Counts of the quarantine by cause, with examples that does not depend on the order."""

from __future__ import annotations

from collections.abc import Sequence

import apache_beam as beam
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import given
from hypothesis import strategies as st

from beamscore.transforms.publish import CountCauses
from beamscore.transforms.records import Cause, CauseCount, Quarantined


def entry(position: int, side: str = "ours", cause: Cause = "duplicate", source: str = "a.jsonl") -> Quarantined:
    return Quarantined(side, "s", source, position, None, "pair", cause, "twice", "{}")


ENTRIES = [entry(3), entry(1), entry(2), entry(9, source="a"), entry(5, source="b.jsonl")]


@given(st.permutations(ENTRIES), st.integers(0, 5))
def test_counts_merge_in_any_order_to_the_first_by_place(entries: Sequence[Quarantined], cut: int) -> None:
    halves = [CauseCount(), CauseCount()]
    for index, each in enumerate(entries):
        half = int(index >= cut)
        halves[half] = halves[half].merge(CauseCount(1, (each,)))
    assert (
        halves[0].merge(halves[1])
        == halves[1].merge(halves[0])
        == CauseCount(5, (entry(9, source="a"), entry(1), entry(2)))
    )


def test_causes_are_counted_by_side_and_cause() -> None:
    entries = [entry(4), entry(2), entry(7, side="theirs"), entry(8, cause="unmatched"), entry(1, side="theirs")]
    expected = [
        CauseCount(2, (entry(2), entry(4))),
        CauseCount(2, (entry(1, side="theirs"), entry(7, side="theirs"))),
        CauseCount(1, (entry(8, cause="unmatched"),)),
    ]
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        assert_that(pipeline | beam.Create(entries) | CountCauses(), equal_to(expected))
