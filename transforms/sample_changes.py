"""What changed from one system to another, sample by sample: flips, counts, and the list of those that changed most."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from metrics.benchmark import MetricSpec
from transforms.sample_rows import SampleRow

KINDS = ("better", "worse", "wrong_to_right", "right_to_wrong", "better_beyond", "worse_beyond", "appeared", "vanished")
"""What is counted of each per-sample metric: how many samples changed in each of these ways.

better and worse count every change; a value is right where it is the best one that the metric can have; beyond counts
changes of more than the threshold; appeared and vanished count samples in which one system alone has a value.
"""


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


class ChangeCounter:
    """Counts the changes of a bundle, and keeps the samples that changed most."""

    def __init__(self, plan: ChangePlan) -> None:
        self._plan = plan
        self._counts = {spec.name: dict.fromkeys(KINDS, 0) for spec in plan.specs}
        self._changed: list[ChangedSample] = []

    def add(self, before: SampleRow, after: SampleRow) -> None:
        """Adds a sample that both systems scored."""
        changed = before.status != after.status
        for spec, old, new in zip(self._plan.specs, before.metrics, after.metrics, strict=True):
            if old != new:
                changed = True
                for kind in _kinds(spec, old, new, self._plan.threshold):
                    self._counts[spec.name][kind] += 1
        if changed and self._plan.most:
            self._changed.append(changed_sample(self._plan, before, after))
            if len(self._changed) >= 2 * self._plan.most:
                self._cut()

    def counts(self) -> Iterator[tuple[str, dict[str, int]]]:
        """Yields the counts of each metric."""
        yield from self._counts.items()

    def take_changed(self) -> list[ChangedSample]:
        """Returns the samples that changed most."""
        self._cut()
        changed, self._changed = self._changed, []
        return changed

    def _cut(self) -> None:
        self._changed = heapq.nsmallest(self._plan.most, self._changed, key=lambda each: each.key)


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
    if abs(new - old) > threshold:
        yield f"{direction}_beyond"


def changed_sample(plan: ChangePlan, before: SampleRow, after: SampleRow) -> ChangedSample:
    """Returns the listed form of a sample: `change` is that of the main metric, below 0 where it is worse.

    Samples are ordered by the size of this change, then by that of their other metrics together, then by sample_id.
    """
    spec, old, new = plan.specs[plan.main], before.metrics[plan.main], after.metrics[plan.main]
    change = None if old is None or new is None else spec.goodness(new) - spec.goodness(old)
    pairs = zip(before.metrics, after.metrics, strict=True)
    others = sum(abs(a - b) for b, a in pairs if a is not None and b is not None)
    kinds = [] if old == new else [*_kinds(spec, old, new, plan.threshold)]
    cells: list[Any] = [before.sample_id, change, _kind(kinds)]
    for row in (before, after):
        cells += [row.status, *row.metrics]
    row_of = dict(zip(plan.columns(), cells, strict=True))
    key = _descending(abs(change or 0.0)) + _descending(others) + before.sample_id.encode()
    return ChangedSample(key, msgspec.json.encode(row_of))


def _kind(kinds: Sequence[str]) -> str:
    """Returns the word for how the main metric changed: a flip where it is one."""
    return next(
        (kind for kind in ("wrong_to_right", "right_to_wrong") if kind in kinds), kinds[0] if kinds else "other"
    )


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
