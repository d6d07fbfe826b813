"""The filter by sample_id: no wanted record is lost, whatever its bucket, and others pass by accident alone."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.transforms import sample_filter
from beamscore.transforms.blocks import IN_PIPELINE, BlockBuffer, BlockWriter, bucket_of, unpack
from beamscore.transforms.sample_filter import IdBitmap, KeepWanted, may_be_wanted

IDS = st.lists(st.text(max_size=4).filter(lambda text: text.isprintable()), max_size=20)


def bitmap_of(parts: list[list[bytes]]) -> bytes:
    combine = IdBitmap()
    accumulators = []
    for part in parts:
        accumulator = combine.create_accumulator()
        for each in part:
            accumulator = combine.add_input(accumulator, each)
        accumulators.append(accumulator)
    return combine.extract_output(combine.merge_accumulators(accumulators))


@given(IDS, st.lists(IDS, max_size=3), st.integers(1, 4))
def test_the_wanted_records_are_kept_in_their_buckets(ids: list[str], wanted: list[list[str]], buckets: int) -> None:
    records = [(each.encode(), f"record {number}".encode()) for number, each in enumerate(ids)]
    with pytest.MonkeyPatch.context() as patch:
        # So few bits that many ids share one.
        patch.setattr(sample_filter, "BITS", 64)
        bitmap = bitmap_of([[each.encode() for each in part] for part in wanted])
        held = BlockBuffer(buckets, BlockWriter())
        blocks = [*held.add(records), *held.flush()]
        keep = KeepWanted(buckets, IN_PIPELINE)
        keep.start_bundle()
        found = [each for block in blocks for each in keep.process(block, bitmap)]
        found += [each.value for each in keep.finish_bundle()]
        passing = [each for each in records if may_be_wanted(each[0], bitmap)]
    kept = [(bucket, record) for bucket, block in found for record in unpack(block)]
    assert Counter(kept) == Counter((bucket_of(key, buckets), (key, record)) for key, record in passing)
    asked = {each.encode() for part in wanted for each in part}
    assert {record for record in records if record[0] in asked} <= set(passing)


def test_few_other_records_pass() -> None:
    wanted = [f"sample-{number}".encode() for number in range(10_000)]
    bitmap = bitmap_of([wanted])
    others = sum(may_be_wanted(f"other-{number}".encode(), bitmap) for number in range(50_000))
    # 10,000 of 2^24 bits: 0.06 %, so 30 are expected.
    assert others < 60
    assert may_be_wanted(wanted[0], bitmap)
    assert not may_be_wanted(wanted[0], bitmap_of([]))
