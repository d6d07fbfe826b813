"""The tables of the report: the subsets side by side, and how regions were matched."""

from __future__ import annotations

from collections.abc import Mapping

from ..statistics.sums import Sums
from ..table import Table
from .values import detections

_FAMILIES = ("detection.regions[", "word_recognition.words[")


def subset_names(sums: Sums) -> list[str]:
    """The subsets that have any region, in order."""
    return sorted({name[name.index("[") + 1 : -1] for name in sums if name.startswith(_FAMILIES)})


def subset_table(sums: Sums, values: Mapping[str, float | None]) -> Table:
    """All regions and each subset with their main metrics."""
    columns = (
        *(f"{task}.{rate}" for task in ("detection", "end_to_end") for rate in ("precision", "recall", "f1")),
        "word_recognition.accuracy",
    )
    rows: list[list[str | float | None]] = [
        ["all", int(sums["detection.regions"]), *(values.get(name) for name in columns)]
    ]
    for subset in subset_names(sums):
        shown = (values.get(f"{name}[{subset}]") for name in columns)
        rows.append([subset, int(sums[f"detection.regions[{subset}]"]), *shown])
    return Table("Subsets of the regions", ("subset", "regions", *columns), rows)


def match_table(sums: Sums) -> Table:
    """How many regions and detections were matched in which way, for all regions and each subset."""
    rows: list[list[str | float | None]] = []
    for name, suffix in (("all", ""), *((subset, f"[{subset}]") for subset in subset_names(sums))):
        one, split, merged = (
            int(sums[f"detection.{kind}{suffix}"]) for kind in ("one_to_one", "split_regions", "merged_regions")
        )
        others = int(sums[f"detection.split_detections{suffix}"] + sums[f"detection.merged_detections{suffix}"])
        missed = int(sums[f"detection.regions{suffix}"]) - one - split - merged
        false = int(detections(sums.__getitem__, suffix)) - one - others
        rows.append([name, one, split, merged, missed, false])
    header = ("subset", "one to one", "split over detections", "merged with others", "missed", "false detections")
    return Table("How regions were matched", header, rows)
