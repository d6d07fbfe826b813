"""Pairing by sample_id: the first by (file, position) counts, whatever the order of arrival."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apache_beam.pvalue import TaggedOutput
from hypothesis import given
from hypothesis import strategies as st

from metrics.statistics.sums import Sums
from transforms.pair import DeduplicateAndPair, PairedSample
from transforms.records import GROUND_TRUTH, JSON, EncodedRecord, Origin, Quarantined

NAMES = ["ours", "theirs"]

PLACES = st.tuples(st.sampled_from([GROUND_TRUTH, 0, 1]), st.integers(0, 3), st.integers(0, 5))
GROUPS = st.lists(PLACES, min_size=1, max_size=10, unique=True).flatmap(st.permutations)


def encoded(side: int, file: int, position: int) -> EncodedRecord:
    origin = Origin(side, file, position, position + 1, f"{side}/{file}.jsonl")
    return EncodedRecord(origin, JSON, b'{"sample_id": "a", "at": "%d/%d/%d"}' % (side, file, position))


class Group:
    """The frames of a group as a runner gives them: they can be iterated again, but not indexed or counted."""

    def __init__(self, frames: Sequence[bytes]) -> None:
        self._frames = frames

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._frames)


def pick(places: Sequence[tuple[int, int, int]]) -> tuple[list[PairedSample], list[Quarantined], dict[int, Sums]]:
    samples, quarantine, tally = [], [], {side: Sums() for side in (GROUND_TRUTH, 0, 1)}
    for output in DeduplicateAndPair(NAMES).process(("a", Group([encoded(*place).to_bytes() for place in places]))):
        if not isinstance(output, TaggedOutput):
            samples.append(output)
        elif output.tag == "tally":
            side, counts = output.value
            tally[side] = tally[side].merge(counts)
        else:
            assert output.tag == "quarantine"
            quarantine.append(output.value[1])
    return samples, quarantine, tally


@given(GROUPS)
def test_the_first_of_each_side_by_file_and_position_counts(places: list[tuple[int, int, int]]) -> None:
    samples, quarantine, tally = pick(places)
    by_side = {side: sorted(place for place in places if place[0] == side) for side in (GROUND_TRUTH, 0, 1)}
    truths = by_side[GROUND_TRUTH]
    if truths:
        predictions = tuple(encoded(*by_side[system][0]) if by_side[system] else None for system in (0, 1))
        assert samples == [PairedSample("a", encoded(*truths[0]), predictions)]
    else:
        assert samples == []
    expected = []
    for side, each in by_side.items():
        unmatched = bool(each) and side != GROUND_TRUTH and not truths
        assert tally[side] == Sums.of({"duplicate": max(0, len(each) - 1), "unmatched": int(unmatched)})
        name = "ground_truth" if side == GROUND_TRUTH else NAMES[side]
        expected += [(name, "duplicate", place) for place in each[1:]]
        expected += [(name, "unmatched", place) for place in each[:1] if unmatched]
    found = [
        (entry.side, entry.cause, (each[0], each[1], entry.position))
        for entry in quarantine
        for each in places
        if entry.source == f"{each[0]}/{each[1]}.jsonl" and entry.position == each[2]
    ]
    assert sorted(found) == sorted(expected)
    assert all((entry.stage, entry.sample_id) == ("pair", "a") for entry in quarantine)


def test_the_order_of_arrival_does_not_matter() -> None:
    first = pick([(-1, 0, 0), (-1, 0, 9), (0, 2, 10), (0, 10, 2), (1, 1, 1)])
    last = pick([(1, 1, 1), (0, 10, 2), (0, 2, 10), (-1, 0, 9), (-1, 0, 0)])
    assert first[0] == last[0]
    assert first[2] == last[2]
    assert sorted(entry.to_bytes() for entry in first[1]) == sorted(entry.to_bytes() for entry in last[1])


def test_messages_say_where_the_other_record_stands() -> None:
    _, (entry,), _ = pick([(-1, 0, 0), (0, 0, 4), (0, 0, 2)])
    assert entry.error == "the sample_id stands at 0/0.jsonl:3 already; that record counts, this one does not"
    assert (entry.source, entry.line) == ("0/0.jsonl", 5)
    _, (entry,), _ = pick([(0, 0, 4)])
    assert entry.error == "no readable ground-truth record has this sample_id; check the ids of both sides"
