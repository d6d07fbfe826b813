"""Pairing by sample_id: the first by (file, position) counts, whatever the order of arrival."""

import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.statistics.sums import Sums
from beamscore.transforms import pair as pairing
from beamscore.transforms.blocks import BlockFolder
from beamscore.transforms.pair import DeduplicateAndPair, samples_per_batch
from beamscore.transforms.records import EARLIER_ROWS, GROUND_TRUTH, REUSED_ROWS, Cause, EncodedRecord, Quarantined
from beamscore.transforms.scored import PairedSample
from tests.transforms.samples import bundle, encoded

NAMES = ["ours", "theirs"]
Place = tuple[int, int, int]
PLACES = st.tuples(st.sampled_from([GROUND_TRUTH, 0, 1, REUSED_ROWS, EARLIER_ROWS]), *[st.integers(0, 4)] * 2)


def record(side: int, file: int, position: int) -> EncodedRecord:
    return encoded(side, b"%d/%d/%d" % (side, file, position), file, position, f"{side}/{file}")


def pair(buckets: Sequence[Sequence[list[tuple[bytes, bytes]]]], batch: int = 100) -> Any:
    """Pairs a bundle of buckets, each of blocks of records; returns the batches, the quarantine and the outcomes."""
    # As a runner gives the blocks of a bucket: they can be iterated, but not indexed or counted.
    packed = [(number, map(BlockFolder().write, bucket)) for number, bucket in enumerate(buckets)]
    found = bundle(DeduplicateAndPair(NAMES, batch, ()), *packed)
    return found["main"], found["quarantine"], dict(found["outcomes"])


@given(st.lists(PLACES, min_size=1, max_size=10, unique=True).flatmap(st.permutations))
def test_the_first_of_each_side_by_file_and_position_counts(places: list[Place]) -> None:
    records = [(b"a", record(*place).encoded) for place in places]
    batches, quarantine, outcomes = pair([[records[:3], records[3:]]])
    by_side = {side: sorted(place for place in places if place[0] == side) for side in (GROUND_TRUTH, 0, 1)}
    truths, expected = by_side[GROUND_TRUTH], list[Quarantined]()
    predictions = tuple(record(*by_side[system][0]) if by_side[system] else None for system in (0, 1))
    # Of rows of earlier runs there may be any number: nothing is quarantined of them.
    rows = tuple(record(*place) for place in sorted(places) if place[0] in (REUSED_ROWS, EARLIER_ROWS))
    assert batches == ([[PairedSample("a", record(*truths[0]), predictions, rows)]] if truths else [])
    for side, each in by_side.items():
        unmatched = bool(each) and side != GROUND_TRUTH and not truths
        counted = Sums.of({"duplicate": max(0, len(each) - 1), "unmatched": int(unmatched)})
        assert outcomes.get(side, Sums()) == counted
        name = "ground_truth" if side == GROUND_TRUTH else NAMES[side]
        for number, (_, file, position) in enumerate(each):
            first = f"{side}/{each[0][1]}:{each[0][2] + 1}"
            cause: Cause = "duplicate" if number else "unmatched"
            error = "no readable ground-truth record has this sample_id; check the ids of both sides"
            error = f"the sample_id is first at {first}; only that record counts" if number else error
            if number or unmatched:
                text = f"{side}/{file}/{position}"
                place = f"{side}/{file}", position, position + 1
                expected.append(Quarantined(name, "a", *place, "pair", cause, error, text))
    assert sorted(quarantine, key=msgspec.json.encode) == sorted(expected, key=msgspec.json.encode)


def bucket(ids: Sequence[str], size: int = 0) -> list[tuple[bytes, bytes]]:
    """The records of both systems and of the ground truth for each of `ids`."""
    records = [
        (sample_id.encode(), encoded(side, b"x" * size, 0, position).encoded)
        for position, sample_id in enumerate(ids)
        for side in (GROUND_TRUTH, 0, 1)
    ]
    random.Random(1).shuffle(records)
    return records


def test_batches_have_the_size_that_is_wanted_and_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    def ids_of(*buckets: Any, batch: int = 100) -> list[str]:
        return ["".join(sample.sample_id for sample in each) for each in pair(buckets, batch)[0]]

    assert ids_of([bucket("gca")], [], [bucket("hb"), bucket("edf")], batch=3) == ["acg", "bde", "fh"]
    assert ids_of([bucket("ab", size=3 << 20)]) == ["a", "b"], "long records count with the bytes that they become"
    monkeypatch.setattr(pairing, "BYTES_PER_BATCH", 700)
    assert ids_of([bucket("abcde", size=100)]) == ["ab", "cd", "e"]
    assert ids_of([bucket("ab", size=1000)]) == ["a", "b"], "one that is larger is alone"
    # Multiples of what a benchmark likes.
    sizes = {1: 256, 3: 255, 100: 200, 256: 256, 1000: 1000}
    assert {wanted: samples_per_batch(wanted) for wanted in sizes} == sizes
