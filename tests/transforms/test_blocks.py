"""Blocks of records, in the pipeline or on the disk: nothing is lost between the reader and its bucket."""

import os
import pickle
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from apache_beam import coders
from apache_beam.typehints.native_type_compatibility import convert_to_beam_type
from hypothesis import given, strategies as st

from beamscore.transforms import blocks
from beamscore.transforms.blocks import IN_PIPELINE, BlockBuffer, BlockFolder, only_samples, sorted_on_disk, unpack
from beamscore.transforms.hashes import bucket_of
from beamscore.transforms.io.files import SourceFile
from tests.faults import small_disk
from tests.transforms.samples import problem_of

KEYED = st.lists(st.tuples(st.text(max_size=5).map(str.encode), st.binary(max_size=40)), max_size=60)
WRONG = "temporary files cannot be written and read there: "


def test_the_number_of_buckets_follows_from_the_bytes() -> None:
    for files, count in (
        ({}, 1),
        ({"a.jsonl": 200 << 10}, 3),  # of 64 KiB at least
        ({"a.jsonl": 1 << 30}, 64),
        ({"a.jsonl": 2 << 30, "b.json": 1 << 30}, 192),  # 3 GiB / 16 MiB
        ({"a.jsonl.gz": 1 << 30}, 512),  # as if 8 GiB
        ({"a.parquet": 1 << 30}, 512),
        ({"a.jsonl": 1 << 45}, 2048),
    ):
        assert blocks.bucket_count(SourceFile(0, 0, path, size, "jsonl") for path, size in files.items()) == count


def test_a_bucket_is_the_same_for_ever_and_ids_that_look_alike_are_spread_evenly() -> None:
    """Or the parts of a run on two versions of Python would not meet."""
    assert [bucket_of(each.encode(), 1000) for each in ("", "a", "é", "chart-1")] == [0, 943, 443, 754]
    for pattern in ("{}", "chart-{:07}", "{:x}", "page_{}/figure_1.png", "{0}{0}"):
        counts = Counter(bucket_of(pattern.format(number).encode(), 64) for number in range(6400))
        # Of independent draws, a bucket has 100 give or take 10; six times that is out of the question.
        assert (len(counts), min(counts.values()) > 40, max(counts.values()) < 160) == (64, True, True)


@given(KEYED, st.integers(1, 5), st.integers(1, 100), st.integers(1, 300))
def test_every_record_leaves_once_in_its_bucket(records: list[Any], buckets: int, per_block: int, held: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BYTES_PER_BLOCK", per_block)
        patch.setattr(blocks, "BYTES_HELD", held)
        holder = BlockBuffer(buckets, BlockFolder())
        early = [each for record in records for each in holder.add(record)]
        last = list(holder.flush())
        assert list(holder.flush()) == []
    found = [(bucket, record) for bucket, block in [*early, *last] for record in unpack(block)]
    assert Counter(found) == Counter((bucket_of(key, buckets), (key, record)) for key, record in records)
    waiting = [record for _, block in last for record in unpack(block)]
    assert sum(len(key) + len(record) for key, record in waiting) < held
    for _, block in early:
        assert sum(len(key) + len(record) for key, record in unpack(block)[:-1]) < per_block
    assert len({bucket for bucket, _ in last}) == len(last)


def test_one_sample_is_taken_out_of_a_block() -> None:
    block = BlockFolder().write([(b"a", b"1"), (b"b", b"2"), (b"a", b"3")])
    ((bucket, found),) = only_samples((7, block), ["a", "d"])
    assert (bucket, unpack(found)) == (7, [(b"a", b"1"), (b"a", b"3")])
    assert list(only_samples((7, block), ["c"])) == []


@given(st.lists(KEYED, max_size=5))
def test_a_block_is_the_same_wherever_it_was(tmp_path_factory: pytest.TempPathFactory, contents: list[object]) -> None:
    """Blocks of several bundles, each of which may be read at once, or later in any order; the runner codes them."""
    before = len(os.listdir("/proc/self/fd"))
    for folder in (IN_PIPELINE, BlockFolder(str(tmp_path_factory.getbasetemp()))):
        coder = coders.registry.get_coder(convert_to_beam_type(folder.block_type))
        assert isinstance(coder, coders.TupleCoder if folder.path else coders.BytesCoder), "no pickle"
        writers = [pickle.loads(pickle.dumps(folder)) for _ in range(2)]
        written = [coder.encode(writers[number % 2].write(records)) for number, records in enumerate(contents)]
        assert [unpack(coder.decode(each)) for each in reversed(written)] == contents[::-1]
        assert all(len(each) < 400 for each in written if folder.path)
    assert len(os.listdir("/proc/self/fd")) == before, "no file stays open"


def test_only_what_is_whole_is_read_and_a_folder_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    """What a failed bundle left is not read; a worker that outlives its command for a moment leaves nothing behind."""
    folder = tmp_path / "blocks"
    folder.mkdir()
    failed, again, new = (BlockFolder(str(folder)) for _ in range(3))
    failed.write([(b"a", b"lost")])
    kept = again.write([(b"a", b"kept")])
    failed.write([(b"a", b"lost, too")])
    assert unpack(kept) == [(b"a", b"kept")]
    cut_off = again.write([(b"a", b"some content" * 9)])
    for size in (3, 0):
        for file in folder.iterdir():
            os.truncate(file, size)
        assert WRONG in problem_of(unpack, cut_off)
    shutil.rmtree(folder)
    for problem in (problem_of(again.write, []), problem_of(new.write, []), problem_of(unpack, kept)):
        assert f"{WRONG}No such file" in problem
    assert not folder.exists()


def test_a_full_disk_is_a_problem_of_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_disk(tmp_path / "disk", 16) as disk:
        writer = BlockFolder(str(disk))
        kept = writer.write([(b"a", b"small")])
        expected = (
            f"{disk}: {WRONG}No space left on device; fix that, or "
            "set the environment variable TMPDIR to a folder on another disk"
        )
        assert problem_of(lambda: writer.write([(b"a", os.urandom(1 << 20))])) == expected
        assert unpack(kept) == [(b"a", b"small")]
        monkeypatch.setattr("tempfile.tempdir", str(disk))
        assert problem_of(sorted_on_disk([(b"key", b"x" * 100_000)], bytes_in_memory=100).__enter__) == expected


@given(st.lists(st.tuples(st.binary(max_size=4), st.binary(max_size=4))), st.integers(1, 2000))
def test_sorting_on_disk_is_sorting_and_few_items_are_held_at_once(items: list[tuple[bytes, bytes]], room: int) -> None:
    spilled: list[int] = []
    spill = blocks._spilled
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_spilled", lambda held, files: (spilled.append(len(held)), spill(held, files))[1])  # type: ignore[func-returns-value]
        with sorted_on_disk(iter(items), bytes_in_memory=room) as found:
            assert list(found) == sorted(items)
    assert all((count - 1) * blocks._BYTES_PER_ITEM <= room for count in spilled)
    assert len(items) - sum(spilled) <= room / blocks._BYTES_PER_ITEM
