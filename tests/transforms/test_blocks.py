"""Blocks of records: nothing is lost between the reader and its bucket, and no block is large or held for long."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.transforms import blocks
from beamscore.transforms.blocks import BlockBuffer, BlockWriter, bucket_count, only_samples, pack, unpack
from beamscore.transforms.hashes import bucket_of
from beamscore.transforms.io.files import SourceFile

RECORDS = st.lists(st.tuples(st.text(max_size=5), st.binary(max_size=40)), max_size=60)


def file(path: str, size: int) -> SourceFile:
    return SourceFile(0, 0, path, size, "parquet" if path.endswith("parquet") else "jsonl")


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ([], 1),
        ([file("a.jsonl", 1000)], 1),
        ([file("a.jsonl", 200 << 10)], 3),  # of 64 KiB at least
        ([file("a.jsonl", 1 << 20)] * 10, 64),
        ([file("a.jsonl", 1 << 30)], 64),
        ([file("a.jsonl", 2 << 30), file("b.json", 1 << 30)], 192),  # 3 GiB / 16 MiB
        ([file("a.jsonl.gz", 1 << 30)], 512),  # as if 8 GiB
        ([file("a.parquet", 1 << 30)], 512),
        ([file("a.jsonl", 1 << 45)], 2048),
    ],
)
def test_the_number_of_buckets_follows_from_the_bytes(files: list[SourceFile], count: int) -> None:
    assert bucket_count(files) == count


@pytest.mark.parametrize("pattern", ["{}", "chart-{:07}", "{:x}", "page_{}/figure_1.png", "{0}{0}"])
@pytest.mark.parametrize("buckets", [3, 64, 100])
def test_ids_that_look_alike_are_spread_evenly(pattern: str, buckets: int) -> None:
    counts = Counter(bucket_of(pattern.format(number).encode(), buckets) for number in range(100 * buckets))
    assert len(counts) == buckets
    # Of independent draws, a bucket has 100 samples give or take 10; six times that is out of the question.
    assert 40 < min(counts.values()) <= max(counts.values()) < 160


def test_a_bucket_is_the_same_for_ever() -> None:
    """Or the parts of a run on two versions of Python would not meet."""
    assert [bucket_of(each.encode(), 1000) for each in ("", "a", "é", "chart-1")] == [0, 943, 443, 754]


@given(RECORDS)
def test_a_block_holds_its_records(records: list[tuple[str, bytes]]) -> None:
    keyed = [(sample_id.encode(), record) for sample_id, record in records]
    assert unpack(pack(keyed, BlockWriter())) == keyed


@given(RECORDS, st.integers(1, 5), st.integers(1, 100), st.integers(1, 300))
def test_every_record_leaves_once_in_its_bucket(
    records: list[tuple[str, bytes]], buckets: int, per_block: int, held: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BYTES_PER_BLOCK", per_block)
        patch.setattr(blocks, "BYTES_HELD", held)
        holder = BlockBuffer(buckets, BlockWriter())
        given_early = list(holder.add([(sample_id.encode(), record) for sample_id, record in records]))
        given_last = list(holder.flush())
        assert list(holder.flush()) == []
    found = [(bucket, record) for bucket, block in [*given_early, *given_last] for record in unpack(block)]
    expected = [(bucket_of(key.encode(), buckets), (key.encode(), record)) for key, record in records]
    assert Counter(found) == Counter(expected)
    waiting = [record for _, block in given_last for record in unpack(block)]
    assert sum(len(key) + len(record) for key, record in waiting) < held
    for _, block in given_early:
        assert sum(len(key) + len(record) for key, record in unpack(block)[:-1]) < per_block
    assert len({bucket for bucket, _ in given_last}) == len(given_last)


def test_one_sample_is_taken_out_of_a_block() -> None:
    block = pack([(b"a", b"1"), (b"b", b"2"), (b"a", b"3")], BlockWriter())
    ((bucket, found),) = only_samples((7, block), ["a", "d"])
    assert (bucket, unpack(found)) == (7, [(b"a", b"1"), (b"a", b"3")])
    assert list(only_samples((7, block), ["c"])) == []
