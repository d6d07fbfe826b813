"""What changed from one system to another, sample by sample: flips, counts, and the list of those that changed most."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from ..metrics.benchmark import MetricSpec
from ..metrics.statistics.intervals import ROUNDING
from .sample_rows import SampleRow
from .stored_blocks import Block, read_block

KINDS = ("better", "worse", "wrong_to_right", "right_to_wrong", "better_beyond", "worse_beyond", "appeared", "vanished")
"""What is counted of each per-sample metric: how many samples changed in each of these ways.

better and worse count every change; a value is right where it is the best one that the metric can have; beyond counts
changes of more than the threshold; appeared and vanished count samples in which one system alone has a value.
"""
FLIPS = ("wrong_to_right", "right_to_wrong")


@dataclass(frozen=True)
class ChangePlan:
    """The per-sample metrics in the order of the rows, the place of the main one, and the threshold of a large change.

    most: how many samples are listed, those that changed most.
    """

    specs: tuple[MetricSpec, ...]
    main: int
    threshold: float
    most: int

    def columns(self) -> list[str]:
        """Returns the names of the columns of a listed sample, in order."""
        sides = [f"{side}.{name}" for side in ("baseline", "candidate") for name in ("status", *_names(self.specs))]
        return ["sample_id", "change", "kind", *sides]


def _names(specs: Sequence[MetricSpec]) -> list[str]:
    return [spec.name for spec in specs]


class ChangedSample(msgspec.Struct, frozen=True):
    """A sample that changed.

    key: orders samples, those that changed most first. row: its columns as a JSON object; see ChangePlan.columns.
    """

    key: bytes
    row: bytes


SAMPLES_PER_BLOCK = 1024


def pack_changed(samples: Sequence[ChangedSample]) -> bytes:
    """Returns the content of a block of samples that changed."""
    return msgspec.msgpack.encode(samples)


def unpack_changed(block: Block) -> list[ChangedSample]:
    """Returns the samples of a block."""
    return _CHANGED.decode(read_block(block))


_CHANGED = msgspec.msgpack.Decoder(list[ChangedSample])


class SmallestKeys:
    """Tells of keys, one after the other, which may be among the `most` smallest of all, by their first 24 bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._limit: bytes | None = None
        self._seen = np.empty(0, dtype=f"S{KEY_BYTES}")
        self._count = 0

    def admits(self, key: bytes) -> bool:
        """Returns False where `most` smaller keys have been there."""
        part = key[:KEY_BYTES].ljust(KEY_BYTES, b"\0")
        if self._limit is not None and part > self._limit:
            return False
        if self._count == len(self._seen):
            self._make_room()
        self._seen[self._count] = part
        self._count += 1
        return True

    def _make_room(self) -> None:
        if self._count >= 2 * self._most:
            self._seen.sort()
            self._count = self._most
            # An array gives its strings without the zeros at their end.
            self._limit = bytes(self._seen[self._most - 1]).ljust(KEY_BYTES, b"\0")
        else:
            grown = np.empty(min(2 * self._most, max(1024, 2 * self._count)), dtype=self._seen.dtype)
            grown[: self._count] = self._seen
            self._seen = grown


KEY_BYTES = 24


class ChangeCounter:
    """Counts the changes of a bundle, and keeps the samples that may be among those that changed most, in blocks."""

    def __init__(self, plan: ChangePlan) -> None:
        self._plan = plan
        self._counts = {spec.name: dict.fromkeys(KINDS, 0) for spec in plan.specs}
        self._changed: list[ChangedSample] = []
        self._smallest = SmallestKeys(plan.most)

    def add(self, before: SampleRow, after: SampleRow) -> None:
        """Adds a sample that both systems scored."""
        changed = before.status != after.status
        for spec, old, new in zip(self._plan.specs, before.metrics, after.metrics, strict=True):
            if old != new:
                changed = True
                for kind in _kinds(spec, old, new, self._plan.threshold):
                    self._counts[spec.name][kind] += 1
        if changed and self._plan.most:
            sample = changed_sample(self._plan, before, after)
            if self._smallest.admits(sample.key):
                self._changed.append(sample)

    def counts(self) -> Iterator[tuple[str, dict[str, int]]]:
        """Yields the counts of each metric."""
        yield from self._counts.items()

    def take_block(self, least: int = 1) -> Iterator[bytes]:
        """Yields the samples that are kept, packed, where there are at least so many, and keeps them no longer."""
        if len(self._changed) >= least:
            changed, self._changed = self._changed, []
            yield pack_changed(changed)


def _kinds(spec: MetricSpec, old: float | None, new: float | None, threshold: float) -> Iterator[str]:
    if old is None or new is None:
        yield "appeared" if old is None else "vanished"
        return
    direction = "better" if spec.goodness(new) > spec.goodness(old) else "worse"
    yield direction
    best = spec.bounds[1 if spec.higher_is_better else 0]
    if best is not None and new == best:
        yield "wrong_to_right"
    if best is not None and old == best:
        yield "right_to_wrong"
    if abs(new - old) > threshold + ROUNDING:
        yield f"{direction}_beyond"


def changed_sample(plan: ChangePlan, before: SampleRow, after: SampleRow) -> ChangedSample:
    """Returns the listed form of a sample: `change` is that of the main metric, below 0 where it is worse.

    Samples are ordered by the size of this change, then by that of their other metrics together, then by sample_id.
    """
    spec, old, new = plan.specs[plan.main], before.metrics[plan.main], after.metrics[plan.main]
    change = None if old is None or new is None else spec.goodness(new) - spec.goodness(old)
    pairs = zip(before.metrics, after.metrics, strict=True)
    others = sum(abs(a - b) for b, a in pairs if a is not None and b is not None)
    cells: list[Any] = [before.sample_id, change, kind_of_change(spec, old, new)]
    for row in (before, after):
        cells += [row.status, *row.metrics]
    row_of = dict(zip(plan.columns(), cells, strict=True))
    key = _descending(abs(change or 0.0)) + _descending(others) + before.sample_id.encode()
    return ChangedSample(key, msgspec.json.encode(row_of))


def kind_of_change(spec: MetricSpec, old: float | None, new: float | None) -> str:
    """Returns the word of KINDS for how a metric changed, one of FLIPS where it is one; "other" where it did not."""
    kinds = [] if old == new else [*_kinds(spec, old, new, math.inf)]
    return next((kind for kind in FLIPS if kind in kinds), kinds[0] if kinds else "other")


def _descending(number: float) -> bytes:
    """Returns eight bytes that order numbers from 0 up, the largest first."""
    return bytes(255 - byte for byte in struct.pack(">d", number))


def merged_counts(parts: Sequence[tuple[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    """Adds up the counts of all bundles, by metric."""
    whole: dict[str, dict[str, int]] = {}
    for name, counts in parts:
        of = whole.setdefault(name, dict.fromkeys(KINDS, 0))
        for kind, count in counts.items():
            of[kind] += count
    return whole
