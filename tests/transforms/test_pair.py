"""Pairing by sample_id: the first by (file, position) counts, whatever the order of arrival."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from apache_beam.pvalue import TaggedOutput
from apache_beam.utils.windowed_value import WindowedValue
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.sums import Sums
from beamscore.transforms import blocks as sorting
from beamscore.transforms import pair as pairing
from beamscore.transforms.blocks import Block, BlockWriter, pack
from beamscore.transforms.pair import DeduplicateAndPair, samples_per_batch
from beamscore.transforms.records import (
    EARLIER_ROWS,
    GROUND_TRUTH,
    JSON,
    REUSED_ROWS,
    EncodedRecord,
    Origin,
    Quarantined,
)
from beamscore.transforms.scored import PairedSample

NAMES = ["ours", "theirs"]

PLACES = st.tuples(
    st.sampled_from([GROUND_TRUTH, 0, 1, REUSED_ROWS, EARLIER_ROWS]), st.integers(0, 3), st.integers(0, 5)
)
GROUPS = st.lists(PLACES, min_size=1, max_size=10, unique=True).flatmap(st.permutations)


def encoded(side: int, file: int, position: int) -> EncodedRecord:
    origin = Origin(side, file, position, position + 1, f"{side}/{file}.jsonl")
    return EncodedRecord.of(origin, JSON, b'{"sample_id": "a", "at": "%d/%d/%d"}' % (side, file, position))


class Blocks:
    """The blocks of a bucket as a runner gives them: they can be iterated, but not indexed or counted."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks)


Paired = tuple[list[list[PairedSample]], list[Quarantined], dict[int, Sums]]


def pair(buckets: Sequence[Sequence[list[tuple[bytes, bytes]]]], batch: int = 100) -> Paired:
    """Pairs a bundle of buckets, each of blocks of records; returns the batches, the quarantine and the outcomes."""
    batches, quarantine, outcomes = [], [], {side: Sums() for side in (GROUND_TRUTH, 0, 1)}
    do_fn = DeduplicateAndPair(NAMES, batch)
    do_fn.start_bundle()
    outputs: list[Any] = []
    for number, bucket in enumerate(buckets):
        outputs += do_fn.process((number, Blocks([pack(block, BlockWriter()) for block in bucket])))
    outputs += do_fn.finish_bundle()
    for output in outputs:
        tag = output.tag if isinstance(output, TaggedOutput) else None
        value = output.value if isinstance(output, TaggedOutput) else output
        value = value.value if isinstance(value, WindowedValue) else value
        if tag is None:
            batches.append(value)
        elif tag == "outcomes":
            outcomes[value[0]] = outcomes[value[0]].merge(value[1])
        else:
            assert tag == "quarantine"
            quarantine.append(value)
    return batches, quarantine, outcomes


def pick(places: Sequence[tuple[int, int, int]]) -> tuple[list[PairedSample], list[Quarantined], dict[int, Sums]]:
    """Pairs records of one sample, in two blocks."""
    records = [(b"a", encoded(*place).encoded) for place in places]
    batches, quarantine, outcomes = pair([[records[:3], records[3:]]])
    return [sample for batch in batches for sample in batch], quarantine, outcomes


@given(GROUPS)
def test_the_first_of_each_side_by_file_and_position_counts(places: list[tuple[int, int, int]]) -> None:
    samples, quarantine, outcomes = pick(places)
    by_side = {side: sorted(place for place in places if place[0] == side) for side in (GROUND_TRUTH, 0, 1)}
    truths = by_side[GROUND_TRUTH]
    if truths:
        predictions = tuple(encoded(*by_side[system][0]) if by_side[system] else None for system in (0, 1))
        # Of rows of earlier runs there may be any number: nothing is quarantined of them.
        rows = sorted(place for place in places if place[0] in (REUSED_ROWS, EARLIER_ROWS))
        assert samples == [PairedSample("a", encoded(*truths[0]), predictions, tuple(encoded(*row) for row in rows))]
    else:
        assert samples == []
    expected = []
    for side, each in by_side.items():
        unmatched = bool(each) and side != GROUND_TRUTH and not truths
        assert outcomes[side] == Sums.of({"duplicate": max(0, len(each) - 1), "unmatched": int(unmatched)})
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


