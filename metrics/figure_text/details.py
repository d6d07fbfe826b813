"""What matched what in one figure, for a person who looks into a score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .figure import Figure
from .group import Outcome

Partners = Mapping[int, tuple[str, list[int]]]


def describe_matches(figure: Figure, outcome: Outcome, right: set[int]) -> dict[str, Any]:
    """Returns how each region of both sides was matched, by its position in the record.

    `match` is one_to_one, one_to_many, many_to_one, dont_care, dropped (with the reason), unlocated, missed (ground
    truth) or false, reading, unknown_reading, unconfident (prediction); `with` are the positions of the partners.
    """
    dropped, prediction_dropped = outcome.dropped
    return {
        "ground_truth": [
            _truth(figure, position, dropped, outcome.found, outcome.read, right)
            for position in range(len(figure.truths))
        ],
        "prediction": _predictions(
            figure, prediction_dropped, outcome.covered, outcome.finders, set(outcome.read.values())
        ),
    }


def _truth(
    figure: Figure, position: int, dropped: Mapping[int, str], found: Partners, read: Mapping[int, int], right: set[int]
) -> dict[str, Any]:
    region = figure.truths[position]
    entry: dict[str, Any] = {}
    if region.id is not None:
        entry["id"] = region.id
    if region.points is None and region.box is None:
        entry["match"] = "unlocated"
    elif position in dropped:
        entry.update(match="dropped", reason=dropped[position])
    elif region.ignore:
        entry["match"] = "dont_care"
    elif position in found:
        entry["match"], entry["with"] = found[position]
    else:
        entry["match"] = "missed"
    if position in read:
        entry["end_to_end"] = read[position]
    if position in figure.readings:
        entry.update(reading=figure.readings[position], read_right=position in right)
    return entry


def _predictions(
    figure: Figure, dropped: Mapping[int, str], covered: list[int], finders: Partners, right: set[int]
) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = [{"match": "false"} for _ in figure.predictions]
    for kind, positions in (
        ("reading", figure.readings.values()),
        ("unknown_reading", figure.unknown_readings),
        ("unconfident", figure.unconfident),
        ("dont_care", covered),
        ("dropped", dropped),
    ):
        for position in positions:
            entries[position] = {"match": kind}
    for position, reason in dropped.items():
        entries[position]["reason"] = reason
    for position, (kind, others) in finders.items():
        entries[position] = {"match": kind, "with": others}
    for position in right:
        entries[position]["end_to_end"] = True
    return entries
