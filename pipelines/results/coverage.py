"""The coverage of a system as a document: what was read of each side, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

STATUSES = {
    "ground_truth": ("scored", "missing_prediction", "rejected", "duplicate"),
    "predictions": ("scored", "unmatched", "duplicate", "rejected"),
}
"""What may become of a record, by side."""

Coverage = dict[str, Any]


def coverage_document(counts: Mapping[str, int]) -> Coverage:
    """Returns the coverage; counts: by SIDE.read and SIDE.STATUS, and those of the benchmark by names without a dot."""
    sides: Coverage = {
        side: {status: counts.get(f"{side}.{status}", 0) for status in ("read", *statuses)}
        for side, statuses in STATUSES.items()
    }
    balanced = all(2 * side["read"] == sum(side.values()) for side in sides.values())
    return {**sides, **extra_counts(counts), "balanced": balanced}


def extra_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Returns the counts of the benchmark, in order."""
    return {name: counts[name] for name in sorted(counts) if "." not in name}
