"""Why records were quarantined, by cause: written to run.json, and said on the console with what mends it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from metrics.common.text import truncated
from pipelines.config.errors import UsageError
from pipelines.results.run import RUN, open_result
from transforms.io.storage import STORAGE_ERRORS
from transforms.quarantine import CauseCount
from transforms.records import Cause, Quarantined, printable

MAX_ERROR_LENGTH = 300
MAX_PLACE_LENGTH = 200

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


class QuarantineCause(msgspec.Struct, frozen=True):
    """How many records of a side were quarantined for the same cause, with the place and the error of the first."""

    side: str
    stage: str
    cause: Cause
    records: int
    first: str
    error: str

    def __str__(self) -> str:
        """Says the cause and what mends it, such as `this is not JSON (p.jsonl:3); mend the record, or ...`."""
        return f"{self.error} ({self.first}); {REMEDIES[self.cause]}"


def quarantine_causes(causes: Iterable[CauseCount]) -> list[QuarantineCause]:
    """Returns the causes as run.json holds them, the most frequent first."""
    found = [_cause(each.count, each.example) for each in causes if each.example is not None]
    return sorted(found, key=lambda each: (-each.records, each.side, each.stage, each.cause))


def _cause(records: int, first: Quarantined) -> QuarantineCause:
    place = f"{first.source}:{first.line}" if first.line else f"{first.source} at byte {first.position}"
    place, error = printable(place), printable(first.error)
    return QuarantineCause(
        first.side,
        first.stage,
        first.cause,
        records,
        truncated(place, MAX_PLACE_LENGTH),
        truncated(error, MAX_ERROR_LENGTH),
    )


def stored_causes(run: Mapping[str, Any]) -> list[QuarantineCause]:
    """Returns the causes that a run.json holds; none of a run that was made before they were written."""
    try:
        return msgspec.convert(run.get("quarantine", []), list[QuarantineCause])
    except msgspec.ValidationError:
        return []


def published_causes(output: str) -> list[QuarantineCause]:
    """Returns the causes of the result in a folder; none where its run.json cannot be read."""
    try:
        run = msgspec.json.decode(open_result(output).read(RUN))
    except (UsageError, *STORAGE_ERRORS, ValueError):
        return []
    return stored_causes(run) if isinstance(run, dict) else []


def most_frequent(
    causes: Sequence[QuarantineCause], sides: Collection[str], without: Collection[str] = ("duplicate", "unmatched")
) -> QuarantineCause | None:
    """Returns the cause for which most records of some sides were rejected; the first of those as frequent."""
    found = [each for each in causes if each.side in sides and each.cause not in without]
    return max(found, key=lambda each: each.records, default=None)


def most_often(cause: QuarantineCause | None) -> str:
    """Returns the end of a line that names the most frequent cause; empty where it is not known."""
    return "" if cause is None else f"; most often: {cause}"
