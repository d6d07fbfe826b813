"""What the quarantine holds, in words: how many records of which cause, and which are the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metrics.common.text import truncated
from pipelines.config.systems import predictions_of
from transforms.quarantine import CauseCount
from transforms.records import Quarantined, printable

MAX_ID_LENGTH = 80


def place_of_entry(entry: Quarantined) -> str:
    """Returns the sample_id of a quarantined record, where it has one, and where the record is."""
    place = f"{entry.source}:{entry.line}" if entry.line else f"{entry.source} at {entry.position}"
    return place if entry.sample_id is None else f"{truncated(entry.sample_id, MAX_ID_LENGTH)} at {place}"


def causes_document(causes: Sequence[CauseCount]) -> list[dict[str, Any]]:
    """Returns the quarantine by cause, as run.json has it; of an empty one, nothing."""
    return [
        {
            "side": cause.example.side,
            "stage": cause.example.stage,
            "cause": cause.example.cause,
            "records": cause.count,
            "examples": [{"place": place_of_entry(each), "error": each.error} for each in cause.examples],
        }
        for cause in causes
        if cause.example is not None
    ]


def duplicate_warnings(run: Mapping[str, Any]) -> list[str]:
    """Returns a warning for each side of a run in which sample_ids are duplicated, from the document of run.json."""
    return [
        f"the {_side(cause['side'])}: {cause['records']:,} record{'s' * (cause['records'] > 1)} with a sample_id that "
        f"is duplicated: {_examples(cause)}; quarantine/ lists all"
        for cause in run.get("quarantined", ())
        if cause["cause"] == "duplicate"
    ]


def _side(side: str) -> str:
    return "ground truth" if side == "ground_truth" else predictions_of(side)


def _examples(cause: Mapping[str, Any]) -> str:
    return ", ".join(printable(f"{each['place']} ({each['error']})") for each in cause["examples"])
