"""Many objects are made at once without a look at each of them for garbage."""

from __future__ import annotations

import gc
from typing import Any

import msgspec
import pytest

from beamscore.transforms.collector import freeze, no_collection, unfreeze
from beamscore.transforms.records import JSON, EncodedRecord, Origin

ORIGIN = Origin(0, 0, 0, 1, "part.jsonl")


class _Lists(msgspec.Struct):
    lists: list[Any]


def test_the_collector_is_off_within_and_on_again_behind_also_after_an_error() -> None:
    seen: list[bool] = []
    with pytest.raises(IndexError), no_collection():
        seen.pop()
    assert gc.isenabled()
    with no_collection():
        seen.append(gc.isenabled())
    assert seen == [False]
    assert gc.isenabled()


def test_one_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with no_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_record_of_many_lists_is_decoded_without_collections() -> None:
    record = EncodedRecord.of(ORIGIN, JSON, b'{"lists": [' + b"[]," * 100_000 + b"[]]}")
    phases: list[str] = []

    def note(phase: str, _: dict[str, int]) -> None:
        phases.append(phase)

    gc.collect()
    gc.callbacks.append(note)
    try:
        decoded = record.decode(_Lists)
    finally:
        gc.callbacks.remove(note)
    assert len(decoded.lists) == 100_001
    assert phases.count("start") <= 2


def test_what_is_frozen_is_looked_at_again() -> None:
    before, often = gc.get_freeze_count(), gc.get_threshold()
    freeze()
    try:
        assert gc.get_freeze_count() > before
        assert gc.get_threshold()[0] > often[0]
    finally:
        unfreeze()
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == often