def test_messages_say_where_the_other_record_stands() -> None:
    _, (entry,), _ = pick([(-1, 0, 0), (0, 0, 4), (0, 0, 2)])
    assert entry.error == "the sample_id is first at 0/0.jsonl:3; only that record counts"
    assert (entry.source, entry.line) == ("0/0.jsonl", 5)
    _, (entry,), _ = pick([(0, 0, 4)])
    assert entry.error == "no readable ground-truth record has this sample_id; check the ids of both sides"


def bucket(ids: Sequence[str], size: int = 0) -> list[tuple[bytes, bytes]]:
    """The records of both systems and of the ground truth for each of `ids`."""
    records = []
    for position, sample_id in enumerate(ids):
        for side in (GROUND_TRUTH, 0, 1):
            origin = Origin(side, 0, position, position + 1, "a.jsonl")
            records.append((sample_id.encode(), EncodedRecord.of(origin, JSON, b"x" * size).encoded))
    random.Random(1).shuffle(records)
    return records


def ids_of(batches: list[list[PairedSample]]) -> list[list[str]]:
    return [[sample.sample_id for sample in batch] for batch in batches]


def test_batches_have_the_size_that_is_wanted_across_buckets() -> None:
    batches, _, _ = pair([[bucket("gca")], [], [bucket("hb"), bucket("edf")]], batch=3)
    assert ids_of(batches) == [["a", "c", "g"], ["b", "d", "e"], ["f", "h"]]
    assert all(None not in sample.predictions for batch in batches for sample in batch)


def test_a_batch_holds_no_more_bytes_than_are_decoded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing, "BYTES_PER_BATCH", 700)
    assert ids_of(pair([[bucket("abcde", size=100)]])[0]) == [["a", "b"], ["c", "d"], ["e"]]
    assert ids_of(pair([[bucket("ab", size=1000)]])[0]) == [["a"], ["b"]], "one that is larger is alone"


def test_long_records_count_with_the_bytes_that_they_become() -> None:
    batches, _, _ = pair([[bucket("ab", size=3 << 20)]])
    assert ids_of(batches) == [["a"], ["b"]]
    assert len(batches[0][0].truth.encoded) < 10_000


def test_a_bucket_that_is_larger_than_the_memory_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [*bucket([str(number) for number in range(40)]), *bucket(["7"] * 30)]
    expected = pair([[records]])
    monkeypatch.setattr(sorting.sorted_on_disk.__wrapped__, "__defaults__", (200,))  # type: ignore[attr-defined]
    found = pair([[records[:50], records[50:]]])
    assert found[0] == expected[0]
    assert found[2] == expected[2]
    assert len(found[1]) == len(expected[1]) == 3 * 30


@pytest.mark.parametrize(("wanted", "size"), [(1, 256), (3, 255), (100, 200), (256, 256), (1000, 1000)])
def test_batches_are_multiples_of_what_a_benchmark_wants(wanted: int, size: int) -> None:
    assert samples_per_batch(wanted) == size


def test_duplicates_are_never_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many times as many as fit into the memory that is allowed."""
    monkeypatch.setattr(sorting.sorted_on_disk.__wrapped__, "__defaults__", (100_000,))  # type: ignore[attr-defined]
    count, text = 3000, b"x" * 2000
    places = (Origin(0, 0, number, number + 1, "a.jsonl") for number in range(count))
    blocks = (pack([(b"a", EncodedRecord.of(place, JSON, text).encoded)], BlockWriter()) for place in places)
    do_fn = DeduplicateAndPair(NAMES)
    do_fn.start_bundle()
    tracemalloc.start()
    duplicates = sum(
        output.tag == "quarantine" for output in do_fn.process((0, blocks)) if isinstance(output, TaggedOutput)
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert duplicates == count
    assert peak < 2_000_000 < count * len(text) / 2
