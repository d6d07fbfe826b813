"""The documents of a finished run as they are read back, checked as they are decoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ...metrics.statistics.replicates import PackedReplicates
from ...metrics.statistics.sums import Sums

SIDES = ("ground_truth", "predictions")
Coverage = dict[str, dict[str, int] | int | bool]
"""What became of the records of each side, by side, and counts of a benchmark's own."""


def measured_samples(counts: Mapping[str, int], missing: str) -> int:
    """Returns how many samples the metrics rest on; a missing prediction is one of them where it counts as wrong."""
    return counts.get("scored", 0) + (counts.get("missing_prediction", 0) if missing == "wrong" else 0)


def left_out_samples(counts: Mapping[str, int], missing: str) -> int:
    """Returns how many samples no metric rests on; a duplicate is none of its own."""
    return _samples(counts) - measured_samples(counts, missing)


def _samples(counts: Mapping[str, int]) -> int:
    return sum(counts.get(status, 0) for status in ("scored", "missing_prediction", "rejected"))


class Fingerprint(msgspec.Struct, frozen=True):
    """Which ground truth a run was made on: how many samples, and an order-free hash of them."""

    samples: int
    hash: str


class StoredSlice(msgspec.Struct, frozen=True):
    """One slice in summary.json; predictions_fingerprint: None in a run of an earlier version.

    Whoever decodes it learns of damage: a side without counts, or metrics that have a value and no interval beside it.
    errors: the standard errors; empty in a run that was made before they were written.
    """

    coverage: Coverage
    values: dict[str, float | None]
    intervals: dict[str, tuple[float, float] | None] = {}
    units: dict[str, float] = {}
    predictions_fingerprint: str | None = None
    errors: dict[str, float | None] = {}

    def __post_init__(self) -> None:
        """Raises ValueError where parts do not fit together."""
        for side in SIDES:
            if not isinstance(self.coverage.get(side, {}), dict):
                raise ValueError(f"coverage: {side} holds no counts")
        for name, beside in (("intervals", self.intervals), ("errors", self.errors), ("units", self.units)):
            if beside and beside.keys() != self.values.keys():
                raise ValueError(f"values and {name} do not name the same metrics")

    @property
    def samples(self) -> int:
        """How many samples the slice has, whatever became of them."""
        return _samples(self.counts("ground_truth"))

    def measured_samples(self, missing: str) -> int:
        """Returns how many samples the metrics rest on."""
        return measured_samples(self.counts("ground_truth"), missing)

    def counts(self, side: str) -> dict[str, int]:
        """Returns what became of the records of one side."""
        found = self.coverage.get(side, {})
        return found if isinstance(found, dict) else {}


class StoredSystem(StoredSlice, frozen=True, kw_only=True):
    """One system in summary.json, with its slices by label."""

    slices: dict[str, StoredSlice]

    def __post_init__(self) -> None:
        """Raises ValueError where parts do not fit together, or the ground truth is not counted."""
        super().__post_init__()
        missing = [name for name in ("read", "scored", "missing_prediction") if name not in self.counts("ground_truth")]
        if missing:
            raise ValueError(f"coverage: ground_truth has no count of {missing[0]}")


class StoredSummary(msgspec.Struct, frozen=True):
    """summary.json, as far as it is read back."""

    benchmark: str
    config: dict[str, Any]
    systems: dict[str, StoredSystem]
    ranking: list[str]
    version: str = ""
    fingerprint: Fingerprint | None = None
    warnings: list[str] = []
    gates: list[dict[str, Any]] = []


class StoredReplicates(msgspec.Struct, frozen=True):
    """The replicates of a slice in sums.json; see PackedReplicates."""

    names: tuple[str, ...]
    data: bytes


class SliceSums(msgspec.Struct, frozen=True):
    """The exact sums of one slice in sums.json, in units of 2**-52, with the counts of its coverage."""

    sums: dict[str, int]
    counts: dict[str, int]
    replicates: StoredReplicates

    def all_sums(self, replicates: int) -> list[Sums]:
        """Returns the sums of the slice, then those of each replicate; raises ValueError where they do not fit."""
        packed = PackedReplicates(self.replicates.names, self.replicates.data)
        return [Sums(self.sums), *packed.unpack(replicates)]


class SystemSums(SliceSums, frozen=True, kw_only=True):
    """One system in sums.json."""

    coverage: Coverage
    slices: dict[str, SliceSums]

    def labelled(self) -> Iterator[tuple[str, SliceSums]]:
        """Yields the sums of all samples under the empty label, then those of each slice."""
        yield "", self
        yield from self.slices.items()


class StoredBootstrap(msgspec.Struct, frozen=True):
    """How the replicates of sums.json were drawn."""

    replicates: int
    seed: int


class StoredSums(msgspec.Struct, frozen=True):
    """sums.json."""

    format: int
    unit_bits: int
    benchmark: str
    config: dict[str, Any]
    bootstrap: StoredBootstrap
    systems: dict[str, SystemSums]


class StoredProvenance(msgspec.Struct, frozen=True):
    """run.json, as far as it must be whole."""

    format: int
    run_id: str
    benchmark: str
    systems: list[str]
    started: str
    ended: str
    seconds: float
    command: list[str]
    runner: str
    host: str
    versions: dict[str, Any]
    inputs: dict[str, Any]
