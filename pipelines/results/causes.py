"""Why records were quarantined, by cause: written to run.json, and said on the console with what mends it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from ...metrics.common.text import truncated
from ...transforms.records import Cause, Quarantined, printable
from ..config.systems import predictions_of

if TYPE_CHECKING:
    # Whoever uses the Python API on records in memory needs no Beam.
    from ...transforms.quarantine import CauseCount

MAX_ERROR_LENGTH = 300
MAX_PLACE_LENGTH = 200
MAX_ID_LENGTH = 80

REMEDIES: dict[Cause, str] = {
    "unreadable": "mend the record, or leave it out",
    "no_sample_id": "give each record a sample_id, or name its field under fields",
    "too_large": "write smaller records, or raise the limit under limits",
    "too_deep": "write flatter records, or raise limits.depth",
    "duplicate": "give each record a sample_id of its own",
    "unmatched": "give both sides the same ids, or name their field under fields",
    "invalid": "write the fields as the page of the benchmark says, or name them under fields",
    "failed": "look at the sample, or leave it out",
}


class QuarantinedRecord(msgspec.Struct, frozen=True):
    """Where a record is that was quarantined, and why."""

    place: str
    error: str

    def __str__(self) -> str:
        return f"{self.error} ({self.place})"


class QuarantineCause(msgspec.Struct, frozen=True):
    """How many records of a side were quarantined for the same cause, and the first of them."""

    side: str
    stage: str
    cause: Cause
    records: int
    examples: Annotated[list[QuarantinedRecord], msgspec.Meta(min_length=1)]

    def __str__(self) -> str:
        """Says the cause and what mends it, such as `this is not JSON (p.jsonl:3); mend the record, or ...`."""
        return f"{self.examples[0]}; {REMEDIES[self.cause]}"


def place_of_entry(entry: Quarantined) -> str:
    """Returns where a quarantined record is, after its sample_id, if it has one."""
    place = f"{entry.source}:{entry.line}" if entry.line else f"{entry.source} at byte {entry.position}"
    return place if entry.sample_id is None else f"{truncated(entry.sample_id, MAX_ID_LENGTH)} at {place}"


def quarantine_causes(causes: Iterable[CauseCount]) -> list[QuarantineCause]:
    """Returns the causes as run.json holds them, the most frequent first."""
    found = [
        QuarantineCause(first.side, first.stage, first.cause, each.count, [_record(entry) for entry in each.examples])
        for each in causes
        if (first := each.example) is not None
    ]
    return sorted(found, key=lambda each: (-each.records, each.side, each.stage, each.cause))


def _record(entry: Quarantined) -> QuarantinedRecord:
    place, error = printable(place_of_entry(entry)), printable(entry.error)
    return QuarantinedRecord(truncated(place, MAX_PLACE_LENGTH), truncated(error, MAX_ERROR_LENGTH))


def stored_causes(run: Mapping[str, Any]) -> list[QuarantineCause]:
    """Returns the causes that a run.json holds; none of a run that was made before they were written."""
    try:
        return msgspec.convert(run.get("quarantine", []), list[QuarantineCause])
    except msgspec.ValidationError:
        return []


def most_frequent(
    causes: Sequence[QuarantineCause], sides: Collection[str], without: Collection[str] = ("duplicate", "unmatched")
) -> QuarantineCause | None:
    """Returns the cause for which most records of some sides were rejected; the first of those as frequent."""
    found = [each for each in causes if each.side in sides and each.cause not in without]
    return max(found, key=lambda each: each.records, default=None)


def most_often(cause: QuarantineCause | None) -> str:
    """Returns the end of a line that names the most frequent cause; empty where it is not known."""
    return "" if cause is None else f"; most often: {cause}"


def duplicate_warnings(causes: Iterable[QuarantineCause]) -> list[str]:
    """Returns a warning for each side of a run in which sample_ids are duplicated."""
    duplicates = (each for each in causes if each.cause == "duplicate")
    return [
        f"the {_side(each.side)}: {each.records:,} record{'s' * (each.records > 1)} with a sample_id that is "
        f"duplicated: {', '.join(f'{one.place} ({one.error})' for one in each.examples)}; quarantine/ lists all"
        for each in duplicates
    ]


def _side(side: str) -> str:
    return "ground truth" if side == "ground_truth" else predictions_of(side)
